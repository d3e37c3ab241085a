// The client that the conformance suites watch: it lists the tools of a server
// of its own and calls each.
//
//	node asking.mjs v1|v2 COMMAND ARG…
const [which, command, ...args] = process.argv.slice(2);
const v1 = which === "v1";
const at = "@modelcontextprotocol/";
const { Client } = await import(at + (v1 ? "sdk/client/index.js" : "client"));
const { StdioClientTransport } = await import(at + (v1 ? "sdk/client/stdio.js" : "client/stdio"));
const capabilities = { elicitation: { form: { applyDefaults: true } }, sampling: {} };
const client = new Client({ name: "real-client", version: "1" }, { capabilities, versionNegotiation: { mode: "auto" } });
const elicitation = v1 ? (await import(at + "sdk/types.js")).ElicitRequestSchema : "elicitation/create";
client.setRequestHandler(elicitation, () => ({ action: "accept", content: {} }));
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
const { tools } = await client.listTools();
for (const { name } of tools) {
  await client.callTool({ name, arguments: name === "add_numbers" ? { a: 5, b: 3 } : {} }).catch((e) => console.error(name, e));
}
await client.close();
process.exit(0);
