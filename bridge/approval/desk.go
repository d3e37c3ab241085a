package approval

import "time"

// Options are what a Desk is made with. All functions must be pure and must
// not call the Desk.
type Options struct {
	Random  func() [16]byte // 128 fresh random bits; required
	Present func(Who) bool  // whether somebody is here and can be asked now; required

	// Redact returns the arguments as the topic may see them. Nil: not at all.
	Redact func(args []byte) []byte

	// Recheck says whether a call that somebody just agreed to may still run,
	// with these arguments: "" or the reason why not, such as [PolicyDenied]
	// or [ToolChanged]. It is asked for every yes (RELIABILITY AI-8, AI-9,
	// AI-14). Nil: it may.
	Recheck func(q *Question, args []byte) (reason string)

	MaxPending  int           // questions open at one time; default 10 000
	MaxBytes    int           // bytes of arguments held for them; default 32 MiB
	PerCaller   int           // of one caller; default 8
	PerApprover int           // before one participant; default 50
	PerMinute   int           // new ones of one caller; default 10
	CoolDown    time.Duration // after three refusals in a row; default 10 min
	StartWithin time.Duration // from the yes to the start of the call; default 30 s
	Session     time.Duration // the longest a session grant lasts; default 8 h
	Always      time.Duration // how long a grant for always lasts; default 30 days
}

// A Desk keeps questions until they are settled. Methods that take the time
// must be given times that do not run backwards; it is not safe for use by
// more than one goroutine at a time.
type Desk struct{}

func NewDesk(o Options) *Desk { return nil }

// Open puts a question. The acts are what to show to whom, or a Settled.
func (d *Desk) Open(now time.Time, q Question) (id string, acts []Act) { return }
func (d *Desk) Answer(now time.Time, a Answer) []Act                   { return nil }
func (d *Desk) Tick(now time.Time) []Act                               { return nil }
func (d *Desk) Next() time.Time                                        { return time.Time{} }
func (d *Desk) Left(now time.Time, w Who) []Act                        { return nil }
func (d *Desk) Joined(now time.Time, w Who) []Act                      { return nil }
func (d *Desk) Unreachable(now time.Time, ask string) []Act            { return nil }
func (d *Desk) Reask(now time.Time) []Act                              { return nil }
func (d *Desk) Withdraw(now time.Time, id, reason string) []Act        { return nil }
func (d *Desk) Abort(now time.Time, id, reason string) []Act           { return nil }
func (d *Desk) AbortAll(now time.Time, reason string) []Act            { return nil }

// An Answer is what somebody said to a question.
type Answer struct {
	Who      Who
	Corr     []string // from the topic: the envelopes it answers
	ID       []byte   // its JSON-RPC id, raw; nil if it has none
	Linked   bool     // the dialect requires Corr: without it the answer counts for nothing
	Method   string   // what its kind says it answers; "" if it does not say
	Question string   // from the other doors: the id of the question
	Digest   string   // from the other doors: the digest that was shown; required there
	Result   []byte   // raw, not trusted to be JSON
	Failed   bool     // it is a JSON-RPC error
}

// A Grant is a remembered yes.
type Grant struct{}
