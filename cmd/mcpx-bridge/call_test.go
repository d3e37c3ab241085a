package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
)

// Another text in the place of bytes that JSON cannot hold would be a call, or a
// judgement, that nobody asked for.
func TestArgumentsAreText(t *testing.T) {
	for _, args := range [][]string{{"call", "fs", "x\x80"}, {"call", "fs", "x", "a=\x80"}, {"propose", "x", "\xff=1"}, {"propose", "x", "a:=\"\x80\""},
		{"policy", "explain", "--policy", "p.yaml", strings.Repeat("\x80", 100)}, {"policy", "explain", "--policy", "p.yaml", "--method", "a\x80"},
		{"approvals", "deny", "3f2a", "--reason", "\xff"}, {"approvals", "allow", "3f2a", "--reason", "\xff"}, {"withdraw", "x", "--reason", "\x80"}, {"policy", "explain", "--policy", "p.yaml", "x", `{"a":"` + "\x80" + `"}`}} {
		var out, errs bytes.Buffer
		code := run(t.Context(), args, env{stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
			getenv: func(string) string { return "" }, environ: func() []string { return nil }})
		if code != exitMisused || out.Len() > 0 || !strings.Contains(errs.String(), "is not valid UTF-8") {
			t.Errorf("%q: exit %d, %s%s", args, code, &out, &errs)
		}
	}
}

func TestRefusalsHaveTheirExitCodes(t *testing.T) {
	for code, want := range map[int]int{-31001: 8, -31002: 9, -31004: 8, -31005: 8, -31006: 8, -31007: 8, -31008: 9, -31010: 9, -31014: 8, -32602: 1, -32050: 1, 7: 1} {
		if got := client.ExitOf(code); got != want {
			t.Errorf("%d: exit code %d, want %d", code, got, want)
		}
	}
	for raw, want := range map[string]string{
		`{"code":-31004,"message":"no","data":{"reason":"policy_denied"}}`: "fs refused x, it may or may not have run: no (policy_denied)",
		`{"code":-32050,"message":"m","data":"text"}`:                      "fs answers x with an error: m (-32050)",
		`{"code":-31004,"message":"no","data":[1]}`:                        "fs refused x, it may or may not have run: no",
		`"broken"`: "fs answers x with an error that cannot be read",
	} {
		if got := client.ErrorOf("fs", "x", []byte(raw)).Error(); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// JSON has one kind of number, and a peer may write -31004 as -31004.0: the refusal could
// not be read, and the exit code was 1.
func TestACodeIsANumberHoweverItIsSpelled(t *testing.T) {
	for code, want := range map[string]int{"-31004.0": exitRefused, "-3.1004e4": exitRefused, "-310020E-1": exitNoAnswer, "-31004.5": exitFailed, `"-31004"`: exitFailed} {
		for _, data := range []string{`{"reason":"policy_denied"}`, `"text"`} {
			err := client.ErrorOf("fs", "x", []byte(`{"code":`+code+`,"message":"no","data":`+data+`}`))
			if f, ok := errors.AsType[*failure](err); !ok || f.Exit != want {
				t.Errorf("%s: want exit code %d: %#v", code, want, err)
			}
		}
	}
}
