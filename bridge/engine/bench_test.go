package engine

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// BenchmarkCall is all of our own work on one call, both ways: decode, judge,
// splice, spell. Sockets, pipes and wake-ups are not in it.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{1 << 10, 96 << 10, 1 << 20} {
		b.Run(strconv.Itoa(size), func(b *testing.B) { benchCall(b, size) })
	}
}

func benchCall(b *testing.B, size int) {
	n := 0
	p, err := policy.Load("policy.yaml", []byte("version: 1\ndefault: allow\n"))
	if err != nil {
		b.Fatal(err)
	}
	e := New(Config{NewID: func() string { n++; return "out-" + strconv.Itoa(n) },
		Random: func() (r [16]byte) { return r }, Policy: p})
	d, _ := wire.Lookup("mcpx/v0.1")
	now := time.Now()
	e.Step(now, Seated{d, wire.Welcome{You: wire.Participant{ID: "fs"}}})
	e.Step(now, ServerUp{Hello{Result: []byte(`{}`)}})
	listing, _ := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}}`), jsonrpc.Passed)
	e.Step(now, ServerSaid{listing})
	text := strings.Repeat("a", size)
	b.SetBytes(int64(2 * size))
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Microsecond)
		n++
		frame := fmt.Appendf(make([]byte, 0, size+300), `{"protocol":"mcpx/v0.1","id":"e%d","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:tools/call:echo","payload":{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%s"}}}}`, n, text)
		env, err := d.Decode(frame)
		if err != nil {
			b.Fatal(err)
		}
		var id uint64
		for _, f := range e.Step(now, Arrived{&env}) {
			if w, ok := f.(Write); ok {
				id = w.Call
			}
		}
		line := fmt.Appendf(make([]byte, 0, size+300), `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}`, id, text)
		m, err := jsonrpc.Parse(line, jsonrpc.Passed)
		if err != nil {
			b.Fatal(err)
		}
		if len(e.Step(now, ServerSaid{m})) == 0 {
			b.Fatal("no answer")
		}
	}
}

// A proposal that cannot be served, from its frame to the frame of the reject.
func BenchmarkReject(b *testing.B) {
	s := proposalStage(&testing.T{}, "mcpx/v0.1", "fulfil: ask")
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		env, err := s.dialect.Decode(fmt.Appendf(nil, `{"protocol":"mcpx/v0.1","id":"p-%d","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/proposal:tools/call:nope","payload":{"method":"tools/call","params":{"name":"nope","arguments":{}}}}`, n))
		if err != nil {
			b.Fatal(err)
		}
		s.engine.Step(s.now, Arrived{&env})
	}
}
