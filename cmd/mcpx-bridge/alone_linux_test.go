package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// ordinary prepares a command of ours that runs as a user without rights, in a
// directory of that user's: for root every file is readable.
func ordinary(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mcpx-bridge", "server"} {
		copyProgram(t, exe, filepath.Join(dir, name))
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "mcpx-bridge"), args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "GORACE=atexit_sleep_ms=0", "PATH="+dir+":"+os.Getenv("PATH"))
	if os.Getuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		for path, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o711, dir: 0o711} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chown(home, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return cmd, home
}

func copyProgram(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
}

// Seen before the mend: the server read the token (FINDINGS M10).
func TestAServerCannotReadOurEnvironment(t *testing.T) {
	cmd, home := ordinary(t, "policy", "init", "--", "sh", "-c", `cat /proc/$PPID/environ > read 2> refused; cat /proc/self/environ > own; exec server '{}'`)
	cmd.Env = append(cmd.Env, "MCPX_AUTH_TOKEN=SECRET")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]string{"read": "", "refused": "denied", "own": "HOME=" + home} {
		text, err := os.ReadFile(filepath.Join(home, name))
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), "SECRET") || want == "" && len(text) > 0 {
			t.Errorf("%s: %.300q (%v)", name, text, err)
		}
	}
}

// doctor, policy init and policy check left daemons of the server's behind.
func TestWhateverStartsAServerLeavesNothingOfItRunning(t *testing.T) {
	const flees = `(setsid sh -c 'echo $$ >> pids; exec sleep 1000' </dev/null >/dev/null 2>&1 &); while [ ! -s pids ]; do sleep 0.01; done; exec server '{}'`
	for name, args := range map[string][]string{
		"policy init":  {"policy", "init", "--", "sh", "-c", flees},
		"policy check": {"policy", "check", "policy.yaml", "--", "sh", "-c", flees},
		"doctor":       {"doctor", "--", "sh", "-c", flees},
		"passthrough":  {"run", "--stdio", "--", "sh", "-c", flees},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, home := ordinary(t, args...)
			if err := os.WriteFile(filepath.Join(home, "policy.yaml"), []byte("version: 1\ndefault: ask\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			out, _ := cmd.CombinedOutput()
			pids := stdiotest.Pids(t, filepath.Join(home, "pids"))
			if len(pids) != 1 {
				t.Fatalf("the server did not start: %s", out)
			}
			if stdiotest.Alive(pids[0]) {
				t.Errorf("%d lives on: %s", pids[0], out)
				syscall.Kill(pids[0], syscall.SIGKILL)
			}
			if said := strings.Contains(string(out), "had to be ended"); said != (name == "doctor") {
				t.Errorf("it says: %s", out)
			}
		})
	}
}

// What a server left running while a command of ours ran counted as left by that, and was let be
// when the server ended.
func TestWhatAServerLeavesWhileNotifyRunsIsEndedWithIt(t *testing.T) {
	const (
		server   = `(while [ ! -e told ]; do sleep 0.01; done; setsid sh -c 'echo $$ >> pids; exec sleep 1000' </dev/null >/dev/null 2>&1 &) & exec server '{}'`
		notified = `: > told; until [ -s pids ] && grep -q "^PPid:[[:space:]]*$PPID\$" /proc/$(cat pids)/status; do sleep 0.01; done; exit 3`
	)
	cmd, home := ordinary(t, "run", "--stdio", "--gate-host", "--listen", "127.0.0.1:0", "--id", "fs", "--notify", notified, "--", "sh", "-c", server)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(errs)
	says := func(what string) {
		t.Helper()
		for lines.Scan() {
			if t.Log(lines.Text()); strings.Contains(lines.Text(), what) {
				return
			}
		}
		t.Fatalf("it does not say %q", what)
	}
	says("serves calls as soon as the client has greeted the server")
	io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}
`)
	says("exit status 3") // the command has ended, and the daemon is the bridge's child
	go io.Copy(io.Discard, errs)
	in.Close()
	cmd.Wait()
	pids := stdiotest.Pids(t, filepath.Join(home, "pids"))
	if len(pids) != 1 {
		t.Fatalf("the server left %v", pids)
	}
	if stdiotest.Alive(pids[0]) {
		t.Errorf("%d lives on", pids[0])
		syscall.Kill(pids[0], syscall.SIGKILL)
	}
}

// What a --token-command leaves running is somebody else's, an agent that keeps
// keys say.
func TestWhatATokenCommandLeavesRunningIsLetBe(t *testing.T) {
	cmd, home := ordinary(t, "run", "--stdio", "--gateway", "ws://127.0.0.1:1", "--token-command",
		`sh -c "(setsid sh -c 'echo \$\$ >> agent; exec sleep 1000' </dev/null >/dev/null 2>&1 &); while [ ! -s agent ]; do sleep 0.01; done; echo token"`, "--", "server", "{}")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(errs); lines.Scan() && !strings.Contains(lines.Text(), "connect"); { // it has its token
		t.Log(lines.Text())
	}
	go io.Copy(io.Discard, errs)
	if len(stdiotest.Pids(t, filepath.Join(home, "agent"))) == 0 {
		t.Fatal("the command was not run")
	}
	agent := stdiotest.Pids(t, filepath.Join(home, "agent"))[0]
	defer syscall.Kill(agent, syscall.SIGKILL)
	in.Close()
	cmd.Wait()
	if !stdiotest.Alive(agent) {
		t.Error("it was ended with the server")
	}
}

// At a terminal a --token-command may ask for a password, also where stdin is something else.
func TestATokenCommandAsksAtTheTerminal(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	term, _, ended := inWindow(t, nowhere, "who", "--gateway", "ws://127.0.0.1:1", "--token-command",
		`sh -c "printf 'Password: ' >/dev/tty; read password </dev/tty; echo \$password"`)
	term.Sees("Password:")
	term.Types("one two\n")
	term.Sees("--token-command: there is more in it than a token")
	if err := <-ended; err == nil {
		t.Error("what is no token is taken for one")
	}
}
