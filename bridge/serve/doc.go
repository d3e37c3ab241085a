// Package serve shows a topic to one MCP client over two pipes: it joins what package desktop
// knows of the client and what package client knows of the topic.
//
// [New] makes a [Server], Start takes the seat, OpenInbox lets this machine's other surfaces
// answer the questions that are put to the participant, and Run serves until the client hangs
// up. What the client asks becomes requests in the topic, and their answers go back; who
// comes, goes or changes what it offers is told to the client; questions are put to the person
// at the client, and an answer that cannot be sent leaves the question as it was. Nothing that
// the client's model says answers one.
//
// A Server writes no event and no line of its own: it gives them to the functions in
// [Options]. It reads no environment and opens no file but the socket of its inbox.
package serve
