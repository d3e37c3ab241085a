package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// What we keep open of the questions of one participant, so that nobody fills our
// memory, and nobody another's share of it (FINDINGS L3). What one of our bridges
// asks has some 20 KiB at most.
const (
	maxElicited      = 100     // questions
	maxElicitedBytes = 1 << 20 // bytes of their params as they came
	maxElicitedKept  = 8 << 20 // about how many bytes the lists in them take, see [approval.Elicited.Kept]
)

// Me is our id as the gateway has it, "" before the first welcome.
func (s *ApprovalInbox) Me() string { return s.c.Me() }

// Status and the following are those of an inbox.Inbox.
func (s *ApprovalInbox) Status(context.Context) (inbox.Status, error) {
	url, _ := s.c.connector.Where()
	return inbox.Status{ID: s.c.connector.Join.ID, Topic: s.c.connector.Join.Topic, Gateway: url, Dialect: s.c.Dialect().Protocol, Seated: s.Me() != "",
		Pending: len(s.all()), Audit: "off", Participant: true, PID: os.Getpid(), Version: s.c.opt.Version}, nil
}

// List returns the open questions, oldest first; args says whether with the arguments. It
// never fails.
func (s *ApprovalInbox) List(_ context.Context, args bool) ([]approval.Summary, error) {
	list := []approval.Summary{}
	for _, a := range s.all() {
		q := a.View.Summary
		if !args {
			q.Args, q.Beside = nil, nil
		}
		list = append(list, q)
	}
	return list, nil
}

// Show returns the one open question whose id begins with prefix. Its error is an [*inbox.Refusal].
func (s *ApprovalInbox) Show(_ context.Context, prefix string) (approval.View, error) {
	var found []*Question
	for _, a := range s.all() {
		if strings.HasPrefix(a.View.ID, prefix) {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		return approval.View{}, &inbox.Refusal{Reason: inbox.Unknown}
	}
	v := found[0].View
	v.DelegateTo = s.Delegates(found[0])
	return v, nil
}

// Grants returns none: whoever asks keeps them.
func (s *ApprovalInbox) Grants(context.Context) ([]inbox.Grant, error) { return nil, nil }

// Revoke reports false: there is no grant here to take back.
func (s *ApprovalInbox) Revoke(context.Context, string) (bool, error) { return false, nil }

// Delegates are those to whom a question may be passed on, of those who are in the topic now;
// nil if to nobody.
func (s *ApprovalInbox) Delegates(a *Question) (ids []string) {
	if !a.Delegate {
		return nil
	}
	for _, p := range s.c.Others() {
		if p.ID != a.From && text.Line(p.ID) != a.View.From && (len(a.DelegateTo) == 0 || slices.Contains(a.DelegateTo, p.ID)) {
			ids = append(ids, text.Line(p.ID))
		}
	}
	for _, name := range []string{"local", "host"} { // whom the asker alone can reach
		if slices.Contains(a.DelegateTo, name) {
			ids = append(ids, name)
		}
	}
	return ids
}

// Decide sends the answer as it is to whoever asked. What comes of it is told by a second
// `closed` Event where they say so (see [inbox.Answered]). The error is an [*inbox.Refusal] if
// nothing of that id and digest is open. After any other the question stays: one of
// [Client.Post], that whoever asks has left the topic, or that another answer is being sent.
func (s *ApprovalInbox) Decide(_ context.Context, d inbox.Decision) (inbox.Outcome, error) {
	shown := func(a *Question) bool { return d.Digest == a.View.Digest || d.Digest == a.View.Short }
	return s.answer(d.ID, shown, func(*Question) []byte { return d.Result })
}

// Answer answers a question, with the result that is made for it, and takes it away. It
// is taken first, so that no question is answered twice; if the answer cannot be sent it
// is put back, unless it has ended meanwhile. Its errors are those of Decide.
func (s *ApprovalInbox) Answer(id string, result func(*Question) []byte) (inbox.Outcome, error) {
	return s.answer(id, func(*Question) bool { return true }, result)
}

func (s *ApprovalInbox) answer(id string, shown func(*Question) bool, result func(*Question) []byte) (inbox.Outcome, error) {
	a, answer, err := s.takeToAnswer(id, shown)
	if err != nil {
		return inbox.Outcome{}, err
	}
	err = s.c.Reply(&wire.Envelope{From: a.From, ID: a.env, Method: "elicitation/create"}, jsonrpc.AppendResult(nil, a.rpc, result(a)))
	if err != nil {
		if ended := s.putBack(a, answer); ended != "" {
			s.Post(inbox.Event{Event: "closed", ID: id, Because: ended})
			err = &inbox.Refusal{Reason: inbox.Unknown}
		}
		return inbox.Outcome{}, err
	}
	s.Post(inbox.Event{Event: "closed", ID: id, Because: inbox.Answered})
	s.wasSent(answer)
	return inbox.Outcome{Outcome: inbox.Sent}, nil
}

// takeToAnswer takes a question away and keeps that it is being answered: the asker may say how
// it ended before we have said that our answer was sent. shown reports whether it is the one that
// was answered. Its errors are those of Decide.
func (s *ApprovalInbox) takeToAnswer(id string, shown func(*Question) bool) (*Question, *sentAnswer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := func(a *Question) bool { return a.View.ID == id }
	switch i := slices.IndexFunc(s.open, is); {
	case i >= 0 && !shown(s.open[i]):
		return nil, nil, &inbox.Refusal{Reason: inbox.DigestMismatch}
	case i >= 0 && s.open[i].away:
		return nil, nil, fault.New(fault.NoAnswer, "answer again when it is back", "%s has left the topic, and would not hear it", s.open[i].View.Bridge)
	case i < 0 && slices.ContainsFunc(s.sent, func(other *sentAnswer) bool { return other.id == id && !other.told }):
		return nil, nil, errInHand
	case i < 0:
		return nil, nil, &inbox.Refusal{Reason: inbox.Unknown}
	}
	a := s.takeLocked(is)
	answer := &sentAnswer{id: a.View.ID, from: a.From, rpc: a.rpc}
	s.sent = append(s.sent[max(len(s.sent)-maxElicited+1, 0):], answer)
	return a, answer, nil
}

// setAway keeps whether a participant has left the topic: who has would hear no answer.
func (s *ApprovalInbox) setAway(id string, away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.open {
		if a.From == id {
			a.away = away
		}
	}
}

// takeRoster keeps who of the askers is away, by the roster of a new seat. Without one, as some
// gateways give none, everybody counts as here.
func (s *ApprovalInbox) takeRoster(peers []wire.Participant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.open {
		a.away = len(peers) > 0 && !slices.ContainsFunc(peers, func(p wire.Participant) bool { return p.ID == a.From })
	}
}

func (s *ApprovalInbox) wasSent(answer *sentAnswer) {
	s.mu.Lock()
	answer.told = true
	because := answer.because
	s.mu.Unlock()
	if because != "" {
		s.ended(answer, because)
	}
}

// outcome hears how a question ended that was answered here.
func (s *ApprovalInbox) outcome(because, from string, rpc []byte) {
	s.mu.Lock()
	i := slices.IndexFunc(s.sent, func(a *sentAnswer) bool { return a.from == from && bytes.Equal(a.rpc, rpc) })
	if i < 0 {
		s.mu.Unlock()
		return
	}
	answer := s.sent[i]
	answer.because = because
	told := answer.told
	s.mu.Unlock()
	if told {
		s.ended(answer, because)
	}
}

// ended says how a question ended that was answered here, once.
func (s *ApprovalInbox) ended(answer *sentAnswer, because string) {
	if s.forget(answer) {
		s.Post(inbox.Event{Event: "closed", ID: answer.id, Because: because})
	}
}

func (s *ApprovalInbox) forget(answer *sentAnswer) (had bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forgetLocked(answer)
}

func (s *ApprovalInbox) forgetLocked(answer *sentAnswer) (had bool) {
	n := len(s.sent)
	s.sent = slices.DeleteFunc(s.sent, func(a *sentAnswer) bool { return a == answer })
	return len(s.sent) < n
}

// putBack opens a question again whose answer could not be sent. If it has ended since it was
// taken it stays away, and putBack says why.
func (s *ApprovalInbox) putBack(a *Question, answer *sentAnswer) (ended string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLocked(answer)
	switch {
	case answer.because != "":
		return takenBack(answer.because)
	case slices.ContainsFunc(s.open, func(other *Question) bool { return other.Key == a.Key }):
		return putAgain
	}
	s.open = append(s.open, a)
	a.timer.Reset(time.Until(a.View.Deadline))
	return ""
}

// Question is the open question of that id, nil if there is none.
func (s *ApprovalInbox) Question(id string) *Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.open, func(a *Question) bool { return a.View.ID == id }); i >= 0 {
		return s.open[i]
	}
	return nil
}

func (s *ApprovalInbox) all() []*Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.open)
}

// take takes a question away.
func (s *ApprovalInbox) take(is func(*Question) bool) *Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeLocked(is)
}

func (s *ApprovalInbox) takeLocked(is func(*Question) bool) *Question {
	i := slices.IndexFunc(s.open, is)
	if i < 0 {
		return nil
	}
	a := s.open[i]
	s.open = slices.Delete(s.open, i, i+1)
	a.timer.Stop()
	return a
}

// end takes a question away, and says why.
func (s *ApprovalInbox) end(why string, is func(*Question) bool) {
	if a := s.take(is); a != nil {
		s.Post(inbox.Event{Event: "closed", ID: a.View.ID, Because: why})
		if s.Closed != nil {
			s.Closed(a.View.ID)
		}
	}
}

// takeRequest takes a request to the client, and reports false if it is none for the inbox.
func (s *ApprovalInbox) takeRequest(e *wire.Envelope) bool {
	id := bytes.Clone(e.Message.Get(jsonrpc.ID))
	switch e.Method {
	case "initialize":
		s.c.Reply(e, jsonrpc.AppendResult(nil, id, s.initializeResult(e)))
	case "elicitation/create":
		if err := s.takeQuestion(e, id); err != nil {
			s.c.Reply(e, jsonrpc.AppendError(nil, id, refusal.CodeInvalidParams, err.Error(), nil))
		}
	default:
		return false
	}
	return true
}

// initializeResult answers initialize, in the revision of the request: it declares
// elicitation.
func (s *ApprovalInbox) initializeResult(e *wire.Envelope) []byte {
	said := rawjson.At(e.Message.Get(jsonrpc.Params), "/protocolVersion")
	if said == nil {
		said = []byte(revision)
	}
	return slices.Concat([]byte(`{"protocolVersion":`), said, []byte(`,"capabilities":{"elicitation":{}},"serverInfo":{"name":"mcpx-bridge","version":`),
		jsonrpc.AppendQuote(nil, s.c.opt.Version), []byte(`}}`))
}

// putAgain is why a question ended that has another in its place.
const putAgain = "it was put again"

var (
	errTooMany = errors.New("too many questions of yours are open already")
	errInHand  = errors.New("another answer to it is just being sent")
)

// takeQuestion takes a question. If the same participant puts it again, it replaces the
// first: an answer counts only for what was put last (RELIABILITY AI-22).
func (s *ApprovalInbox) takeQuestion(e *wire.Envelope, id []byte) error {
	params := e.Message.Get(jsonrpc.Params)
	if len(params) > maxElicitedBytes {
		return fmt.Errorf("a question may have %d bytes", maxElicitedBytes)
	}
	q, err := approval.Elicit(time.Now(), e.From, e.To[0], params)
	if err != nil {
		return err
	}
	q.View.ID = newID()
	a := &Question{Elicited: *q, From: e.From, env: e.ID, rpc: id, bytes: len(params)}
	is := func(other *Question) bool { return other.View.ID == a.View.ID }
	s.end(putAgain, func(other *Question) bool { return other.Key == a.Key })
	if !s.add(a, is) {
		return errTooMany
	}
	s.Post(inbox.Event{Event: "asked", ID: a.View.ID})
	if s.Opened == nil {
		return nil
	}
	s.Opened(a)
	if s.Question(a.View.ID) == nil && s.Closed != nil {
		s.Closed(a.View.ID) // it ended meanwhile, and that may have been heard before
	}
	return nil
}

// add reports false if whoever asks has too many open.
func (s *ApprovalInbox) add(a *Question, is func(*Question) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.fits(a) {
		return false
	}
	a.timer = time.AfterFunc(time.Until(a.View.Deadline), func() { s.end("time is up", is) })
	s.open = append(s.open, a)
	return true
}

// fits reports whether a question, or what has become of one, has room beside the others of whoever
// asks. s.mu must be held.
func (s *ApprovalInbox) fits(a *Question) bool {
	n, bytes, kept := 1, a.bytes, a.Kept()
	for _, other := range s.open {
		if other.From == a.From && other.View.ID != a.View.ID {
			n, bytes, kept = n+1, bytes+other.bytes, kept+other.Kept()
		}
	}
	return n <= maxElicited && bytes <= maxElicitedBytes && kept <= maxElicitedKept
}

// agreed hears that somebody else has agreed to what is still open here.
func (s *ApprovalInbox) agreed(e *wire.Envelope) {
	if e.Kind != wire.Notification || e.Method != engine.Agreed {
		return
	}
	params := e.Message.Get(jsonrpc.Params)
	rpc := e.Message.Get(jsonrpc.RequestID)
	s.mu.Lock()
	i := slices.IndexFunc(s.open, func(a *Question) bool { return a.From == e.From && bytes.Equal(a.rpc, rpc) })
	if i < 0 {
		s.mu.Unlock()
		return
	}
	now := *s.open[i] // whoever has the old one reads it without the lock
	view, said := now.View.Tallied(params)
	now.View = view
	if said = said && s.fits(&now); said {
		s.open[i] = &now
	}
	s.mu.Unlock()
	if said {
		s.Post(inbox.Event{Event: "changed", ID: view.ID})
	}
}

// cancelled hears that whoever asked wants no answer any more.
func (s *ApprovalInbox) cancelled(e *wire.Envelope) {
	if e.Kind != wire.Notification || e.Method != "notifications/cancelled" {
		return
	}
	id := e.Message.Get(jsonrpc.RequestID)
	is := func(a *Question) bool { return a.From == e.From && bytes.Equal(a.rpc, id) }
	reason, _ := jsonrpc.Unquote(rawjson.At(e.Message.Get(jsonrpc.Params), "/reason"))
	reason = fmt.Sprintf("%.200s", reason)
	reason = cmp.Or(reason, withdrawn)
	s.outcome(reason, e.From, id)
	s.end(takenBack(reason), is)
}

const withdrawn = "withdrawn"

// takenBack is why a question ended, by what its asker says of that.
func takenBack(reason string) string {
	if reason == withdrawn || approval.Ours(reason) {
		return reason
	}
	return withdrawn + ": " + reason
}
