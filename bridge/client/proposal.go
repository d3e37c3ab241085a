package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// What is remembered of one proposal. More than one request for it by anybody
// is rare, and more than these is noise.
const (
	maxAttempts = 16   // of one participant
	maxRefused  = 1024 // participants; those who alone might do it come on top
	MaxSayings  = 256  // sentences that Proposal.Say gets about one proposal
)

// How a proposal ends beside being done.
var (
	ErrRejected = errors.New("nobody will do it")       // who alone could, or everybody here
	ErrLapsed   = errors.New("nobody began it in time") // in the time that the proposal gives
)

// Propose sends a proposal. Its errors are those of [Client.Post]: [wire.ErrInexpressible]
// where the topic's dialect has no word for proposals. Wait must be called on what it returns.
func (c *Client) Propose(p Proposal) (*ProposalWait, error) {
	p.Offer.Params = p.Arguments
	if p.key() != "" {
		p.Offer.Params = slices.Concat([]byte(`{"name":`), jsonrpc.AppendQuote(nil, p.Tool), []byte(`,"arguments":`), p.Arguments, []byte(`}`))
	}
	if p.Say == nil {
		p.Say = func(string) {}
	}
	p.Offer.HearsWaiting = p.Limit.Time > 0
	w := &ProposalWait{Proposal: p, ID: newID(), c: c, done: make(chan Result, 1), late: make(chan struct{}, 1), gaps: c.gapsSoFar(), agreed: map[string]string{}}
	w.limitTime()
	e := wire.Envelope{ID: w.ID, Kind: wire.Proposal, Style: p.Style, Method: p.Offer.Method, Key: p.key(), Payload: p.Offer.Payload(), TS: wire.Stamp(time.Now())}
	if p.To != "" {
		e.To = []string{p.To}
		c.pending.add(&pendingAnswer{env: w.ID, to: p.To, by: p.To, proposal: w, forProposal: true})
	}
	c.mu.Lock()
	c.proposals = append(c.proposals, w)
	c.mu.Unlock()
	if err := c.Post(wire.Own, &e); err != nil {
		w.forget()
		return nil, err
	}
	return w, nil
}

// key is what a proposal of a call names in its kind, "" for another method.
func (p *Proposal) key() string {
	if p.Offer.Method == "tools/call" {
		return p.Tool
	}
	return ""
}

// Withdraw takes a proposal of ours back, by its id, also one of an earlier seat under our id.
// What has begun is not undone. Its errors are those of [Client.Post].
func (c *Client) Withdraw(proposal, reason string, style wire.Style) error {
	return c.Post(wire.Cancellation, &wire.Envelope{ID: newID(), Kind: wire.Withdraw, Style: style, TS: wire.Stamp(time.Now()),
		Corr: []string{proposal}, Payload: wire.Ending{Reason: reason}.Payload()})
}

func (w *ProposalWait) forget() {
	if w.decision != nil {
		w.decision.end()
	}
	w.c.mu.Lock()
	w.c.proposals = slices.DeleteFunc(w.c.proposals, func(other *ProposalWait) bool { return other == w })
	w.c.mu.Unlock()
	w.c.pending.drop(func(a *pendingAnswer) bool { return a.proposal == w })
}

// open are the proposals that are waited for.
func (c *Client) open() []*ProposalWait {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.proposals)
}

// Wait ends with the first result, and is called once. Who gives up first, by the end of
// ctx, of its Limit or of the time that the proposal gives, takes the proposal back. The error
// is [ErrRejected], [ErrLapsed], [ErrNoAnswer], the cause of ctx, the gateway's word, or why the
// seat was given up, and an [*UndecidedError] where one of the last but one comes while people
// decide. That a tool or a participant answered with an error is in Result.Answer.
func (w *ProposalWait) Wait(ctx context.Context) (Result, error) {
	defer w.forget()
	var lapse <-chan time.Time
	if w.Offer.TTL > 0 {
		timer := time.NewTimer(w.Offer.TTL)
		defer timer.Stop()
		lapse = timer.C
	}
	for {
		select {
		case r := <-w.done:
			return r, r.err
		case <-w.late:
			return w.giveUp(ErrNoAnswer, "timeout")
		case <-w.c.ended:
			return w.giveUp(w.c.Err(), "")
		case <-lapse:
			if !w.begun() { // for those who do not know of its ttl, and for those at whom it arrived late
				return w.giveUp(ErrLapsed, "timeout")
			}
			lapse = nil // the result may still come
		case <-ctx.Done():
			reason, cause := "no_longer_needed", context.Cause(ctx)
			if errors.Is(cause, ErrNoAnswer) || errors.Is(cause, context.DeadlineExceeded) {
				reason = "timeout"
			}
			return w.giveUp(cause, reason)
		}
	}
}

// giveUp ends the wait with err, and withdraws the proposal if there is a reason to give. A
// result that came at the same moment still counts.
func (w *ProposalWait) giveUp(err error, reason string) (Result, error) {
	select {
	case r := <-w.done:
		return r, r.err
	default:
	}
	given := Result{Begun: w.begun()}
	if reason != "" {
		given.Kept = w.c.Withdraw(w.ID, reason, w.Style)
	}
	if reason != "" && err != ErrLapsed && !given.Begun && w.undecided() {
		return w.unconfirmed(given, err)
	}
	return given, err
}

// receive takes every frame of the topic, one after the other. Who makes a request for it need
// not tell us; all else counts only if it is said to us.
func (w *ProposalWait) receive(e *wire.Envelope) {
	if e.From == w.c.Me() || e.Kind != wire.Request && !w.c.isToUs(e) {
		return
	}
	switch e.Kind {
	case wire.Reject:
		w.rejected(e)
	case wire.Request:
		w.attempted(e)
	case wire.Failure:
		w.notPassedOn(e)
	case wire.Status, wire.ProposalResponse:
		if no, is := e.AsReject(); is {
			w.rejected(&no) // a no in other words (FINDINGS S5)
		} else {
			w.noteSaying(e)
		}
	case wire.Chat:
		w.noteSaying(e)
	case wire.Notification:
		w.waitsFor(e)
		w.agreedTo(e)
	}
}

// agreedTo says who agreed that somebody does it, and why: by the word of whom it is put
// to, or of who does it, for anybody can send such a notification. Who does it begins
// after that.
func (w *ProposalWait) agreedTo(e *wire.Envelope) {
	if e.Method != engine.Approved {
		return
	}
	var said struct {
		Proposal string `json:"proposalId"`
		Message  string `json:"message"`
	}
	if json.Unmarshal(e.Message.Get(jsonrpc.Params), &said) != nil || said.Proposal != w.ID || said.Message == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.decided(e.From)
	words := e.From + ": " + oneLine([]byte(said.Message))
	switch {
	case e.From == w.To || slices.Contains(w.Offer.Preferred, e.From) || w.hasBegun(e.From):
		w.say(words)
	case w.able() == nil && len(w.agreed) < MaxSayings:
		w.agreed[e.From] = words
	}
}

// hasBegun reports whether a participant has begun to do it.
func (w *ProposalWait) hasBegun(who string) bool {
	return w.attempts(func(a *pendingAnswer) bool { return a.by == who && a.to == who }) > 0
}

// say passes on what somebody says, up to a bound. It is called with the lock held.
func (w *ProposalWait) say(words string) {
	if words == "" || w.over || w.sayings == MaxSayings {
		return
	}
	w.sayings++
	w.Say(words)
}

// rejected notes a reject. It ends the wait only if everybody who may do it has rejected it.
func (w *ProposalWait) rejected(e *wire.Envelope) {
	n, err := e.Ending()
	if err != nil || !slices.Contains(e.Corr, w.ID) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || len(w.refused) >= maxRefused && !slices.Contains(w.able(), e.From) || slices.ContainsFunc(w.refused, func(r Rejection) bool { return r.From == e.From }) {
		return
	}
	w.decided(e.From)
	r := Rejection{e.From, n.Reason, n.Detail, n.Say, n.By}
	w.refused = append(w.refused, r)
	w.dropAttempts(func(a *pendingAnswer) bool { return a.by == e.From && a.to == e.From }) // it began, and came second
	if !w.hopeless() {
		w.Say(r.Words(w.Tool))
		return
	}
	w.end(Result{err: ErrRejected, Rejected: w.refused})
}

// hopeless reports whether all who may serve the proposal have said no. It is
// called with the lock held.
func (w *ProposalWait) hopeless() bool {
	able := w.able()
	if able == nil {
		able = w.present()
	}
	for _, id := range able {
		if !slices.ContainsFunc(w.refused, func(r Rejection) bool { return r.From == id }) {
			return false
		}
	}
	return len(able) > 0 && !w.begun()
}

// participantLeft drops the answers that a participant who has left can no longer give.
func (w *ProposalWait) participantLeft(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.decided(id)
	w.dropAttempts(func(a *pendingAnswer) bool { return a.to == id })
	if !w.over && len(w.refused) > 0 && w.able() == nil && w.hopeless() {
		w.end(Result{err: ErrRejected, Rejected: w.refused})
	}
}

func (w *ProposalWait) dropAttempts(which func(*pendingAnswer) bool) {
	w.c.pending.drop(func(a *pendingAnswer) bool { return a.proposal == w && !a.forProposal && which(a) })
}

// Words says it of a tool in a sentence, in the words of whoever rejects, or as a caller reads it
// of a bridge of ours.
func (r Rejection) Words(tool string) string {
	if h, ours := refusal.HearReject(tool, r.Detail, r.Say, r.By); ours {
		words := h.Sentence(r.From, tool)
		if says := h.Says(); says != "" {
			words += "; " + says
		}
		return words
	}
	words := r.From + " refused it: " + cmp.Or(r.Reason, "no reason given")
	if r.Detail != r.Reason {
		words += refusal.Bracketed(r.Detail)
	}
	if says := refusal.Says(r.By, r.Say); says != "" {
		words += "; " + says
	}
	return words
}

// attempted notes a request that a participant makes for the proposal (WIRE 7.8). If it is
// for something else than was proposed, that is told through Say.
func (w *ProposalWait) attempted(e *wire.Envelope) {
	if !slices.Contains(e.Corr, w.ID) {
		return
	}
	t := &pendingAnswer{env: e.ID, by: e.From, to: w.To, proposal: w}
	if len(e.To) > 0 {
		t.to = e.To[0]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.attempts(func(a *pendingAnswer) bool { return a.by == e.From }) == maxAttempts {
		return
	}
	if able := w.able(); able != nil && !slices.Contains(able, t.to) || e.Method != w.Offer.Method || e.Key != w.key() {
		return // it serves something else (FINDINGS M9)
	}
	if t.to != t.by && t.to != "" && !w.c.Present(t.to) {
		return // nobody is there to do it
	}
	if !w.c.pending.addFirst(t) {
		return
	}
	w.decided(w.decider) // it has begun, whoever was asked
	w.refused = slices.DeleteFunc(w.refused, func(r Rejection) bool { return r.From == t.to })
	if t.by == t.to {
		w.say(w.agreed[t.by])
		delete(w.agreed, t.by)
	}
	words := t.by + " does it"
	if t.by != t.to {
		words = t.by + " has it done by " + cmp.Or(t.to, "whoever can")
	}
	if !w.sameCall(e) {
		words += ", changed: " + oneLine([]byte(e.Key)) + " " + oneLine(e.Message.Get(jsonrpc.Arguments))
	}
	w.Say(words)
}

// sameCall reports whether a request is for what we proposed.
func (w *ProposalWait) sameCall(e *wire.Envelope) bool {
	ours, err := jsonrpc.Parse(w.Offer.Payload(), jsonrpc.Judged)
	return err == nil && e.Method == w.Offer.Method && e.Key == w.key() &&
		bytes.Equal(e.Message.Get(jsonrpc.Arguments), ours.Get(jsonrpc.Arguments))
}

// answered ends the wait by the answer of whom a request for the proposal was made to, or
// of the one we asked. That somebody else came too late is no answer, and neither is the
// failure of a go-between's attempt: others may do it yet.
func (w *ProposalWait) answered(t *pendingAnswer, from string, a Answer) {
	if from == w.c.Me() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	if a.Result == nil && t.by != from {
		w.dropAttempts(func(other *pendingAnswer) bool { return other == t })
		w.Say(t.by + " failed with " + from + ": " + errorWords(a.Err))
		return
	}
	w.end(Result{From: from, Answer: Answer{Result: bytes.Clone(a.Result), Err: bytes.Clone(a.Err)}, Begun: true})
}

// errorWords is what a JSON-RPC error says.
func errorWords(raw []byte) string {
	var e struct{ Message string }
	if json.Unmarshal(raw, &e) != nil || e.Message == "" {
		return "an answer that cannot be read"
	}
	return oneLine([]byte(e.Message))
}

// notPassedOn ends the wait if the gateway did not take the proposal.
func (w *ProposalWait) notPassedOn(e *wire.Envelope) {
	f, err := e.Fault()
	if err != nil || !slices.Contains(f.Trigger, w.ID) && !(len(f.Trigger) == 0 && isProposal(f.AttemptedKind)) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.end(Result{err: gatewayFault(f)})
}

// isProposal reports whether a kind is one that proposals have.
func isProposal(kind string) bool {
	return kind == "proposal" || strings.HasPrefix(kind, "mcp/proposal") || strings.HasPrefix(kind, "mcp.proposal")
}

// noteSaying passes on to Say what a participant says about the proposal.
func (w *ProposalWait) noteSaying(e *wire.Envelope) {
	if !slices.Contains(e.Corr, w.ID) {
		return
	}
	words := e.ChatText()
	if s, err := e.Standing(); err == nil {
		words = strings.TrimSpace(s.State + " " + s.Reason)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if words != "" {
		w.say(e.From + " says: " + oneLine([]byte(words)))
	}
}

// end is called with the lock held, and once.
func (w *ProposalWait) end(r Result) {
	w.over = true
	w.done <- r
}

// shownPayload is how many bytes of a payload people are shown.
const shownPayload = 400

// oneLine is text of others in one line of bounded length, fit to be shown, without tokens.
func oneLine(raw []byte) string {
	more := ""
	if len(raw) > shownPayload {
		more = fmt.Sprintf("… (%d bytes)", len(raw))
		raw = bytes.ToValidUTF8(raw[:shownPayload], nil)
	}
	line := strings.NewReplacer("\n", " ", "\r", " ").Replace(string(secretMember().ReplaceAll(raw, []byte(`${1}"[token]"`))))
	return text.Line(line) + more
}

// secretMember finds the values of members that hold a token.
var secretMember = text.Pattern(`("(?i:token|access_token|auth_token)"\s*:\s*)"(?:[^"\\]|\\.)*"?`)
