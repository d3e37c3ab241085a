package serve_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/serve"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// The card and the model read "allowed" of a yes to what others had to agree to, or who had, to
// another call than the one that it changed (I19).
func TestAYesThatNeedsOthersWasSaidToAllow(t *testing.T) {
	state := localgateway.StateDir(filepath.Join(t.TempDir(), "state"))
	if err := state.Open(); err != nil {
		t.Fatal(err)
	}
	local := localgateway.New(localgateway.Options{State: state, Listen: "127.0.0.1:0"})
	if _, _, err := local.FindOrHost(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	way := func(id string) *localgateway.Connector {
		return &localgateway.Connector{Local: local, Hosts: true, OverNetwork: true, Join: topic.Options{Topic: "lobby", ID: id}}
	}
	in, toServe := io.Pipe()
	fromServe, out := io.Pipe()
	ready, ended := make(chan struct{}), make(chan error, 1)
	s := serve.New(way("alice"), serve.Options{Shown: desktop.Config{Version: "test", NewID: func() string { return "x" }}, Out: out,
		Emit: func(*record.Record) {}, Note: func(string, string) {}, Asked: func(string, *record.Record) {}, Ready: func(int) { close(ready) }})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- s.Run(t.Context(), in) }()
	<-ready
	fs := client.New(way("fs"), client.Options{})
	if err := fs.Dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer fs.Close()

	lines := bufio.NewScanner(fromServe)
	send := func(format string, args ...any) { fmt.Fprintf(toServe, format+"\n", args...) }
	hear := func(part string) string {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), part) {
				return lines.Text()
			}
		}
		t.Fatalf("there is no %s: %v", part, lines.Err())
		return ""
	}
	send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
	hear(`"id":"hello"`)
	for i, test := range []struct{ tally, answer, said string }{
		{`"need":0`, `"decision":"allow"`, "allowed"},
		{`"need":1`, `"decision":"allow","target":"b"`, "allowed with changes"},
		{`"need":2`, `"decision":"allow"`, "allowed; others must agree too"},
		{`"need":2`, `"decision":"deny"`, "denied"},
		{`"need":2,"agreed":["ann"]`, `"decision":"allow"`, "allowed"},
		{`"need":2,"agreed":["ann"]`, `"decision":"allow","target":"b"`, "allowed with changes; others must agree too"},
		{`"need":2,"agreed":["ann"]`, `"decision":"allow","target":"a"`, "allowed"},
		{`"need":3,"agreed":["ann"]`, `"decision":"allow"`, "allowed; others must agree too"},
	} {
		question := fmt.Sprintf(`{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{"message":"m",`+
			`"requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean"},"target":{"type":"string","default":"a"}}},`+
			`"metadata":{"elicitationType":"tool_approval","timeout":60,%s,"originalRequest":{"from":"bob","tool":"rm","arguments":{"target":"a"},"envelopeId":"e%[1]d"}}}}`, i, test.tally)
		err := fs.Post(wire.Progress, &wire.Envelope{ID: fmt.Sprint("q", i), TS: wire.Stamp(time.Now()), To: []string{"alice"}, Kind: wire.Request, Method: "elicitation/create", Payload: []byte(question)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fs.Ask(t.Context(), "alice", "ping", nil, nil); err != nil { // once that is answered she has the question
			t.Fatal(err)
		}
		send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"mcpx_approvals"}}`, i)
		hear(`"method":"elicitation/create"`)
		send(`{"jsonrpc":"2.0","id":"mcpx-question-%d","result":{"action":"accept","content":{%s}}}`, i+1, test.answer)
		if got := hear(fmt.Sprintf(`"id":%d,"result"`, i)); !strings.Contains(got, "] "+test.said+`\n`) {
			t.Errorf("%s, %s: the model hears %s", test.tally, test.answer, got)
		}
	}
	toServe.Close()
	defer out.Close()
	go io.Copy(io.Discard, fromServe)
	if err := <-ended; !errors.Is(err, serve.ErrHungUp) {
		t.Error(err)
	}
}
