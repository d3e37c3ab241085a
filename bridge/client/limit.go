package client

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// ErrNoAnswer is for callers: the cause to give a context that limits the wait for an answer.
var ErrNoAnswer = errors.New("no answer in time")

// A Limit says how long a call, or what is proposed, is waited for.
type Limit struct {
	// Time is for the call, and begins when it is decided: until then the call waits as long
	// as its question does, 24 hours at most. Where From is set it begins then, and may be over
	// while people decide.
	Time time.Duration
	From time.Time

	// Waits hears who is asked and until when, which is when the call is given up if that is
	// earlier, and again when that changes, and the zero Waiting when it is decided. Progress
	// hears every other word of progress. Both are called from the goroutine that reads the
	// topic.
	Waits    func(refusal.Waiting)
	Progress func(refusal.Progress)
}

// first is how long it is waited for that people are said to decide, or for the call.
func (l *Limit) first() time.Duration {
	if l.From.IsZero() {
		return l.Time
	}
	return l.Time - time.Since(l.From)
}

// An UndecidedError is why a call that was given up has no answer: people had not decided. The
// call was taken back, unless CancelErr says why it could not be: then it may yet run.
type UndecidedError struct {
	Tool      string
	Within    time.Duration // that was over; 0 if the call was given up before
	Cause     error         // the cause of the context, [ErrNoAnswer] if the time was over
	CancelErr error
	Sure      bool // whom it was put to has heard that it is taken back, and had not begun
}

func (e *UndecidedError) Error() string {
	words := "nobody decided about " + e.Tool
	if e.Within > 0 {
		words += " within " + text.Span(e.Within)
	}
	if e.CancelErr != nil {
		return words + "; the question could not be withdrawn, so it may yet run: " + e.CancelErr.Error()
	}
	if !e.Sure {
		return words + ", as far as we heard; the question is withdrawn, and nobody confirmed that nothing ran"
	}
	return words + "; the question is withdrawn, nothing ran"
}

// Unwrap returns the cause.
func (e *UndecidedError) Unwrap() error { return e.Cause }

// A decision is how far a call is that people may have to decide about.
type decision struct {
	limit Limit

	mu    sync.Mutex
	late  *time.Timer
	since time.Time       // when it was told first that people decide
	told  refusal.Waiting // who decides, as it was told last
	open  bool            // they have not decided
}

// waits reports whether people have not decided.
func (d *decision) waits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open
}

// undecided says that they did not decide before the call was given up; heard, that whom it was
// put to has told us all it had to say of that.
func (d *decision) undecided(tool string, cause, cancelErr error, heard bool) error {
	e := &UndecidedError{Tool: tool, Cause: cause, CancelErr: cancelErr, Sure: heard && cancelErr == nil}
	if cause == ErrNoAnswer {
		e.Within = d.limit.Time
		if d.limit.From.IsZero() {
			e.Within = time.Since(d.since).Round(time.Second) // they had longer than the call has
		}
	}
	return e
}

func (d *decision) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.late.Stop()
	d.decided()
}

func (d *decision) progressed(params []byte) {
	p, known := refusal.HearProgress(params)
	w, waits := p.Waiting(time.Now())
	if waits {
		d.mu.Lock()
		d.asked(w)
		d.mu.Unlock()
	} else {
		d.over()
	}
	if known && !waits && d.limit.Progress != nil {
		d.limit.Progress(p)
	}
}

// over hears that they have decided, or do not any more.
func (d *decision) over() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.decided() {
		d.timeBegins(time.Now())
	}
}

// asked hears who decides. When their time is over the call's begins: whoever put the
// question says how it ended.
func (d *decision) asked(w refusal.Waiting) {
	if d.since.IsZero() {
		d.since = time.Now()
	}
	d.timeBegins(w.Until)
	if end := d.limit.From.Add(d.limit.Time); !d.limit.From.IsZero() && end.Before(w.Until) {
		w.Until = end
	}
	if same := slices.Equal(w.Of, d.told.Of) && w.Digest == d.told.Digest && w.Halted == d.told.Halted; (!d.open || !same) && d.limit.Waits != nil {
		d.limit.Waits(w)
	}
	d.told, d.open = w, true
}

// timeBegins says when the time of the call begins, where that is not with the call: at the
// latest when people have had all the time there is for a question, whatever a bridge goes on
// saying of them.
func (d *decision) timeBegins(at time.Time) {
	if !d.limit.From.IsZero() {
		return
	}
	if most := d.since.Add(policy.MaxQuestion); at.After(most) {
		at = most
	}
	d.late.Reset(time.Until(at) + d.limit.Time)
}

// decided reports whether people had not decided before.
func (d *decision) decided() bool {
	if !d.open {
		return false
	}
	d.open = false
	if d.limit.Waits != nil {
		d.limit.Waits(refusal.Waiting{})
	}
	return true
}
