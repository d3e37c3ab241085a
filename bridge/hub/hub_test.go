package hub_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/hub"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// An ear is a sink that keeps what it gets.
type ear struct{ heard []string }

func (e *ear) Put(frame []byte) hub.Outcome {
	e.heard = append(e.heard, string(frame))
	return hub.Taken
}
func (e *ear) Flush()                 {}
func (e *ear) Cut(code int, _ string) { e.heard = append(e.heard, fmt.Sprint("cut ", code)) }
func (e *ear) Inline() bool           { return false }
func (e *ear) Await() bool            { return false }

func (e *ear) WaitForRoom(context.Context) {}
func (e *ear) has(text string) (n int)     { return strings.Count(strings.Join(e.heard, "\n"), text) }

// A pile is a log that delivers when it is told to.
type pile struct {
	to      hub.Reader
	entries []*hub.Entry
	closed  int
}

func (p *pile) Publish(e *hub.Entry) { p.entries = append(p.entries, e) }
func (p *pile) Close()               { p.closed++ }

// deliver delivers all that was published.
func (p *pile) deliver() {
	entries := p.entries
	p.entries = nil
	for _, e := range entries {
		p.to.Deliver(e)
	}
}

// piles is the log of a hub, and the piles of its topics.
type piles map[string]*pile

func (all piles) Open(topic string, to hub.Reader) (hub.Feed, error) {
	all[topic] = &pile{to: to}
	return all[topic], nil
}

func open(o hub.Options) *hub.Hub {
	o.HistoryLimit, o.HistoryBytes, o.MaxParticipants, o.MaxTopics = 100, 1<<20, 10, 100
	return hub.New(o)
}

func guest(id string, came int64) (hub.Guest, *ear) {
	caps, err := wire.ParseCaps([]byte(`["*"]`))
	if err != nil {
		panic(err)
	}
	d, _ := wire.Lookup("mcpx/v0.1")
	e := &ear{}
	return hub.Guest{ID: id, Caps: caps, Dialect: d, Sink: e, Came: came}, e
}

// One who did not wait for his seat has none when its entry comes after all, and those who keep
// the topic elsewhere, and have seated him, hear that he has left.
func TestWhoDidNotWaitForHisSeatIsNotSeatedLater(t *testing.T) {
	log := piles{}
	h := open(hub.Options{Log: log})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	who, ear := guest("ann", 1)
	if _, err := h.Join(ctx, "t", who); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	p := log["t"]
	if len(p.entries) != 1 || p.entries[0].Kind != hub.Joined {
		t.Fatalf("published were %v", p.entries)
	}
	p.to.Deliver(p.entries[0])
	if len(p.entries) != 2 || p.entries[1].Kind != hub.Left {
		t.Fatalf("published were %v", p.entries)
	}
	p.to.Deliver(p.entries[1])
	if members := h.Members("t"); len(members) > 0 || len(ear.heard) > 0 || h.TopicCount() > 0 {
		t.Errorf("%d members, %d topics, ann heard %q", len(members), h.TopicCount(), ear.heard)
	}
	h.Close()
	if p.closed != 1 {
		t.Errorf("the feed was closed %d times", p.closed)
	}
}

// Whose seat is granted while the hub ends its sessions is told that it is closed, as nobody would
// cut him any more; those who keep the topic elsewhere, and have seated him, hear that he has left.
func TestWhoComesWhileAHubEndsItsSessionsIsNotSeated(t *testing.T) {
	var h *hub.Hub
	log := closing{piles{}, func() { h.Cut(1001, "the gateway is stopping") }}
	h = open(hub.Options{Log: log})
	who, ear := guest("ann", 1)
	if _, err := h.Join(t.Context(), "t", who); !errors.Is(err, hub.ErrClosed) {
		t.Error(err)
	}
	p := log.piles["t"]
	if len(p.entries) != 2 || p.entries[1].Kind != hub.Left {
		t.Errorf("published were %v", p.entries)
	}
	if members := h.Members("t"); len(members) > 0 || len(ear.heard) > 0 || h.TopicCount() > 0 {
		t.Errorf("%d members, %d topics, ann heard %q", len(members), h.TopicCount(), ear.heard)
	}
}

// closing is a log whose hub ends its sessions before the first entry is delivered.
type closing struct {
	piles
	end func()
}

func (c closing) Open(topic string, to hub.Reader) (hub.Feed, error) {
	c.piles[topic] = &pile{to: to}
	return closingFeed{c.piles[topic], c.end}, nil
}

type closingFeed struct {
	*pile
	end func()
}

func (f closingFeed) Publish(e *hub.Entry) {
	if f.pile.Publish(e); len(f.entries) == 1 {
		f.end()
		f.to.Deliver(e)
	}
}

// Sessions that outlive their hub leave all the same, and no feed is closed a second time.
func TestSessionsThatOutliveTheirHub(t *testing.T) {
	log := piles{}
	h := open(hub.Options{Log: instant{log}})
	var all []*hub.Session
	for i := range 20 {
		who, _ := guest("ann", int64(i+1))
		s, err := h.Join(t.Context(), fmt.Sprint("t", i), who)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	h.Close()
	for _, s := range all {
		s.Leave()
	}
	for topic, p := range log {
		if p.closed != 1 {
			t.Errorf("the feed of %s was closed %d times", topic, p.closed)
		}
	}
	late, _ := guest("bob", 100)
	if _, err := h.Join(t.Context(), "t", late); !errors.Is(err, hub.ErrClosed) {
		t.Error(err)
	}
}

// In memory what is said is delivered, and its verdict known, before Ingest returns.
func TestTopicsInMemoryAnswerAtOnce(t *testing.T) {
	h := open(hub.Options{})
	defer h.Close()
	ann, annHears := guest("ann", 1)
	bob, bobHears := guest("bob", 2)
	if _, err := h.Join(t.Context(), "t", bob); err != nil {
		t.Fatal(err)
	}
	s, err := h.Join(t.Context(), "t", ann)
	if err != nil {
		t.Fatal(err)
	}
	frame := `{"protocol":"mcpx/v0.1","id":"q","ts":"2026-01-02T03:04:05Z","from":"ann","to":["carl"],"kind":"mcp/request:tools/list","payload":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}`
	if err := s.Ingest([]byte(frame)); err != nil {
		t.Fatal(err)
	}
	if annHears.has("recipient_absent") != 1 || bobHears.has(frame) != 1 {
		t.Errorf("ann heard %q, bob %q", annHears.heard, bobHears.heard)
	}
}

// A log that takes its time is not filled without bound: who speaks is slowed, then told what
// nobody gets, and goes on when the log does. One who speaks little is not held up by that.
func TestALogThatTakesItsTimeIsNotFilledWithoutBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := piles{}
		h := open(hub.Options{Log: log})
		ann, annHears := log.join(t, h, "ann")
		bob, bobHears := log.join(t, h, "bob")
		eased := func(s *hub.Session) time.Duration {
			began := time.Now()
			s.Ease(time.Second)
			return time.Since(began)
		}
		slowed, told := 0, 0
		for n := 1; told < 100; n++ {
			if err := ann.Ingest(words("ann", n)); err != nil {
				t.Fatal(err)
			}
			told = annHears.has("not_delivered")
			if d := eased(ann); d == time.Second && slowed == 0 {
				slowed = n
			} else if d != 0 && d != time.Second || d == 0 && slowed > 0 {
				t.Fatalf("after frame %d ann waited %v", n, d)
			}
		}
		if held := len(log["t"].entries); slowed < held/2-1 || slowed > held/2+1 || held*97<<10 > 32<<20 || (held+1)*98<<10 < 32<<20 {
			t.Errorf("ann was slowed after %d frames, the log holds %d", slowed, held)
		}
		held := len(log["t"].entries)
		if err := bob.Ingest(words("bob", 1)); err != nil || eased(bob) != 0 || bobHears.has("not_delivered") > 0 {
			t.Errorf("bob is held up: %v, %q", err, bobHears.heard)
		}
		go func() {
			time.Sleep(time.Millisecond)
			log["t"].deliver()
		}()
		if d := eased(ann); d != time.Millisecond {
			t.Errorf("the log went on after a millisecond, ann after %v", d)
		}
		synctest.Wait()
		if got := bobHears.has(`"from":"ann"`); got != held || annHears.has("not_delivered") != 100 {
			t.Errorf("of what ann said bob got %d, the log had %d", got, held)
		}
		if err := ann.Ingest(words("ann", 0)); err != nil || eased(ann) != 0 || annHears.has("not_delivered") != 100 {
			t.Errorf("ann is still held up: %v", err)
		}
	})
}

// join seats somebody, in a bubble, with what the log has for him.
func (all piles) join(t *testing.T, h *hub.Hub, id string) (s *hub.Session, e *ear) {
	g, e := guest(id, 1)
	go func() {
		var err error
		if s, err = h.Join(t.Context(), "t", g); err != nil {
			t.Error(err)
		}
	}()
	synctest.Wait()
	all["t"].deliver()
	synctest.Wait()
	return s, e
}

// words are a frame of 96 KiB.
func words(who string, n int) []byte {
	return fmt.Appendf(nil, `{"protocol":"mcpx/v0.1","id":"%s%d","ts":"2026-01-02T03:04:05Z","from":"%s","kind":"chat","payload":{"text":"%s","format":"plain"}}`, who, n, who, strings.Repeat("x", 96<<10))
}

// instant delivers at once what piles pile up.
type instant struct{ piles }

func (i instant) Open(topic string, to hub.Reader) (hub.Feed, error) {
	i.piles[topic] = &pile{to: to}
	return instantFeed{i.piles[topic]}, nil
}

type instantFeed struct{ *pile }

func (f instantFeed) Publish(e *hub.Entry) { f.to.Deliver(e) }

// A quorum is a log that several hubs share, and their presence. It keeps entries as bytes: each
// hub gets back what it published itself, and reads what others did.
type quorum struct {
	entries [][]byte
	readers []hub.Reader
	epoch   int64
}

// A voice is one hub's place at a quorum.
type voice struct {
	*quorum
	to hub.Reader
}

func (q *quorum) Open(_ string, to hub.Reader) (hub.Feed, error) {
	for _, e := range q.entries {
		to.Deliver(read(e))
	}
	q.readers = append(q.readers, to)
	return voice{q, to}, nil
}

func read(b []byte) *hub.Entry {
	e, err := hub.ReadEntry(bytes.Clone(b))
	if err != nil {
		panic(err)
	}
	return e
}

func (v voice) Publish(e *hub.Entry) {
	written := e.Append(nil)
	v.entries = append(v.entries, written)
	for _, to := range v.readers {
		if to == v.to {
			to.Deliver(e)
		} else {
			to.Deliver(read(written))
		}
	}
}

func (voice) Close() {}

func (q *quorum) Take(_ hub.Seat, _ int64, to hub.Holder) {
	q.epoch++
	to.Leased(q.epoch, nil)
}

func (*quorum) Release(hub.Seat, int64) {}

// Hubs that share a log agree on who is there and on what was said, whichever of them serves
// whom; each tells its own participants what concerns them.
func TestHubsThatShareALogAgree(t *testing.T) {
	q := &quorum{}
	plain, _ := wire.Lookup("mcpx/v0.1")
	one, other := open(hub.Options{Log: q, Presence: q}), open(hub.Options{Log: q, Presence: q})
	join := func(h *hub.Hub, id, protocol string) (*hub.Session, *ear) {
		g, e := guest(id, 1)
		g.Dialect, _ = wire.Lookup(protocol)
		s, err := h.Join(t.Context(), "t", g)
		if err != nil {
			t.Fatal(err)
		}
		return s, e
	}
	say := func(s *hub.Session, frame string) {
		if err := s.Ingest([]byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	heard := func(who string, e *ear, text string, times int) {
		t.Helper()
		if n := e.has(text); n != times {
			t.Errorf("%s heard %s %d times, want %d: %q", who, text, n, times, e.heard)
		}
	}
	ann, annHears := join(one, "ann", "mcpx/v0.1")
	say(ann, `{"protocol":"mcpx/v0.1","id":"early","ts":"2026-01-02T03:04:05Z","from":"ann","kind":"chat","payload":{"text":"x","format":"plain"}}`)
	bob, bobHears := join(other, "bob", "mew/v0.4")
	heard("bob", bobHears, `"id":"ann"`, 1) // in the welcome
	heard("ann", annHears, `"event":"join"`, 1)
	heard("bob", bobHears, `"early"`, 0)

	say(ann, `{"protocol":"mcpx/v0.1","id":"q","ts":"2026-01-02T03:04:05Z","from":"ann","to":["bob","carl"],"kind":"mcp/request:tools/call:echo","payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}}`)
	heard("bob", bobHears, `"id":"q"`, 1)
	heard("bob", bobHears, "recipient_absent", 0)
	heard("ann", annHears, "nobody here goes by carl", 1)
	say(bob, `{"protocol":"mew/v0.4","id":"a","ts":"2026-01-02T03:04:05Z","from":"bob","to":["ann"],"kind":"mcp/response","correlation_id":["q"],"payload":{"jsonrpc":"2.0","id":1,"result":{"x":1}}}`)
	heard("ann", annHears, `"mcp/response:tools/call:echo"`, 1) // the request is known here
	say(bob, `{"protocol":"mew/v0.4","id":"n","ts":"2026-01-02T03:04:05Z","from":"bob","to":["ann"],"kind":"mcp/response","payload":{"jsonrpc":"2.0","id":9,"result":{}}}`)
	heard("bob", bobHears, "not_expressible", 1)
	if one.Count.Out.Load() != 1 || other.Count.Out.Load() != 3 { // a; and q, a and n, as who speaks mew hears himself
		t.Errorf("%d and %d frames were queued", one.Count.Out.Load(), other.Count.Out.Load())
	}

	for _, h := range []*hub.Hub{one, other} {
		var ids []string
		for _, m := range h.Members("t") {
			ids = append(ids, m.ID)
		}
		past, err := h.Before("t", plain, "", 10)
		if err != nil || len(past) != 3 || fmt.Sprint(ids) != "[ann bob]" {
			t.Errorf("%v are there, %d frames are remembered, %v", ids, len(past), err)
		}
	}

	again, _ := join(one, "bob", "mcpx/v0.1")
	heard("bob", bobHears, "cut 4001", 1)
	say(bob, `{"protocol":"mew/v0.4","id":"stale","ts":"2026-01-02T03:04:05Z","from":"bob","kind":"chat","payload":{"text":"x","format":"plain"}}`)
	heard("ann", annHears, `"stale"`, 0)
	bob.Leave()
	heard("ann", annHears, `"event":"leave"`, 1)
	again.Leave()
	heard("ann", annHears, `"event":"leave"`, 2)
	if one.TopicCount() != 1 || other.TopicCount() != 0 || one.Count.Joins.Load() != 2 || other.Count.Joins.Load() != 1 {
		t.Errorf("%d and %d topics are open, %d and %d have joined", one.TopicCount(), other.TopicCount(), one.Count.Joins.Load(), other.Count.Joins.Load())
	}
}
