package main

import (
	"context"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt/prompttest"
)

// resumeAt has a halted bridge go on at its terminal.
func resumeAt(term *prompttest.Terminal) {
	time.Sleep(time.Second) // R counts once it has been on the screen for 400 ms, which nothing shows
	term.Types("R")
	term.Sees("any other key goes back")
	_, behind, _ := strings.Cut(term.String(), "\ntype ")
	term.Types(behind[:2])
}

// Where nobody resumes from elsewhere, the person at the terminal does, and what was asked goes on.
func TestAHaltIsUndoneAtTheTerminalOfTheBridge(t *testing.T) {
	term, agent, state := prompttest.Open(t, 110, 40), prompttest.Open(t, 110, 40), t.TempDir()
	server := slices.Concat([]string{os.Args[0]}, stdiotestArgs(`{}`))
	at(t, term, state, slices.Concat([]string{"run", "--answers", "terminal", "--listen", "127.0.0.1:0", "--id", "fs", "--"}, server)...)
	term.Sees("fs serves")
	at(t, agent, state, "approve")
	halt := func() {
		t.Helper()
		if code, _, errs := typed(t, state, "halt", "--reason", "who goes there"); code != exitDone {
			t.Fatalf("halt exits %d: %s", code, errs)
		}
		agent.Sees("(halted)")
		agent.Misses("R resume")
	}
	halt()
	term.Sees("halted by the person at the bridge at", ": who goes there   R resume")
	resumeAt(term)
	term.Sees("no longer halted, by the person at the bridge") // which is not on the disk yet
	term.Misses("any other key goes back")
	term.Misses("R resume")
	result := make(chan string, 1)
	go func() {
		_, out, errs := typed(t, state, "call", "fs", "write_file", "path=/a", "content=x", "--id", "bob")
		result <- out + errs
	}()
	term.Sees("bob requests permission to execute write_file")
	if code, _, errs := typed(t, state, "halt", "--reason", "who goes there"); code != exitDone {
		t.Fatalf("halt exits %d: %s", code, errs)
	}
	term.Sees("halted, 4:", "R resume")
	resumeAt(term)
	term.Misses("halted, 4:")
	agree(term, func() bool { return len(result) > 0 })
	if got := <-result; !strings.Contains(got, "wrote 1 bytes to /a") {
		t.Errorf("the caller got %s", got)
	}
	if code, _, errs := typed(t, state, "audit", "verify", "fs"); code != exitDone {
		t.Errorf("audit verify exits %d: %s", code, errs)
	}
}

// Whoever closed the browser gets another link by a key, which is the only one that works then, and
// is written down nowhere.
func TestAKeyAtTheTerminalShowsAFreshLink(t *testing.T) {
	term, state := prompttest.Open(t, 130, 40), t.TempDir()
	server := slices.Concat([]string{os.Args[0]}, stdiotestArgs(`{}`))
	stop := at(t, term, state, slices.Concat([]string{"run", "--listen", "127.0.0.1:0", "--inbox", "127.0.0.1:0", "--id", "fs", "--"}, server)...)
	term.Sees("fs serves", "hint: this link works once, within an hour", "o new link to the page")
	links := func(n int) []string {
		t.Helper()
		for late := time.After(20 * time.Second); ; {
			if all := regexp.MustCompile(`http://\S+/in/[A-Z2-7]{26}`).FindAllString(term.String(), -1); len(all) == n {
				return all
			}
			select {
			case <-term.Changed():
			case <-late:
				t.Fatalf("there are not %d links:\n%s", n, term)
			}
		}
	}
	links(1)
	term.Types("o")
	links(2)
	term.Types("o")
	all := links(3)
	for _, old := range all[:2] {
		if page := sent(t, &http.Client{}, http.MethodPost, old, nil); !strings.Contains(page, "gave way to a newer one") {
			t.Errorf("an old link leads to\n%s", page)
		}
	}
	c, base := entered(t, all[2])
	if page := sent(t, c, http.MethodGet, base+"/", nil); !strings.Contains(page, "Nothing waits") {
		t.Errorf("it leads to\n%s", page)
	}
	if page := sent(t, &http.Client{}, http.MethodPost, all[2], nil); !strings.Contains(page, "was used") {
		t.Errorf("it works twice:\n%s", page)
	}
	stop()
	err := filepath.WalkDir(state, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if strings.Contains(string(text), "/in/") {
			t.Errorf("%s has a link", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// What is on the screen nobody else reads, whoever may read a file that stdout goes to: a question
// that takes a passkey is put there.
func TestTheScreenHasALinkWhereOthersReadStdout(t *testing.T) {
	term, state := prompttest.Open(t, 130, 40), t.TempDir()
	out, err := os.OpenFile(filepath.Join(state, "out"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := out.Chmod(0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	exit := make(chan int, 1)
	go func() {
		args := slices.Concat([]string{"run", "--listen", "127.0.0.1:0", "--inbox", "127.0.0.1:0", "--policy", takesPasskeys(t), "--id", "fs", "--", os.Args[0]}, stdiotestArgs(`{}`))
		exit <- run(ctx, args, env{stdin: term.Slave, stdout: out, stderr: term.Slave,
			getenv:  func(key string) string { return map[string]string{"XDG_STATE_HOME": state, "TERM": "xterm"}[key] },
			environ: os.Environ})
	}()
	t.Cleanup(func() { cancel(errSignalled); <-exit })
	term.Sees("fs serves", "o new link to the page")
	if strings.Contains(term.String(), "mcpx-bridge inbox prints a link") {
		t.Errorf("it leads to a page on which no passkey counts:\n%s", term)
	}
	at(t, prompttest.Open(t, 80, 24), state, "call", "fs", "write_file", "path=/a", "content=x", "--id", "bob")
	term.Sees("bob requests permission to execute write_file")
	term.Types("o")
	term.Sees("/in/")
	if text, err := os.ReadFile(out.Name()); err != nil || strings.Contains(string(text), "/in/") {
		t.Errorf("others read %s, %v", text, err)
	}
}
