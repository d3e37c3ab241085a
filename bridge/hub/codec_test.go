package hub_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/hub"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A spy is a log in memory that lends everything that passes to seen.
type spy struct{ seen func(*hub.Entry) }

func (s spy) Open(_ string, to hub.Reader) (hub.Feed, error) { return spyFeed{s, to}, nil }

type spyFeed struct {
	spy
	to hub.Reader
}

func (f spyFeed) Publish(e *hub.Entry) {
	f.seen(e)
	f.to.Deliver(e)
}

func (spyFeed) Close() {}

// sayAll has two participants, of two dialects, say everything that an entry can carry.
func sayAll(t testing.TB, h *hub.Hub) {
	guestOf := func(id, protocol string) *hub.Session {
		g, _ := guest(id, 1)
		g.Dialect, _ = wire.Lookup(protocol)
		s, err := h.Join(t.Context(), "t", g)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ann, bob := guestOf("ann", "mcpx/v0.1"), guestOf("bob", "mew/v0.4")
	for i, said := range []struct {
		by    *hub.Session
		frame string
	}{
		{ann, `"kind":"chat","payload":{"text":"\u00e4\n","format":"plain"}`},
		{ann, `"to":["bob"],"kind":"mcp/request:tools/call:echo","payload":{"jsonrpc":"2.0","id":"\u0041","method":"tools/call","params":{"name":"echo"}}`},
		{bob, `"to":["ann"],"kind":"mcp/response","correlation_id":["f1"],"payload":{"jsonrpc":"2.0","id":"A","result":{"x":"\ud800"}}`},
		{bob, `"kind":"mcp/request","payload":{"method":"tools/call","params":{"name":"a","Name":"b"}}`},
		{bob, `"kind":"capability/grant","to":["ann"],"payload":{}`},
		{ann, `"kind":"mcp/proposal:tools/call:echo","to":["bob"],"payload":{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}`},
		{bob, `"kind":"mcp/reject","correlation_id":["f5"],"payload":{"reason":"policy"}`},
	} {
		frame := fmt.Sprintf(`{"protocol":%q,"id":"f%d","ts":"2026-01-02T03:04:05Z","from":%q,`+"\n%s}",
			map[*hub.Session]string{ann: "mcpx/v0.1", bob: "mew/v0.4"}[said.by], i, said.by.ID(), said.frame)
		if err := said.by.Ingest([]byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	ann.Leave()
}

// An entry that was written down and read again is the same, before it is delivered and, as a
// history has it, after.
func TestAnEntryIsReadAsItWasWritten(t *testing.T) {
	kinds := map[string]int{}
	same := func(e *hub.Entry) {
		b := e.Append(nil)
		again, err := hub.ReadEntry(bytes.Clone(b))
		if err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		if !bytes.Equal(again.Append(nil), b) || again.Kind != e.Kind || !again.At.Equal(e.At) || again.Dialect != e.Dialect {
			t.Errorf("%s\nbecame\n%s", b, again.Append(nil))
		}
		if !reflect.DeepEqual(again.Envelope, e.Envelope) || !reflect.DeepEqual(again.Recalled, e.Recalled) {
			t.Errorf("%+v %+v\nbecame\n%+v %+v", e.Envelope, e.Recalled, again.Envelope, again.Recalled)
		}
		kinds[fmt.Sprint(e.Kind, e.Envelope.Kind, e.Who != nil)]++
	}
	h := open(hub.Options{Log: spy{same}, History: func(string) hub.History { return scroll{same} }})
	defer h.Close()
	sayAll(t, h)
	if len(kinds) < 12 {
		t.Errorf("only these were written: %v", kinds)
	}
}

// scroll is a history that lends what it is to keep.
type scroll struct{ seen func(*hub.Entry) }

func (s scroll) Add(e *hub.Entry)                                 { s.seen(e) }
func (s scroll) Before(string, int) (all []*hub.Entry, err error) { return nil, nil }

// FuzzReadEntry: whatever is read can be written and read again as the same, and a hub takes it.
func FuzzReadEntry(f *testing.F) {
	h := open(hub.Options{Log: spy{func(e *hub.Entry) { f.Add(e.Append(nil)) }}})
	sayAll(f, h)
	h.Close()
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := hub.ReadEntry(bytes.Clone(b))
		if err != nil {
			return
		}
		once := e.Append(nil)
		again, err := hub.ReadEntry(slices.Clone(once))
		if err != nil || !bytes.Equal(again.Append(nil), once) {
			t.Fatalf("%v: %s\nbecame\n%s", err, b, once)
		}
		log := piles{}
		h := open(hub.Options{Log: instant{log}})
		defer h.Close()
		who, _ := guest("zoe", 1)
		if _, err := h.Join(t.Context(), "t", who); err != nil {
			t.Fatal(err)
		}
		log["t"].to.Deliver(again)
	})
}
