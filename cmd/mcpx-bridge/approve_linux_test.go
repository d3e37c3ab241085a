package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt/prompttest"
)

// at runs a command at a terminal until the test ends or stop is called, and
// returns its exit code through that.
func at(t *testing.T, term *prompttest.Terminal, state string, args ...string) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, args, env{stdin: term.Slave, stdout: term.Slave, stderr: term.Slave,
			getenv:  func(key string) string { return map[string]string{"XDG_STATE_HOME": state, "TERM": "xterm"}[key] },
			environ: os.Environ})
	}()
	ended := -1
	stop = func() int {
		cancel(errSignalled)
		if ended < 0 {
			ended = <-code
		}
		return ended
	}
	t.Cleanup(func() { stop() })
	return stop
}

// agree allows the question on the screen, as a person does who knows how: what comes in the
// first moments counts for nothing, and a key too many locks the answers for a second.
func agree(term *prompttest.Terminal, done func() bool) {
	for !done() {
		term.Types("a")
		for range 12 {
			if _, after, ok := strings.Cut(term.String(), "? type "); ok {
				term.Types(after[:2])
				time.Sleep(500 * time.Millisecond) // it counts if nothing follows
			}
			time.Sleep(100 * time.Millisecond)
			if done() {
				return
			}
		}
	}
}

func TestApproveAtATerminal(t *testing.T) {
	h := inboxtest.New("fs")
	state := openHall(t, h)
	other := inboxtest.New("notes")
	other.Open(t, filepath.Join(state, "mcpx-bridge", "control"))
	term := prompttest.Open(t, 100, 30)
	stop := at(t, term, state, "approve", "fs")
	term.Sees("nothing to decide; watching fs in lobby (q quits)")
	other.Ask(inboxtest.Write(`{"n":1}`)) // is not named
	h.Ask(inboxtest.Write(`{"path":"/a"}`))
	term.Sees("a allow")
	term.Sees("1 of 1   fs in lobby")
	agree(term, func() bool { return len(h.Settled) > 0 })
	if s := h.Next(t); s.Outcome != approval.Allowed {
		t.Errorf("settled as %+v", s)
	}
	term.Sees("write_file for agent-a on fs in lobby")
	if code := stop(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	if !term.Canonical() {
		t.Error("the terminal is not what it was")
	}
}

// Run at a terminal asks right there, and its log goes above the question.
func TestRunAsksAtItsTerminal(t *testing.T) {
	term, state := prompttest.Open(t, 110, 40), t.TempDir()
	server := slices.Concat([]string{os.Args[0]}, stdiotestArgs(`{}`))
	stop := at(t, term, state, slices.Concat([]string{"run", "--listen", "127.0.0.1:0", "--id", "fs", "--"}, server)...)
	term.Sees("every call waits until you agree to it: here, or with mcpx-bridge approve")
	term.Sees("fs serves")
	caller := prompttest.Open(t, 80, 24)
	at(t, caller, state, "call", "fs", "write_file", "path=/a", "content=x", "--id", "bob")
	term.Sees("bob requests permission to execute write_file")
	term.Sees("a allow   d deny", "Server says  Write a file", "Why asked    no rule names it", "Waiting for  you")
	caller.Sees(" left [", "], waiting for approval by the person at the bridge")
	agree(term, func() bool { return strings.Contains(caller.String(), "wrote 1 bytes to /a") })
	caller.Misses(" left [")
	if got := caller.String(); !strings.Contains(got, "mcpx-bridge: allowed by the person at the bridge") {
		t.Errorf("the caller reads %s", got)
	}
	term.Sees("allowed by you")
	term.Sees("answered bob: write_file ok")
	term.Misses("Arguments")
	for line := range strings.Lines(term.String()) {
		if strings.Contains(line, "mcpx-bridge:") && !strings.HasPrefix(line, "mcpx-bridge:") {
			t.Errorf("the log is garbled: %q", line)
		}
	}
	if code := stop(); code != exitDone {
		t.Errorf("exit code %d", code)
	}
	if !term.Canonical() {
		t.Error("the terminal is not what it was")
	}
}

// Who proposes sees what is left to decide in, until it is withdrawn.
func TestProposeCountsDownAtATerminal(t *testing.T) {
	term, state := prompttest.Open(t, 110, 40), t.TempDir()
	server := slices.Concat([]string{os.Args[0]}, stdiotestArgs(`{}`))
	at(t, term, state, slices.Concat([]string{"run", "--listen", "127.0.0.1:0", "--id", "fs", "--"}, server)...)
	term.Sees("fs serves")
	bob := prompttest.Open(t, 80, 24)
	stop := at(t, bob, state, "propose", "fs", "write_file", "path=/a", "content=x", "--id", "bob")
	bob.Sees("proposed write_file to fs as bob: ", " left [", "], waiting for approval by the person at the bridge")
	if code := stop(); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
	bob.Sees("mcpx-bridge: withdrew write_file: nobody decided about write_file")
	bob.Misses(" left [")
}

// In the background nobody can answer here: the job has to be fetched first. Nor does a call
// count down there, where the shell writes too.
func TestRunInTheBackgroundSaysWhereOneAnswers(t *testing.T) {
	term := prompttest.Open(t, 130, 40)
	shell := exec.Command("sh", "-mc", `mcpx-bridge run --listen 127.0.0.1:0 --id fs -- server & bridge=$!; read line
		mcpx-bridge call --id bob fs write_file path=/a content=x & read line; kill $! $bridge; wait`)
	shell.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "TERM=xterm")
	shell.Stdin, shell.Stdout, shell.Stderr = term.Slave, term.Slave, term.Slave
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { term.Types("\n\n"); shell.Wait() })
	term.Sees("every call waits until you agree to it: here once it is in the foreground (fg), or with mcpx-bridge approve")
	term.Sees("fs serves")
	term.Types("\n")
	term.Sees("mcpx-bridge: waiting for approval by the person at the bridge until ")
	term.Misses(" left [")
}

// An agent that has a shell is the same user, and could answer its own call. With
// --answers terminal it cannot; the person at that terminal can (FINDINGS U3).
func TestAnAgentWithAShellDoesNotAnswerItsOwnCall(t *testing.T) {
	term, state := prompttest.Open(t, 110, 40), t.TempDir()
	server := slices.Concat([]string{os.Args[0]}, stdiotestArgs(`{}`))
	at(t, term, state, slices.Concat([]string{"run", "--answers", "terminal", "--listen", "127.0.0.1:0", "--id", "fs", "--"}, server)...)
	term.Sees("every call waits until you agree to it: here")
	term.Sees("fs serves")
	result := make(chan string, 1)
	go func() {
		_, out, errs := typed(t, state, "call", "fs", "write_file", "path=/a", "content=x", "--id", "bob")
		result <- out + errs
	}()
	term.Sees("bob requests permission to execute write_file", "a allow   d deny")
	_, list, _ := typed(t, state, "approvals", "list", "--json")
	_, id, _ := strings.Cut(list, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	agent := prompttest.Open(t, 110, 40)
	at(t, agent, state, "approve")
	agent.Sees("bob requests permission to execute write_file", "answered only at the terminal of the bridge (--answers terminal)   q quit")
	agent.Misses("a allow")
	for _, word := range []string{"allow", "deny"} {
		code, _, errs := typed(t, state, "approvals", word, id)
		if code != exitFailed || !strings.Contains(errs, "takes answers at the terminal it was started from") {
			t.Errorf("approvals %s exits %d: %s", word, code, errs)
		}
	}
	agree(term, func() bool { return len(result) > 0 })
	if got := <-result; !strings.Contains(got, "wrote 1 bytes to /a") {
		t.Errorf("the caller got %s", got)
	}
	if code, _, errs := typed(t, state, "halt", "--reason", "who goes there"); code != exitDone || strings.Contains(errs, "mcpx-bridge resume") || !strings.Contains(errs, "is halted: nothing starts until R is pressed at its terminal (--answers terminal)") { // which only tightens
		t.Errorf("halt exits %d: %s", code, errs)
	}
	term.Sees("halted, by the person at the bridge: who goes there")
	code, _, errs := typed(t, state, "resume")
	if code != exitFailed || !strings.Contains(errs, "fs: it is halted still: with --answers terminal nobody resumes it from elsewhere, as an agent with a shell could") || !strings.Contains(errs, "hint: press R there, at the terminal of the bridge") {
		t.Errorf("resume exits %d: %s", code, errs)
	}
}

// Whoever answers sees that a bridge is halted, and how much time stands still; a yes does not
// count, and does when it goes on.
func TestApproveShowsAHalt(t *testing.T) {
	h := inboxtest.New("fs")
	state := openHall(t, h)
	term := prompttest.Open(t, 120, 30)
	stop := at(t, term, state, "approve")
	term.Sees("nothing to decide; watching fs in lobby (q quits)")
	halt := func(args ...string) {
		t.Helper()
		if code, _, errs := typed(t, state, args...); code != exitDone {
			t.Fatalf("%s exits %d: %s", args[0], code, errs)
		}
	}
	halt("halt", "--reason", "mad agents")
	term.Sees("fs in lobby is halted: nothing starts until it is resumed", "watching fs in lobby (halted) (q quits)")
	h.Ask(inboxtest.Write(`{"path":"/a"}`))
	halt("resume")
	term.Sees("fs in lobby goes on", "agent-a requests permission to execute write_file", " 4:5")
	halt("halt", "--reason", "mad agents")
	term.Sees("1 of 1   fs in lobby", "halted, 4:5")
	halt("resume")
	term.Misses("halted, 4:5")
	agree(term, func() bool { return len(h.Settled) > 0 })
	if s := h.Next(t); s.Outcome != approval.Allowed {
		t.Errorf("it is %v", s.Outcome)
	}
	if code := stop(); code != exitDone {
		t.Errorf("approve exits %d", code)
	}
}

// Without a terminal run asks nobody there, nor with --json or a dumb one.
func TestRunWithoutATerminalAsksNobodyThere(t *testing.T) {
	term := prompttest.Open(t, 80, 24)
	for _, c := range []struct {
		in, errs any
		term     string
		args     []string
		want     bool
	}{
		{term.Slave, term.Slave, "xterm", []string{"run"}, true},
		{term.Slave, term.Slave, "xterm", []string{"run", "--json"}, false},
		{term.Slave, term.Slave, "dumb", []string{"run"}, false},
		{strings.NewReader(""), term.Slave, "xterm", []string{"run"}, false},
		{term.Slave, io.Discard, "xterm", []string{"run"}, false},
		{term.Slave, term.Slave, "xterm", []string{"gateway"}, false},
	} {
		p := &program{env: env{stdin: c.in.(io.Reader), stdout: io.Discard, stderr: c.errs.(io.Writer),
			getenv: func(key string) string { return map[string]string{"TERM": c.term}[key] }, environ: func() []string { return nil }}}
		cmd, rest, err := p.root().Find(c.args)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(cmd.ParseFlags(rest), p.prepare(cmd)); err != nil {
			t.Fatal(err)
		}
		if p.errors != nil {
			p.errors.Close()
		}
		if (p.prompt != nil) != c.want {
			t.Errorf("%v with TERM=%s: asks is %v", c.args, c.term, p.prompt != nil)
		}
	}
}

// The terminal took "local" for whoever answers at a socket. What a client's serve was asked is
// for the participant that it is, so "this is not for you to decide now" was all it said.
func TestWhatAClientIsAskedIsAnsweredInTheTerminal(t *testing.T) {
	bridge, term, state := prompttest.Open(t, 110, 40), prompttest.Open(t, 110, 40), t.TempDir()
	server := slices.Concat([]string{os.Args[0]}, stdiotestArgs(`{}`))
	at(t, bridge, state, slices.Concat([]string{"run", "--listen", "127.0.0.1:0", "--id", "fs", "--approver", "carol", "--"}, server)...)
	bridge.Sees("fs serves")
	in, w := io.Pipe()
	served := make(chan int, 1)
	go func() {
		served <- run(t.Context(), []string{"serve", "--id", "carol"}, env{stdin: in, stdout: io.Discard, stderr: io.Discard,
			getenv: func(key string) string { return map[string]string{"XDG_STATE_HOME": state}[key] }, environ: func() []string { return nil }})
	}()
	t.Cleanup(func() { w.Close(); <-served })
	bridge.Sees("carol")
	result := make(chan string, 1)
	go func() {
		_, out, errs := typed(t, state, "call", "fs", "write_file", "path=/a", "content=x", "--id", "bob")
		result <- out + errs
	}()
	at(t, term, state, "approve", "carol")
	term.Sees("bob requests permission to execute write_file", "a allow")
	agree(term, func() bool { return len(result) > 0 })
	if got := <-result; !strings.Contains(got, "wrote 1 bytes to /a") {
		t.Errorf("the caller got %s", got)
	}
	term.Sees("your yes was enough")
}

// Whoever agrees from elsewhere sees who must agree besides and who has, the caller's words
// once, and how it ended.
func TestTwoWhoAgreeFromElsewhereSeeEachOther(t *testing.T) {
	bridge, ann, carol, state := prompttest.Open(t, 110, 40), prompttest.Open(t, 80, 24), prompttest.Open(t, 80, 24), t.TempDir()
	policy := filepath.Join(state, "policy.yaml")
	rules := "version: 1\ndefault: deny\nrules:\n  - {name: writes, ask: [write_file], as: two}\nasks:\n  two: {of: [local, ann, carol], need: 2}\n"
	if err := os.WriteFile(policy, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	server := slices.Concat([]string{os.Args[0]}, stdiotestArgs(`{}`))
	at(t, bridge, state, slices.Concat([]string{"run", "--listen", "127.0.0.1:0", "--id", "fs", "--policy", policy, "--"}, server)...)
	bridge.Sees("fs serves")
	at(t, ann, state, "approve", "--id", "ann")
	ann.Sees("nothing to decide")
	bridge.Sees("ann joined")
	result := make(chan string, 1)
	go func() {
		_, out, errs := typed(t, state, "call", "fs", "write_file", "path=/a", "content=x", "--id", "bob")
		result <- out + errs
	}()
	bridge.Sees("Waiting for  you, ann", "Others       carol (away)")
	at(t, carol, state, "approve", "--id", "carol")
	bridge.Sees("Waiting for  you, ann, carol")
	ann.Sees("a allow", "Server says  Write a file", "Why asked    rule writes", "Needs        2 who agree", "Waiting for  you")
	carol.Sees("a allow", "Needs        2 who agree", "Waiting for  you")
	if n := strings.Count(ann.String(), "requests permission"); n != 1 {
		t.Errorf("the caller's words stand there %d times:\n%s", n, ann)
	}
	agree(ann, func() bool { return strings.Contains(ann.String(), "your answer was sent") })
	if strings.Contains(ann.String(), "was enough") {
		t.Errorf("carol has to agree too:\n%s", ann)
	}
	bridge.Sees("Needs        2; ann agreed", "Waiting for  you")
	carol.Sees("a allow", "Needs        2; ann agreed", "Waiting for  you")
	agree(carol, func() bool { return len(result) > 0 })
	if got := <-result; !strings.Contains(got, "wrote 1 bytes to /a") {
		t.Errorf("the caller got %s", got)
	}
	ann.Sees("allowed by ann and carol")
	carol.Sees("your yes was enough", "allowed by ann and carol")
}

func TestServeAtATerminalSaysHowAClientGetsIt(t *testing.T) {
	term := prompttest.Open(t, 120, 30)
	at(t, term, t.TempDir(), "serve", "--id", "carol", "--gateway", "ws://127.0.0.1:1")
	term.Sees("you are at a terminal", "hint: mcpx-bridge client install NAME puts it into a client")
	term.Types("\x04") // the end of the input ends it
}
