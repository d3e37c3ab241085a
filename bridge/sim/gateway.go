package sim

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A topic is the gateway, with one link to the bridge and a safe one to
// everybody else. Everybody sees all frames.
type topic struct {
	w *world
	*link
	dice dice
	caps wire.Caps

	dialling bool
	frozen   bool          // half open: nothing gets through
	epoch    int           // of the link
	last     time.Duration // when the last frame to us is due, for order
	serial   int
	past     []*frame // requests that went to us, for replays
}

func capsOf(protocol string) wire.Caps {
	text := `["mcp/*","chat","mcpx.*","proposal*","proposal-reject"]`
	switch protocol {
	case "mcp-x/v0":
		return wire.Caps{}
	case "mew/v0.4":
		text = `[{"kind":"*"}]`
	}
	caps, err := wire.ParseCaps([]byte(text))
	if err != nil {
		panic(err)
	}
	return caps
}

func (t *topic) stamp() (id, ts string) {
	t.serial++
	return fmt.Sprintf("gw-%d", t.serial), wire.Stamp(t.w.wall())
}

// spell makes a frame of what somebody means to say.
func (t *topic) spell(s said, payload []byte) *frame {
	e := &wire.Envelope{ID: s.id, TS: wire.Stamp(t.w.wall()), From: s.from, To: s.to, Kind: s.kind, Corr: s.corr, Method: s.method, Key: s.tool, Payload: payload}
	if s.kind == wire.Control {
		e.Spelled = s.method
	}
	raw, err := t.w.dialect.Append(nil, e, wire.Caps{})
	if err != nil {
		panic(fmt.Sprintf("the world cannot say %+v: %v", s, err))
	}
	return &frame{raw, s}
}

// say sends what somebody means to say.
func (t *topic) say(s said, payload []byte) { t.send(t.spell(s, payload)) }

// draft makes a frame in the words of a draft of mcpx/v0.1. link is the member of
// the envelope that names a proposal, if there is one.
func (t *topic) draft(s said, kind, link string, payload []byte) *frame {
	to := ""
	if len(s.to) > 0 {
		to = fmt.Sprintf(`"to":["%s"],`, s.to[0])
	}
	s.draft = true
	raw := fmt.Appendf(nil, `{"protocol":"mcpx/v0.1","id":"%s","ts":"%s","from":"%s",%s"kind":"%s",%s"payload":%s}`,
		s.id, wire.Stamp(t.w.wall()), s.from, to, kind, link, payload)
	return &frame{raw, s}
}

// redial joins again after a while.
func (t *topic) redial(wait time.Duration) {
	if t.up || t.dialling {
		return
	}
	t.dialling = true
	p := t.w.proc
	t.w.outer(wait, func() {
		t.dialling = false
		if p == nil || !p.alive() || t.up {
			return
		}
		t.join(p)
	})
}

func (t *topic) join(p *process) {
	t.up, t.frozen = true, false
	t.epoch++
	t.last = t.w.now
	t.greet(p)
	p.seated = true
	if len(t.past) > 0 && t.w.strikes(replay) {
		for _, f := range t.past[max(0, len(t.past)-6):] {
			t.deliver(f, t.dice.between(0, 2*time.Second))
		}
	}
}

// greet sends the welcome, by the real frame.
func (t *topic) greet(p *process) {
	w := wire.Welcome{You: wire.Participant{ID: us, Caps: t.caps}}
	for _, id := range everybody {
		if t.w.here[id] {
			w.Peers = append(w.Peers, wire.Participant{ID: id, Caps: t.caps})
		}
	}
	id, ts := t.stamp()
	e, err := t.w.dialect.Decode(t.w.dialect.AppendWelcome(nil, id, ts, "lobby", w, nil))
	if err != nil {
		panic(err)
	}
	read, err := e.Welcome()
	if err != nil {
		panic(err)
	}
	t.w.check.seated(w.Peers)
	p.tell(engine.Seated{Dialect: t.w.dialect, Welcome: read})
}

func (t *topic) welcomeAgain() {
	if p := t.w.proc; p != nil && t.up && !t.frozen {
		t.greet(p)
	}
}

// cut ends the link; the bridge hears of it after a while.
func (t *topic) cut(notice time.Duration) {
	p := t.w.proc
	if !t.up || p == nil {
		return
	}
	if t.w.joins(full, .4) {
		t.w.disk.fill(notice + 5*time.Second)
	}
	if t.w.joins(noise, .3) {
		t.w.child.babble(notice)
	}
	if t.w.joins(die, .2) {
		t.w.outer(notice-min(notice, time.Second), func() { t.w.child.end("exited with status 6", 4*time.Second) })
	}
	epoch := t.epoch
	t.frozen = notice > 0
	t.w.outer(notice, func() {
		if !p.alive() || t.epoch != epoch || !t.up {
			return
		}
		t.up, p.out = false, nil
		t.w.check.unseated()
		p.tell(engine.Unseated{Err: errors.New("the connection was closed")})
		p.seated = false
		wait := t.dice.between(500*time.Millisecond, 6*time.Second)
		if p.stopping && t.dice.chance(.5) {
			wait += 10*time.Second + lingering // there is no coming back before the end
		}
		t.redial(wait)
	})
}

// freeze makes the link half open, until the ping fails.
func (t *topic) freeze() { t.cut(t.dice.between(time.Second, 25*time.Second)) }

// gone: the bridge is no more.
func (t *topic) gone() {
	t.up, t.dialling, t.frozen = false, false, false
	t.epoch++
}

// send brings what a participant says to the bridge, and to whoever listens.
func (t *topic) send(f *frame) {
	t.w.spy.saw(f)
	if len(f.said.to) > 0 && !slices.Contains(f.said.to, us) && !f.said.broken && f.said.kind != wire.Proposal && !f.said.rivals() && !f.said.lures && !f.said.turns {
		return
	}
	switch {
	case !t.up || t.frozen:
		return // nobody of that name is here
	case t.w.strikes(drop):
		return
	}
	if f.said.kind == wire.Request || f.said.kind == wire.Proposal {
		t.past = append(t.past, f)
	}
	wait := t.dice.between(0, 5*time.Millisecond)
	if t.w.strikes(delay) {
		wait += t.dice.between(0, 5*time.Second)
	}
	if at := t.w.now + wait; at < t.last && !t.w.strikes(reorder) {
		wait = t.last - t.w.now
	}
	t.last = max(t.last, t.w.now+wait)
	t.deliver(f, wait)
	if t.w.strikes(duplicate) {
		t.deliver(f, wait+t.dice.between(0, 3*time.Second))
	}
}

func (t *topic) deliver(f *frame, wait time.Duration) {
	epoch := t.epoch
	t.w.outer(wait, func() {
		if p := t.w.proc; p != nil && t.up && t.epoch == epoch && !t.frozen {
			t.receive(p, f)
		}
	})
}

// receive hands a frame to the bridge, as its seat would.
func (t *topic) receive(p *process, f *frame) {
	again := t.w.check.claimOf(f.said.from, f.said.id) != nil
	if again && p.flushing {
		t.deliver(f, 0) // the checker could not tell what was over already
		return
	}
	t.w.trace.note(t.w.now, "<", f.raw)
	e, err := t.w.dialect.Decode(bytes.Clone(f.raw))
	if err != nil {
		refused, ok := err.(*wire.Refused)
		if !ok {
			panic(err)
		}
		t.w.check.unread(f)
		p.tell(engine.Garbled{Refused: refused})
		return
	}
	if again {
		p.tell(engine.Tick{}) // what is due is over, and said to be, before a frame that comes again
		p.release()
	}
	t.w.check.heard(f)
	p.tell(engine.Arrived{Envelope: &e})
}

// presence tells everybody that somebody came or went.
func (t *topic) presence(event, id string) {
	envelope, ts := t.stamp()
	raw := t.w.dialect.AppendPresence(nil, envelope, ts, event, wire.Participant{ID: id, Caps: t.caps})
	t.send(&frame{raw, said{id: envelope, from: wire.Gateway, kind: wire.Presence, method: event, tool: id}})
}

// fromUs takes a frame of the bridge to those it is for.
func (t *topic) fromUs(raw []byte) {
	t.w.trace.note(t.w.now, ">", raw)
	f := t.w.check.left(raw)
	if t.frozen || f == nil || t.w.strikes(loseOut) {
		return
	}
	t.w.spy.overheard(f)
	if len(f.To) == 1 && f.To[0] == us {
		t.w.company.claimed(f.Corr)
		if t.echoes {
			t.send(&frame{bytes.Clone(raw), said{id: f.ID, from: us, to: f.To, kind: wire.Request, corr: f.Corr}})
		}
	}
	for _, id := range everybody {
		if slices.Contains(f.To, id) {
			t.w.after(t.dice.between(0, 5*time.Millisecond), func() { t.w.company.got(id, f) })
		}
	}
}

// absent: the gateway says to all, as some do, that nobody was there for a request.
func (t *topic) absent(of said) {
	if t.w.here[of.to[0]] {
		return
	}
	id, ts := t.stamp()
	raw := t.w.dialect.AppendFault(nil, id, ts, "", wire.Fault{Code: "recipient_absent", Message: "gone", Trigger: []string{of.id}})
	t.send(&frame{raw, said{id: id, from: wire.Gateway, kind: wire.Failure, corr: []string{of.id}}})
}

// repeat delivers again what was delivered just before, also when that would be
// forgotten by now if it were not known since it was done.
func (t *topic) repeat() {
	for _, f := range t.past[max(0, len(t.past)-3):] {
		if t.w.luck.chance(.5) {
			t.deliver(f, t.w.luck.between(0, 2*time.Second))
		}
	}
}
