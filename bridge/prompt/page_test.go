package prompt

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// AI-16: who asks, which bridge and server, tool, arguments, rule, digest.
func TestAI16ThePageIsAsWritten(t *testing.T) {
	v := approval.View{Headline: "agent-a requests permission to execute write_file", Banner: []string{`contains 1 invisible character, shown as \u{…}`},
		Facts: []approval.Fact{{Name: "Tool", Text: "write_file"}, {Name: "Caller", Text: "agent-a"}, {Name: "Bridge", Text: "fs (notes-server)"},
			{Name: "Rule", Text: "small-writes"}, {Name: "Decide by", Text: "later"}, {Name: "Digest", Text: "9c01d2ee"}},
		Summary: approval.Summary{Rule: "small-writes"}, About: "Write a file", Me: "local",
		People:    []approval.Person{{Who: "local", State: "asked"}, {Who: "dave", State: "away"}},
		Arguments: []approval.Leaf{{Name: "/path", Text: `"/tmp/x"`}, {Name: "/text", Text: `"aaa…zzz" (cut)`, Cut: true, Whole: `"` + strings.Repeat("a", 50) + `"`}}}
	const want = `agent-a requests permission to execute
  ┆  write_file
! contains 1 invisible character, shown
  ┆  as \u{…}
Arguments
  /path = "/tmp/x"
  /text = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa
  ┆ aaaaaaaaaaaaaaaaaaaaa"
Server says  Write a file
Why asked    rule small-writes
Waiting for  you
Others       dave (away)
Tool         write_file
Caller       agent-a
Bridge       fs (notes-server)
Digest       9c01d2ee
`
	var got strings.Builder
	for _, r := range pageOf(&v, 40) {
		got.WriteString(strings.TrimRight(r.text, " ") + "\n")
	}
	if got.String() != want {
		t.Errorf("got\n%s", got.String())
	}
}

// What others wrote, and are not the values of arguments, looks like nothing of ours beside it.
func TestNoSpacesMakeAColumn(t *testing.T) {
	const gap = "          "
	v := approval.View{Headline: "bob requests permission to execute x" + gap + "for alice", About: "reads" + gap + "Why asked    rule safe",
		Arguments: []approval.Leaf{{Name: `/path = "/tmp/x"` + gap, Text: `"a` + gap + `b"`}}}
	if page := strings.ReplaceAll(Text(&v), `"a`+gap+`b"`, ""); strings.Contains(page, "x"+gap) || strings.Contains(page, "reads  ") || strings.Contains(page, `"   `) {
		t.Error(page)
	}
	if what := (&item{q: approval.Summary{Tool: "read" + gap + "4:59", From: "bob"}, src: &Found{Label: "fs"}}).what(); strings.Contains(what, "  ") {
		t.Error(what)
	}
}

// Words of ours, and of a server about itself, are not cut where there is a space.
func TestProseIsBrokenBetweenWords(t *testing.T) {
	for said, want := range map[string]string{
		"Server says  Overwrite an existing file with new content": "Server says  Overwrite an existing file\n  ┆  with new content",
		"Server says  Overwrite_an_existing_file_with new content": "Server says  Overwrite_an_existing_file_\n  ┆ with new content",
		"allow this call? type 9c; any other key goes":             "allow this call? type 9c; any other key\n  ┆  goes",
		"allow it? type 9c; any other key goes it":                 "allow it? type 9c; any other key goes it",
	} {
		if got := strings.Join(wrapProse(said, 40), "\n"); got != want {
			t.Errorf("it is shown as\n%s", got)
		}
	}
}

// What an approver has put in place of an argument is broken as arguments are.
func TestAChangeIsConfirmedToTheByte(t *testing.T) {
	m := newModel(0, 0, true)
	m.view = &approval.View{Summary: approval.Summary{Short: "9c01d2ee"}}
	m.entries = []approval.Entry{{Field: "note", Raw: []byte(`"some words in a row"`)}}
	m.confirm(time.Time{})
	rows, _ := m.bottom("", 40, 24)
	if got, want := rows[0].text, `allow this call with note = "some words `; got != want {
		t.Errorf("it is shown as\n%s", got)
	}
}

// No text is lost where lines are broken, and no line is too wide.
func FuzzWrap(f *testing.F) {
	f.Add("a語b́ text", 7)
	f.Add("two words     and 語 more", 12)
	f.Fuzz(func(t *testing.T, s string, columns int) {
		columns = max(columns%200, 8)
		s = text.Line(s)
		wrapsWhole(t, s, columns, wrap(s, columns))
		wrapsWhole(t, s, columns, wrapProse(s, columns))
		if c := text.Fit(s, columns); text.Width(c) > columns {
			t.Errorf("%q is %d wide, not %d", c, text.Width(c), columns)
		}
	})
}

func wrapsWhole(t *testing.T, s string, columns int, lines []string) {
	var back strings.Builder
	for i, line := range lines {
		if text.Width(line) > columns {
			t.Errorf("%q is %d wide, not %d", line, text.Width(line), columns)
		}
		if i > 0 {
			rest, ok := strings.CutPrefix(line, continued)
			if !ok {
				t.Errorf("%q is not marked", line)
			}
			line = rest
		}
		back.WriteString(line)
	}
	if back.String() != s {
		t.Errorf("%q became %q", s, back.String())
	}
}

// A space that ends a line because what follows is wide, or a word, is not seen there: two texts
// looked alike.
func TestASpaceWhereALineIsBrokenIsSeen(t *testing.T) {
	const columns = 39
	for _, set := range []func(string, int) []string{wrap, wrapProse} {
		seen := func(s string) string {
			lines := set(s, columns)
			for i := range lines {
				lines[i] = strings.TrimRight(lines[i], " ")
			}
			return strings.Join(lines, "\n")
		}
		for n := range 2 * columns {
			before := strings.Repeat("x", n)
			for _, spaces := range []string{"", " ", "  ", "   "} {
				for _, word := range []string{"日本", "word"} {
					if with, without := before+spaces+" "+word, before+spaces+word; seen(with) == seen(without) {
						t.Errorf("%q looks like %q", with, without)
					}
				}
			}
		}
	}
}

// Whatever arrives, in whatever pieces, keys come out of it in the same way.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\x1b[A\x1b[200~x\ry\x1b[201~\xc3\xa9\x1b[5~\r\n\x7f"), 3)
	f.Add([]byte("\x1b[999999999999999999~"), 1)
	f.Add([]byte("\x1b[/~\x1b[0~\x1b[9~\x1b[:~\x1b[?~\x1b[@\x1b[1;5A"), 2) // each end of what a sequence is made of
	f.Add([]byte("\x1b[9999999999999~\x1b[99999999999999~\x1b[999999999999999~"), 20)
	f.Add([]byte("\x1f ~\x7f\u0080\xed\xa0\x80\xf4\x90\x80\x80\U0010ffff"), 4)
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		if len(text) == 0 {
			return
		}
		var whole, parts decoder
		at = (at%len(text) + len(text)) % len(text)
		if text[at] == '[' || text[at] == 'O' {
			return // an escape that stood alone until now is a key of its own
		}
		now := time.Now()
		want := whole.decode(text, now)
		got := append(parts.decode(text[:at], now), parts.decode(text[at:], now)...)
		if len(got) != len(want) || whole.pasted != parts.pasted {
			t.Fatalf("%q: %v, cut at %d %v", text, want, at, got)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: %v, cut at %d %v", text, want, at, got)
			}
		}
	})
}
