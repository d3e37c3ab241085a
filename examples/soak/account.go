//go:build linux

package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// An account holds what ran, what was answered and what is on record together.
type account struct {
	ran      map[string]int // by key, what the server wrote down
	allowed  map[string]bool
	denied   map[string]bool
	started  map[string]int
	executed int
	outcomes map[string]int // of calls
	lost     map[string]int // calls without an answer, by what was broken
	verified struct {
		OK             bool
		Records, Files int
		Closed         bool
		Unfinished     []json.RawMessage
		Recoveries     int
		Fault          json.RawMessage
	}
}

// settle draws the account, and complains of what does not agree.
func (w *world) settle() (*account, error) {
	a := &account{ran: map[string]int{}, allowed: map[string]bool{}, denied: map[string]bool{}, started: map[string]int{}, outcomes: map[string]int{}, lost: map[string]int{}}
	if err := w.readLedger(a); err != nil {
		return nil, err
	}
	if err := w.readLog(a); err != nil {
		return nil, err
	}
	w.wrong = append(w.wrong, w.book.wrong...)
	for key, times := range a.ran {
		switch c := w.book.calls[key]; {
		case c == nil:
			w.complain("%s ran, and nobody called it", key)
		case times > 1:
			w.complain("%s ran %d times", key, times)
		case c.fate.reason != "":
			w.complain("%s ran", key)
		case !a.allowed[key]:
			w.complain("%s ran, and is not on record as allowed", key)
		case a.started[key] != 1:
			w.complain("%s ran, and has %d starts on record", key, a.started[key])
		}
	}
	for _, c := range w.book.calls {
		if why := w.judge(a, c); why != "" {
			w.complain("%s: %s; %d results, errors %q executed %q, ran %d times, answered after %s (trouble: %s)",
				c.key, why, c.results, c.reasons, c.executed, a.ran[c.key], c.ended.Sub(c.sent).Round(time.Millisecond), cmp.Or(w.book.troubled(c), "none"))
		}
	}
	w.heeded()
	return a, w.verify(a)
}

// heeded: who is asked is listened to, of whichever tool that is asked about.
func (w *world) heeded() {
	made, as := map[string]int{}, map[string]int{}
	for _, c := range w.book.calls {
		made[c.fate.tool]++
		if c.results > 0 && c.fate.reason == "" || c.results == 0 && c.answers > 0 && c.reasons[0] == c.fate.reason {
			as[c.fate.tool]++
		}
	}
	for i := range fates {
		if f := &fates[i]; f.asked && made[f.tool] >= 10 && as[f.tool] == 0 {
			w.complain("of %d calls of %s none ended as who was asked wanted", made[f.tool], f.tool)
		}
	}
}

// judge says what is wrong with a call, "" for nothing.
func (w *world) judge(a *account, c *call) string {
	ran, trouble := a.ran[c.key], w.book.troubled(c)
	switch {
	case c.results > 0:
		a.outcomes["a result"]++
	case c.answers > 0:
		a.outcomes[c.reasons[0]]++
	default:
		a.outcomes["no answer"]++
		a.lost[trouble]++
	}
	switch {
	case c.answers == 0 && trouble == "":
		return "it has no answer, and nothing was broken"
	case c.results > 1 || c.answers > 1 && !c.again:
		return "it has two answers"
	case c.results == 1 && ran != 1:
		return "it has a result and did not run once"
	case slices.Contains(c.executed, "no") && ran != 0:
		return "it is said not to have run"
	case slices.Contains(c.executed, "yes") && ran != 1:
		return "it is said to have run"
	case c.results > 0 && c.fate.reason != "":
		return "it has a result"
	case trouble == "" && slices.Contains(c.reasons, "policy_denied") && !a.denied[c.key]:
		return "it was denied, and that is not on record"
	case trouble == "" && !c.expected():
		return "it was not answered as the rules say, and nothing was broken"
	}
	return ""
}

// expected reports whether the answer is what a call gets that no fault met.
// One that somebody is asked about may meet a fault through who is asked.
func (c *call) expected() bool {
	switch {
	case c.fate.asked:
		return true
	case c.fate.tool == "sometimes":
		return c.results == 1 || c.reasons[0] == "policy_denied"
	case c.fate.reason == "":
		return c.results == 1
	}
	return c.results == 0 && c.reasons[0] == c.fate.reason
}

func (w *world) readLedger(a *account) error {
	f, err := os.Open(w.ledger)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, rest, _ := strings.Cut(lines.Text(), " ")
		word, sum, _ := strings.Cut(rest, " ")
		a.ran[key]++
		a.executed++
		if word != "recorded" {
			w.complain("%s ran before there was a record that it may (%q)", key, word)
		}
		if c := w.book.calls[key]; c != nil && c.sum != sum {
			w.complain("%s ran with other arguments", key)
		}
	}
	return lines.Err()
}

// readLog reads all records, with the eyes of somebody who knows no more of
// them than that they are lines of JSON.
func (w *world) readLog(a *account) error {
	files, err := audit.Files(w.log)
	for _, name := range files {
		if err == nil {
			err = a.readRecords(name)
		}
	}
	return err
}

func (a *account) readRecords(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		switch {
		case r.allows():
			a.allowed[r.Env] = true
		case r.decides("deny"):
			a.denied[r.Env] = true
		case r.Event == "started":
			a.started[r.Env]++
		}
	}
	return lines.Err()
}

func (w *world) verify(a *account) error {
	got, err := w.stage.Run(stage.Bridge, "audit", "verify", "--json", w.log)
	if err != nil {
		return err
	}
	v := &a.verified
	if err := json.Unmarshal([]byte(got.Stdout), v); err != nil {
		return fmt.Errorf("audit verify: %w\n%s%s", err, got.Stdout, got.Stderr)
	}
	if got.Exit != 0 || !v.OK || !v.Closed || len(v.Unfinished) > 0 {
		w.complain("the record does not verify: %s%s", got.Stdout, got.Stderr)
	}
	return nil
}

// tally says how often what was.
func tally(m map[string]int) string {
	var all []string
	for _, name := range slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(m[b]-m[a], strings.Compare(a, b)) }) {
		all = append(all, fmt.Sprintf("%s %d", name, m[name]))
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}
