package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
)

// A recordFilter says which records of an audit log are wanted; the zero one
// wants all.
type recordFilter struct {
	Call     string
	Proposal string
	From     string
	Tool     string
	Since    string
	Event    []string
}

// A picker reports whether a record is wanted. It must see all of them in
// order: which call a proposal became is said once.
type picker func(*auditRecord) bool

func (f recordFilter) picker() (picker, error) {
	since, err := sinceWhen(f.Since, time.Now())
	if err != nil {
		return nil, err
	}
	tool := regexp.MustCompile("^(?s:" + strings.ReplaceAll(regexp.QuoteMeta(f.Tool), `\*`, ".*") + ")$")
	calls := map[string]bool{} // that came of the proposal
	return func(r *auditRecord) bool {
		if f.Proposal != "" && !r.of(f.Proposal, calls) {
			return false
		}
		return (f.Call == "" || f.Call == r.Call || f.Call == r.Env) &&
			(f.From == "" || f.From == r.From || slices.Contains(r.By, f.From)) &&
			(f.Tool == "" || tool.MatchString(r.Tool)) &&
			(len(f.Event) == 0 || slices.Contains(f.Event, r.Event)) &&
			(since.IsZero() || !r.At.Before(since))
	}, nil
}

// of reports whether r is about a proposal, or a call that came of it.
func (r *auditRecord) of(proposal string, calls map[string]bool) bool {
	if r.Via == "proposal" && r.Env == proposal || r.Proposal == proposal {
		calls[r.Call] = calls[r.Call] || r.Call != ""
		return true
	}
	return calls[r.Call]
}

// sinceWhen reads a length of time or a moment.
func sinceWhen(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n >= 0 && n <= mostDays {
			return now.Add(-time.Duration(n * 24 * float64(time.Hour))), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, misused("--since 15m, --since 2d, --since 2026-01-31 or --since 2026-01-31T12:00", "--since: %q is no time", text)
}

// An auditRecord is a line of an audit log as it is shown and chosen by. What
// it cannot read of a line is empty: such a line is shown all the same.
type auditRecord struct {
	Seq      uint64
	At       time.Time
	Event    string
	Call     string
	Env      string
	From     string
	Method   string
	Tool     string
	Via      string
	Proposal string
	Verdict  string
	Outcome  string
	Reason   string
	Rule     string
	By       []string
	Of       []string

	members []member // all of them, as written
}

type member struct {
	name  string
	value json.RawMessage
}

func readRecord(line []byte) auditRecord {
	var r auditRecord
	fields := map[string]any{"seq": &r.Seq, "ts": &r.At, "event": &r.Event, "env": &r.Env, "from": &r.From, "method": &r.Method,
		"tool": &r.Tool, "via": &r.Via, "proposal": &r.Proposal, "verdict": &r.Verdict, "outcome": &r.Outcome, "reason": &r.Reason,
		"rule": &r.Rule, "by": &r.By, "of": &r.Of}
	d := json.NewDecoder(bytes.NewReader(line))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return r
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return r
		}
		m := member{name: fmt.Sprint(name)}
		if d.Decode(&m.value) != nil {
			return r
		}
		r.members = append(r.members, m)
		if m.name == "call" {
			r.Call = bare(m.value)
		} else if into, ok := fields[m.name]; ok {
			json.Unmarshal(m.value, into) // what has another form is shown as it is
		}
	}
	return r
}

// bare is a JSON value without the quotes of a string.
func bare(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// words are a record on one line: when, which, what, and what else it says
// that a person may want to know; --json shows the rest.
func (r *auditRecord) words(line audit.Line) string {
	if r.Event == "" {
		return fmt.Sprintf("%-23s %6s  %s", "?", "?", visible(clipped(string(line.Text))))
	}
	at := "?"
	if !r.At.IsZero() {
		at = r.At.Local().Format("2006-01-02 15:04:05.000")
	}
	cells := []string{fmt.Sprintf("%-23s %6d  %-10s", at, r.Seq, visible(r.Event))}
	said := []string{"seq", "ts", "mono_ms", "prev", "event"}
	if what, used := r.sentence(); what != "" {
		cells = append(cells, what)
		said = append(said, used...)
	}
	for _, m := range r.members {
		if !slices.Contains(said, m.name) && !m.goesWithoutSaying(r) {
			cells = append(cells, visible(m.name)+"="+shownValue(m.value))
		}
	}
	return strings.TrimRight(strings.Join(cells, "  "), " ")
}

func (m member) goesWithoutSaying(r *auditRecord) bool {
	switch m.name {
	case "env":
		return r.Call != "" // for machines
	case "last_call", "open", "allowed", "body", "log", "bridge":
		return true // for the log itself
	case "via", "executed":
		text := bare(m.value)
		return text == "request" || text == "yes" && r.Outcome == "ok"
	}
	return false
}

// sentence says the gist of a record, and which members it has used.
func (r *auditRecord) sentence() (string, []string) {
	what := visible(cmp.Or(r.Tool, r.Method))
	if what == "" || r.From == "" {
		return "", nil
	}
	used := []string{"from", "tool"}
	if r.Method == "tools/call" || r.Tool == "" {
		used = append(used, "method")
	}
	from := visible(r.From)
	switch {
	case r.Event == "decided" && r.Verdict != "":
		return visible(r.Verdict) + " " + what + " for " + from, append(used, "verdict")
	case r.Event == "asked" && len(r.Of) > 0:
		return what + " for " + from + "? asking " + visible(strings.Join(r.Of, ", ")), append(used, "of")
	case r.Outcome != "":
		return what + " for " + from + ": " + visible(r.Outcome), append(used, "outcome")
	case r.Reason != "":
		return what + " for " + from + ": " + visible(r.Reason), append(used, "reason")
	}
	return what + " for " + from, used
}

// shownValue is a member's value, short.
func shownValue(value json.RawMessage) string {
	text := bare(value)
	var list []string
	if json.Unmarshal(value, &list) == nil {
		text = strings.Join(list, ",")
	}
	if strings.ContainsAny(text, " =\"") && len(value) > 0 && value[0] == '"' {
		text = string(value)
	}
	return visible(clipped(text))
}

func clipped(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
}
