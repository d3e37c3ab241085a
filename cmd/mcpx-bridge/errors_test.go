package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

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
		if got := text.Line(said); got != want {
			t.Errorf("%q: %s, want %s", said, got, want)
		}
	}
	if got := text.Lines("a\n\tb\r\n\x07c"); got != "a\n\tb\n\\u{7}c" {
		t.Errorf("lines: %q", got)
	}
}

func TestComplaints(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		want string
	}{
		{nil, 0, ""},
		{errors.New("plain"), 1, "mcpx-bridge: plain\n"},
		{misused("do this\nor that", "wrong %d", 1), 2, "mcpx-bridge: wrong 1\nmcpx-bridge: hint: do this\\u{a}or that\n"}, // what others named begins no hint
		{misused("do this", "wrong %d", 1).Also("or that"), 2, "mcpx-bridge: wrong 1\nmcpx-bridge: hint: do this\nmcpx-bridge: hint: or that\n"},
		{fmt.Errorf("around: %w", fail(exitServer, "h", "inner")), 3, "mcpx-bridge: around: inner\nmcpx-bridge: hint: h\n"},
		{&failure{Exit: exitFailed}, 1, ""},
		{errors.New("two\nlines"), 1, "mcpx-bridge: two\\u{a}lines\n"},
	} {
		var b bytes.Buffer
		if code := complain(&b, c.err); code != c.code || b.String() != c.want {
			t.Errorf("%v: %d %q, want %d %q", c.err, code, b.String(), c.code, c.want)
		}
	}
}

func TestSuggestions(t *testing.T) {
	known := []string{"topic", "token-file", "allow", "id"}
	for word, want := range map[string]string{"topik": "topic", "Topic": "topic", "tokenfile": "token-file", "alow": "allow", "xyz": "", "ix": "id", "": "", "tpoic": "topic", "tpoci": "", "i": "id", "d": "id", "x": ""} {
		if got := policy.Nearest(word, known); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

// A slip of the finger is understood alike in a flag and in a policy: each had a distance and a
// threshold of its own (LEAN 9.5).
func TestATypoInAFlagAndInAPolicyGetsTheSameSuggestion(t *testing.T) {
	for _, c := range []struct{ command, above, slip, meant string }{
		{"policy explain", "rules:\n- {allow: x, %s: a}\n", "form", "from"},
		{"policy explain", "rules:\n- {allow: x, %s: a}\n", "fromm", "from"},
		{"policy explain", "rules:\n- {allow: x, %s: a}\n", "vai", "via"},
		{"policy explain", "rules:\n- {allow: x, %s: a}\n", "FROM", "from"},
		{"run", "asks: {default: {of: [local], %s: 1m}}\n", "wihtin", "within"},
		{"run", "asks: {default: {of: [local], %s: 1m}}\n", "with-in", "within"},
		{"run", "asks: {default: {of: [local], %s: 1m}}\n", "qqqq", ""},
	} {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, "version: 1\ndefault: deny\n"+c.above, c.slip), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, inPolicy := typed(t, t.TempDir(), "policy", "check", file)
		_, _, inFlag := typed(t, t.TempDir(), append(strings.Fields(c.command), "--"+c.slip)...)
		for said, want := range map[string]string{inPolicy: "hint: did you mean " + c.meant + "?\n", inFlag: "hint: did you mean --" + c.meant + "?\n"} {
			if strings.Contains(said, want) != (c.meant != "") || strings.Contains(said, "did you mean") != (c.meant != "") {
				t.Errorf("%s is answered by %s", c.slip, said)
			}
		}
	}
}
