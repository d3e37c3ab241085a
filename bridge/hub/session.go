package hub

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A Guest is who wants a seat.
type Guest struct {
	ID      string
	Caps    wire.Caps // what it may say
	Dialect wire.Dialect
	Sink    Sink  // owned by the hub until Leave
	Came    int64 // greater for each that came later to this process; over 0
}

// A Session is a guest's stay in a topic, from Join to Leave.
type Session struct {
	hub    *Hub
	topic  *Topic
	member *Member
	answer chan error // one answer to the wish to join
}

// Join seats a guest in the topic of that name. Whoever sat there under its id is cut, unless
// that one came later ([ErrReplaced]). The welcome is the first frame its sink gets, before
// Join returns. With an error there is no session; ctx bounds the wait for a log or a presence
// that takes its time, those in memory never do. They come one at a time; where somebody here
// does not keep up with those who come and go, each up to 250 ms after the one before.
func (h *Hub) Join(ctx context.Context, topic string, who Guest) (*Session, error) {
	t, err := h.open(topic)
	if err != nil {
		return nil, err
	}
	s := &Session{hub: h, topic: t, answer: make(chan error, 1), member: &Member{
		ID: who.ID, Caps: who.Caps, Dialect: who.Dialect, sink: who.Sink, local: true, inline: who.Sink.Inline(), eased: make(chan struct{}, 1),
	}}
	t.pass(ctx, s.member.inline, func() { h.presence.Take(s.seat(), who.Came, s) })
	select {
	case err = <-s.answer:
	case <-ctx.Done():
		if err = ctx.Err(); !t.giveUp(s.member) { // it was settled in the same moment
			err = <-s.answer
		}
	}
	if err != nil {
		if s.member.Epoch > 0 {
			h.presence.Release(s.seat(), s.member.Epoch)
		}
		h.release(t)
		return nil, fmt.Errorf("topic %s: %w", topic, err)
	}
	t.flush()
	return s, nil
}

func (s *Session) seat() Seat { return Seat{s.topic.name, s.member.ID} }

// Leased implements Holder.
func (s *Session) Leased(epoch int64, err error) {
	switch {
	case err != nil:
		s.answer <- err
	case s.topic.lease(s.member, epoch):
		s.topic.feed.Publish(&Entry{Kind: Joined, Who: s.member, answer: s.answer})
	default: // nobody waits for it any more
		s.hub.presence.Release(s.seat(), epoch)
	}
}

// Expired implements Holder.
func (s *Session) Expired() { s.member.sink.Cut(codePolicy, ReasonExpired) }

// Topic returns the name of the topic.
func (s *Session) Topic() string { return s.topic.name }

// ID returns who it is.
func (s *Session) ID() string { return s.member.ID }

// Flush hands on what was said since the last one, also by others. It waits for nobody, but
// may stay awake for 60 µs (see Sink.Await).
func (s *Session) Flush() { s.topic.flush() }

// Leave ends the stay, if it has not ended already. What was said before is still delivered.
// Leaving twice is leaving once.
func (s *Session) Leave() {
	s.topic.leave(s.member)
	s.hub.presence.Release(s.seat(), s.member.Epoch)
	s.topic.flush()
}

// ErrNotText is returned by Ingest for bytes that no text frame may hold.
var ErrNotText = errors.New("a text frame must be UTF-8")

// Ingest takes a frame from the participant: it is checked and published, or answered with a
// fault. What becomes of it is told through sinks. Its bytes belong to the hub from here on.
// Others see it at the next Flush. The only error is ErrNotText. Any goroutine may call it; what
// one says keeps its order.
func (s *Session) Ingest(frame []byte) error {
	s.hub.Count.In.Add(1)
	m, t := s.member, s.topic
	e := &Entry{Who: m, At: time.Now(), Dialect: m.Dialect}
	var err error
	if e.Frame, err = m.Dialect.Accept(&e.Envelope, frame, m.ID, fresh); err != nil {
		if !utf8.Valid(frame) {
			return ErrNotText
		}
		reason, f := unreadable(m, err)
		t.fault(m, reason, f)
		return nil
	}
	unasked := t.recall(e)
	if reason, f := refusal(m, &e.Envelope, unasked); reason != "" {
		f.Trigger = []string{e.Envelope.ID}
		t.fault(m, reason, f)
		return nil
	}
	if !m.publishes(e.cost()) {
		t.fault(m, notDelivered, undelivered(e, nil))
		return nil
	}
	t.feed.Publish(e)
	return nil
}

// Ease waits for what does not keep up with the session, a log or a Crowded sink, but not for
// longer than within. Who says more without it is told, by a fault, of what the log has no room
// for, and may cost a participant the seat. One goroutine may wait; it holds no lock.
func (s *Session) Ease(within time.Duration) {
	m := s.member
	crowded := m.crowds.Load()
	if crowded == nil && !m.behind() {
		return
	}
	m.crowds.Store(nil)
	s.topic.flush()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if crowded != nil {
		crowded.sink.WaitForRoom(ctx)
	}
	for m.behind() {
		select {
		case <-m.eased:
		case <-ctx.Done():
			return
		}
	}
}

// fresh makes the id and the time of a frame that came without.
func fresh() (id, ts string) { return uuid.NewString(), wire.Stamp(time.Now()) }
