package approval

import (
	"cmp"
	"encoding/hex"
	"maps"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/timetable"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Options are what a Desk is made with.
type Options struct {
	Random func() [16]byte // 128 fresh random bits; required

	// Grants are what an earlier run had remembered, as [ReadGrants] found it.
	Grants []Grant

	NoPage bool // there is none on which a passkey could sign, or nobody gets in: nobody gives a yes that takes one

	MaxPending  int           // questions open at one time; default 10 000
	MaxBytes    int           // bytes of arguments held for them; default 32 MiB
	PerCaller   int           // of one caller; default 8
	PerApprover int           // before one participant; default 50. The other doors have lists instead
	PerMinute   int           // new ones of one caller; default 10
	CoolDown    time.Duration // after three refusals in a row; default 10 min
	StartWithin time.Duration // from the yes to the start of the call; default 30 s
	Session     time.Duration // the longest a session grant lasts; default 8 h
	Always      time.Duration // how long a grant for always lasts; default 30 days
}

// A Redactor returns arguments as the topic may see them: one JSON object. A
// [policy.Policy] is one.
type Redactor interface {
	Redact(args []byte) []byte
}

// Times to decide (RELIABILITY AI-10), and how much must be left of them to
// bother somebody anew.
const (
	defaultWithin = 5 * time.Minute
	leftToReask   = 10 * time.Second
	leftToPassOn  = 2 * time.Second
)

func (o Options) filled() Options {
	o.MaxPending = cmp.Or(o.MaxPending, 10_000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 32<<20)
	o.PerCaller = cmp.Or(o.PerCaller, 8)
	o.PerApprover = cmp.Or(o.PerApprover, 50)
	o.PerMinute = cmp.Or(o.PerMinute, 10)
	o.CoolDown = cmp.Or(o.CoolDown, 10*time.Minute)
	o.StartWithin = cmp.Or(o.StartWithin, 30*time.Second)
	o.Session = cmp.Or(o.Session, 8*time.Hour)
	o.Always = cmp.Or(o.Always, 30*24*time.Hour)
	return o
}

// A Desk keeps questions until they are settled. The times it is given must
// not run backwards. It is not safe for use by more than one goroutine at a
// time.
type Desk struct {
	o Options

	now time.Time // of the event in hand
	out []Act     // of the event in hand

	opened   uint64 // questions so far
	here     map[Who]bool
	believed bool // who speaks in the topic is taken for who it says it is
	halted   bool

	redactor Redactor // nil: the topic sees no arguments

	pending map[string]*pending
	bytes   int // of their arguments
	clock   timetable.Table[*pending]

	asks     map[string]*ask  // every ask of a pending question, by envelope id
	late     map[string]ended // what has been settled, by ask and by question
	gone     []forgettable    // of late, oldest first
	before   map[Who]int      // questions open before each
	involved map[Who]int      // ballots of each
	parties  map[string]int   // participants whose questions are pending, as caller or proposer
	flood    flood
	grants   []*Grant

	unverified *agreement // what the Verify is about that was returned last and awaits Verified; nil if none does
}

// An agreement is a yes that does not count before it is verified.
type agreement struct {
	p     *pending
	grant *Grant  // it is remembered; nil: somebody has answered
	item  int     // of a plan, that covers the call
	by    *ballot // who
	why   string  // in their own words
	keep  string  // what they want remembered, see ballot
	to    change

	signed *Signed  // where it takes a passkey,
	nonce  [16]byte // and of what was signed,
	digest Digest   // which has this one
}

// A draft is a yes that waits for its signature.
type draft struct {
	statement []byte
	on        Digest // of the question as it was
	to        change
	nonce     [16]byte // of what the question is about from then on, if the yes changes that,
	digest    Digest   // and this
	why       string
}

// A change is what an answer makes of a call.
type change struct {
	args     []byte
	timeout  time.Duration
	modified []string // what is different now
}

// A pending is a question that is not settled.
type pending struct {
	id    string
	order uint64 // of opening
	q     Question
	key   [32]byte // of caller and call, see keyOf

	unused    *Grant // what is remembered and does not count, nil if nothing
	unusedWhy string

	asked, deadline time.Time
	frozen          time.Time     // since when its time stands still; zero: it goes on
	stood           time.Duration // how long it has stood still before
	warned          bool
	wake            *timetable.Entry[*pending] // when its next time is up

	ballots []*ballot
	need    int
	closed  []policy.Edit // what may be changed no longer
	drafts  []draft       // that wait for a signature, the oldest first

	// What people are asked to agree to now: what was asked for, until one of
	// several who must agree changes it.
	args     []byte
	timeout  time.Duration
	modified []string
	digest   Digest
	first    Digest // before any change
	nonce    [16]byte
	amended  int

	published *published // nil before anybody was asked over the topic
}

// A state says how far somebody is with a question.
type state uint8

const (
	waiting    state = iota // was not asked yet
	beingAsked              // has it open
	agreed
	passedOn  // to somebody else, who has a ballot of their own
	away      // is not here
	failed    // cannot answer: what came was an error
	outOfTime // took too long
	struck    // the policy lets them decide no more
)

var stateNames = map[state]string{
	waiting: "waiting", beingAsked: "asked", agreed: "agreed", passedOn: "passed it on", away: "away", failed: "failed",
	outOfTime: "out of time", struck: "removed",
}

// A ballot is somebody's part in one question.
type ballot struct {
	who     Who
	state   state
	asks    []*ask // that count; only participants have any
	till    time.Time
	chain   []Hop // how the question came here
	retried bool  // after passing it on to somebody impossible

	corrected bool   // was asked again after an answer that named no question, or two
	keep      string // what to remember, once agreed
}

// An ask is one elicitation: a question, once, before one participant.
type ask struct {
	p        *pending
	s        *ballot
	id       string // 128 random bits in hex: the envelope; after "elicit-" the JSON-RPC id
	void     string // why an answer to it no longer counts; "" while it does
	answered bool   // also where another reason than that has taken the place of void since
}

// maxAsks bounds how often one question is put to one participant anew.
const maxAsks = 16

// A published is what everybody asked over the topic is shown of the arguments of a
// question. It is made once, however many are asked and however often: that takes long
// where there are many arguments (FINDINGS M3).
type published struct {
	sight
	args, beside []byte // for the metadata: in one spelling; nil if hidden or too long to be in it
	sizes        [2]int // of those that are too long
}

// A sight is what there is to see of the arguments of a question.
type sight struct {
	headline, compact, beside string
	about                     string // see [Question.about]
	banner                    []string
	plan                      []Fact // what it covers, of a plan
	edits                     []Field
}

// A flood is what is remembered so that nobody is worn down by questions
// (RELIABILITY AI-17).
type flood struct {
	callers  map[string]*asker
	refusals map[nag]*streak
	events   int // since the last sweep
}

type asker struct {
	pending int
	recent  []time.Time // of the questions opened in the last minute, oldest first
}

// A nag is what a cool-down is about: whatever else differs between two calls, the
// caller chose it, and one argument more must not bring the next question (FINDINGS
// L2).
type nag struct{ caller, method, tool string }

// A streak counts how often people refused one caller one tool in a row.
type streak struct {
	n     int
	until time.Time // until then it counts; and once it is long enough, nobody is asked
}

// What is remembered of settled questions, so that what comes late is known
// for what it is.
const (
	keepLate = 15 * time.Minute
	maxLate  = 20_000
)

// An ended is what is left of a question, or of one ask of it.
type ended struct {
	id  string // of the question
	who Who    // to whom the ask was put; nobody for the question itself
	how string // the outcome, or why the ask had stopped counting before
}

type forgettable struct {
	at  time.Time
	key string // of Desk.late
}

func (d *Desk) do(a Act) { d.out = append(d.out, a) }

func (d *Desk) fresh() string {
	id := d.o.Random()
	return hex.EncodeToString(id[:])
}

// inOrder are the pending questions, oldest first.
func (d *Desk) inOrder() []*pending {
	return slices.SortedFunc(maps.Values(d.pending), func(a, b *pending) int { return cmp.Compare(a.order, b.order) })
}

func (p *pending) size() int { return len(p.q.Args) + len(p.q.Beside) }

func (p *pending) find(w Who) *ballot {
	for _, s := range p.ballots {
		if s.who == w {
			return s
		}
	}
	return nil
}

// able is how many of those in some state could say a yes that counts: passkeys are those of the
// person at this machine, and sign on the bridge's own page.
func (d *Desk) able(p *pending, states ...state) (n int) {
	for _, s := range p.ballots {
		if slices.Contains(states, s.state) && (p.q.Terms.Confirm == "" || s.who.Door == Local && !d.o.NoPage) {
			n++
		}
	}
	return n
}

func (p *pending) count(states ...state) (n int) {
	for _, s := range p.ballots {
		if slices.Contains(states, s.state) {
			n++
		}
	}
	return n
}

func (p *pending) who(in ...state) (all []Who) {
	for _, s := range p.ballots {
		if slices.Contains(in, s.state) {
			all = append(all, s.who)
		}
	}
	return all
}

func (p *pending) sequential() bool { return p.q.Terms.Mode == "sequential" }

// barred: nobody decides about a matter of their own, save the person behind a
// client about what that client does, and about nothing else.
func (p *pending) barred(w Who) bool {
	if w.Door == Host {
		return !p.q.Host
	}
	return w.Door == Topic && (w.ID == "" || w.ID == p.q.Caller || w.ID == p.q.Proposer || w.ID == p.q.Bridge)
}

func (d *Desk) full(w Who) bool { return w.Door == Topic && d.before[w] >= d.o.PerApprover }

// present reports whether somebody can be asked now.
func (d *Desk) present(w Who) bool { return d.here[w] && (w.Door != Topic || d.believed) }

// reachable: is here and has not too many questions to answer already.
func (d *Desk) reachable(w Who) bool { return d.present(w) && !d.full(w) }
