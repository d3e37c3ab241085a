// A client as programs use one: it lists, calls, is asked something, and says
// what came of it as one JSON object.
//
//	node client.mjs v1|v2-legacy|v2-auto COMMAND ARG…
const [which, command, ...args] = process.argv.slice(2);
const info = { name: "real-client", version: "1" };
const capabilities = { elicitation: {} };
let client, transport, asked = [], changes = 0;
const answer = (request) => {
  asked.push(request.params.message.split("\n")[0]);
  return { action: "accept", content: { decision: "allow" } };
};
if (which === "v1") {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const types = await import("@modelcontextprotocol/sdk/types.js");
  client = new Client(info, { capabilities });
  client.setRequestHandler(types.ElicitRequestSchema, answer);
  client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => { changes++; });
  transport = new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" });
} else {
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  client = new Client(info, { capabilities, versionNegotiation: { mode: which === "v2-auto" ? "auto" : "legacy" } });
  client.setRequestHandler("elicitation/create", answer);
  transport = new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" });
}
await client.connect(transport);
const out = { which, revision: client.getNegotiatedProtocolVersion?.() ?? null };
const tools = (await client.listTools()).tools;
out.tools = tools.map((t) => t.name).sort();
const call = async (name, args, opts) => {
  const r = which === "v1" ? await client.callTool({ name, arguments: args }, undefined, opts) : await client.callTool({ name, arguments: args }, opts);
  return r;
};
out.echo = await call("everything__echo", { message: "<b>&\u2028\u{1F980}" });
out.structured = await call("everything__get-structured-content", { location: "Chicago" });
out.prompts = (await client.listPrompts()).prompts.map((p) => p.name).sort();
out.prompt = await client.getPrompt({ name: "everything__args-prompt", arguments: { city: "Łódź" } });
out.resources = (await client.listResources()).resources.length;
const first = (await client.listResources()).resources[0];
out.read = (await client.readResource({ uri: first.uri })).contents.length;
let steps = 0;
await call("everything__trigger-long-running-operation", { duration: 0.4, steps: 4 }, { onprogress: () => { steps++; } });
out.steps = steps;
out.refused = await call("files__write_file", { path: "/nowhere", content: "x" });
try { out.unknown = await call("no__such", {}); } catch (e) { out.unknown = String(e.code ?? e); }
console.error("READY"); // and goes on when told to
process.stdin.once("data", async () => {
  out.approvals = (await call("mcpx_approvals", {})).content;
  out.asked = asked;
  await client.close();
  console.log(JSON.stringify(out));
  process.exit(0);
});
