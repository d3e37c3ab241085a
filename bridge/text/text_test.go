package text

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

func TestAI15Text(t *testing.T) {
	for _, c := range []struct{ in, want, banner string }{
		{"plain text, with ~ and \\", "plain text, with ~ and \\", ""},
		{"\x1b[8m", `\u{1b}[8m`, `contains 1 control character, shown as \u{…}`},
		{"\u009b8m\x00", `\u{9b}8m\u{0}`, "2 control characters"},
		{"a\nb", `a\u{a}b`, "1 control"},
		{"safe\u202e txt.exe\u202c", `safe\u{202e} txt.exe\u{202c}`, "2 direction-control characters"},
		{"\u200e\u061c\u2066", `\u{200e}\u{61c}\u{2066}`, "3 direction-control characters"},
		{"a\u200bb\u200dc\ufeff\u00ad", `a\u{200b}b\u{200d}c\u{feff}\u{ad}`, "4 invisible characters"},
		{"\u3164\u2800\u034f", `\u{3164}\u{2800}\u{34f}`, "3 invisible characters"},
		{"hi\U000E0041\U000E007F", `hi\u{e0041}\u{e007f}`, "2 tag characters"},
		{"a\ufe0f\U000E0100", `a\u{fe0f}\u{e0100}`, "2 variation-selector characters"},
		{"\u2028\u00a0", `\u{2028}\u{a0}`, "2 line-separator or odd space"},
		{"\ue000\U0010FFFD", `\u{e000}\u{10fffd}`, "2 private-use"},
		{"\u0378\uffff", `\u{378}\u{ffff}`, "2 unassigned"},
		{"e\u0301\u0301\u0301\u0301", "e\u0301\u0301\u0301\u0301", ""},
		{"e\u0301\u0301\u0301\u0301\u0301\u0302", "e\u0301\u0301\u0301\u0301" + `\u{301}\u{302}`, "2 stacked combining"},
		{"\u0301", `\u{301}`, "1 stacked combining"},
		{"x\u20dd", `x\u{20dd}`, "1 stacked combining"},
		{"a\xffb", `a\u{ff}b`, "1 undecodable"},
		{"\ufffd", "\ufffd", ""},
		{"שלום नमस्ते 中文 é", "שלום नमस्ते 中文 é", ""},
	} {
		var m Marks
		if got := string(m.AppendLine(nil, c.in)); got != c.want {
			t.Errorf("%q is shown as %s, want %s", c.in, got, c.want)
		}
		if banner := strings.Join(m.Banner(), "; "); !strings.Contains(banner, c.banner) || (banner == "") != (c.banner == "") {
			t.Errorf("%q: banner %q, want %q", c.in, banner, c.banner)
		}
	}
}

func TestWhatStrangersWroteMovesNoCursor(t *testing.T) {
	for said, want := range map[string]string{
		"plain text, ümlauts, 漢字 and 🙂": "plain text, ümlauts, 漢字 and 🙂",
		"\x1b[31mred":                   `\u{1b}[31mred`,
		"a\nb\tc\r":                     `a\u{a}b\u{9}c\u{d}`,
		"abc\u202edef":                  `abc\u{202e}def`,
		"zero\u200bwide":                `zero\u{200b}wide`,
		"tag\U000e0041":                 `tag\u{e0041}`,
		"bad\xffutf8":                   `bad\u{ff}utf8`,
		"nbsp\u00a0ok":                  `nbsp\u{a0}ok`,
	} {
		if got := Line(said); got != want {
			t.Errorf("%q: %s, want %s", said, got, want)
		}
	}
	if got := Lines("a\n\tb\r\n\x07c"); got != "a\n\tb\n\\u{7}c" {
		t.Errorf("lines: %q", got)
	}
}

// What the seven functions before this room disagreed on (LEAN 4.13): each of these
// passed at least one of them.
func TestNothingHiddenPassesByAnyDoor(t *testing.T) {
	for _, hidden := range []string{"\u007f", "\u0085", "\u009b", "\u00a0", "\u00ad", "\u034f", "\u115f", "\u180e", "\u200b", "\u200d", "\u202e", "\u2028", "\u2066", "\u2800",
		"\u3164", "\uffa0", "\ufe0f", "\ufeff", "\ue000", "\ufffc", "\u0378", "\U000E0041", "\U000E0100", "\U000F0000", "\U0001D159", "\U0001D173"} {
		for door, shown := range map[string]string{"Line": Line("a" + hidden), "Lines": Lines("a\n" + hidden), "Cut": Cut("a"+hidden+"bcd", 3), "Quote": Quote("a"+hidden, 9),
			"EscapeJSON": string(EscapeJSON([]byte(`"` + hidden + `"`))), "AppendJSONString": string(AppendJSONString(nil, hidden)), "Strip": Strip("a"+hidden, 9)} {
			if strings.Contains(shown, hidden) {
				t.Errorf("%s lets %U pass: %q", door, []rune(hidden), shown)
			}
		}
	}
}

func TestLinesKeepTheirBreaksAndTabs(t *testing.T) {
	for text, want := range map[string]string{
		"a\n\tb\r\n\x07c": "a\n\tb\n\\u{7}c", "a\rb\n": `a\u{d}b` + "\n", "": "", "\n\n\x00": "\n\n\\u{0}", "plain": "plain",
	} {
		if got := Lines(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestWhatIsCutSaysSo(t *testing.T) {
	for _, c := range []struct {
		text        string
		most        int
		cut, quoted string
	}{
		{"four", 4, "four", `"four"`},
		{"fünf!", 4, "fünf…", `"fünf"… (6 bytes, sha256 ` + "62971685)"},
		{"ab\u202ecd", 3, `ab\u{202e}…`, `"ab\u{202e}"… (7 bytes, sha256 ` + "4f5d1a7d)"},
		{`say "x"`, 40, `say "x"`, `"say \"x\""`},
		{"\xff\xfe\xfd", 2, `\u{ff}\u{fe}…`, `"\u{ff}\u{fe}"… (3 bytes, sha256 ` + "8ca9f8c2)"},
	} {
		if got := Cut(c.text, c.most); got != c.cut {
			t.Errorf("%q is cut to %s, want %s", c.text, got, c.cut)
		}
		if got := Quote(c.text, c.most); got != c.quoted {
			t.Errorf("%q is quoted as %s, want %s", c.text, got, c.quoted)
		}
	}
}

func TestACellLooksLikeOneThing(t *testing.T) {
	for said, want := range map[string]string{"": "", "a b c": "a b c", "a  b": `a \u{20}b`, "a   b": `a \u{20}\u{20}b`, " a": `\u{20}a`, "a ": `a\u{20}`, " ": `\u{20}`, "a\x1b  b": `a\u{1b} \u{20}b`} {
		if got := Cell(said); got != want || Cell(got) != got {
			t.Errorf("%q: %s, want %s", said, got, want)
		}
	}
}

func TestPlainTextIsNotCopied(t *testing.T) {
	if n := testing.AllocsPerRun(10, func() { _ = Line("plain text, of ASCII only") + Lines("the same"); _ = Plain("x") }); n > 1 {
		t.Errorf("%g allocations", n)
	}
}

// Whatever the text, what is shown is printable and shown again as it is.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"plain", "\x1b[2J", "safe\u202e txt", "e" + strings.Repeat("\u0301", 9), "\xff\xc0\x80", "a\r\nb\tc\r", `\u{1b}`, "\u3164\ufe0f\U000E0041", "\"q\"\\",
		"\x1f ~\x7f", "\u009f\u00a0\u00a1", "\uffff\U00010000\U0010ffff", "z\u0301{\u0301",
		"\xff\xff\xfd\xff\xe8\xe8\xe8", "\x85\x85\x85\x85\x85\x80\x87\xb4\xb4\xf1", "00\n\x15", "⨀"} {
		f.Add(seed, 5)
	}
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = 1 + max(most, -most)&0xFF
		for door, shown := range map[string]string{"Line": Line(s), "Lines": Lines(s), "Cut": Cut(s, most), "Quote": Quote(s, most), "Strip": Strip(s, most), "Cell": Cell(s)} {
			for _, r := range shown {
				if Hidden(r) && !(door == "Lines" && (r == '\n' || r == '\t')) || !unicode.IsPrint(r) && r != '\n' && r != '\t' {
					t.Errorf("%s shows %U of %q", door, r, s)
				}
			}
		}
		if shown := Line(s); Line(shown) != shown || !Plain(shown) {
			t.Errorf("%q is shown as %q, and that as %q", s, shown, Line(shown))
		}
	})
}

// Whatever the JSON, its value stays.
func FuzzEscapeJSON(f *testing.F) {
	for _, seed := range []string{`{"a\u202e":"\u009b"}`, "[\"\x7f\U000E0041\",1]", "\"\xff\"", `"\\"`, "\"\u0080\u009f\u00a0\u00a1\"", "\"~\x7f\uffff\U00010000\U0010ffff\"", `"\ud800\udc00\udbff\udfff\ud7ff\ue000"`, `"\udfff\ud800"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var before, after any
		if json.Unmarshal(in, &before) != nil {
			t.Skip()
		}
		out := EscapeJSON(in)
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatalf("%q becomes %q: %v", in, out, err)
		}
		one, _ := json.Marshal(before)
		two, _ := json.Marshal(after)
		if string(one) != string(two) {
			t.Errorf("%q becomes %q", in, out)
		}
		for _, r := range string(out) {
			if r != '\n' && r != '\r' && r != '\t' && Hidden(r) {
				t.Errorf("%q shows %U", in, r)
			}
		}
	})
}
