// A client with a server of its own. It writes down what is said between them,
// one JSON object per line, with a mark for the direction.
//
//	node pass.mjs v1|v2-legacy|v2-auto everything|filesystem|memory|sequential-thinking DIR COMMAND ARG…
//
// In the middle it says READY on stderr and goes on when told to on stdin.
const [which, server, dir, command, ...args] = process.argv.slice(2);
const info = { name: "real-client", version: "1" };
const capabilities = { elicitation: { form: {} }, sampling: {}, roots: { listChanged: true } };
const handlers = {
  "elicitation/create": () => ({ action: "accept", content: { name: "<Ana> & \u2028", check: true } }),
  "sampling/createMessage": () => ({ model: "none", role: "assistant", content: { type: "text", text: "sampled" } }),
  "roots/list": () => ({ roots: [{ uri: "file://" + dir, name: "data" }] }),
};
let client, transport;
if (which === "v1") {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const types = await import("@modelcontextprotocol/sdk/types.js");
  client = new Client(info, { capabilities });
  client.setRequestHandler(types.ElicitRequestSchema, handlers["elicitation/create"]);
  client.setRequestHandler(types.CreateMessageRequestSchema, handlers["sampling/createMessage"]);
  client.setRequestHandler(types.ListRootsRequestSchema, handlers["roots/list"]);
  transport = new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" });
} else {
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  client = new Client(info, { capabilities, versionNegotiation: { mode: which === "v2-auto" ? "auto" : "legacy" } });
  for (const [method, handler] of Object.entries(handlers)) client.setRequestHandler(method, handler);
  transport = new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" });
}
const note = (mark, message) => console.log(mark + JSON.stringify(message));
const send = transport.send.bind(transport);
transport.send = (message, ...rest) => { note("> ", message); return send(message, ...rest); };
let hear;
Object.defineProperty(transport, "onmessage", {
  get: () => hear && ((message, ...rest) => { note("< ", message); return hear(message, ...rest); }),
  set: (f) => { hear = f; },
});
await client.connect(transport);
const call = async (name, args, opts) => {
  try {
    return which === "v1" ? await client.callTool({ name, arguments: args }, undefined, opts) : await client.callTool({ name, arguments: args }, opts);
  } catch (e) {
    return e; // it is in the transcript
  }
};
const script = {
  everything: [
    () => client.listPrompts(), () => client.listResources(),
    () => client.getPrompt({ name: "args-prompt", arguments: { city: "Łódź" } }),
    () => call("echo", { message: "<b>&\u2028\u{1F980}" }),
    () => call("echo", { message: "x".repeat(2 << 20) }),
    () => call("get-structured-content", { location: "Chicago" }),
    () => call("trigger-long-running-operation", { duration: 0.4, steps: 4 }, { onprogress: () => {} }),
    () => call("trigger-sampling-request", { prompt: "say", maxTokens: 7 }),
    () => call("trigger-elicitation-request", {}),
    () => call("get-roots-list", {}),
    () => call("no-such-tool", {}),
  ],
  filesystem: [
    () => call("list_allowed_directories", {}),
    () => call("write_file", { path: dir + "/new.txt", content: "ünï\n<&>\n" }),
    () => call("read_text_file", { path: dir + "/new.txt" }),
    () => call("read_text_file", { path: "/nowhere" }),
  ],
  memory: [
    () => call("create_entities", { entities: [{ name: "Ana", entityType: "person", observations: ["<tea>"] }] }),
    () => call("read_graph", {}),
    () => call("delete_entities", { entityNames: ["Ana"] }),
  ],
  "sequential-thinking": [
    () => call("sequentialthinking", { thought: "first", thoughtNumber: 1, totalThoughts: 2, nextThoughtNeeded: true }),
    () => call("sequentialthinking", { thought: "<&>\u2028", thoughtNumber: 2, totalThoughts: 2, nextThoughtNeeded: false }),
    () => call("sequentialthinking", { thought: 3 }),
  ],
}[server];
await client.listTools();
console.error("READY");
await new Promise((go) => process.stdin.once("data", go));
for (const step of script) await step();
await client.close();
process.exit(0);
