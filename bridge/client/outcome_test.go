package client_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
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

// A yes to a bridge that had left was said to be sent, and to have allowed the call, and nobody heard it.
func TestAnAnswerCountsOnceItsAskerIsBack(t *testing.T) {
	r := newRoom(t)
	s := &client.ApprovalInbox{}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	moves, answers := make(chan string, 100), make(chan string, 100)
	await := func(all <-chan string, what string) {
		t.Helper()
		for got := ""; got != what; {
			select {
			case got = <-all:
			case <-ctx.Done():
				t.Fatal("there never was " + what)
			}
		}
	}
	r.join("alice", client.Options{Approvals: s, OnPresence: func(id, event string) { moves <- id + " " + event }})
	fs := r.join("fs", client.Options{})
	if err := fs.Post(wire.Progress, &wire.Envelope{ID: "q1", TS: wire.Stamp(time.Now()), To: []string{"alice"}, Kind: wire.Request, Method: "elicitation/create", Payload: []byte(asksAlice)}); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Ask(ctx, "alice", "ping", nil, nil); err != nil { // once that is answered she has the question
		t.Fatal(err)
	}
	all, _ := s.List(ctx, false)
	id := all[0].ID
	yes := func(*client.Question) []byte { return []byte(`{"action":"accept","content":{"approve":true}}`) }
	fs.Close()
	await(moves, "fs leave")
	_, err := s.Answer(id, yes)
	if f, coded := errors.AsType[*fault.Error](err); !coded || f.Exit != fault.NoAnswer || s.Question(id) == nil {
		t.Errorf("%v, it is open: %t", err, s.Question(id) != nil)
	}
	r.join("fs", client.Options{OnFrame: func(e *wire.Envelope) {
		if e.Kind == wire.Response {
			answers <- fmt.Sprint(e.From, e.Corr)
		}
	}})
	await(moves, "fs join")
	if _, err := s.Answer(id, yes); err != nil {
		t.Fatal(err)
	}
	await(answers, "alice[q1]")
}
