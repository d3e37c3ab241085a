package desktop

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// A Config says how a topic is shown. It may not be changed after New.
type Config struct {
	Version  string        // of this program
	NewID    func() string // for tickets; nobody must be able to guess them
	Patience time.Duration // how long a call may take before its caller gets a ticket; default 50 s
	MaxName  int           // default 46, at least LeastName, at most MaxName
	Limit    int           // most tools that are shown, those of our own included; 0: all. At least LeastLimit

	// Include and Exclude are patterns for peer/name of what is shown and may
	// be called; * stands for any characters. No Include means everything.
	Include, Exclude []string
}

// LeastLimit is the smallest limit that leaves room for a peer's tool.
const LeastLimit = ownCount + 1

// How long things take.
const (
	openTime    = 5 * time.Second        // most that a first list waits for those present at joining
	stayTime    = 30 * time.Second       // how long a departed peer's tools stay (WIRE 9.3)
	leaveTime   = 5 * time.Second        // after which a peer that left will not answer any more
	listTime    = 15 * time.Second       // most for one page of a list
	greetTime   = 2 * time.Second        // after which who does not answer initialize is asked what it has
	freshTime   = 5 * time.Minute        // after which a list is asked for again
	gatherTime  = 250 * time.Millisecond // in which changes of one peer become one request
	batchTime   = 500 * time.Millisecond // in which changes of many become one notification
	ticketTime  = 15 * time.Minute       // how long an answer is kept for who has a ticket
	silenceTime = time.Hour              // after which a call that was not heard of again is given up
	lostTime    = 2 * time.Minute        // the same for one whose answer may have been on a link that broke
)

// Bounds on what others can make us keep.
const (
	maxPages    = 50        // of one list
	MaxTools    = 512       // tools of one participant
	maxListed   = 1000      // definitions of one list
	maxTold     = 20        // of one list that are not offered, told by name
	MaxListSize = 4 << 20   // bytes of them
	maxCalls    = 1000      // calls under way, or answered and not fetched
	maxOpen     = 2000      // requests of the client under way
	maxDialogs  = 8         // questions before the person at one time
	maxShown    = 64 << 10  // bytes of a question in a client's dialog
	maxPeers    = 256 << 10 // bytes of what mcpx_peers says of all, the same for each
	maxName     = 200       // bytes of a tool's name there
)

// A Proxy shows a topic to one client. It does no I/O and has no clock: the same
// events at the same times give the same acts. It is not safe for use by
// several goroutines at one time.
type Proxy struct {
	c        Config
	protocol *server.MCPServer
	own      [][]byte // the definitions of our own tools
	info     string   // who we are, as JSON; in the modern revision every result says so in its _meta
	choice   Choice
	clock    clock
	acts     []Act
	lastRef  uint64
	asks     map[uint64]*asking
	client   client
	requests map[string]*request // of the client, under way, by raw id
	heard    int                 // how many there were
	subs     []*request          // those that listen for changes, in order

	me, topic string
	announced bool // that there is something to be seen
	seated    bool
	why       string // the seat is gone
	greets    bool
	first     map[string]bool // who was there at the first joining; nil before
	peers     map[string]*peer
	known     map[string]*acquaintance // by id
	catalogue [len(kinds)]catalogue

	calls     map[string]*call     // that the same call would join, by peer, tool and arguments
	tickets   map[string]*call     // by ticket
	rounds    map[string]*round    // of questions that a client asks on our behalf, by state
	questions []*question          // oldest first
	dialogs   map[string]*question // elicitations the client has open, by id
	dialogged int                  // how many there have been
}

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

// Busy reports whether the client waits for an answer.
func (f *Proxy) Busy() bool { return len(f.requests) > len(f.subs) }

func (f *Proxy) do(a Act) { f.acts = append(f.acts, a) }

func (f *Proxy) note(text string) { f.do(Note{Text: text}) }

// noteOf notes what a peer has brought about, which may do so as often as it likes.
func (f *Proxy) noteOf(p *peer, text string) { f.do(Note{Text: text, By: p.ID}) }

// An asking is a request to a peer under way.
type asking struct {
	to       string
	done     func(Answered)
	progress func(params []byte) // nil if nobody wants to know
}

func (f *Proxy) ask(to, method string, params []byte, a asking) (ref uint64) {
	f.lastRef++
	a.to = to
	f.asks[f.lastRef] = &a
	f.do(Ask{Ref: f.lastRef, To: to, Method: method, Params: params, Progress: a.progress != nil})
	return f.lastRef
}

// unask takes a request back. It is not answered then.
func (f *Proxy) unask(ref uint64, why string) {
	if f.asks[ref] != nil {
		delete(f.asks, ref)
		f.do(Cancel{ref, why})
	}
}

func (f *Proxy) answered(a Answered) {
	if asked := f.asks[a.Ref]; asked != nil {
		delete(f.asks, a.Ref)
		asked.done(a)
	}
}

// abandon ends all requests to a peer that will not answer them any more.
func (f *Proxy) abandon(id, why string) {
	for _, ref := range slices.Sorted(maps.Keys(f.asks)) {
		if a := f.asks[ref]; a != nil && a.to == id {
			f.do(Cancel{ref, why})
			f.answered(Answered{Ref: ref, Failed: why})
		}
	}
}
