// Package stdio keeps one MCP server running: it launches the command, or connects to an
// [Endpoint], does the handshake of either era of MCP, hands on what the server says,
// starts it again when it dies, and leaves nothing running when it stops.
//
// A [Server] is made by [New], which does no I/O. [Server.Run] does the work, in the
// goroutine that called it, and tells a [Handler] what happens to each process:
//
//	launch -> handshake -> ServerUp -> messages … -> stop ladder -> ServerDown
//
// Beside that goroutine each process has three that only wait: for its exit, for its
// stderr, and for a reason to stop it. [Server.Put] may be called from any goroutine and
// never waits.
//
// With a [Host] the server belongs to a client that was there before (passthrough): lines
// between the two go through unchanged, and the Handler gets only what is meant for us.
//
// The package promises that a line is written whole or not at all, that no line break gets
// into a message, and that when Run returns, the process and its process group have ended;
// with [Options].Sweep on Linux, everything that it started has.
//
// It may start processes, use pipes and sockets, and read the clock and /proc. It reads no
// environment variable of its own, and logs the head of a line only if it is no message.
package stdio
