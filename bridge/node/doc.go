// Package node is one running bridge, assembled: an MCP server, a seat in a topic on
// its behalf, the rules between them, the record of what was decided, and the inbox of
// the person at this machine.
//
//	n, err := node.New(ctx, node.Options{Server: node.Target{Args: argv}, Env: node.Environment{Ours: os.Environ()}, State: dir})
//	...
//	err = n.Run(ctx) // until ctx ends, or something that it cannot do without
//
// [New] checks the options, finds the gateway or hosts it, makes sure of our id, and
// opens the record; it starts no server. [Node.Run] starts the server, takes the seat
// when the server's tools are known, and returns when all that it started has ended.
// Questions are answered through [Node.Inbox], by the program itself, or through the
// socket that other programs of this user find ([github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket]).
//
// A [Passthrough] is the same for a server that belongs to an MCP client, which talks to
// it as if nothing stood between; the topic comes second, and [Passthrough.Inbox] has what
// is asked there. A [Trial] finds out what would keep a bridge from starting, and leaves
// all as it is.
//
// What happens is told to the functions in [Options] as records, and nothing is printed:
// the package knows no stdout, no flags and no environment but the one that it is given.
// Errors are [fault.Error] where an exit code and a hint are known. What a person should
// hear beside that goes to Options.Log; a line there that begins with "hint: " belongs to
// the one before it.
package node
