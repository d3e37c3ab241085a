package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
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

// waiting has a server say of a proposal of ann's that people decide about it.
func (s *server) waiting(t *testing.T, of string, w *client.ProposalWait) {
	t.Helper()
	payload := []byte(`{"jsonrpc":"2.0","method":"notifications/mcpx/waiting","params":{"proposalId":"` + w.ID +
		`","message":"m","_meta":{"mcpx/approval":{"waiting":true,"digest":"9d1a91e4","of":["` + of + `"],"left_ms":60000}}}}`)
	if err := s.Post(wire.Notice, &wire.Envelope{ID: of + "-" + w.ID, TS: wire.Stamp(time.Now()), To: []string{"ann"}, Kind: wire.Notification, Method: "notifications/mcpx/waiting", Payload: payload}); err != nil {
		t.Fatal(err)
	}
}

// Whose proposal people decide about reads who, from whom it is put to alone, and learns that
// nothing ran if it gives up before they have.
func TestAProposalWaitsForWhoDecides(t *testing.T) {
	r := newRoom(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ann := r.join("ann", client.Options{})
	mallory, files := r.serve("mallory", says("done")), r.serve("files", says("done"))
	var told []string
	p := proposal("files")
	p.Limit = client.Limit{Time: time.Minute, Waits: func(w refusal.Waiting) {
		if w.Digest != "" {
			told = append(told, w.Words(time.Now())[:len("waiting for approval by carol")])
			cancel()
		}
	}}
	w, err := ann.Propose(p)
	if err != nil {
		t.Fatal(err)
	}
	e := files.await(t, func(e *wire.Envelope) bool { return e.Kind == wire.Proposal && e.ID == w.ID })
	if !strings.Contains(string(e.Message.Raw), `"hears_waiting":true`) {
		t.Errorf("nobody knows that it reads who decides: %s", e.Message.Raw)
	}
	mallory.waiting(t, "mallory", w)
	files.await(t, func(e *wire.Envelope) bool { return e.Method == "notifications/mcpx/waiting" })
	files.waiting(t, "carol", w)
	_, err = w.Wait(ctx)
	undecided, is := errors.AsType[*client.UndecidedError](err)
	if !is || undecided.Error() != "nobody decided about write; the question is withdrawn, nothing ran" || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if len(told) != 1 || told[0] != "waiting for approval by carol" {
		t.Errorf("told %q", told)
	}
}

// What began at the moment at which it was given up may be done yet, and is not said to be undone.
func TestAProposalThatBeganAsItWasGivenUpMayBeDone(t *testing.T) {
	r := newRoom(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ann, files := r.join("ann", client.Options{}), r.serve("files", says("done"))
	p := proposal("files")
	p.Limit = client.Limit{Time: time.Minute, Waits: func(w refusal.Waiting) {
		if w.Digest == "" {
			cancel()
		}
	}}
	w, err := ann.Propose(p)
	if err != nil {
		t.Fatal(err)
	}
	files.await(t, func(e *wire.Envelope) bool { return e.Kind == wire.Proposal && e.ID == w.ID })
	files.waiting(t, "carol", w)
	request := []byte(`{"jsonrpc":"2.0","id":"r1","method":"tools/call","params":{"name":"write","arguments":{}}}`)
	if err := files.Post(wire.Own, &wire.Envelope{ID: "r1", To: []string{"files"}, Kind: wire.Request, Method: "tools/call", Key: "write", Corr: []string{w.ID}, Payload: request}); err != nil {
		t.Fatal(err)
	}
	given, err := w.Wait(ctx)
	if _, is := errors.AsType[*client.UndecidedError](err); is || !given.Begun || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", given, err)
	}
}

// A refusal reads alike to who calls and to who proposes.
func TestARejectionReadsAsTheRefusalOfACall(t *testing.T) {
	for _, c := range []struct {
		said client.Rejection
		want string
	}{
		{client.Rejection{From: "fs", Reason: "policy", Detail: "policy_denied", Say: "No."}, "fs refused write, it did not run: the owner's policy does not allow write (policy_denied); its owner says: No."},
		{client.Rejection{From: "fs", Reason: "timeout", Detail: "expired"}, "fs did not run write: nobody decided about write in time (expired)"},
		{client.Rejection{From: "fs", Reason: "disagree", Detail: "declined", By: "local"}, "fs refused write, it did not run: the call of write was declined by the person at the bridge (declined)"},
		{client.Rejection{From: "fs", Reason: "invalid", Detail: "invalid_arguments: the arguments of write are not as its schema has them: property text is missing"},
			"fs did not run write: the arguments of write are not as its schema has them: property text is missing (invalid_arguments)"},
		{client.Rejection{From: "fs", Reason: "policy", Detail: "no_approver: 2 must agree about write, and only ann is here"}, "fs refused write, it did not run: 2 must agree about write, and only ann is here (no_approver)"},
		{client.Rejection{From: "stock", Reason: "busy"}, "stock refused it: busy"},
		{client.Rejection{From: "stock", Reason: "policy", Detail: "not today"}, "stock refused it: policy (not today)"},
		{client.Rejection{From: "stock", Detail: "invalid_arguments"}, "stock refused it: no reason given (invalid_arguments)"},
	} {
		if got := c.said.Words("write"); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
