// Package doctor looks at a server as others will, before it is bridged.
//
// A [Checkup] starts a server once, or connects to it, lists its tools page by page, and stops
// it or leaves it alone; no tool is called. It tells what the server says of itself, what it
// prints beside messages, and what is left of it. [Clients] shows its tools to a client of
// another make, through the very server that serve runs, in both eras of MCP, and [Blame]
// finds the tool because of which such a client cannot use them. [Unoffered] says which tools
// a bridge would not offer, and why. What a check came to is a [Finding]: a value with the
// names that --json has, and lines for people.
//
// What concerns this machine and the topic (state, gateway, seat, record, policy) is not here:
// package node tries and judges it (node.Trial), and cmd reports it.
//
// It starts processes through package stdio alone, and goes to no gateway. Errors are
// *fault.Error with a hint, or *stdio.StartError where a server did not start.
package doctor
