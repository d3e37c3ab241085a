package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A Filter says which records of an audit log are wanted; the zero one
// wants all.
type Filter struct {
	Call     string
	Proposal string
	From     string
	Tool     string
	Since    string
	Event    []string
	Verdict  string // allow, ask, deny or withdrawn
	Last     int    // how many at the end of those that are wanted; 0: all
	All      bool   // what lists tools too, which tells nothing of what was done
}

// A Picker reports whether a record is wanted. It must see all of them in
// order: which call a proposal became is said once.
type Picker func(*audit.Record) bool

// Picker is what picks, and from when on it must see records; zero: all. Lengths of time are
// those before now.
func (f Filter) Picker(now time.Time) (pick Picker, since time.Time, err error) {
	from, err := Since(f.Since, now)
	if err != nil {
		return nil, since, err
	}
	if !slices.Contains([]string{"", "allow", "ask", "deny", "withdrawn"}, f.Verdict) {
		return nil, since, fault.New(fault.Misused, "--verdict allow, --verdict ask, --verdict deny or --verdict withdrawn", "--verdict: there is no verdict %q", f.Verdict)
	}
	if f.Last < 0 {
		return nil, since, fault.New(fault.Misused, "-n 20", "-n must be 1 or more, or 0 for all")
	}
	if f.Proposal == "" {
		since = from
	}
	tool := regexp.MustCompile("^(?s:" + strings.ReplaceAll(regexp.QuoteMeta(f.Tool), `\*`, ".*") + ")$")
	calls := map[string]bool{} // that came of the proposal
	events := map[string]bool{}
	for _, name := range f.Event {
		events[audit.EventName(name)] = true
	}
	return func(r *audit.Record) bool {
		if f.Proposal != "" && !isOf(f.Proposal, r, calls) {
			return false
		}
		return (f.Call == "" || f.Call == r.Call || f.Call == r.Env) &&
			(f.From == "" || f.From == r.From || slices.Contains(r.By, f.From)) &&
			(f.Tool == "" || tool.MatchString(r.Tool)) &&
			(len(events) == 0 || events[r.Event]) &&
			(f.Verdict == "" || f.Verdict == r.Verdict || f.Verdict == "ask" && r.Event == "asked") &&
			(f.All || f.Call != "" || !lists(r)) &&
			(from.IsZero() || !r.At.Before(from))
	}, since, nil
}

// lists reports whether r is about tools that were listed. That they were not tells something.
func lists(r *audit.Record) bool {
	return r.Method == "tools/list" && r.Verdict != "deny" && !slices.Contains([]string{"rejected", "dropped", "security"}, r.Event)
}

// isOf reports whether r is about a proposal, or a call that came of it.
func isOf(proposal string, r *audit.Record, calls map[string]bool) bool {
	if r.Via == "proposal" && r.Env == proposal || r.Proposal == proposal {
		calls[r.Call] = calls[r.Call] || r.Call != ""
		return true
	}
	return calls[r.Call]
}

// Since reads a length of time or a moment.
func Since(said string, now time.Time) (time.Time, error) {
	if said == "" {
		return time.Time{}, nil
	}
	if d, err := text.Duration(said); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(form, said, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fault.New(fault.Misused, "--since 15m, --since 2d, --since 2026-01-31 or --since 2026-01-31T12:00", "--since: %q is no time", said)
}

// bare is a JSON value without the quotes of a string.
func bare(value []byte) string {
	var said string
	if json.Unmarshal(value, &said) == nil {
		return said
	}
	return string(value)
}

// Words are a record on one line: when, which, what, and what else it says
// that a person may want to know; --json shows the rest. A line that is no record is
// shown as it is.
func Words(r *audit.Record) string { return Layout{}.words(r, "") }

// OnRecord are several records, one line each under a head; "" if there are none.
func OnRecord(all []audit.Record) string {
	if len(all) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("on record:\n")
	for i := range all {
		out.WriteString("  " + Words(&all[i]) + "\n")
	}
	return out.String()
}

// A Layout is how lines are laid out for one reader. The zero one is for a single log, whole.
type Layout struct {
	Columns int // of the terminal: lines are cut to that, and say the time in short; 0: they are whole

	// Bridges are the names of several logs by their paths: each line has that of its own.
	Bridges map[string]string
}

// Line is a record on one line, as [Words]; path is that of its log. In a terminal where the gist
// of it, who decided and its call have no room on that, they go on in lines that begin with two
// spaces.
func (l Layout) Line(r *audit.Record, path string) string {
	cells, first := l.cells(r, l.Bridges[path])
	if l.Columns == 0 {
		return joined(cells)
	}
	lines, line := "", cells[0]
	for _, cell := range cells[1:first] {
		if text.Width(line+"  "+cell) > l.Columns {
			lines, line = lines+text.Fit(strings.TrimRight(line, " "), l.Columns)+"\n", ""
		}
		line += "  " + cell
	}
	return lines + text.Fit(joined(append([]string{line}, cells[first:]...)), l.Columns)
}

func joined(cells []string) string { return strings.TrimRight(strings.Join(cells, "  "), " ") }

func (l Layout) words(r *audit.Record, name string) string {
	cells, _ := l.cells(r, name)
	return joined(cells)
}

// cells are what a line says. The first of them are when and which, the gist, and
// in a terminal who decided and the call, which audit show --call takes.
func (l Layout) cells(r *audit.Record, name string) (cells []string, first int) {
	if r.Event == "" {
		return []string{l.head("?", "?", name), text.Cell(clipped(string(r.Text)))}, 1
	}
	at := "?"
	if form := "2006-01-02 15:04:05.000"; !r.At.IsZero() {
		if l.Columns > 0 {
			form = "01-02 15:04:05"
		}
		at = r.At.Local().Format(form)
	}
	cells = []string{fmt.Sprintf("%s  %-10s", l.head(at, strconv.FormatUint(r.Seq, 10), name), text.Cell(r.Event))}
	said := []string{"seq", "ts", "mono_ms", "prev", "event"}
	if what, used := sentence(r); what != "" {
		cells = append(cells, what)
		said = append(said, used...)
	}
	gist := len(cells)
	first = gist
	for name, value := range r.Members() {
		if slices.Contains(said, name) || goesWithoutSaying(r, name, value) {
			continue
		}
		cell, at := text.Cell(name)+"="+shownValue(value), len(cells)
		switch {
		case l.Columns > 0 && name == "by":
			at, first = gist, first+1
		case l.Columns > 0 && name == "call":
			at, first = first, first+1
		}
		cells = slices.Insert(cells, at, cell)
	}
	return cells, first
}

// head is the beginning of a line: when, and which record of which log. A terminal has no room
// for its number.
func (l Layout) head(at, seq, name string) string {
	out := fmt.Sprintf("%-14s", at)
	if l.Columns == 0 {
		out = fmt.Sprintf("%-23s %6s", at, seq)
	}
	if len(l.Bridges) == 0 {
		return out
	}
	longest := 0
	for _, one := range l.Bridges {
		longest = max(longest, text.Width(text.Line(one)))
	}
	name = text.Line(name)
	return out + "  " + name + strings.Repeat(" ", longest-text.Width(name))
}

func goesWithoutSaying(r *audit.Record, name string, value []byte) bool {
	switch name {
	case "env":
		return r.Call != "" // for machines
	case "last_call", "open", "allowed", "body", "log", "bridge":
		return true // for the log itself
	case "passkey":
		return true // for audit verify; --json has it
	case "outcome", "code":
		return r.Event == "rejected" && r.Reason != "" // which says more
	case "via", "executed":
		said := bare(value)
		return said == "request" || said == "yes" && r.Outcome == "ok"
	}
	return false
}

// sentence says the gist of a record, and which members it has used.
func sentence(r *audit.Record) (string, []string) {
	if r.Event == "foreign_answer" && r.Reason != "" {
		return "counts for nothing: " + text.Cell(text.Uncounted(r.Reason)), []string{"reason"}
	}
	what := text.Cell(cmp.Or(r.Tool, r.Method))
	if what == "" || r.From == "" {
		return "", nil
	}
	used := []string{"from", "tool"}
	if r.Method == "tools/call" || r.Tool == "" {
		used = append(used, "method")
	}
	from := text.Cell(r.From)
	switch {
	case r.Event == "decided" && r.Verdict != "":
		return text.Cell(r.Verdict) + " " + what + " for " + from, append(used, "verdict")
	case r.Event == "asked" && len(r.Of) > 0:
		return what + " for " + from + "? asking " + text.Cell(text.Series(r.Of, 0)), append(used, "of")
	case r.Outcome != "" && !(r.Event == "rejected" && r.Reason != ""):
		return what + " for " + from + ": " + text.Cell(r.Outcome), append(used, "outcome")
	case r.Reason != "":
		return what + " for " + from + ": " + text.Cell(r.Reason), append(used, "reason")
	}
	return what + " for " + from, used
}

// shownValue is a member's value, short.
func shownValue(value []byte) string {
	said := bare(value)
	var list []string
	if json.Unmarshal(value, &list) == nil {
		said = strings.Join(list, ",")
	}
	if strings.ContainsAny(said, " =\"") && len(value) > 0 && value[0] == '"' {
		said = string(value)
	}
	return text.Cell(clipped(said))
}

func clipped(said string) string {
	const most = 200
	if len(said) <= most {
		return said
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(said[:most], ""), len(said))
}
