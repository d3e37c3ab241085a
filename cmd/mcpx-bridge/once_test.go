package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// A lineage is one bridge after the other, each a process of its own, that keep
// one record.
type lineage struct {
	*stage
	home   string
	policy string
	given  string // what their servers were given
}

func newLineage(t *testing.T, rules string) *lineage {
	home := t.TempDir()
	l := &lineage{stage: openStage(t, d1), home: home, policy: filepath.Join(home, "rules.yaml"), given: filepath.Join(home, "given")}
	if err := os.WriteFile(l.policy, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// start starts the next of them, ready to serve.
func (l *lineage) start(flags ...string) (*killable, play) { return l.startWith(flags, nil) }

// startWith gives words to the server that it does not read.
func (l *lineage) startWith(flags, words []string) (*killable, play) {
	l.t.Helper()
	args := slices.Concat([]string{"run", "--json", "--gateway", l.url, "--topic", "t1", "--id", "fs", "--policy", l.policy}, flags, []string{"--"},
		stdiotest.Command(l.t, stdiotest.Script{Record: l.given}), words)
	k := startKillable(l.t, l.home, "", args...)
	k.record = l.given
	l.side = k.sidecar
	l.accept()
	l.greet("bob", "alice", "carol")
	k.ready()
	l.settle()
	return k, play{l.stage, k.sidecar}
}

// end ends one of them, well or not.
func (l *lineage) end(k *killable, with os.Signal) {
	l.t.Helper()
	if err := k.cmd.Process.Signal(with); err != nil {
		l.t.Fatal(err)
	}
	k.cmd.Wait()
	l.gone()
}

// everyEnd runs a test once for each way in which a bridge may end.
func everyEnd(t *testing.T, test func(t *testing.T, with os.Signal)) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals here")
	}
	for name, with := range map[string]os.Signal{"told": syscall.SIGTERM, "killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, with)
		})
	}
}

const readsAllowed = "version: 1\ndefault: deny\nrules:\n - {name: reads, allow: ['read_*']}\n"

func TestARequestIsKnownAgainByTheNextBridge(t *testing.T) {
	everyEnd(t, func(t *testing.T, with os.Signal) {
		l := newLineage(t, readsAllowed)
		first, p := l.start()
		p.request("e1", "bob", call("1", "read_file", `{"path":"/a"}`))
		p.expect(d1.reply("bob", "e1", "tools/call", "read_file", `{"id":1,"result":"*"}`))
		l.end(first, with)

		_, p = l.start()
		p.request("e1", "bob", call("1", "read_file", `{"path":"/a"}`))
		p.quiet()
		p.s.dropped("duplicate_envelope")
		p.request("e1", "bob", call("1", "read_file", `{"path":"/b"}`))
		p.quiet()
		p.s.dropped("duplicate_id_different_body")
		if n := p.s.ran(); n != 1 {
			t.Errorf("it ran %d times", n)
		}
	})
}

const fewReads = `version: 1
default: deny
rules:
  - {name: few, allow: [read_file, wait], limit: {count: 3/hour}}
  - {name: one-write, ask: [write_file], as: alice, limit: {count: 1/day, per: all}}
asks:
  alice: {of: [alice], within: 1m}
`

// What was used of a limit stays used: calls that ran, and those of which nobody
// knows whether they did. A question that ended with the bridge used nothing.
func TestLimitsOutliveABridge(t *testing.T) {
	everyEnd(t, func(t *testing.T, with os.Signal) {
		l := newLineage(t, fewReads)
		first, p := l.start()
		p.request("e1", "bob", call("1", "read_file", `{"path":"/a"}`))
		p.expect(d1.reply("bob", "e1", "tools/call", "read_file", `{"id":1,"result":"*"}`))
		p.request("e2", "carol", call("2", "write_file", `{"path":"/a","content":"x"}`))
		p.poses("alice", anyQuestion)
		p.request("e3", "bob", call("3", "wait", `{}`))
		p.s.await(`{"event":"started","tool":"wait"}`)
		p.request("c3", "bob", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
		p.s.await(`{"event":"withdrawn","tool":"wait"}`)
		l.end(first, with)

		second, p := l.start()
		p.request("e4", "bob", call("4", "read_file", `{"path":"/a"}`))
		p.expect(d1.reply("bob", "e4", "tools/call", "read_file", `{"id":4,"result":"*"}`))
		p.refusedAs("e5", "bob", "read_file", `{"path":"/a"}`)
		p.request("e6", "carol", call("6", "write_file", `{"path":"/a","content":"x"}`))
		p.decides("alice", p.poses("alice", anyQuestion), approve)
		p.expect(d1.reply("carol", "e6", "tools/call", "write_file", `{"id":6,"result":"*"}`))
		l.end(second, with)

		_, p = l.start()
		p.refusedAs("e7", "bob", "read_file", `{"path":"/a"}`)
		p.refusedAs("e8", "bob", "write_file", `{"path":"/a","content":"x"}`)
		p.request("e9", "carol", call("9", "read_file", `{"path":"/a"}`))
		p.expect(d1.reply("carol", "e9", "tools/call", "read_file", `{"id":9,"result":"*"}`))
	})
}

// refusedAs makes a call that the rules refuse.
func (p play) refusedAs(env, from, tool, arguments string) {
	p.t.Helper()
	p.request(env, from, call("5", tool, arguments))
	p.expect(fmt.Sprintf(`{"correlation_id":%q,"to":[%q],"payload":{"id":5,"!result":0,"error":{"code":-31004,"message":"*","data":{"reason":"policy_denied","executed":"no"}}}}`, env, from))
}

// Whatever is to be on disk first, calls are served, in every way in which one
// may start, and to the last one before the end.
func TestWhateverIsSyncedFirst(t *testing.T) {
	for _, what := range []string{"decisions", "always", "never"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			servedToTheEnd(t, what)
		})
	}
}

func servedToTheEnd(t *testing.T, synced string) {
	l := ruled(t, strings.Replace(askRules, "ask: [slow], as: quick", "allow: [slow]", 1), "--audit-sync", synced)
	g, s := perform(t, d1, l)
	p := play{g, s}
	p.request("e1", "bob", call("1", "read_file", `{"path":"/a"}`))
	p.expect(d1.reply("bob", "e1", "tools/call", "read_file", `{"id":1,"result":"*"}`))
	p.writes("carol")
	p.decides("alice", p.poses("alice", anyQuestion), approve)
	p.served("carol", "write_file")
	p.request("e2", "bob", call("2", "slow", `{"ms":50}`))
	s.await(`{"event":"started","tool":"slow"}`)
	s.stop()
	p.expect(d1.reply("bob", "e2", "tools/call", "slow", `{"id":2,"result":"*"}`))
	if code := s.finish(); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.about())
	}
}

// A server that is started with . serves another directory elsewhere: a yes that is
// to last holds where it was given.
func TestAYesForGoodHoldsForTheServersDirectory(t *testing.T) {
	l := newLineage(t, "version: 1\ndefault: ask\nasks: {default: {of: [alice], within: 60s, remember: [once, always]}}\n")
	here, there := t.TempDir(), t.TempDir()
	link := filepath.Join(there, "link")
	if err := os.Symlink(here, link); err != nil {
		t.Skip(err)
	}
	first, p := l.start("--cwd", here)
	p.request("e1", "bob", call("1", "write_file", `{"path":"a"}`))
	p.decides("alice", p.poses("alice", anyQuestion), `{"action":"accept","content":{"approve":true,"remember":"always"}}`)
	p.expect(d1.reply("bob", "e1", "tools/call", "write_file", `{"id":1,"result":"*"}`))
	l.end(first, os.Interrupt)

	second, p := l.start("--cwd", link)
	p.request("e2", "bob", call("2", "write_file", `{"path":"a"}`))
	p.expect(d1.reply("bob", "e2", "tools/call", "write_file", `{"id":2,"result":"*"}`))
	l.end(second, os.Interrupt)

	_, p = l.start("--cwd", there)
	p.request("e3", "bob", call("3", "write_file", `{"path":"a"}`))
	p.poses("alice", anyQuestion)
	if n := p.s.ran(); n != 2 {
		t.Errorf("%d calls ran", n)
	}
}

// Questions show a command without its secrets, and between its words a space. A yes
// that is to last is bound to all of it, and to what --env adds.
func TestAYesForGoodHoldsForTheServersCommand(t *testing.T) {
	for name, c := range map[string]struct {
		flags, words [2][]string
		same         bool
	}{
		"the same":                               {words: [2][]string{{"--token", "a"}, {"--token", "a"}}, flags: [2][]string{{"--env", "A=1"}, {"--env", "A=1"}}, same: true},
		"another secret":                         {words: [2][]string{{"--token", "a"}, {"--token", "b"}}},
		"a secret in a URL":                      {words: [2][]string{{"db://u:staging@db"}, {"db://u:production@db"}}},
		"one word or two":                        {words: [2][]string{{"a b"}, {"a", "b"}}},
		"a variable":                             {flags: [2][]string{{"--env", "A=1"}, {"--env", "A=2"}}},
		"a word for a variable":                  {flags: [2][]string{{"--env", "A=1"}, nil}, words: [2][]string{nil, {"A=1"}}},
		"a clean environment that says the same": {flags: [2][]string{{"--env", "A=1"}, {"--env-clean", "--env", "A=1"}}},
		"the same clean environment":             {flags: [2][]string{{"--env-clean", "--env-pass", "PATH"}, {"--env-clean", "--env-pass", "PATH"}}, same: true},
		"a clean environment":                    {flags: [2][]string{nil, {"--env-clean", "--env-pass", "PATH"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLineage(t, "version: 1\ndefault: ask\nasks: {default: {of: [alice], within: 60s, remember: [once, always]}}\n")
			first, p := l.startWith(c.flags[0], c.words[0])
			p.request("e1", "bob", call("1", "write_file", `{"path":"a"}`))
			p.decides("alice", p.poses("alice", anyQuestion), `{"action":"accept","content":{"approve":true,"remember":"always"}}`)
			p.expect(d1.reply("bob", "e1", "tools/call", "write_file", `{"id":1,"result":"*"}`))
			l.end(first, os.Interrupt)
			kept, err := os.ReadFile(filepath.Join(l.home, "mcpx-bridge", "grants", "fs.json"))
			if err != nil || strings.Contains(string(kept), "staging") {
				t.Errorf("%v, kept is\n%s", err, kept)
			}

			_, p = l.startWith(c.flags[1], c.words[1])
			p.request("e2", "bob", call("2", "write_file", `{"path":"a"}`))
			if c.same {
				p.expect(d1.reply("bob", "e2", "tools/call", "write_file", `{"id":2,"result":"*"}`))
			} else {
				p.poses("alice", anyQuestion)
			}
		})
	}
}
