// Package desktop shows a topic to one MCP client as an ordinary MCP server:
// the tools of everybody there, named peer__tool.
//
// A [Proxy] is all of its judgement: a pure state machine, told what happens and
// answering what is to be done. A [Server] runs one over a client's pipes. How
// the topic is reached is somebody else's business (see [Upstream]).
//
//	client -> Server.lines -> Proxy.Step -> Ask, Cancel, Decide -> Upstream -> topic
//	client <- outbox <- WriteClient <- Proxy.Step <- Upstream <- topic
//
// Nothing that a peer sends is decoded further than needed, and what it answers
// goes to the client byte for byte. Names are looked up, never taken apart. The
// protocol's own words are mcp-go's (words.go), which is handed nothing that
// a stranger wrote.
// Whatever the client's model says decides nothing: a question that somebody
// puts to this participant is answered by the client's own elicitation, or on the
// card that clients show which show apps (card.go).
package desktop
