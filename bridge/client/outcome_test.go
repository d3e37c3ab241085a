package client_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

const asksAlice = `{"jsonrpc":"2.0","id":"1","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean"}}},` +
	`"metadata":{"elicitationType":"tool_approval","timeout":60,"originalRequest":{"from":"bob","tool":"rm","arguments":{},"envelopeId":"e7"}}}}`

// The asker's word came before ours that the answer was sent, and was lost.
func TestAnOutcomeThatComesAtOnceIsHeardAfterTheAnswer(t *testing.T) {
	r := newRoom(t)
	s := &client.ApprovalInbox{}
	defer s.Close()
	r.join("alice", client.Options{Approvals: s})
	fs := r.join("fs", client.Options{})
	puts := func(id string, kind wire.Kind, method, payload string) {
		err := fs.Post(wire.Progress, &wire.Envelope{ID: id, TS: wire.Stamp(time.Now()), To: []string{"alice"}, Kind: kind, Method: method, Payload: []byte(payload)})
		if err != nil {
			t.Error(err)
		}
	}
	takesBack := func(*client.Question) []byte {
		puts("c1", wire.Notification, "notifications/cancelled", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1","reason":"allowed by carol"}}`)
		if _, err := fs.Ask(t.Context(), "alice", "ping", nil, nil); err != nil { // once that is answered she has heard the rest
			t.Error(err)
		}
		return []byte(`{"action":"accept","content":{"approve":true}}`)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var heard []string
	for e := range s.Watch(ctx) {
		if heard = append(heard, e.Event+" "+e.Because); e == (inbox.Event{}) {
			puts("q1", wire.Request, "elicitation/create", asksAlice)
		} else if e.Event == "asked" {
			if _, err := s.Answer(e.ID, takesBack); err != nil {
				t.Fatal(err)
			}
		} else if len(heard) == 4 {
			break
		}
	}
	if want := "[  asked  closed answered closed allowed by carol]"; fmt.Sprint(heard) != want {
		t.Errorf("%q, want %s", heard, want)
	}
}
