package approval

import (
	"strings"
	"testing"
)

var renderSeeds = []string{
	"plain", "\x1b[2J\x1b[1;1HApproved by policy\x1b[8m", "safe\u202e txt.exe\u202c", "hi\U000E0041\U000E0050", "a\n\nTool: read_file\nCaller: alice\n",
	"<img src=x onerror=alert(1)>", "e\u0301", "e" + strings.Repeat("\u0301", 9), "\u0301x", "\ufe0f\u200b\u200d\u2060\ufeff", "\u2028\u2029\u00a0\u3000",
	"\ue000\U000F0000\U00100000", "\u0378\U000E0080", "\xff\xfe\xc0\x80", "\u3164\u115f\uffa0\u2800\u034f\u17b4", "\u20e0a\u20dd", "שלום مرحبا 中文 हिन्दी", "😀\U0001F1E9\U0001F1EA",
	"\\u{202e}", "\"quoted\"", "\u0085\u009b31m", "\x7f\x00",
}

// The corpus: how a question looks whose arguments were made to deceive.
func TestUICorpus(t *testing.T) {
	for _, c := range []struct{ id, content, shown, banner string }{
		{"ui-001", `\u001b[2J\u001b[1;1HApproved by policy\u001b[8m`, `"\u{1b}[2J\u{1b}[1;1HApproved by policy\u{1b}[8m"`, "3 control characters"},
		{"ui-002", "safe\u202e txt.exe\u202c", `"safe\u{202e} txt.exe\u{202c}"`, "2 direction-control characters"},
		{"ui-003", `hi\udb40\udc41\udb40\udc50\udb40\udc50\udb40\udc52`, `"hi\u{e0041}\u{e0050}\u{e0050}\u{e0052}"`, "4 tag characters"},
		{"ui-004", `a\n\nTool: read_file\nCaller: alice\nArguments: {}\n`, `"a\n\nTool: read_file\nCaller: alice\nArguments: {}\n"`, ""},
		{"ui-005", `<img src=x onerror=fetch('/api/approve/P1',{method:'POST'})>`, `"<img src=x onerror=fetch('/api/approve/P1',{method:'POST'})>"`, ""},
	} {
		t.Run(c.id, func(t *testing.T) {
			s := newStage(t, Options{})
			q := writeFile("alice", "local")
			q.Args = []byte(`{"path":"/tmp/x","content":"` + c.content + `"}`)
			s.open(q)
			f := s.form(s.shown("alice"))
			description := f.RequestedSchema.Properties["approve"]["description"].(string)
			v, _ := s.d.View(s.now, s.shown("local").ID, false)
			if len(v.Arguments) != 2 || v.Arguments[1].Name != "/content" || v.Arguments[1].Text != c.shown {
				t.Errorf("shown as %+v", v.Arguments)
			}
			if !strings.Contains(description, `Arguments: {"content":`+c.shown+`,"path":"/tmp/x"}`) {
				t.Errorf("described as %s", description)
			}
			for _, text := range []string{v.Text(), f.Message + description} {
				if !strings.Contains(text, c.banner) {
					t.Errorf("no banner %q in %s", c.banner, text)
				}
				for _, line := range []string{"\nTool: read_file", "\nCaller: alice", "\nArguments: {}"} {
					if strings.Contains(text, line) {
						t.Errorf("the argument forges %q in %s", line, text)
					}
				}
			}
			if title := f.RequestedSchema.Properties["approve"]["title"]; title != "Approve this tool call?" || !strings.HasPrefix(f.Message, "bob requests permission to execute write_file on fs [") {
				t.Errorf("the caller's text is in the title: %s, %s", title, f.Message)
			}
		})
	}
}

// A long value is cut in the middle, and says so; the whole of it can be had.
func TestAI15LongValues(t *testing.T) {
	s := newStage(t, Options{})
	q := writeFile("alice", "local")
	value := strings.Repeat("a", 5000) + "\u202e" + strings.Repeat("b", 5000)
	q.Args = []byte(`{"content":"` + value + `","n":` + strings.Repeat("1", 500) + `}`)
	s.open(q)
	id := s.shown("local").ID
	v, _ := s.d.View(s.now, id, false)
	want := `"` + strings.Repeat("a", 300) + `"…"` + strings.Repeat("b", 60) + `" (cut: 360 of 10001 characters shown, sha256 `
	if l := v.Arguments[0]; !l.Cut || !strings.HasPrefix(l.Text, want) || l.Whole != "" {
		t.Errorf("%+v", l)
	}
	if l := v.Arguments[1]; !l.Cut || !strings.Contains(l.Text, "360 of 500 characters") {
		t.Errorf("%+v", l)
	}
	if len(v.Banner) != 1 || !strings.Contains(v.Banner[0], "1 direction-control") {
		t.Errorf("what is hidden in the cut is not counted: %v", v.Banner)
	}
	v, _ = s.d.View(s.now, id, true)
	if l := v.Arguments[0]; l.Whole != `"`+strings.Repeat("a", 5000)+`\u{202e}`+strings.Repeat("b", 5000)+`"` {
		t.Errorf("whole: %d bytes", len(l.Whole))
	}
	if l := v.Arguments[1]; l.Whole != strings.Repeat("1", 500) {
		t.Errorf("whole: %s", l.Whole)
	}
}

func TestAI15ManyValues(t *testing.T) {
	s := newStage(t, Options{})
	q := writeFile("alice", "local")
	q.Args = []byte(`{"list":[` + strings.Repeat(`"0123456789",`, 999) + `"end"]}`)
	s.open(q)
	v, _ := s.d.View(s.now, s.shown("local").ID, false)
	if len(v.Arguments) != 200 || v.More != 800 || !strings.Contains(v.Text(), "and 800 more values") {
		t.Errorf("%d and %d", len(v.Arguments), v.More)
	}
	if len(v.Compact) > 2048 || !strings.Contains(v.Compact, "(cut: ") || !strings.HasPrefix(v.Compact, `{"list":["0123456789",`) || !strings.Contains(v.Compact, `"end"]}`) {
		t.Errorf("%d bytes: %s", len(v.Compact), v.Compact)
	}
	v, _ = s.d.View(s.now, s.shown("local").ID, true)
	if len(v.Arguments) != 1000 || v.More != 0 || v.Arguments[999].Name != "/list/999" {
		t.Errorf("%d and %d", len(v.Arguments), v.More)
	}
}
