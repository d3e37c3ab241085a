package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func proposal(to string) client.Proposal {
	return client.Proposal{To: to, Tool: "write", Arguments: []byte(`{}`), Offer: wire.Offer{Method: "tools/call"}}
}

// What a participant answers to a request that it makes to itself for our proposal is the
// result, and stands in the table of all that is waited for until then.
func TestAProposalEndsWithTheAnswerOfWhoDoesIt(t *testing.T) {
	r := newRoom(t)
	ann := r.join("ann", client.Options{})
	files := r.serve("files", says("done"))
	w, err := ann.Propose(proposal(""))
	if err != nil {
		t.Fatal(err)
	}
	files.await(t, func(e *wire.Envelope) bool { return e.Kind == wire.Proposal && e.ID == w.ID })
	request := []byte(`{"jsonrpc":"2.0","id":"r1","method":"tools/call","params":{"name":"write","arguments":{}}}`)
	if err := files.Post(wire.Own, &wire.Envelope{ID: "r1", To: []string{"files"}, Kind: wire.Request, Method: "tools/call", Key: "write", Corr: []string{w.ID}, Payload: request}); err != nil {
		t.Fatal(err)
	}
	if err := files.Reply(&wire.Envelope{From: "files", ID: "r1", Method: "tools/call", Key: "write"}, []byte(`{"jsonrpc":"2.0","id":"r1","result":{"content":[]}}`)); err != nil {
		t.Fatal(err)
	}
	got, err := w.Wait(t.Context())
	if err != nil || got.From != "files" || !strings.Contains(string(got.Answer.Result), "content") {
		t.Errorf("%+v, %v", got, err)
	}
}

// Who waits no longer takes the proposal back, and everybody hears it.
func TestAProposalThatNobodyWaitsForIsTakenBack(t *testing.T) {
	r := newRoom(t)
	ann := r.join("ann", client.Options{})
	files := r.serve("files", says("done"))
	w, err := ann.Propose(proposal("files"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(client.ErrNoAnswer)
	if got, err := w.Wait(ctx); !errors.Is(err, client.ErrNoAnswer) || got.Begun {
		t.Errorf("%+v, %v", got, err)
	}
	files.await(t, func(e *wire.Envelope) bool { return e.Kind == wire.Withdraw })
}
