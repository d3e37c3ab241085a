package policy_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

const refunds = `
default: deny
rules:
- {name: refund, allow: refund, limit: {count: 3/hour, sum: {arg: /amount, max: 100, window: day}}}
- {name: shared, allow: shared, limit: {count: 2/minute, per: all}}
`

// A till is a policy with its ledger.
type till struct {
	t      *testing.T
	p      *policy.Policy
	ledger policy.Ledger
}

func (k *till) try(want policy.Verdict, from, tool, amount string, now time.Time) policy.Hold {
	k.t.Helper()
	c := policy.Call{From: from, Method: "tools/call", Tool: tool, Args: []byte(`{"amount":` + amount + `}`), Now: now}
	d := k.p.Decide(c, &k.ledger)
	if d.Verdict != want {
		k.t.Errorf("%s %s by %s at %s: %s", tool, amount, from, now.Format(time.TimeOnly), policy.Explain(d, ""))
	}
	return k.ledger.Reserve(d, now)
}

func TestLedger(t *testing.T) {
	k := &till{t: t, p: load(t, refunds)}
	start := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return start.Add(d) }

	k.try(policy.Allow, "a", "refund", "60", at(0))
	k.try(policy.Deny, "a", "refund", "40.01", at(time.Minute)) // what is under way counts
	second := k.try(policy.Allow, "a", "refund", "40", at(time.Minute))
	k.try(policy.Deny, "a", "refund", "0.01", at(2*time.Minute))
	k.try(policy.Allow, "b", "refund", "100", at(2*time.Minute)) // another caller
	k.ledger.GiveBack(second)
	k.ledger.GiveBack(second) // settled already
	third := k.try(policy.Allow, "a", "refund", "0.01", at(3*time.Minute))
	k.ledger.Commit(third)
	k.ledger.GiveBack(third) // it ran, so it counts
	k.try(policy.Allow, "a", "refund", "0", at(4*time.Minute))
	k.try(policy.Deny, "a", "refund", "0", at(5*time.Minute)) // the fourth within the hour
	k.try(policy.Allow, "a", "refund", "39.99", at(61*time.Minute))
	k.try(policy.Deny, "a", "refund", "0.01", at(23*time.Hour))
	k.try(policy.Allow, "a", "refund", "60", at(24*time.Hour+2*time.Minute))

	k.try(policy.Allow, "a", "shared", "0", at(0))
	k.try(policy.Allow, "b", "shared", "0", at(time.Second))
	k.try(policy.Deny, "c", "shared", "0", at(2*time.Second))
	k.try(policy.Deny, "c", "shared", "0", at(-time.Hour)) // a clock set back frees nothing
	k.try(policy.Allow, "c", "shared", "0", at(61*time.Second))

	if h := k.ledger.Reserve(policy.Decision{}, start); h != 0 {
		t.Errorf("a call without limits has hold %d", h)
	}
}

// What was used is known again after a restart, from the reservations on record.
func TestLedgerFromRecords(t *testing.T) {
	k := &till{t: t, p: load(t, refunds)}
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	k.ledger.Add(now, policy.Reservation{Rule: "refund", Caller: "a", Amount: "99.5", Window: 24 * time.Hour})
	k.try(policy.Deny, "a", "refund", "0.51", now.Add(time.Hour))
	k.try(policy.Allow, "a", "refund", "0.5", now.Add(time.Hour))
}

// Many calls and many callers take a bounded place, and what they took is exact.
func TestLedgerIsBoundedAndExact(t *testing.T) {
	var l policy.Ledger
	now := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for i := range 20_000 {
		r := policy.Reservation{Rule: "r", Caller: fmt.Sprint(i % 50), Amount: "0.1", Window: time.Hour}
		l.Commit(l.Reserve(policy.Decision{Limits: []policy.Reservation{r}}, now.Add(time.Duration(i)*time.Millisecond)))
	}
	count, sum := l.Used("r", "7", time.Hour, now.Add(time.Minute))
	if count != 400 || sum.Cmp(big.NewRat(40, 1)) != 0 {
		t.Errorf("%d calls, sum %s", count, sum)
	}
	later := now.Add(3 * time.Hour)
	for range 300 { // enough for the callers who are gone to be forgotten
		l.Reserve(policy.Decision{Limits: []policy.Reservation{{Rule: "r", Caller: "new", Window: time.Hour}}}, later)
	}
	if count, _ := l.Used("r", "7", 100*time.Hour, later); count != 0 {
		t.Errorf("%d calls of a caller who is long gone are kept", count)
	}
}

// recalled is what is known of calls after their record was written and read.
func recalled(t *testing.T, p *policy.Policy, at time.Time, calls ...policy.Call) (policy.Ledger, string) {
	t.Helper()
	var before, after policy.Ledger
	var record strings.Builder
	for _, c := range calls {
		c.Method, c.Now = "tools/call", at
		text, err := json.Marshal(p.ForRecord(p.Decide(c, &before).Limits, c.Args))
		if err != nil {
			t.Fatal(err)
		}
		record.WriteString(string(text))
		var took []policy.Reservation
		if err := json.Unmarshal(text, &took); err != nil {
			t.Fatal(err)
		}
		p.Recall(&after, at, took)
	}
	return after, record.String()
}

func TestLimitsAreRecalled(t *testing.T) {
	p := load(t, refunds)
	if far := p.Memory(); far != 24*time.Hour {
		t.Errorf("limits look back %s", far)
	}
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	l, record := recalled(t, p, now, policy.Call{From: "a", Tool: "refund", Args: []byte(`{"amount":99.5}`)}, policy.Call{From: "b", Tool: "shared"})
	if want := `[{"rule":"refund","caller":"a","amount":"99.5"}][{"rule":"shared"}]`; record != want {
		t.Errorf("on record is %s", record)
	}
	k := &till{t: t, p: p, ledger: l}
	k.try(policy.Deny, "a", "refund", "0.51", now.Add(time.Hour))
	k.try(policy.Allow, "a", "refund", "0.5", now.Add(time.Hour))
	k.try(policy.Allow, "c", "shared", "0", now)
	k.try(policy.Deny, "c", "shared", "0", now)
	k.try(policy.Allow, "c", "shared", "0", now.Add(time.Minute))
}

// An amount that the file hides is on record nowhere, and counts as all there is.
func TestAHiddenAmountIsNotOnRecord(t *testing.T) {
	hiding := load(t, `{default: deny, redact: [/card/*/amount], rules: [{name: pay, allow: pay, limit: {sum: {arg: "/card/*/amount", max: 100, window: hour}}}]}`)
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	l, record := recalled(t, hiding, now, policy.Call{From: "a", Tool: "pay", Args: []byte(`{"card":[{"amount":12.25}]}`)})
	if want := `[{"rule":"pay","caller":"a","hidden":true}]`; record != want {
		t.Errorf("on record is %s", record)
	}
	call := policy.Call{From: "a", Method: "tools/call", Tool: "pay", Args: []byte(`{"card":[{"amount":0.01}]}`), Now: now.Add(time.Minute)}
	if d := hiding.Decide(call, &l); d.Verdict != policy.Deny {
		t.Errorf("%s", policy.Explain(d, ""))
	}
	call.Now = now.Add(time.Hour)
	if d := hiding.Decide(call, &l); d.Verdict != policy.Allow {
		t.Errorf("%s", policy.Explain(d, ""))
	}
}

// What is on record may be of another policy, or be no amount at all.
func TestLimitsRecalledUnderAnotherPolicy(t *testing.T) {
	p := load(t, refunds)
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	var l policy.Ledger
	p.Recall(&l, now, []policy.Reservation{{Rule: "gone", Caller: "a"}, {Rule: "refund", Caller: "a", Amount: "1e9e9"}, {Rule: "shared", Caller: "a"}})
	k := &till{t: t, p: p, ledger: l}
	k.try(policy.Deny, "a", "refund", "0.01", now)
	k.try(policy.Allow, "b", "refund", "100", now)
	k.try(policy.Allow, "b", "shared", "0", now)
	k.try(policy.Deny, "b", "shared", "0", now) // it was one caller's, and is everybody's now
}

// Calls of one 1024th of the window are one entry, and it counts as long as its last call
// does: over the seam of two entries a limit never lets one call more through (FINDINGS T2).
func TestALimitHoldsAcrossTheSeamOfTwoEntries(t *testing.T) {
	const window = 1024 * time.Second
	start := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		first, second time.Duration // calls
		looked        time.Duration // after the first has been too old for
		want          int
	}{
		{0, 900 * time.Millisecond, 0, 2},                      // one entry, and its last call counts
		{0, 900 * time.Millisecond, 899 * time.Millisecond, 2}, // still
		{0, 900 * time.Millisecond, 900 * time.Millisecond, 0}, // not any more
		{0, 999 * time.Millisecond, 998 * time.Millisecond, 2}, // the last moment of one entry
		{0, time.Second, 0, 1},                                 // two entries
		{0, time.Second, 999 * time.Millisecond, 1},            // of which the second counts
		{0, time.Second, time.Second, 0},                       // nor that
		{900 * time.Millisecond, 0, 899 * time.Millisecond, 2}, // the clock was set back between
		{900 * time.Millisecond, 0, 900 * time.Millisecond, 0}, // and the later call counts
	} {
		var l policy.Ledger
		took := policy.Reservation{Rule: "r", Caller: "a", Amount: "1.5", Window: window}
		for _, at := range []time.Duration{c.first, c.second} {
			l.Commit(l.Reserve(policy.Decision{Limits: []policy.Reservation{took}}, start.Add(at)))
		}
		count, sum := l.Used("r", "a", window, start.Add(window+c.looked))
		if count != c.want || sum.Cmp(big.NewRat(int64(3*c.want), 2)) != 0 {
			t.Errorf("calls at %s and %s, %s after the window: %d, sum %s; want %d", c.first, c.second, c.looked, count, sum, c.want)
		}
	}
}

// What was booked is forgotten when it is too old, and not a moment before: the last instant
// at which it counts, and the first at which it does not (FINDINGS T3).
func TestWhatWasUsedIsForgottenNoMomentTooSoon(t *testing.T) {
	took := policy.Reservation{Rule: "r", Caller: "a", Window: time.Hour}
	start := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]int{time.Hour - time.Nanosecond: 2, time.Hour: 1, time.Hour + time.Nanosecond: 1} {
		var l policy.Ledger
		l.Add(start, took)
		l.Add(start.Add(after), took) // which has what is too old forgotten
		if n, _ := l.Used("r", "a", time.Hour, start.Add(after)); n != want {
			t.Errorf("after %v %d count, want %d", after, n, want)
		}
		for range 256 { // and so has that, for all pages
			l.GiveBack(l.Reserve(policy.Decision{Limits: []policy.Reservation{{Rule: "other", Window: time.Hour}}}, start.Add(after)))
		}
		if n, _ := l.Used("r", "a", time.Hour, start.Add(after)); n != want {
			t.Errorf("swept after %v %d count, want %d", after, n, want)
		}
	}
}
