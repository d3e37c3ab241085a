package sim

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify/channel"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A phone is where people of the topic hear of questions by a channel of the bridge, and answer
// there. What comes of an answer the bridge's own code says; the seats that it has for them are
// here.
type phone struct {
	w     *company
	dice  dice
	open  map[string][]*rung // by whom it was put to
	heard []channel.Answer   // to what was told, without who and what they say
}

// A rung is a question as it was put to somebody, at the seat that the bridge has for them.
type rung struct {
	*letter
	approval.Elicited
	who string
}

// chats are those who may answer, by their ids in the channel.
var chats = map[string]string{"71": "alice", "72": "bob"}

// rings tells somebody of what was put to them, and they answer: late, twice, or wrong.
func (ph *phone) rings(p *person, l *letter) {
	chat := map[string]string{"alice": "71", "bob": "72"}[p.id]
	a := ph.w.check.asks[l.ID]
	if !ph.w.o.Faults[byChannel] || chat == "" || a == nil {
		return
	}
	q, err := approval.Elicit(ph.w.wall(), us, p.id, l.Payload.Params)
	if err != nil {
		return // nobody is shown it
	}
	q.View.ID = l.ID
	ph.open[p.id] = append(slices.DeleteFunc(ph.open[p.id], func(r *rung) bool { return r.Key == q.Key }), &rung{l, *q, p.id})
	if ph.w.proc == nil || !ph.w.strikes(byChannel) {
		return
	}
	v, err := inbox.Public(ph.w.proc.inbox).Show(context.Background(), a.question)
	if err != nil {
		return
	}
	x := channel.Answer{Person: chat, Question: v.ID, Digest: v.Short, Allow: ph.dice.chance(.8)}
	ph.heard = append(ph.heard, x)
	for range pick(ph.dice, 1, 1, 2) {
		ph.w.after(ph.dice.between(time.Second, pick(ph.dice, 5*time.Second, 20*time.Second, 20*time.Minute)), func() { ph.answers(x) })
	}
}

// answers gives an answer, right or wrong.
func (ph *phone) answers(x channel.Answer) {
	p, by := ph.w.proc, policy.Channel{Kind: "telegram", People: chats}
	if p == nil || ph.w.healed {
		return
	}
	switch ph.dice.IntN(10) {
	case 0: // to what was shown with another
		x.Digest = pick(ph.dice, "", x.Digest[1:], pick(ph.dice, ph.heard...).Digest)
	case 1:
		x.Person = pick(ph.dice, "73", "", "alice")
	case 2: // the owner has not said trust: answers
		by.People = nil
	case 3:
		x.Person = pick(ph.dice, "71", "72")
	}
	var sent *rung
	words := notify.Taker(by, inbox.Public(p.inbox), ph.seat(&sent), slog.New(slog.DiscardHandler))(context.Background(), x)
	ph.w.trace.note(ph.w.now, "by channel", []byte(words))
	ph.w.check.byChannel(by.People[x.Person], x, sent, ph.open[by.People[x.Person]])
}

// seat has what is answered there put where sent is.
func (ph *phone) seat(sent **rung) func(context.Context, string) (inbox.Inbox, error) {
	return func(_ context.Context, who string) (inbox.Inbox, error) {
		if p := ph.w.person(who); p != nil && p.here() {
			return &seatInbox{ph: ph, who: p, sent: sent}, nil
		}
		return nil, errors.New("it has no seat in the topic")
	}
}

// A seatInbox is the inbox of a participant, as far as an answer needs one.
type seatInbox struct {
	inbox.Inbox
	ph   *phone
	who  *person
	sent **rung
}

// List lists what is open there.
func (s *seatInbox) List(context.Context, bool) (all []approval.Summary, err error) {
	for _, r := range s.ph.open[s.who.id] {
		all = append(all, r.View.Summary)
	}
	return all, nil
}

// Watch hears of nothing: the world stands still while an answer is taken.
func (s *seatInbox) Watch(context.Context) iter.Seq2[inbox.Event, error] {
	return func(yield func(inbox.Event, error) bool) { yield(inbox.Event{}, nil) }
}

func (s *seatInbox) find(id string) (*rung, error) {
	open := s.ph.open[s.who.id]
	if i := slices.IndexFunc(open, func(r *rung) bool { return r.View.ID == id }); i >= 0 {
		return open[i], nil
	}
	return nil, &inbox.Refusal{Reason: inbox.Unknown}
}

// Show shows one.
func (s *seatInbox) Show(_ context.Context, id string) (approval.View, error) {
	r, err := s.find(id)
	if err != nil {
		return approval.View{}, err
	}
	return r.View, nil
}

// Decide says it in the topic.
func (s *seatInbox) Decide(_ context.Context, x inbox.Decision) (inbox.Outcome, error) {
	r, err := s.find(x.ID)
	if err != nil {
		return inbox.Outcome{}, err
	}
	if x.Digest != r.View.Digest && x.Digest != r.View.Short {
		return inbox.Outcome{}, &inbox.Refusal{Reason: inbox.DigestMismatch}
	}
	open := s.ph.open
	open[s.who.id] = slices.DeleteFunc(open[s.who.id], func(other *rung) bool { return other == r })
	*s.sent = r
	s.who.replies(r, x.Result)
	return inbox.Outcome{Outcome: inbox.Sent}, nil
}

// replies says in the topic what somebody answers elsewhere.
func (p *person) replies(r *rung, result []byte) {
	a := said{id: p.word("a"), from: p.id, to: []string{us}, kind: wire.Response, method: "elicitation/create", corr: []string{r.ID}, rpc: r.Payload.ID,
		result: fmt.Appendf(nil, `"result":%s`, result)}
	p.w.topic.say(a, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, a.rpc, a.result))
}

// byChannel: an answer by a channel is one of who, whom the owner has said that it is from, to the
// question that they were shown, as it is now, and to no other; and such a one is passed on.
func (c *checker) byChannel(who string, x channel.Answer, sent *rung, open []*rung) {
	newest, is := c.newest[x.Question+who], c.standing(x.Question)
	if sent != nil {
		switch a := c.asks[sent.ID]; {
		case who == "" || sent.who != who:
			c.blame("by channel", "an answer of %q (%s) counts as one of %s", x.Person, who, sent.who)
		case a.question != x.Question || x.Digest == "" || x.Digest != sent.View.Short:
			c.blame("by channel", "an answer to %s as %q is passed on to %s as %s", x.Question, x.Digest, a.question, sent.View.Short)
		case !is.open || sent.ID != newest && slices.ContainsFunc(open, func(r *rung) bool { return r.ID == newest }):
			c.blame("by channel", "an answer to %s as %q is passed on, and that has ended, or is another", x.Question, x.Digest)
		}
		return
	}
	for _, r := range open {
		if a := c.asks[r.ID]; is.open && c.w.here[who] && r.ID == newest && !a.closed && x.Digest == r.View.Short {
			c.blame("by channel", "an answer of %s to %s as %s, as it was put to them, is not passed on", who, x.Question, x.Digest)
		}
	}
}
