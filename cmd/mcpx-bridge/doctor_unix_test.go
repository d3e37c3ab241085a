//go:build unix

package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// doctor tried what run does, and nothing of attach: a server that is somebody else's
// already, or prints on its stdout, was found out by attaching.
func TestDoctorTriedNoServerThatRunsAlready(t *testing.T) {
	for script, want := range map[string]string{
		`{}`:                      "ok    stdout    nothing but messages",
		`{"Start":["hello"]}`:     "FAIL  stdout    1 lines on stdout are no messages; the first: hello",
		`{"Initialize":"refuse"}`: "FAIL  server ",
	} {
		socket := filepath.Join(t.TempDir(), "notes.sock")
		serveAt(t, socket, script)
		out := doctors(t, "--attach", "unix:"+socket, "--allow", "echo", "--audit", "off")
		for _, line := range []string{want, "ok    endpoint  unix:", "as notes, speaking", "ok    policy    no file, 1 rule"} {
			if !strings.Contains(out, line) {
				t.Errorf("%s: doctor does not say %q:\n%s", script, line, out)
			}
		}
		if strings.Contains(out, "ok    stop") {
			t.Errorf("doctor stops what is not ours:\n%s", out)
		}
	}
	for args, want := range map[string]string{
		"--attach unix:/nowhere/notes.sock":   "hint: is the server running, and is this where it listens?",
		"--attach fifo:/nowhere/a,/nowhere/b": "ok    endpoint  fifo:/nowhere/a,/nowhere/b is not tried",
		"--attach tcp:192.0.2.1:9000":         "everybody on the way can read",
		"--attach unix:notes.sock -- server":  "--attach is for a server that runs already",
	} {
		if out := doctors(t, strings.Fields(args)...); !strings.Contains(out, want) {
			t.Errorf("%s: doctor does not say %q:\n%s", args, want, out)
		}
	}
}

// Who interrupted doctor was told that something is wrong here.
func TestASignalEndsDoctor(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errSignalled)
	said := newDiary()
	code := run(ctx, []string{"doctor", "--audit", "off"},
		env{stdin: strings.NewReader(""), stdout: said, stderr: said, environ: os.Environ, getenv: launch{}.getenv(t)})
	if code != exitInterrupted {
		t.Errorf("exit code %d:\n%s", code, said.text())
	}
}

// serveAt has a server listen at a socket, one for each who connects.
func serveAt(t *testing.T, socket, script string) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f, err := conn.(*net.UnixConn).File()
			conn.Close()
			if err != nil {
				return
			}
			self, _ := os.Executable()
			c := exec.Command(self, stdiotestArgs(script)...)
			c.Stdin, c.Stdout = f, f
			if c.Start() == nil {
				f.Close()
				c.Wait()
			}
		}
	}()
}

// doctors is all that doctor says.
func doctors(t *testing.T, args ...string) string {
	t.Helper()
	said := newDiary()
	run(context.Background(), append([]string{"doctor"}, args...),
		env{stdin: strings.NewReader(""), stdout: said, stderr: said, environ: os.Environ, getenv: launch{}.getenv(t)})
	return said.text()
}
