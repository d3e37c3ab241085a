package engine

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Others may talk to the same server, with numbers for ids as likely as not.
func TestAnswersToOthersAreNotOurs(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := stageWith(t, d, Config{Policy: rules(t, allowsSome), IDPrefix: "mcpx1n"})
	s.seat()
	s.startServer()
	s.frames, s.lines, s.notes = nil, nil, nil
	s.call("bob", "e1", `7`, "read_file", `{"path":"/a"}`)
	s.has(s.lines[len(s.lines)-1], `"id":"mcpx1n2"`)
	for _, foreign := range []string{`2`, `"2"`, `"mcpx1n3"`, `"mcpx1n"`, `"mcpx1nx"`, `"mcpx2n2"`, `null`} {
		s.said(`{"jsonrpc":"2.0","id":` + foreign + `,"result":{"of":"somebody else"}}`)
		s.nothing("an answer with id " + foreign)
	}
	s.said(`{"jsonrpc":"2.0","id":"mcpx1n2","result":{"content":[]}}`)
	s.has(s.frames[len(s.frames)-1], `"result":{"content":[]}`, `"id":7`)
}
