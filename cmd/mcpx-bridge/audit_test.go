package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
)

// hundred is a log of a hundred records, closed.
func hundred(t *testing.T, name string) (path string, newest audit.Head) {
	t.Helper()
	return hundredIn(t, name, audit.Options{})
}

func hundredIn(t *testing.T, name string, o audit.Options) (path string, newest audit.Head) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "audit", name)
	log, _, err := audit.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	for call := range 98 {
		if err := log.Append(fmt.Appendf(nil, `{"event":"decided","call":%d,"from":"ana","tool":"read_file","verdict":"deny"}`, call+1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return path, log.Synced()
}

// A cutLog has lost its last ten records. What is noted beside it shows that,
// and what a topic knows, also where nothing is beside it.
func cutLog(t *testing.T, c badInput) {
	path, newest := hundred(t, "truncated.log")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kept := bytes.Join(bytes.SplitAfter(text, []byte{'\n'})[:90], nil)
	if err := os.WriteFile(path, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	verifyFails(t, c, path, ":91: the end was cut off: the log ends with record 90, but truncated.log.head knows record 100")
	if err := os.Remove(path + ".head"); err != nil {
		t.Fatal(err)
	}
	verifyFails(t, c, path, "--witness knows record 100", "--witness", newest.String())
}

// An editedLog has another byte in its 40th record.
func editedLog(t *testing.T, c badInput) {
	path, _ := hundred(t, "edited.log")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Replace(text, []byte(`"call":39,`), []byte(`"call":93,`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	verifyFails(t, c, path, "edited.log:40: the record was changed")
}

// verifyFails runs the command line of the case on the log at path.
func verifyFails(t *testing.T, c badInput, path, words string, more ...string) {
	t.Helper()
	argv := c.argv(t)
	if named := argv[len(argv)-1]; named != filepath.Base(path) {
		t.Fatalf("the case is about %s", named)
	}
	argv = append(append(argv[:len(argv)-1:len(argv)-1], path), more...)
	var out, errs bytes.Buffer
	code := run(context.Background(), argv, env{stdin: &bytes.Buffer{}, stdout: &out, stderr: &errs,
		getenv: func(string) string { return "" }, environ: func() []string { return nil }})
	if code != c.Expect.Code || !strings.Contains(errs.String(), words) || out.Len() > 0 {
		t.Errorf("exit %d, want %d; stdout %q; stderr %q, want %s", code, c.Expect.Code, out.String(), errs.String(), words)
	}
}

// What can be done about a log that is not whole is told, whatever the words of the fault.
func TestWhatCanBeDoneAboutABrokenLogIsTold(t *testing.T) {
	edit := func(t *testing.T, path string, change func(lines [][]byte) [][]byte) {
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, bytes.Join(change(bytes.SplitAfter(text, []byte{'\n'})), nil), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		do   func(t *testing.T, path string)
		hint string
	}{
		"half a line": {func(t *testing.T, path string) {
			edit(t, path, func(l [][]byte) [][]byte { return append(l, []byte(`{"seq":101,`)) })
		}, "hint: if a crash did that"},
		"no end":       {func(t *testing.T, path string) { edit(t, path, func(l [][]byte) [][]byte { return l[:90] }) }, "hint: compare with a copy; missing records"},
		"no beginning": {func(t *testing.T, path string) { edit(t, path, func(l [][]byte) [][]byte { return l[9:] }) }, "hint: if you keep the earlier files elsewhere"},
		"no note":      {func(_ *testing.T, path string) { os.Remove(path + ".head") }, "hint: if you moved the log"},
		"another bridge's": {func(t *testing.T, path string) {
			log, _, err := audit.Open(path, audit.Options{Bridge: "other"})
			if err == nil {
				err = log.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}, "hint: somebody has put another log"},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := hundred(t, "x.jsonl")
			c.do(t, path)
			home := filepath.Join(t.TempDir(), "mcpx-bridge")
			if err := os.Mkdir(home, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Dir(path), filepath.Join(home, "audit")); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			code := run(context.Background(), []string{"audit", "verify", "x"}, env{stdin: &bytes.Buffer{}, stdout: &out, stderr: &errs,
				getenv:  func(name string) string { return map[string]string{"XDG_STATE_HOME": filepath.Dir(home)}[name] },
				environ: func() []string { return nil }})
			if code != 6 || !strings.Contains(errs.String(), c.hint) {
				t.Errorf("exit %d; stderr %q, want %s", code, errs.String(), c.hint)
			}
		})
	}
}

// Who keeps the oldest files elsewhere says so, and then the rest is a log that is whole.
func TestALogThatBeginsLateIsWholeIfThatIsSaid(t *testing.T) {
	path, newest := hundredIn(t, "x.jsonl", audit.Options{MaxSize: 4 << 10})
	files, err := audit.Files(path)
	if err == nil {
		err = os.Remove(files[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
	}{{nil, exitVerify}, {[]string{"--partial"}, exitDone}} {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"audit", "verify", path}, c.args...), env{stdin: &bytes.Buffer{}, stdout: &out, stderr: &errs,
			getenv: func(string) string { return "" }, environ: func() []string { return nil }})
		whole := strings.Contains(out.String(), "is whole: records ") && strings.Contains(out.String(), newest.String())
		if code != c.code || whole != (code == exitDone) {
			t.Errorf("%q: exit %d; stdout %q; stderr %q", c.args, code, &out, &errs)
		}
	}
}

// A signal ended what reads logs as if something were wrong: with 1, and "context canceled".
func TestASignalEndsWhatReadsLogs(t *testing.T) {
	path, _ := hundred(t, "notes.jsonl")
	rules := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(rules, []byte("version: 1\ndefault: ask\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errSignalled)
	for _, args := range [][]string{
		{"audit", "show", path}, {"policy", "explain", "--policy", rules, "--call", "7", "--audit", path}, {"policy", "diff", rules, rules, "--audit", path},
	} {
		said := newDiary()
		code := run(ctx, args, env{stdin: strings.NewReader(""), stdout: said, stderr: said, environ: os.Environ, getenv: launch{}.getenv(t)})
		if code != exitInterrupted || strings.Contains(said.text(), "context canceled") {
			t.Errorf("%q: exit code %d:\n%s", args, code, said.text())
		}
	}
}
