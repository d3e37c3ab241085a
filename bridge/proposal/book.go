package proposal

import (
	"cmp"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Options bound a Book.
type Options struct {
	Max      int           // proposals remembered at one time; default 1024, a quarter of them of one proposer
	MaxBytes int           // of those that wait for others, or that others have taken; default 32 MiB, half of it for one proposer
	Keep     time.Duration // how long one that is over is remembered; default 15 min
}

// Rules are what the owner's policy says about proposals. They may change: a proposal that
// waits is judged by the rules at the end of its wait.
type Rules struct {
	Broadcast          bool // those that are addressed to nobody are ours as well
	RejectUntargeted   bool // we refuse aloud what is not addressed to us, too
	RejectWhereItHelps bool // the same where nobody else could serve it, or its proposer counts rejects
}

// A Book keeps the lives of proposals. The times it is given must not run
// backwards. It is not safe for use by more than one goroutine at a time.
type Book struct {
	o     Options
	rules Rules

	now   time.Time
	out   []Act     // of the event in hand
	swept time.Time // when sweep ran last

	count       uint64
	lives       map[key]*Life
	byID        map[string][]*Life // oldest first
	runs        map[string][]*Life // by the id of the request for it, which may be that of several
	each        map[string]int     // lives of each proposer
	bytes       int                // of the envelopes that have room (see hold)
	bytesOf     map[string]int     // those of each proposer
	wake        time.Time          // before this no life changes by time alone; zero: none ever does
	withdrawals withdrawalCount
	others      map[string]other // who else is in the topic
}

// A key is a participant and an id that only it may use again.
type key struct{ who, id string }

// NewBook returns an empty Book.
func NewBook(o Options) *Book {
	o.Max, o.MaxBytes, o.Keep = cmp.Or(o.Max, 1024), cmp.Or(o.MaxBytes, 32<<20), cmp.Or(o.Keep, 15*time.Minute)
	return &Book{o: o, lives: map[key]*Life{}, byID: map[string][]*Life{}, runs: map[string][]*Life{}, each: map[string]int{}, bytesOf: map[string]int{},
		withdrawals: withdrawalCount{}, others: map[string]other{}}
}

// SetRules puts other rules in force.
func (b *Book) SetRules(r Rules) { b.rules = r }

// SetHere says that another participant is in the topic, and what it may send as far as its
// gateway says.
func (b *Book) SetHere(who string, caps wire.Caps) { b.others[who] = other{caps: caps} }

// SetLeaving says that a participant is about to be gone. Until it is, it keeps its turn.
func (b *Book) SetLeaving(who string) { b.others[who] = other{leaving: true} }

// SetAway says that a participant is not there.
func (b *Book) SetAway(who string) { delete(b.others, who) }

// begin starts the acts of one event, in a new slice: the caller keeps the one before, and
// may call the Book again while it carries these out.
func (b *Book) begin() { b.out = nil }

func (b *Book) do(a Act) { b.out = append(b.out, a) }

// Next returns when Tick must be called at the latest; zero: no time is set.
func (b *Book) Next() time.Time { return b.wake }
