package show_test

import (
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit/show"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"

	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
)

// Which call a proposal became may have been said before the time from which on its records
// are wanted.
func TestACallOfAProposalFromBeforeSinceIsKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	line := func(age time.Duration, rest string) string {
		return fmt.Sprintf(`{"seq":1,"ts":"%s","mono_ms":1,"prev":"%064d",%s}`+"\n", time.Now().Add(-age).UTC().Format("2006-01-02T15:04:05.000000Z"), 0, rest)
	}
	text := line(2*time.Hour, `"event":"asked","call":"c-1","env":"p-1","via":"proposal"`) +
		line(time.Minute, `"event":"start","call":"c-1"`) + line(time.Minute, `"event":"start","call":"c-2"`)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for proposal, want := range map[string][]string{"p-1": {"c-1"}, "": {"c-1", "c-2"}} {
		pick, since, err := show.Filter{Proposal: proposal, Since: "1h"}.Picker(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for r, err := range audit.Records(t.Context(), path, since) {
			if err != nil {
				t.Fatal(err)
			}
			if pick(&r) {
				got = append(got, r.Call)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("of proposal %q: %q, not %q", proposal, got, want)
		}
	}
}

// The records of an earlier build are found by the names that events have today, and by
// those that they had.
func TestEventsOfAnEarlierBuildAreFound(t *testing.T) {
	for _, wanted := range []string{"ended", "end"} {
		pick, _, err := show.Filter{Event: []string{wanted}}.Picker(time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{`{"event":"end"}`: true, `{"event":"ended"}`: true, `{"event":"start"}`: false} {
			if r := audit.ReadRecord(audit.Line{Text: []byte(text)}); pick(&r) != want {
				t.Errorf("--event %s, %s: %v", wanted, text, !want)
			}
		}
	}
}

// What lists tools is left out, but not that it was refused, and what was withdrawn is found as
// that.
func TestARefusalIsNeverLeftOut(t *testing.T) {
	for _, c := range []struct {
		verdict, text string
		want          bool
	}{
		{"", `{"event":"decided","method":"tools/list","verdict":"allow"}`, false},
		{"", `{"event":"ended","method":"tools/list"}`, false},
		{"", `{"event":"rejected","method":"tools/list"}`, true},
		{"", `{"event":"security","method":"tools/list"}`, true},
		{"deny", `{"event":"decided","method":"tools/list","verdict":"deny"}`, true},
		{"withdrawn", `{"event":"decided","verdict":"withdrawn"}`, true},
		{"deny", `{"event":"decided","verdict":"withdrawn"}`, false},
	} {
		pick, _, err := show.Filter{Verdict: c.verdict}.Picker(time.Now())
		if err != nil {
			t.Error(err)
			continue
		}
		if r := audit.ReadRecord(audit.Line{Text: []byte(c.text)}); pick(&r) != c.want {
			t.Errorf("--verdict %q, %s: %t", c.verdict, c.text, !c.want)
		}
	}
}

// From when records are shown: every spelling of a time, and the ends of the bound in days.
func TestEverySpellingOfSince(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	for text, want := range map[string]time.Time{
		"": {}, "0s": now, "0d": now, "1d": now.Add(-24 * time.Hour), "24h": now.Add(-24 * time.Hour), "1440m": now.Add(-24 * time.Hour), "0.5d": now.Add(-12 * time.Hour), "1h30m": now.Add(-90 * time.Minute),
		"36500d": now.Add(-36500 * 24 * time.Hour), "2026-01-31": time.Date(2026, 1, 31, 0, 0, 0, 0, time.Local), "2026-01-31T12:00": time.Date(2026, 1, 31, 12, 0, 0, 0, time.Local),
		"2026-01-31 12:00": time.Date(2026, 1, 31, 12, 0, 0, 0, time.Local), "2026-01-31T12:00:01": time.Date(2026, 1, 31, 12, 0, 1, 0, time.Local), "2026-01-31 12:00:01": time.Date(2026, 1, 31, 12, 0, 1, 0, time.Local),
		"2026-01-31T12:00:01Z": time.Date(2026, 1, 31, 12, 0, 1, 0, time.UTC), "2026-01-31T12:00:01.5+01:00": time.Date(2026, 1, 31, 11, 0, 1, 5e8, time.UTC),
	} {
		if got, err := show.Since(text, now); err != nil || !got.Equal(want) {
			t.Errorf("--since %s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"36500.1d", "36501d", "-1d", "-1ns", "-0.1d", "d", "infd", "nand", "1", "1D", "1 d", "1d1h", "1w", "2026-01-32", "2026-13-01", "2026-01-31T24:00", "2026-01-31T12:60", "tomorrow"} {
		if got, err := show.Since(text, now); err == nil {
			t.Errorf("--since %s: %v", text, got)
		}
	}
}

// Who decided was behind the end of a line, and of which tool in a narrow terminal too; a call
// was cut, which audit show --call takes whole.
func TestWhoDecidedIsOnTheScreen(t *testing.T) {
	r := audit.ReadRecord(audit.Line{Text: []byte(`{"seq":9,"ts":"2026-01-31T12:00:00.000000Z","event":"decided","call":"08ca10b8-26","from":"cli-0123abcd","method":"tools/call","tool":"write_file","verdict":"allow","rule":"writes","question":"0815","by":["ann","bob"]}`)})
	for columns, want := range map[int]string{
		88: "  filesystem  decided     allow write_file for cli-0123abcd  by=ann,bob\n  call=08ca10b8-26  rule=writes  question=0815",
		80: "  filesystem  decided     allow write_file for cli-0123abcd\n  by=ann,bob  call=08ca10b8-26  rule=writes  question=0815",
		60: "  filesystem  decided\n  allow write_file for cli-0123abcd  by=ann,bob\n  call=08ca10b8-26  rule=writes  question=0815",
		40: "  filesystem  decided\n  allow write_file for cli-0123abcd\n  by=ann,bob  call=08ca10b8-26  rule=wr…",
	} {
		got := show.Layout{Columns: columns, Bridges: map[string]string{"x": "filesystem"}}.Line(&r, "x")
		if _, got, _ = strings.Cut(got, "00:00"); got != want {
			t.Errorf("%d columns\n%q\n%q", columns, got, want)
		}
	}
}

// A reader of the record need not know the words that scripts do.
func TestWhyAnAnswerCountsForNothingIsSaidInWords(t *testing.T) {
	for reason, want := range map[string]string{"unconfirmed": "counts for nothing: no passkey has signed it", "wrong_sender": "counts for nothing: wrong sender"} {
		r := audit.ReadRecord(audit.Line{Text: []byte(`{"seq":9,"event":"foreign_answer","question":"0815","by":["ann"],"reason":"` + reason + `"}`)})
		if got := show.Words(&r); !strings.Contains(got, want+"  ") || strings.Contains(got, reason) {
			t.Errorf("%s is shown as %q", reason, got)
		}
	}
}

// Whatever a line of an audit log says, it is shown as one line, in a narrow terminal as some.
func FuzzRecord(f *testing.F) {
	for _, line := range []string{
		`{"seq":1,"ts":"2026-01-31T12:00:00.000000Z","event":"decided","call":7,"from":"bob","method":"tools/call","tool":"x\n\u001b[2J","verdict":"allow"}`, `{"seq":"x","event":["a"],"from":{},"event":"b"}`,
		`{"event":"asked","of":["a\u202e"],"tool":"t","from":"b"}`, `{"event":"end","outcome":"ok","executed":"yes","a b":"c=d"}`, "{", "null", "\xff", `{"event":"x","y":` + strings.Repeat("[", 200),
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r := audit.ReadRecord(audit.Line{Text: line})
		if words := show.Words(&r); words == "" || text.Line(words) != words {
			t.Errorf("%q is shown as %q", line, words)
		}
		for short := range strings.SplitSeq(show.Layout{Columns: 40}.Line(&r, ""), "\n") {
			if text.Width(short) > 40 || text.Line(short) != short {
				t.Errorf("%q is shown at a terminal as %q", line, short)
			}
		}
	})
}
