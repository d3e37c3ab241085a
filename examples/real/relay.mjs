// The stdio face of a server over HTTP, for the conformance suites of clients,
// whose servers speak HTTP alone.
//
//	node relay.mjs v1|v2 URL
const [which, url] = process.argv.slice(2);
const v1 = which === "v1";
const at = "@modelcontextprotocol/";
const { StdioServerTransport } = await import(at + (v1 ? "sdk/server/stdio.js" : "server/stdio"));
const { StreamableHTTPClientTransport } = await import(at + (v1 ? "sdk/client/streamableHttp.js" : "client"));
const down = new StdioServerTransport();
let opened;
const listens = new Promise((done) => { opened = done; });
const up = new StreamableHTTPClientTransport(new URL(url), {
  fetch: async (to, how) => {
    const answer = await fetch(to, how);
    if (how?.method === "GET") opened();
    return answer;
  },
});
up.onmessage = (m) => {
  if (m.result?.protocolVersion) up.setProtocolVersion(m.result.protocolVersion);
  down.send(m);
};
down.onmessage = async (m) => {
  if (v1 && m.method === "tools/call") await listens; // the tool's questions come that way, or are lost
  await up.send(m).catch((e) => {
    if (m.id !== undefined) down.send({ jsonrpc: "2.0", id: m.id, error: { code: -32603, message: String(e) } });
  });
};
process.stdin.on("end", () => process.exit(0));
await up.start();
await down.start();
