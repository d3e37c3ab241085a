package gateway

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

const (
	closeReplaced = 4001 // to a session whose id somebody else now has
	slowReason    = "slow consumer"
	replaceReason = "replaced by a newer session under the same id"
)

var (
	errSlow = errors.New("the reader is too slow")
	errSeat = errors.New("the topic is full")
	errLate = errors.New(replaceReason)
)

// A link is the way to whoever occupies a seat. None of its methods waits for
// the other end, and any goroutine may call them.
type link interface {
	put(f *framed) error         // queues a frame; an error means the seat is lost
	flush()                      // hands on what was put
	cut(code int, reason string) // ends the session, with what was put before still handed on; the first cut counts
}

// A framed is one frame on its way out. Everybody who gets it shares its
// bytes, so nobody changes them.
type framed struct {
	head []byte // what stands before it in a WebSocket from server to client
	body []byte
}

func frameOf(body []byte) *framed {
	return &framed{head: frameHead(nil, opText, len(body)), body: body}
}

// A seat is one participant's place in a topic. A second session under the
// same id is another seat.
type seat struct {
	id      string
	caps    wire.Caps
	dialect wire.Dialect
	link    link
	ticket  int64 // in the order in which those who want a seat came
	topic   *topic
	refused refusals
}

func (s *seat) source() source { return source{topic: s.topic.name, id: s.id} }

func (s *seat) participant() wire.Participant {
	return wire.Participant{ID: s.id, Name: s.id, Caps: s.caps}
}

// put queues one frame. It reports whether the seat can stay.
func (s *seat) put(f *framed) bool {
	err := s.link.put(f)
	if errors.Is(err, errSlow) {
		s.topic.g.count.slow.Add(1)
		s.link.cut(websocket.ClosePolicyViolation, slowReason)
	}
	return err == nil
}

// A topic is a room: who is in it, and what was said lately.
type topic struct {
	g     *Gateway
	name  string
	holds int // guarded by g.mu; seats, and those about to be

	mu    sync.Mutex
	byID  map[string]*seat
	seats []*seat // in the order of joining; never changed in place
	past  history
	asked memory
	posed register
	last  ask

	awaited atomic.Pointer[socket] // who is likely to speak next; set by deliver, taken by the next flush
}

func newTopic(g *Gateway, name string) *topic {
	return &topic{
		g:     g,
		name:  name,
		byID:  map[string]*seat{},
		past:  history{frames: g.opt.HistoryLimit, size: g.opt.HistoryBytes},
		asked: memory{limit: rememberCalls},
		posed: register{most: 2 * g.opt.MaxParticipants},
	}
}

// take seats s in the topic of that name.
func (g *Gateway) take(name string, s *seat) error {
	t, err := g.open(name)
	if err != nil {
		return err
	}
	s.topic = t
	if err := t.join(s); err != nil {
		g.release(t)
		return fmt.Errorf("topic %s: %w", name, err)
	}
	t.flush()
	g.journal.say(slog.LevelInfo, s.source(), "joined", "dialect", s.dialect.Protocol)
	return nil
}

// join seats s: whoever sat under its id is cut and leaves before s comes, so
// that the last word on an id is never a leave (WIRE 1.5). Which of two is the
// newer is settled by when they came: one whose goroutine was held up must not
// put out the one its client has opened since. The welcome is the first frame
// s gets, and s is not told of its own coming.
func (t *topic) join(s *seat) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.byID[s.id]
	if old == nil && len(t.seats) >= t.g.opt.MaxParticipants {
		return errSeat
	}
	if old != nil && old.ticket > s.ticket {
		return errLate
	}
	if old != nil {
		old.link.cut(closeReplaced, replaceReason)
		t.vacate(old)
	}
	s.put(frameOf(t.welcome(s)))
	t.announce("join", s)
	t.byID[s.id] = s
	t.seats = append(slices.Clip(t.seats), s)
	t.g.count.joins.Add(1)
	return nil
}

// leave ends s's stay, if it has not ended already: a session that was
// replaced takes nothing from the one that replaced it.
func (t *topic) leave(s *seat) {
	t.mu.Lock()
	t.vacate(s)
	t.mu.Unlock()
	t.flush()
}

// vacate takes s out of its seat and tells the others. The caller holds t.mu.
func (t *topic) vacate(s *seat) {
	if t.byID[s.id] != s {
		return
	}
	delete(t.byID, s.id)
	t.seats = slices.DeleteFunc(slices.Clone(t.seats), func(o *seat) bool { return o == s })
	t.g.release(t)
	if t.last.seat == s {
		t.last = ask{}
	}
	t.announce("leave", s)
}

// announce tells everybody seated that s joined or left. The caller holds t.mu.
func (t *topic) announce(event string, s *seat) {
	said := map[wire.Dialect]*framed{}
	var lost []*seat
	id, ts := uuid.NewString(), wire.Stamp(time.Now())
	for _, o := range t.seats {
		f := said[o.dialect]
		if f == nil {
			f = frameOf(o.dialect.AppendPresence(nil, id, ts, event, s.participant()))
			said[o.dialect] = f
		}
		if !o.put(f) {
			lost = append(lost, o)
		}
	}
	for _, o := range lost {
		t.vacate(o)
	}
}

// welcome returns the first frame for s. The caller holds t.mu.
func (t *topic) welcome(s *seat) []byte {
	w := wire.Welcome{You: s.participant()}
	for _, o := range t.seats {
		w.Peers = append(w.Peers, o.participant())
	}
	var past [][]byte
	if s.dialect == v0 { // the others have no place for it
		past = t.past.in(v0)
	}
	return s.dialect.AppendWelcome(nil, uuid.NewString(), wire.Stamp(time.Now()), t.name, w, past)
}

// absent returns those of ids that nobody here goes by.
func (t *topic) absent(ids []string) (gone []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		if t.byID[id] == nil {
			gone = append(gone, id)
		}
	}
	return gone
}

// seatOf returns the seat of a participant, nil if it has none here.
func (t *topic) seatOf(id string) *seat {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// roster returns who is in the topic, in the order of joining.
func (t *topic) roster() []*seat {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seats
}

// flush hands on what was put for anybody here; last to those in this process,
// who may do their work at once. Then it stays awake for who is likely to speak
// next, for 60 µs at most: who calls again as soon as he is answered is heard sooner
// than we could be woken. Whoever flushes does the waiting, and what comes for him
// meanwhile waits too. He may hold Local.turn, never t.mu or g.mu.
func (t *topic) flush() {
	seats := t.roster()
	for _, s := range seats {
		if _, inside := s.link.(*Local); !inside {
			s.link.flush()
		}
	}
	for _, s := range seats {
		if l, inside := s.link.(*Local); inside {
			l.flush()
		}
	}
	if s := t.awaited.Swap(nil); s != nil && s.await() {
		t.g.count.awake.Add(1)
	}
}

// An ask is the last frame of a topic, if that was a request.
type ask struct {
	seat  *seat // nil: it was something else, or another gateway's
	heard int64 // counters.in by then
}

// foresee notes who is likely to speak after p: he whose request it answers, if the
// gateway heard nothing between the two in any topic, for else there are others to
// work for. It is a guess; a wrong one costs 60 µs. A seat in this process needs no
// waiting for. It needs p.seat. The caller holds t.mu.
func (t *topic) foresee(p *post) {
	last, now := t.last, ask{p.seat, t.g.count.in.Load()}
	t.last = ask{}
	var next *socket
	switch p.env.Kind {
	case wire.Request:
		t.last = now
	case wire.Response:
		if last.seat != nil && now.heard == last.heard+1 && slices.Contains(p.env.To, last.seat.id) {
			next, _ = last.seat.link.(*socket)
		}
	}
	t.awaited.Store(next)
}

// cutAll ends every session here.
func (t *topic) cutAll(code int, reason string) {
	for _, s := range t.roster() {
		s.link.cut(code, reason)
	}
}

// deliver gives a post to everybody here but its sender, who gets a copy only
// where `to` names it, or where its dialect's gateways return everything. One lock makes
// the order the same for all. It also notes for
// whom flush is to stay awake.
func (t *topic) deliver(p *post) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.seat != nil && t.byID[p.seat.id] != p.seat {
		return // said by a session that was replaced or cut meanwhile
	}
	t.foresee(p)
	p.seat = nil // the history outlives sessions
	p.askers = t.asked.askers(&p.env)
	if k := p.env.Kind; k == wire.Withdraw || k == wire.Reject { // which say nothing but of what they name
		p.misled, p.askers = p.askers, nil
	}
	t.asked.add(&p.env, t.byID)
	t.past.add(p)
	var lost []*seat
	for _, s := range t.seats {
		named := slices.Contains(p.env.To, s.id)
		if s.id == p.env.From && !named && !s.dialect.Echoes() {
			continue
		}
		if len(p.misled) > 0 && slices.Contains(p.misled, s.id) {
			continue
		}
		f := p.in(s)
		if f == nil {
			t.g.count.inexpressible.Add(1)
			if named {
				p.mute = append(p.mute, s.id)
			}
			continue
		}
		if named && !s.dialect.MustLink() {
			t.posed.add(s.id, &p.env)
		}
		t.g.count.out.Add(1)
		if !s.put(f) {
			lost = append(lost, s)
		}
		if l, ok := s.link.(*Local); ok && l.crowded() {
			p.crowded = l
		}
	}
	p.spellings = nil // nor does the history keep what can be had again
	for _, s := range lost {
		t.vacate(s)
	}
}
