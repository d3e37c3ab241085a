package client_test

import (
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// post sends what the class and the envelope say, with a payload.
func post(t *testing.T, c *client.Client, class wire.Class, e wire.Envelope, payload string) {
	t.Helper()
	if e.ID == "" {
		e.ID = rand.Text()
	}
	e.TS, e.Payload = wire.Stamp(time.Now()), []byte(payload)
	if e.Kind != wire.Reject {
		m, err := jsonrpc.Parse(e.Payload, jsonrpc.Called)
		if err != nil {
			t.Error(err)
		}
		e.Message = m
	}
	if err := c.Post(class, &e); err != nil {
		t.Error(err)
	}
}

// Everybody sees the envelope id of a call. Who made another call of the same server under that
// id gave the caller her answer, and her progress.
func TestAnAnswerToAnotherCallerUnderOurIDIsNotOurs(t *testing.T) {
	r := newRoom(t)
	var ours *wire.Envelope
	mallory := r.join("mallory", client.Options{})
	r.serve("files", func(s *server, e *wire.Envelope) {
		if e.From == "ann" {
			ours = e
			if err := mallory.Begin(client.Request{ID: e.ID, To: "files", Method: "tools/call", Params: []byte(`{"name":"read","arguments":{}}`), Done: func(client.Answer) {}}); err != nil {
				t.Error(err)
			}
			return
		}
		post(t, s.Client, wire.Progress, wire.Envelope{To: []string{"mallory"}, Kind: wire.Notification, Method: "notifications/progress"},
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"`+e.ID+`","progress":1}}`)
		says("forged")(s, e)
		says("true")(s, ours)
	})
	ann := r.join("ann", client.Options{})
	a, err := ann.Call(t.Context(), "files", "write", []byte(`{}`), func(params []byte) { t.Errorf("the progress of another: %s", params) })
	if err != nil || !strings.Contains(string(a.Result), `"text":"true"`) {
		t.Errorf("%s, %v", a.Result, err)
	}
}

// An answer may go to others beside the caller, and to everybody.
func TestAnAnswerToUsAndOthersIsOurs(t *testing.T) {
	r := newRoom(t)
	r.join("bob", client.Options{})
	ann := r.join("ann", client.Options{})
	var to []string
	r.serve("files", func(s *server, e *wire.Envelope) {
		post(t, s.Client, wire.Reply, wire.Envelope{To: to, Corr: []string{e.ID}, Kind: wire.Response, Method: e.Method, Key: e.Key},
			string(jsonrpc.AppendResult(nil, e.Message.Get(jsonrpc.ID), []byte(`{"content":[]}`))))
	})
	for _, to = range [][]string{{"bob", "ann"}, nil} {
		if a, err := ann.Call(t.Context(), "files", "write", []byte(`{}`), nil); err != nil || string(a.Result) != `{"content":[]}` {
			t.Errorf("to %q: %s, %v", to, a.Result, err)
		}
	}
}

// What is said to somebody else under the id of our proposal, or of a request for it, is said of
// something of theirs: of another call, or of a proposal that they made under our id.
func TestWordsToAnotherUnderTheIDOfOurProposalAreNotOfIt(t *testing.T) {
	read := func(t *testing.T, files *server, id string) {
		e := &wire.Envelope{From: "mallory", ID: id, Method: "tools/call", Key: "read"}
		if err := files.Reply(e, []byte(`{"jsonrpc":"2.0","id":"m","result":{"forged":true}}`)); err != nil {
			t.Error(err)
		}
	}
	for name, attack := range map[string]func(t *testing.T, files *server, proposal string){
		"an answer to a call under the proposal's id": read,
		"an answer to a call under the request's id":  func(t *testing.T, files *server, _ string) { read(t, files, "r1") },
		"a reject": func(t *testing.T, files *server, id string) {
			post(t, files.Client, wire.Reply, wire.Envelope{To: []string{"mallory"}, Corr: []string{id}, Kind: wire.Reject}, `{"reason":"policy"}`)
		},
		"that people agreed": func(t *testing.T, files *server, id string) {
			post(t, files.Client, wire.Notice, wire.Envelope{To: []string{"mallory"}, Kind: wire.Notification, Method: "notifications/mcpx/approved"},
				`{"jsonrpc":"2.0","method":"notifications/mcpx/approved","params":{"proposalId":"`+id+`","message":"allowed by vera"}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.join("mallory", client.Options{})
			ann := r.join("ann", client.Options{})
			files := r.serve("files", says("done"))
			var said []string
			p := proposal("files")
			p.Say = func(words string) { said = append(said, words) }
			w, err := ann.Propose(p)
			if err != nil {
				t.Fatal(err)
			}
			files.await(t, func(e *wire.Envelope) bool { return e.Kind == wire.Proposal && e.ID == w.ID })
			begin := func() {
				post(t, files.Client, wire.Own, wire.Envelope{ID: "r1", To: []string{"files"}, Kind: wire.Request, Method: "tools/call", Key: "write", Corr: []string{w.ID}},
					`{"jsonrpc":"2.0","id":"r1","method":"tools/call","params":{"name":"write","arguments":{}}}`)
			}
			if strings.Contains(name, "request's") {
				begin()
				attack(t, files, w.ID)
			} else {
				attack(t, files, w.ID)
				begin()
			}
			if err := files.Reply(&wire.Envelope{From: "ann", ID: "r1", Method: "tools/call", Key: "write"}, []byte(`{"jsonrpc":"2.0","id":"r1","result":{"true":true}}`)); err != nil {
				t.Fatal(err)
			}
			got, err := w.Wait(t.Context())
			if err != nil || string(got.Answer.Result) != `{"true":true}` || !slices.Equal(said, []string{"files does it"}) {
				t.Errorf("%s, %v, told %q", got.Answer.Result, err, said)
			}
		})
	}
}

// Who has a proposal of ours done by another may be the only one who is answered.
func TestAnAnswerToWhoHasOurProposalDoneIsTheResult(t *testing.T) {
	r := newRoom(t)
	ann, carol := r.join("ann", client.Options{}), r.join("carol", client.Options{})
	r.serve("files", says("done"))
	w, err := ann.Propose(proposal(""))
	if err != nil {
		t.Fatal(err)
	}
	post(t, carol, wire.Own, wire.Envelope{ID: "r1", To: []string{"files"}, Kind: wire.Request, Method: "tools/call", Key: "write", Corr: []string{w.ID}},
		`{"jsonrpc":"2.0","id":"r1","method":"tools/call","params":{"name":"write","arguments":{}}}`)
	if got, err := w.Wait(t.Context()); err != nil || got.From != "files" || !strings.Contains(string(got.Answer.Result), "done") {
		t.Errorf("%+v, %v", got, err)
	}
}

// A stock participant numbers what it asks each of us from 1: that it wants no answer of bob any
// more, or that others agreed to what it asks him, says nothing of what it asks alice.
func TestWhatAnAskerTellsAnotherEndsNoQuestionOfOurs(t *testing.T) {
	r := newRoom(t)
	asked := &client.ApprovalInbox{}
	r.join("bob", client.Options{})
	r.join("alice", client.Options{Approvals: asked})
	files := r.join("files", client.Options{})
	post(t, files, wire.Question, wire.Envelope{To: []string{"alice"}, Kind: wire.Request, Method: "elicitation/create"},
		`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean"}}},`+
			`"metadata":{"elicitationType":"tool_approval","timeout":60,"originalRequest":{"from":"bob","tool":"rm","arguments":{},"envelopeId":"e7"}}}}`)
	post(t, files, wire.Cancellation, wire.Envelope{To: []string{"bob"}, Kind: wire.Notification, Method: "notifications/cancelled"},
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if _, err := files.Ask(t.Context(), "alice", "ping", nil, nil); err != nil {
		t.Fatal(err)
	}
	if all, err := asked.List(t.Context(), false); err != nil || len(all) != 1 {
		t.Errorf("%d questions are open, %v", len(all), err)
	}
}
