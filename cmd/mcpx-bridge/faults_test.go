package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// The lists of faults and of bugs name tests, and mutants; each of them is there.
func TestEveryFaultAndBugHasItsTest(t *testing.T) {
	known := allTests(t)
	sim := filepath.Join("..", "..", "bridge", "sim")
	for file, least := range map[string]int{"faults.md": 40, "bugs.md": 300} {
		items := 0
		for _, item := range shownItems(t, filepath.Join(sim, file)) {
			what, by, _ := strings.Cut(item, "Shown by: ")
			items++
			named := testName.FindAllString(by, -1)
			if len(named) == 0 {
				t.Errorf("%s names no test (Shown by: ...): %s", file, item)
			}
			for _, name := range named {
				if !known[strings.Trim(name, "`")] {
					t.Errorf("%s names %s, which there is not", file, name)
				}
			}
			if m := mutantName.FindStringSubmatch(what); m != nil {
				if _, err := os.Stat(filepath.Join(sim, "testdata", "mutants", m[1]+".txtar")); err != nil {
					t.Errorf("%s names a mutant: %v", file, err)
				}
			}
		}
		if items < least {
			t.Errorf("%s has %d items, and had %d once", file, items, least)
		}
	}
}

// shownItems are the items of a list, each as one line, that must say what shows them:
// all but those under the last headings of bugs.md.
func shownItems(t *testing.T, file string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	shown, _, _ := strings.Cut(string(text), "\n## Known, and left\n")
	in := false
	for line := range strings.Lines(shown) {
		first, isItem := strings.CutPrefix(line, "- ")
		switch more, indented := strings.CutPrefix(line, "  "); {
		case strings.HasPrefix(line, "|"):
			t.Errorf("%s: a table has lines as long as what it says; make it an item of the list: %s", file, line)
		case isItem:
			in, all = true, append(all, strings.TrimSpace(first))
		case in && indented:
			all[len(all)-1] += " " + strings.TrimSpace(more)
		default:
			in = false
		}
	}
	return all
}

var (
	testName   = regexp.MustCompile("`((Test|Fuzz)\\w+|\\w+\\.txtar)`")
	testFunc   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	mutantName = regexp.MustCompile("Mutant: `([^`]+)`")
)

// allTests are the names of all tests and scripts of the tree.
func allTests(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, name := range files(t) {
		if strings.HasSuffix(name, ".txtar") {
			all[filepath.Base(name)] = true
		}
		for _, test := range declared(t, name, testFunc) {
			all[test] = true
		}
	}
	return all
}

// declared are the tests, or fuzz targets, that a file has; none if it is no file
// of tests.
func declared(t *testing.T, file string, what *regexp.Regexp) (all []string) {
	t.Helper()
	if !strings.HasSuffix(file, "_test.go") {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range what.FindAllSubmatch(text, -1) {
		all = append(all, string(m[1]))
	}
	return all
}

const faultRules = `version: 1
default: deny
asks: {alice: {of: [alice], within: 60s}}
rules:
  - {name: runs, allow: [read_file, crash]}
  - {name: writes, ask: [write_file], as: alice}
`

// A server that dies while people look at a call is no end of the call, if it
// comes back as it was.
func TestAQuestionOutlivesAServerThatComesBackAsItWas(t *testing.T) {
	each(t, func(t *testing.T, d tongue) {
		t.Parallel()
		g, s := perform(t, d, ruled(t, faultRules))
		p := play{g, s}
		p.writes("bob")
		q := p.poses("alice", anyQuestion)
		p.crashes()
		before := s.ran()
		p.decides("alice", q, approve)
		p.served("bob", "write_file")
		p.runs(before, 1)
	})
}

// One that comes back with another tool of that name does not get a call that
// people saw with the old one.
func TestAYesToAToolThatIsAnotherAfterACrashRunsNothing(t *testing.T) {
	t.Parallel()
	l := ruled(t, faultRules)
	again := filepath.Join(t.TempDir(), "again")
	l.script = stdiotest.Script{Mark: filepath.Join(t.TempDir(), "mark"), Then: &stdiotest.Script{Record: again, Tools: []string{
		`{"name":"read_file","inputSchema":{"type":"object"}}`,
		`{"name":"write_file","description":"Write a file, and send it to somebody","inputSchema":{"type":"object"}}`,
	}}}
	g, s := perform(t, d1, l)
	p := play{g, s}
	p.writes("bob")
	q := p.poses("alice", anyQuestion)
	p.dies()
	p.expectAll(p.refusal("bob", "write_file", -31011, `{"reason":"tool_changed","executed":"no"}`), p.withdrawn(q), d1.toAll("notifications/tools/list_changed"))
	p.decides("alice", q, approve)
	s.await(`{"event":"late_answer","by":["alice"]}`)
	p.settle()
	for _, line := range stdiotest.Recorded(t, again) {
		if method, _ := methodAndKey(line); method == "tools/call" {
			t.Errorf("it runs: %s", line)
		}
	}
}

// crashes lets the server die, and waits until it is back and all is said.
func (p play) crashes() {
	p.stage.t.Helper()
	p.dies()
	p.settle()
}

// dies lets the server die, and waits until it is back.
func (p play) dies() {
	p.stage.t.Helper()
	p.request("crash", "carol", call("1", "crash", `{}`))
	p.expect(p.d.reply("carol", "crash", "tools/call", "crash", `{"id":1,"error":{"code":-31008,"data":{"reason":"outcome_unknown","executed":"unknown"}}}`))
	p.s.await(`{"event":"server_exit"}`)
	p.s.await(`{"event":"server_up"}`)
}

// Each call that a server lets hang is answered in time, and after three in a
// row it is started afresh.
func TestAServerThatHangsThreeTimesInARowIsStartedAfresh(t *testing.T) {
	t.Parallel()
	g, s := perform(t, d1, launch{rules: openRules, flags: []string{"--timeout", "3s"}})
	s.await(`{"event":"server_up"}`)
	for n := range 3 {
		env := fmt.Sprint("w", n)
		g.request(env, "bob", call("1", "wait", `{}`))
		g.expect(d1.reply("bob", env, "tools/call", "wait", `{"id":1,"error":{"code":-31010,"data":{"reason":"call_timeout","executed":"unknown"}}}`))
	}
	s.await(`{"event":"server_exit"}`)
	s.await(`{"event":"server_up"}`)
	g.settle()
	g.serves("after")
	if n := s.ran(); n != 4 {
		t.Errorf("the server was given %d calls", n)
	}
}

// People may decide on what they were asked before the link was lost, once they
// are seen again.
func TestAQuestionOutlivesAnOutage(t *testing.T) {
	each(t, func(t *testing.T, d tongue) {
		t.Parallel()
		g, s := perform(t, d, ruled(t, faultRules))
		p := play{g, s}
		p.writes("bob")
		missed := p.poses("alice", anyQuestion)
		g.drop()
		s.await(`{"event":"disconnected"}`)
		g.accept()
		g.greet("bob", "alice", "carol")
		q := p.poses("alice", anyQuestion) // put anew: she may have missed it
		before := s.ran()
		p.decides("alice", q, approve)
		p.expectAll(p.withdrawn(missed), d.reply("bob", "e-bob", "tools/call", "write_file", `{"id":7,"!error":0,"result":"*"}`))
		p.runs(before, 1)
	})
}

// Whoever waits for people when we are told to stop hears so, and so do they.
func TestWhatWaitsForPeopleIsRefusedWhenWeStop(t *testing.T) {
	each(t, func(t *testing.T, d tongue) {
		t.Parallel()
		g, s := perform(t, d, ruled(t, faultRules))
		p := play{g, s}
		p.writes("bob")
		q := p.poses("alice", anyQuestion)
		s.stop()
		p.expectAll(p.refusal("bob", "write_file", -31006, `{"reason":"shutting_down","executed":"no"}`), p.withdrawn(q))
		if code := s.wait(); code != exitDone {
			t.Errorf("exit %d\n%s", code, s.about())
		}
		if s.ran() != 0 {
			t.Errorf("the server was given %q", s.given("tools/call"))
		}
	})
}

// Somebody else with our id has the gateway put us out. We make room once, and
// come back; the second time we leave.
func TestWhoIsPutOutTwiceLeaves(t *testing.T) {
	if testing.Short() {
		t.Skip("30 s pass until it comes back")
	}
	t.Parallel()
	g, s := perform(t, d1, launch{})
	g.hangUp(4001, "replaced")
	select {
	case g.at = <-g.dialled:
	case <-time.After(3 * patience):
		t.Fatalf("it does not come back\n%s", s.about())
	}
	g.greet("bob")
	s.await(`{"event":"reconnected"}`)
	g.hangUp(4001, "replaced")
	if code := s.wait(); code != exitID {
		t.Errorf("exit %d, want %d\n%s", code, exitID, s.about())
	}
}
