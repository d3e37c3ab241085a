package hub

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Counters count what went through a hub.
type Counters struct {
	In            atomic.Int64 // frames from participants, before they are looked at
	Out           atomic.Int64 // frames queued for participants
	Slow          atomic.Int64 // sessions cut because their queue was full
	Joins         atomic.Int64
	Inexpressible atomic.Int64 // frames a recipient's dialect has no word for
	Awake         atomic.Int64 // times that a sink stayed awake
}

// Settings are what is the same for all topics of a hub.
type settings struct {
	most    int // members of one topic
	history func(topic string) History
	refused func(Refusal)
	release func(*Topic) // one who was here is gone
	count   *Counters    // In also tells whether anything was said elsewhere (see expect)
}

// A Refusal is a frame that nobody got.
type Refusal struct {
	Topic, ID string // whose it was
	Reason    string // one word, for logs and metrics
	Kind      string // of the frame, as far as known
	First     bool   // of this session
}

// A Topic is a room: who is in it, and what was said lately. All of that follows from the
// entries of its log, in their order.
type Topic struct {
	settings
	name  string
	feed  Feed
	holds int // guarded by the hub's lock; members, and those about to be

	awaited atomic.Pointer[Member] // who is likely to speak next; set by fanOut, taken by the next Flush

	turnstile chan struct{} // see pass

	mu        sync.Mutex // taken before the hub's, never after
	closed    bool       // nobody is seated any more
	byID      map[string]*Member
	members   []*Member // in the order of joining; never changed in place
	past      History
	asked     requestCache
	delivered deliveries
	last      lastRequest
	crowded   *Member // one who was half full when somebody came or went; taken by makeRoom
}

func newTopic(name string, s settings) *Topic {
	return &Topic{
		settings:  s,
		name:      name,
		byID:      map[string]*Member{},
		turnstile: make(chan struct{}, 1),
		past:      s.history(name),
		asked:     requestCache{limit: rememberCalls},
		delivered: deliveries{most: 2 * s.most},
	}
}

// Deliver implements Reader.
func (t *Topic) Deliver(e *Entry) {
	switch e.Kind {
	case Said:
		e.settle()
		t.said(e)
	case Joined:
		t.joined(e)
	case Left:
		t.left(e.Who)
	}
}

// Lost implements Reader. Who has left has left, whether or not the log can say so.
func (t *Topic) Lost(e *Entry, err error) {
	switch e.Kind {
	case Said:
		e.settle()
		t.fault(e.Who, notDelivered, undelivered(e, err))
	case Joined:
		t.giveUp(e.Who)
		e.reply(err)
	case Left:
		t.left(e.Who)
	}
}

// Idle implements Reader.
func (t *Topic) Idle() { t.handOn() }

// joined seats a member, and answers its session.
func (t *Topic) joined(e *Entry) {
	cut, err := t.seat(e.Who, t.rehearse(e.Who))
	if err == nil && e.Who.local {
		t.count.Joins.Add(1)
	}
	e.reply(err)
	if e.Who.local && (errors.Is(err, errGivenUp) || errors.Is(err, ErrClosed)) {
		t.feed.Publish(&Entry{Kind: Left, Who: e.Who}) // other hubs have seated it
	}
	t.leaveAll(cut)
}

// seat gives m its seat: whoever sat under its id is cut and leaves before m comes, so that
// the last word on an id is never a leave (WIRE 1.5). Of two sessions the one whose lease has the
// greater epoch is newer: the goroutine of the older one may come here later.
// The welcome is the first frame m gets, and m is not told of its own coming.
func (t *Topic) seat(m *Member, past rehearsal) (cut []*Member, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err = t.bars(m); err != nil {
		m.state = gone
		return nil, err
	}
	old := t.byID[m.ID]
	if !m.local {
		m.sink = remote{}
	}
	if old != nil {
		old.sink.Cut(CodeReplaced, ReasonReplaced)
		cut = t.vacate(old)
	}
	m.state = seated
	t.queue(m, t.welcome(m, past), &cut)
	cut = append(cut, t.announce("join", m)...)
	t.byID[m.ID] = m
	t.members = append(slices.Clip(t.members), m)
	return cut, nil
}

// rehearse spells the history for m's welcome, if it gets a seat, while nobody but those who come
// waits for that: it may take milliseconds, and in these nobody in the topic could speak.
func (t *Topic) rehearse(m *Member) rehearsal {
	if !m.local || !m.Dialect.TellsHistory() {
		return nil
	}
	var entries []*Entry
	t.mu.Lock()
	if t.bars(m) == nil {
		entries, _ = t.past.Before("", 0)
	}
	t.mu.Unlock()
	return rehearsalOf(entries, m.Dialect)
}

// bars returns why m gets no seat, nil if it does. The caller holds t.mu.
func (t *Topic) bars(m *Member) error {
	old := t.byID[m.ID]
	switch {
	case m.state != coming:
		return errGivenUp
	case t.closed:
		return ErrClosed
	case old == nil && len(t.members) >= t.most:
		return ErrFull
	case old != nil && old.Epoch > m.Epoch:
		return ErrReplaced
	}
	return nil
}

// lease notes which lease of its seat m has, and reports whether its session still waits.
func (t *Topic) lease(m *Member, epoch int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.state == coming {
		m.Epoch = epoch
	}
	return m.state == coming
}

// giveUp ends a stay that has not begun, and reports whether it had not.
func (t *Topic) giveUp(m *Member) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m.state != coming {
		return false
	}
	m.state = leaving
	return true
}

// leave ends m's stay, if it has not ended already: a session that was replaced takes nothing
// from the one that replaced it.
func (t *Topic) leave(m *Member) {
	t.mu.Lock()
	here := m.state == seated
	if here {
		m.state = leaving
	}
	t.mu.Unlock()
	if here {
		t.feed.Publish(&Entry{Kind: Left, Who: m})
	}
}

// leaveAll has those leave who were found to have gone (see queue).
func (t *Topic) leaveAll(cut []*Member) {
	for _, m := range cut {
		t.feed.Publish(&Entry{Kind: Left, Who: m})
	}
}

func (t *Topic) left(m *Member) {
	t.mu.Lock()
	cut := t.vacate(m)
	t.mu.Unlock()
	t.leaveAll(cut)
}

// current returns m as it sits here, nil if it does not, or is nobody. The caller holds t.mu.
func (t *Topic) current(m *Member) *Member {
	if m == nil {
		return nil
	}
	if o := t.byID[m.ID]; o != nil && o.Epoch == m.Epoch {
		return o
	}
	return nil
}

// vacate takes m out of its seat and tells the others; it returns those who cannot be told.
// The caller holds t.mu.
func (t *Topic) vacate(m *Member) (cut []*Member) {
	if m = t.current(m); m == nil {
		return nil
	}
	m.state = gone
	delete(t.byID, m.ID)
	t.members = slices.DeleteFunc(slices.Clone(t.members), func(o *Member) bool { return o == m })
	if m.local {
		t.release(t)
	}
	if t.last.member == m {
		t.last = lastRequest{}
	}
	if t.crowded == m {
		t.crowded = nil
	}
	return t.announce("leave", m)
}

// announce tells everybody here that m joined or left; it returns those who cannot be told.
// The caller holds t.mu.
func (t *Topic) announce(event string, m *Member) (cut []*Member) {
	said := map[wire.Dialect][]byte{}
	id, ts := uuid.NewString(), wire.Stamp(time.Now())
	for _, o := range t.members {
		f := said[o.Dialect]
		if f == nil {
			f = o.Dialect.AppendPresence(nil, id, ts, event, m.participant())
			said[o.Dialect] = f
		}
		if t.queue(o, f, &cut) == Crowded {
			t.crowded = o
		}
	}
	return cut
}

// welcome returns the first frame for m. The caller holds t.mu.
func (t *Topic) welcome(m *Member, rehearsed rehearsal) []byte {
	w := wire.Welcome{You: m.participant()}
	for _, o := range t.members {
		w.Peers = append(w.Peers, o.participant())
	}
	var past [][]byte
	if m.Dialect.TellsHistory() {
		entries, _ := t.past.Before("", 0) // what is lacking has no word in a welcome
		past = rehearsed.spelled(entries, m.Dialect)
		slices.Reverse(past)
	}
	return m.Dialect.AppendWelcome(nil, uuid.NewString(), wire.Stamp(time.Now()), t.name, w, past)
}

// put queues one frame. A reader that is too slow is cut.
func (t *Topic) put(m *Member, frame []byte) Outcome {
	o := m.sink.Put(frame)
	if o == Slow {
		t.count.Slow.Add(1)
		m.sink.Cut(codePolicy, ReasonSlow)
	}
	return o
}

// queue is put for those who are not leaving. Who does not take the frame leaves, and is added to
// cut. The caller holds t.mu.
func (t *Topic) queue(m *Member, frame []byte, cut *[]*Member) Outcome {
	if m.state == leaving {
		return Gone
	}
	o := t.put(m, frame)
	if o.lost() {
		m.state = leaving
		*cut = append(*cut, m)
	}
	return o
}

// give queues a frame for m alone.
func (t *Topic) give(m *Member, frame []byte) {
	if t.put(m, frame).lost() {
		t.leave(m)
	}
}

// fault refuses a frame of m.
func (t *Topic) fault(m *Member, reason string, f wire.Fault) {
	t.refused(Refusal{Topic: t.name, ID: m.ID, Reason: reason, Kind: f.AttemptedKind, First: m.refused.Add(1) == 1})
	t.give(m, m.fault(f))
}

// said gives an entry to everybody here, and who said it the verdict.
func (t *Topic) said(e *Entry) {
	var v verdict
	t.fanOut(e, &v)
	t.leaveAll(v.cut)
	if v.speaker == nil {
		return
	}
	if v.crowded != nil && !v.speaker.inline { // who is served inline does not wait
		v.speaker.crowds.Store(v.crowded)
	}
	for _, f := range v.faults(e) {
		t.give(v.speaker, v.speaker.fault(f))
	}
	if answers(&e.Envelope) {
		for _, m := range v.inexpressible {
			t.give(m, m.fault(unreadableAnswer(v.speaker.ID, e)))
		}
	}
}

// fanOut queues an entry for everybody here but its sender, who gets a copy only where `to`
// names it, or where its dialect's gateways return everything. One lock makes the order the
// same for all. It also notes for whom Flush is to stay awake.
func (t *Topic) fanOut(e *Entry, v *verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.speaker = t.current(e.Who); v.speaker == nil {
		return // said by a session that was replaced or cut meanwhile
	}
	e.Who = nil
	t.expect(v.speaker, &e.Envelope)
	v.absent = absent(&e.Envelope, t.byID)
	misled, askers := e.readers(&t.asked)
	t.asked.add(&e.Envelope, t.byID)
	t.past.Add(e)
	for _, m := range t.members {
		named := slices.Contains(e.Envelope.To, m.ID)
		if m == v.speaker && !named && !m.Dialect.Echoes() || slices.Contains(misled, m.ID) {
			continue
		}
		f := e.in(m.Dialect, slices.Contains(askers, m.ID))
		if f == nil {
			t.count.Inexpressible.Add(1)
			if named {
				v.inexpressible = append(v.inexpressible, m)
			}
			continue
		}
		if named && !m.Dialect.MustLink() {
			t.delivered.add(m.ID, &e.Envelope)
		}
		if !m.local {
			continue
		}
		t.count.Out.Add(1)
		if t.queue(m, f, &v.cut) == Crowded {
			v.crowded = m
		}
	}
	e.spellings = nil // the history does not keep what can be had again
}

// recall completes a response with what its request said, if that is still remembered, and
// looks whether the two go together: what the response itself claims to answer is not checked
// by anybody else. It reports whether that was put to somebody else.
func (t *Topic) recall(e *Entry) (unasked bool) {
	said := &e.Envelope
	if said.Kind != wire.Response {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(said.Corr) == 0 {
		if env, ok := t.delivered.find(said); ok {
			said.Corr = []string{env}
		} else if e.Dialect.MustLink() {
			e.doubt = "an answer names the request in its correlation_id; without that it counts for nobody"
		}
	}
	a := t.asked.find(said)
	if e.Recalled.Misled = a.misled; !a.found {
		return a.unasked
	}
	if said.Method != "" && said.Method != a.call.method {
		e.doubt = "the kind says that this answers " + said.Method + ", the request was " + a.call.method
	}
	said.Method, said.Key, e.Recalled.RPCID = a.call.method, a.call.key, a.call.rpcID
	return a.unasked
}

// A lastRequest is the last frame of a topic, if that was a request.
type lastRequest struct {
	member *Member // nil: it was something else
	heard  int64   // Counters.In by then
}

// expect notes who is likely to speak after speaker: he whose request this answers, if the
// hub heard nothing between the two in any topic, for else there are others to work for. It is
// a guess; a wrong one costs 60 µs. The caller holds t.mu.
func (t *Topic) expect(speaker *Member, e *wire.Envelope) {
	last, now := t.last, lastRequest{speaker, t.count.In.Load()}
	t.last = lastRequest{}
	var next *Member
	switch e.Kind {
	case wire.Request:
		t.last = now
	case wire.Response:
		if last.member != nil && now.heard == last.heard+1 && slices.Contains(e.To, last.member.ID) {
			next = last.member
		}
	}
	t.awaited.Store(next)
}

// hasSeat reports whether there is a seat for somebody.
func (t *Topic) hasSeat(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.members) < t.most || t.byID[id] != nil
}

// roster returns who is in the topic, in the order of joining.
func (t *Topic) roster() []*Member {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.members
}

// handOn hands on what was put for anybody here; last to those who do their work then.
func (t *Topic) handOn() {
	members := t.roster()
	for _, m := range members {
		if !m.inline {
			m.sink.Flush()
		}
	}
	for _, m := range members {
		if m.inline {
			m.sink.Flush()
		}
	}
}

// flush hands on what was put. Then it stays awake for who is likely to speak next, for 60 µs
// at most: who calls again as soon as he is answered is heard sooner than we could be woken.
// Whoever flushes does the waiting, and what comes for him meanwhile waits too. He holds none of
// the hub's locks.
func (t *Topic) flush() {
	t.handOn()
	if m := t.awaited.Swap(nil); m != nil && m.sink.Await() {
		t.count.Awake.Add(1)
	}
}

// cutAll ends every session here; there will be no other.
func (t *Topic) cutAll(code int, reason string) {
	t.mu.Lock()
	t.closed = true
	members := t.members
	t.mu.Unlock()
	for _, m := range members {
		m.sink.Cut(code, reason)
	}
}
