package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
