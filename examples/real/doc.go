// Package real puts the servers that people really use behind the bridge: the
// reference servers from npm, pinned by package-lock.json. `make test-real`
// fetches them and runs the tests, which need node and the build tag real.
//
// Each server is asked the same things directly and through a topic in three
// dialects. The answers must be the same bytes, but for the id.
//
// The official clients, the Inspector and the conformance suites of MCP, which
// reach it by way of an HTTP shim, must hear of a server behind run --stdio what
// they hear of it without. A real app (MCP Apps) is shown by way of serve, in
// Chromium where there is one.
package real
