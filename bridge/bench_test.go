package bridge

import (
	"fmt"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// deaf takes everything and keeps nothing.
type deaf struct{}

func (deaf) Send(wire.Class, []byte) error { return nil }
func (deaf) Put([]byte) error              { return nil }
func (deaf) Append(...[]byte) error        { return nil }
func (deaf) Sync(done func(error))         { go done(nil) }
func (deaf) Err() error                    { return nil }
func (deaf) Flush()                        {}
func (deaf) Restart(string)                {}

// BenchmarkCall is what one call costs from its frame to its answer's, with all that is
// recorded of it and without what files and sockets cost.
func BenchmarkCall(b *testing.B) {
	d, _ := wire.Lookup("mcpx/v0.1")
	ids := 0
	told := 0
	s := New(Options{Audit: deaf{}, Emit: func(*record.Record) { told++ }, Engine: engine.Config{Policy: rules(b, allowsSome),
		NewID:  func() string { ids++; return fmt.Sprintf("out-%d", ids) },
		Random: func() [16]byte { return [16]byte{} }}})
	w := &surroundings{}
	s.Bind(deaf{}, w)
	s.SeatTaken(d, wire.Welcome{You: wire.Participant{ID: "fs"}, Peers: []wire.Participant{{ID: "bob"}}})
	raise(b, s, w)
	s.Bind(deaf{}, deaf{})
	b.ReportAllocs()
	for n := 2; b.Loop(); n++ {
		e, err := d.Decode(fmt.Appendf(nil, `{"protocol":"mcpx/v0.1","id":"e%d","ts":"x","from":"bob","to":["fs"],"kind":"mcp/request:tools/call",`+
			`"payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a"}}}}`, n))
		if err != nil {
			b.Fatal(err)
		}
		s.Received(&e)
		s.Flush()
		m, err := jsonrpc.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, n), jsonrpc.Passed)
		if err != nil {
			b.Fatal(err)
		}
		s.Handle(engine.ServerSaid{Message: m})
		s.Flush()
	}
	if told < 2*b.N {
		b.Errorf("%d records of %d calls", told, b.N)
	}
}
