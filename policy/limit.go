package policy

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	shown "github.com/mcpx-protocol/mcpx-bridge/bridge/text" // text is a function here
)

// A limit is how much of something a rule lets through in a while.
type limit struct {
	count       int // 0: not counted
	countWindow time.Duration
	sum         *big.Rat // nil: not summed
	sumOf       address
	sumWindow   time.Duration
	shared      bool    // all callers together, not each; so it is where nobody verifies who calls
	over        Verdict // what the rule becomes: Ask or Deny
}

// A Usage knows what was used of a limit within the window before now. A
// [Ledger] is one.
type Usage interface {
	Used(rule, caller string, window time.Duration, now time.Time) (count int, sum *big.Rat)
}

// A Reservation is what one call takes from the limit of one rule. What is in
// JSON of it is what goes on record; see [Policy.ForRecord].
type Reservation struct {
	Rule   string        `json:"rule"`
	Caller string        `json:"caller,omitempty"` // "" where all callers share the limit
	Amount string        `json:"amount,omitempty"` // exact decimal text; "" where nothing is summed
	Hidden bool          `json:"hidden,omitempty"` // there is an amount, and it is not on record
	Window time.Duration `json:"-"`                // how long it counts
}

// window is how long what a call takes counts for anything.
func (l *limit) window() time.Duration { return max(l.countWindow, l.sumWindow) }

type unused struct{}

func (unused) Used(string, string, time.Duration, time.Time) (int, *big.Rat) { return 0, new(big.Rat) }

// check says whether the call is over the limit, in words if so, and what it
// takes if it runs nevertheless. What cannot be summed is over.
func (l *limit) check(j *judgement, rule string, used Usage) (string, Reservation) {
	r := Reservation{Rule: rule, Window: l.window()}
	if !l.shared && !j.Unverified {
		r.Caller = j.From
	}
	over := ""
	if l.count > 0 {
		if n, _ := used.Used(rule, r.Caller, l.countWindow, j.Now); n >= l.count {
			over = fmt.Sprintf("limit: %d of %d calls used within %s", n, l.count, span(l.countWindow))
		}
	}
	if l.sum == nil {
		return over, r
	}
	amount, err := l.amount(j)
	if err != nil {
		return "limit: " + l.sumOf.label + " cannot be summed, " + err.Error(), r
	}
	r.Amount = plain(amount)
	_, sum := used.Used(rule, r.Caller, l.sumWindow, j.Now)
	if new(big.Rat).Add(sum, amount).Cmp(l.sum) > 0 {
		over = fmt.Sprintf("limit: with this call the sum of %s would be over %s within %s", l.sumOf.label, plain(l.sum), span(l.sumWindow))
	}
	return over, r
}

var (
	errNoAmount = errors.New("it is absent")
	errNegative = errors.New("it is negative")
)

// maxAmount bounds what is summed, in bits above and below the line: some 70
// digits. What is in a ledger is added up again for every call.
const maxAmount = 240

func (l *limit) amount(j *judgement) (*big.Rat, error) {
	args, err := j.arguments()
	if err != nil {
		return nil, err
	}
	found, err := j.lookup(args, l.sumOf.steps, nil)
	if err != nil {
		return nil, err
	}
	total := new(big.Rat)
	for _, f := range found {
		if f.value == nil {
			return nil, errNoAmount
		}
		if f.kind != isNumber {
			return nil, wrongKind(f.value)
		}
		r, err := j.decimal(f.text)
		if err != nil {
			return nil, err
		}
		if r.Num().BitLen() > maxAmount || r.Denom().BitLen() > maxAmount {
			return nil, errHugeNumber
		}
		if r.Sign() < 0 {
			return nil, errNegative
		}
		total.Add(total, r)
	}
	return total, nil
}

// span writes a duration as a file does: day, 6h, 30m.
func span(d time.Duration) string {
	for name, unit := range windows {
		if d == unit {
			return strings.Replace("a "+name, "a hour", "an hour", 1)
		}
	}
	return shown.Span(d)
}

var windows = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
}
