//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe that nobody writes to held the program past two signals (FINDINGS C12).
func TestAPipeInPlaceOfAFileHoldsNobody(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	pem := filepath.Join(t.TempDir(), "pem")
	if err := os.WriteFile(pem, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(t, "is no regular file but a pipe", [][]string{
		{"run", "--token-file", pipe, "--gateway", "ws://127.0.0.1:1", "--", "x"}, {"who", "--token-file", pipe, "--gateway", "ws://127.0.0.1:1"},
		{"run", "--policy", pipe, "--", "x"}, {"run", "--config", pipe, "--", "x"}, {"policy", "check", pipe}, {"policy", "test", pipe},
		{"policy", "explain", "--policy", pipe, "tool"},
		{"gateway", "--tls-cert", pipe, "--tls-key", pem}, {"gateway", "--tls-cert", pem, "--tls-key", pipe},
	})
}

// A pipe in the place of gateway.lock held each command past any number of SIGTERMs, and
// one in the place of the record, of its note or of a file that is full those that read it.
func TestAPipeInThePlaceOfTheLockIsWaitedFor(t *testing.T) {
	home := t.TempDir()
	state := filepath.Join(home, "mcpx-bridge")
	pipe := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(state, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(state, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	told := func(code int, args ...string) {
		t.Helper()
		got, out, errs := typed(t, home, args...)
		if got != code || !strings.Contains(out+errs, "is no regular file but a pipe") {
			t.Errorf("%q: exit code %d\n%s%s", args, got, out, errs)
		}
	}
	pipe("gateway.lock")
	for _, args := range [][]string{{"run", "--", "true"}, {"who"}, {"tools"}, {"doctor"}} {
		told(exitFailed, args...)
	}
	pipe("audit/a.jsonl")
	pipe("audit/b.jsonl.head")
	pipe("audit/c.jsonl.head")
	for _, name := range []string{"b.jsonl", "d.jsonl"} {
		if err := os.WriteFile(filepath.Join(state, "audit", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"show", "a"}, {"follow", "a"}, {"verify", "a"}, {"verify", "b"}, {"verify", "c"}} {
		told(exitFailed, append([]string{"audit"}, args...)...)
	}
	told(exitAudit, "run", "--gateway", "ws://127.0.0.1:1", "--id", "b", "--", "true")
	pipe("audit/d.jsonl.key")
	told(exitAudit, "run", "--gateway", "ws://127.0.0.1:1", "--id", "d", "--", "true")
}

// A server that does not start was named with all of its command line on stderr, which
// clients keep in a file.
func TestSecretsOfAServerThatDidNotStartWereShown(t *testing.T) {
	server := filepath.Join(t.TempDir(), "srv")
	if err := os.WriteFile(server, []byte("#!/nowhere/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"doctor", "--audit", "off"}, {"run", "--audit", "off"}} {
		_, out, errs := typed(t, t.TempDir(), append(args, "--", server, "--api-key=HUSH", "--token", "HUSH", "https://HUSH@host/", "a b")...)
		if said := out + errs; !strings.Contains(said, "srv --api-key=[hidden] --token [hidden] https://[hidden]@host/ ") || strings.Contains(said, "HUSH") {
			t.Errorf("%q:\n%s", args, said)
		}
	}
}

// What a configuration says is run in our name, and a policy decides what runs
// (FINDINGS M5).
func TestAFileThatOthersCanChangeIsNotTaken(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		file := filepath.Join(open, name)
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	config, loose := write("config.yaml", "topic: lobby\n", 0o644), write("loose.yaml", "token-command: touch stolen\n", 0o666)
	rules := write("policy.yaml", "version: 1\ndefault: deny\n", 0o644)
	refuses(t, "anybody can write to "+loose, [][]string{{"who", "--config", loose}, {"run", "--config", loose, "--", "x"}})
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	refuses(t, "anybody can write to the directory "+open, [][]string{{"who", "--config", config}, {"run", "--policy", rules, "--", "x"}})
	if os.Getuid() != 0 {
		return // nothing can be given away
	}
	for _, err := range []error{os.Chmod(open, 0o755), os.Chown(open, 65534, -1)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	refuses(t, "belongs to another user", [][]string{{"who", "--config", config}, {"run", "--policy", rules, "--", "x"}})
	token := write("token", "t\n", 0o600)
	if err := os.Chown(token, 65534, -1); err != nil {
		t.Fatal(err)
	}
	_, _, errs := typed(t, t.TempDir(), "who", "--gateway", "ws://127.0.0.1:1", "--token-file", token)
	if !strings.Contains(errs, "hint: give it to yourself: chown") || strings.Contains(errs, "chmod") {
		t.Errorf("%s", errs)
	}
}
