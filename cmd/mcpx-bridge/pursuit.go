package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// What is kept in mind of one proposal. More than one request for it by anybody
// is rare, and more than these is noise.
const (
	maxTries   = 16   // of one participant
	maxRefused = 1024 // participants; those who alone might do it come on top
	maxSayings = 256
)

// A pursuit is one proposal of ours, until something has come of it.
type pursuit struct {
	*program
	peer  *peer
	id    string // of the proposal
	to    string // the only one it is put to; "" if it is for all
	tool  string
	offer wire.Offer
	done  chan upshot // buffered; written once

	mu      sync.Mutex
	tries   map[tryKey]try // requests that were made for it
	refused []rejection
	sayings int               // how often somebody said something about it
	agreed  map[string]string // that people agreed, by the word of participants that have not begun
	over    bool
}

// A try is a request that somebody made for our proposal.
type try struct {
	by string
	at string // whom it is addressed to; "" for nobody in particular
}

// A tryKey is what the answer to a try is known by. Others may use an envelope
// id again: the first counts.
type tryKey struct{ at, id string }

// A rejection is what one participant has against it.
type rejection struct {
	From   string `json:"from"`
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// An upshot is how it ended: with an answer of from, or with an error.
type upshot struct {
	from   string
	answer answer
	err    error
}

func newPursuit(p *program, to, tool string, o wire.Offer) *pursuit {
	return &pursuit{program: p, id: uuid.NewString(), to: to, tool: tool, offer: o, done: make(chan upshot, 1), tries: map[tryKey]try{}, agreed: map[string]string{}}
}

// wait ends with the first upshot. Whoever gives up first takes the proposal
// back.
func (w *pursuit) wait(ctx context.Context) error {
	var lapse <-chan time.Time
	if w.offer.TTL > 0 {
		timer := time.NewTimer(w.offer.TTL)
		defer timer.Stop()
		lapse = timer.C
	}
	for {
		select {
		case o := <-w.done:
			return w.show(o)
		case <-w.peer.Done():
			return w.unlessDone(w.peer.Err)
		case <-lapse:
			if !w.begun() {
				return w.unlessDone(w.lapsed)
			}
			lapse = nil // the result may still come
		case <-ctx.Done():
			return w.unlessDone(func() error { return w.giveUp(context.Cause(ctx)) })
		}
	}
}

// unlessDone: what came at the same moment as the end of the wait still counts.
func (w *pursuit) unlessDone(otherwise func() error) error {
	select {
	case o := <-w.done:
		return w.show(o)
	default:
		return otherwise()
	}
}

func (w *pursuit) show(o upshot) error {
	if o.err != nil {
		return o.err
	}
	return w.showAnswer(o.from, w.tool, o.answer)
}

// lapsed takes the proposal back, for those who do not know of its ttl, and for
// those at whom it arrived late.
func (w *pursuit) lapsed() error {
	w.takeBack("timeout")
	return w.longer("--ttl", "nobody began %s in time")
}

// giveUp takes the proposal back and says why.
func (w *pursuit) giveUp(cause error) error {
	reason, err := "no_longer_needed", fail(exitFailed, "", "withdrew %s", w.tool)
	if errors.Is(cause, client.ErrNoAnswer) {
		reason, err = "timeout", w.longer("--timeout", "nobody did %s in time")
		if w.begun() {
			err = fail(exitNoAnswer, "it may be done yet; --timeout waits longer", "%s has begun, and gave no result in time", w.tool)
		}
	}
	w.takeBack(reason)
	return err
}

func (w *pursuit) takeBack(reason string) {
	style, _ := wire.ParseStyle(w.s.Offer.Style)
	if err := w.peer.takeBack(w.id, reason, style); err != nil {
		w.log.Warn("the proposal could not be withdrawn", "why", err)
	}
}

// longer is the failure where nobody has begun; format has a place for the tool.
func (w *pursuit) longer(flag, format string) *failure {
	f := fail(exitNoAnswer, flag+" gives it longer", format, w.tool)
	if w.to == "" && len(w.offer.Preferred) == 0 {
		return f.Also("a bridge leaves alone what names nobody, unless its owner says otherwise: mcpx-bridge propose PEER " + w.tool)
	}
	return f
}

func (w *pursuit) begun() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.tries) > 0
}

// heard sees every frame of the topic, one after the other.
func (w *pursuit) heard(e *wire.Envelope) {
	if e.From == w.peer.Me() {
		return
	}
	switch e.Kind {
	case wire.Reject:
		w.rejected(e)
	case wire.Request:
		w.tried(e)
	case wire.Response:
		w.answered(e)
	case wire.Failure:
		w.faulted(e)
	case wire.Status, wire.ProposalResponse:
		if no, is := e.AsReject(); is {
			w.rejected(&no) // a no in other words (FINDINGS S5)
		} else {
			w.told(e)
		}
	case wire.Chat:
		w.told(e)
	case wire.Notification:
		w.agreedTo(e)
	}
}

// agreedTo says who agreed that somebody does it, and why: by the word of whom it is put
// to, or of who does it, for anybody can send such a notification. Who does it begins
// after that.
func (w *pursuit) agreedTo(e *wire.Envelope) {
	if e.Method != bridge.Approved {
		return
	}
	var said struct {
		Proposal string `json:"proposalId"`
		Message  string `json:"message"`
	}
	if json.Unmarshal(e.Message.Get(jsonrpc.Params), &said) != nil || said.Proposal != w.id || said.Message == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	words := e.From + ": " + shown([]byte(said.Message))
	switch {
	case e.From == w.to || slices.Contains(w.offer.Preferred, e.From) || w.does(e.From):
		w.say(words)
	case w.able() == nil && len(w.agreed) < maxSayings:
		w.agreed[e.From] = words
	}
}

// does reports whether somebody has begun to do it.
func (w *pursuit) does(who string) bool {
	for _, t := range w.tries {
		if t.by == who && t.at == who {
			return true
		}
	}
	return false
}

// say passes on what somebody says, up to a bound. It is called with the lock held.
func (w *pursuit) say(words string) {
	if words == "" || w.over || w.sayings == maxSayings {
		return
	}
	w.sayings++
	w.log.Info(words)
}

// rejected counts only where those will not who alone could, or all who are here:
// others may still.
func (w *pursuit) rejected(e *wire.Envelope) {
	n, err := e.Ending()
	if err != nil || !slices.Contains(e.Corr, w.id) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || len(w.refused) >= maxRefused && !slices.Contains(w.able(), e.From) || slices.ContainsFunc(w.refused, func(r rejection) bool { return r.From == e.From }) {
		return
	}
	r := rejection{e.From, n.Reason, n.Detail}
	w.refused = append(w.refused, r)
	maps.DeleteFunc(w.tries, func(_ tryKey, t try) bool { return t.by == e.From && t.at == e.From }) // it began, and came second
	if !w.hopeless() {
		w.log.Info(r.words())
		return
	}
	w.refuse(r)
}

// refuse ends the wait: nobody is left who might do it. It is called with the lock held.
func (w *pursuit) refuse(r rejection) {
	if w.s.JSON {
		w.print(jsonLine(struct {
			Proposal string      `json:"proposal"`
			Rejected []rejection `json:"rejected"`
		}{w.id, w.refused}))
	}
	last := fail(exitRefused, "", "%s", r.words())
	if w.to == "" {
		w.log.Info(r.words())
		last = fail(exitRefused, "--fallback lets others do it", "all who alone might do %s will not", w.tool)
		if w.able() == nil {
			last = fail(exitRefused, "", "nobody here will do %s", w.tool)
		}
	}
	w.end(upshot{err: last})
}

// hopeless reports whether all who may serve the proposal have said no. It is
// called with the lock held.
func (w *pursuit) hopeless() bool {
	able := w.able()
	if able == nil {
		able = w.present()
	}
	for _, id := range able {
		if !slices.ContainsFunc(w.refused, func(r rejection) bool { return r.From == id }) {
			return false
		}
	}
	return len(able) > 0 && len(w.tries) == 0
}

// able are those who alone may serve the proposal; nil for everybody.
func (w *pursuit) able() []string {
	switch {
	case w.to != "":
		return []string{w.to}
	case w.offer.Exclusive && !w.offer.FallbackToBroadcast:
		return w.offer.Preferred
	}
	return nil
}

// present are those in the topic who could do it.
func (w *pursuit) present() (ids []string) {
	for _, p := range w.peer.Others() {
		if bridge.CouldServe(p.Caps, "tools/call") {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// moves sees who leaves: nobody waits for what they began, or for their word.
func (w *pursuit) moves(also func(id, event string)) func(id, event string) {
	return func(id, event string) {
		also(id, event)
		if event != "leave" {
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		maps.DeleteFunc(w.tries, func(_ tryKey, t try) bool { return t.at == id })
		if n := len(w.refused); !w.over && n > 0 && w.able() == nil && w.hopeless() {
			w.refuse(w.refused[n-1])
		}
	}
}

func (r rejection) words() string {
	text := r.From + " will not: " + cmp.Or(r.Reason, "no reason given")
	if r.Detail != "" && r.Detail != r.Reason {
		text += " (" + r.Detail + ")"
	}
	return text
}

// tried notes a request that somebody makes for the proposal (WIRE 7.8). It
// may be for something else than was proposed, which is worth a word.
func (w *pursuit) tried(e *wire.Envelope) {
	if !slices.Contains(e.Corr, w.id) {
		return
	}
	t := try{by: e.From, at: w.to}
	if len(e.To) > 0 {
		t.at = e.To[0]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key := tryKey{t.at, e.ID}
	if _, had := w.tries[key]; had || w.over || w.triesBy(e.From) == maxTries {
		return
	}
	if able := w.able(); able != nil && !slices.Contains(able, t.at) || e.Method != w.offer.Method || e.Key != w.tool {
		return // it serves something else (FINDINGS M9)
	}
	if t.at != t.by && t.at != "" && !w.peer.Present(t.at) {
		return // nobody is there to do it
	}
	w.refused = slices.DeleteFunc(w.refused, func(r rejection) bool { return r.From == t.at })
	w.tries[key] = t
	if t.by == t.at {
		w.say(w.agreed[t.by])
		delete(w.agreed, t.by)
	}
	words := t.by + " does it"
	if t.by != t.at {
		words = t.by + " has it done by " + cmp.Or(t.at, "whoever can")
	}
	if !w.sameCall(e) {
		words += ", changed: " + shown([]byte(e.Key)) + " " + shown(e.Message.Get(jsonrpc.Arguments))
	}
	w.log.Info(words)
}

func (w *pursuit) triesBy(who string) (n int) {
	for _, t := range w.tries {
		if t.by == who {
			n++
		}
	}
	return n
}

// sameCall reports whether a request is for what we proposed.
func (w *pursuit) sameCall(e *wire.Envelope) bool {
	ours, err := jsonrpc.Parse(w.offer.Payload(), jsonrpc.Judged)
	return err == nil && e.Method == w.offer.Method && e.Key == w.tool &&
		bytes.Equal(e.Message.Get(jsonrpc.Arguments), ours.Get(jsonrpc.Arguments))
}

// answered ends the wait, if it is the answer of whom the request was made to,
// or of the one we asked. That somebody else came too late is no answer, and
// neither is the failure of a go-between's try: others may do it yet.
func (w *pursuit) answered(e *wire.Envelope) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, key, found := w.answers(e)
	if w.over || !found {
		return
	}
	a := answer{Result: bytes.Clone(e.Message.Get(jsonrpc.Result)), Err: bytes.Clone(e.Message.Get(jsonrpc.Err))}
	if a.Result == nil && (a.Err == nil || t.by != e.From) {
		delete(w.tries, key)
		w.log.Info(t.by + " had no luck with " + e.From + ": " + errorWords(a.Err))
		return
	}
	w.end(upshot{from: e.From, answer: a})
}

// answers finds which try a response is the answer to. The one whom we asked
// may answer the proposal itself.
func (w *pursuit) answers(e *wire.Envelope) (t try, key tryKey, found bool) {
	for _, id := range e.Corr {
		for _, key := range [...]tryKey{{e.From, id}, {"", id}} {
			if t, found = w.tries[key]; found {
				return t, key, true
			}
		}
		if id == w.id && w.to != "" && e.From == w.to {
			return try{by: w.to, at: w.to}, tryKey{}, true
		}
	}
	return try{}, tryKey{}, false
}

// errorWords is what a JSON-RPC error says.
func errorWords(raw []byte) string {
	var e struct{ Message string }
	if json.Unmarshal(raw, &e) != nil || e.Message == "" {
		return "an answer that cannot be read"
	}
	return shown([]byte(e.Message))
}

// faulted ends the wait if the gateway did not take the proposal.
func (w *pursuit) faulted(e *wire.Envelope) {
	f, err := e.Fault()
	if err != nil || !slices.Contains(f.Trigger, w.id) && !(len(f.Trigger) == 0 && isProposal(f.AttemptedKind)) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.end(upshot{err: client.NotPassedOn(f)})
}

// isProposal reports whether a kind is one that proposals have.
func isProposal(kind string) bool {
	return kind == "proposal" || strings.HasPrefix(kind, "mcp/proposal") || strings.HasPrefix(kind, "mcp.proposal")
}

// told passes on what somebody says about the proposal.
func (w *pursuit) told(e *wire.Envelope) {
	if !slices.Contains(e.Corr, w.id) {
		return
	}
	words := e.ChatText()
	if s, err := e.Standing(); err == nil {
		words = strings.TrimSpace(s.State + " " + s.Reason)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if words != "" {
		w.say(e.From + " says: " + shown([]byte(words)))
	}
}

// end is called with the lock held, and once.
func (w *pursuit) end(o upshot) {
	w.over = true
	w.done <- o
}
