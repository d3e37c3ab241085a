package desktop

import (
	"cmp"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// New returns a Proxy for one client. Until it is told of a seat it answers that
// there is none yet.
func New(c Config) *Proxy {
	c.Patience = cmp.Or(c.Patience, 50*time.Second)
	c.MaxName = cmp.Or(c.MaxName, UsualName)
	f := &Proxy{c: c, protocol: newProtocol(c.Version), info: same(compose(mcp.Implementation{Name: ourName, Title: ourTitle, Version: c.Version})), choice: NewChoice(c.Include, c.Exclude), asks: map[uint64]*asking{}, requests: map[string]*request{}, peers: map[string]*peer{}, known: map[string]*acquaintance{}, why: "it has not joined yet",
		calls: map[string]*call{}, tickets: map[string]*call{}, rounds: map[string]*round{}, dialogs: map[string]*question{}}
	for k := range f.catalogue {
		f.catalogue[k].names = NewNames(c.MaxName)
	}
	f.offerOwn()
	return f
}

// Step tells the Proxy what happened, and returns what is to be done, in order.
func (f *Proxy) Step(now time.Time, ev Event) []Act {
	f.acts = nil
	f.clock.advance(now)
	f.take(ev)
	f.putQuestions()
	return f.acts
}

// Next is when Step wants to be called with Due at the latest; zero for never.
func (f *Proxy) Next() time.Time { return f.clock.next() }

func (f *Proxy) take(ev Event) {
	switch ev := ev.(type) {
	case Line:
		f.line(ev.Text)
	case Overlong:
		f.overlong(ev.Head)
	case Seated:
		f.sit(ev)
	case Unseated:
		f.stand(ev.Why)
	case Came:
		f.came(ev.Peer)
	case Left:
		f.left(ev.ID)
	case Answered:
		f.answered(ev)
	case Progressed:
		if a := f.asks[ev.Ref]; a != nil && a.progress != nil {
			a.progress(ev.Params)
		}
	case Noticed:
		f.noticed(ev.From, ev.Method)
	case Asked:
		f.asked(ev.Question)
	case Settled:
		f.settled(ev.ID)
	case Decided:
		f.decided(ev)
	case Hangup:
		f.hangup()
	}
}

// hangup takes back all that was asked for a client that is gone.
func (f *Proxy) hangup() {
	for _, r := range f.inOrder() {
		f.end(r)
	}
	for _, id := range f.ids() {
		f.abandon(id, "the client is gone")
	}
}
