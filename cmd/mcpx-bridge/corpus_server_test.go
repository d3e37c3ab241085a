package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// withServer starts the corpus's bridge with a server that plays a script. All
// its tools may be called.
func withServer(t *testing.T, l launch) (*stage, *sidecar) {
	t.Helper()
	l.id = "fs-bridge"
	if l.rules == nil {
		l.rules = []string{"--allow", "*"}
	}
	return perform(t, d1, l)
}

// text is an input that is one string.
func (c badInput) text(t *testing.T) string {
	t.Helper()
	var text string
	if json.Unmarshal(c.Input, &text) == nil {
		return text
	}
	var in struct{ Proc string }
	if err := json.Unmarshal(c.Input, &in); err != nil || in.Proc == "" {
		t.Fatalf("%s has no text: %s", c.ID, c.Input)
	}
	return in.Proc
}

// read calls read_file, which in these cases the server answers with what the
// case says.
func (g *stage) read(env string) { g.request(env, "agent-a", call("42", "read_file", `{"path":"/a"}`)) }

// good is the answer that the corpus lets a server give.
func (g *stage) good(env string) string {
	return g.d.reply("agent-a", env, "tools/call", "read_file", `{"id":42,"result":{"content":[{"type":"text","text":"good"}]}}`)
}

// unknown is our answer when the server's is lost.
func (g *stage) unknown(env, tool string) string {
	return g.d.reply("agent-a", env, "tools/call", tool, `{"id":42,"!result":0,"error":{"code":-31008,"data":{"reason":"outcome_unknown","executed":"unknown"}}}`)
}

// What a server writes to its stdout. Of these cases `exec` says how often a
// result reaches the caller; that the session lives is shown by quiet, whose
// request the server must answer.
var serverOutput = map[string]func(*testing.T, badInput){
	"ui-009": toolNameWithALookalike,
	"ui-010": func(t *testing.T, c badInput) {
		g, s := withServer(t, launch{script: stdiotest.Script{Tools: c.tools(t)}})
		g.request("l", "agent-a", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		frame := g.expect(d1.reply("agent-a", "l", "tools/list", "", `{"id":1,"result":{"tools":[{"name":"x"}]}}`))
		if !strings.Contains(frame, c.tools(t)[0]) {
			t.Errorf("the description is not passed on as it came: %s", frame)
		}
		if about := s.events.text() + s.stderr.text(); strings.Contains(about, "IMPORTANT") {
			t.Errorf("the description is among our own words: %s", about)
		}
	},
	"ui-013": func(t *testing.T, c badInput) {
		g, s := withServer(t, launch{script: stdiotest.Script{Tools: c.tools(t)}, rules: []string{"--allow", "write_*"}})
		g.read("h")
		g.expect(d1.reply("agent-a", "h", "tools/call", "read_file", `{"id":42,"error":{"code":-31004}}`))
		if s.ran() != 0 {
			t.Error("a hint of the server's let a call through")
		}
	},
	"ui-014": func(t *testing.T, c badInput) {
		g, s := withServer(t, launch{script: stdiotest.Script{Tools: c.tools(t)}})
		s.once(`{"event":"warning","reason":"` + c.Expect.Audit + `"}`)
		g.request("r", "agent-a", call("42", "t", `{}`)) // the server knows no t
		g.expect(d1.reply("agent-a", "r", "tools/call", "t", `{"id":42,"error":{"code":-32602,"message":"Unknown tool: t"}}`))
	},
	"chd-001": answeredAfterNoise, "chd-002": answeredAfterNoise, "chd-003": answeredAfterNoise, "chd-009": answeredAfterNoise,
	"chd-006": func(t *testing.T, c badInput) { // it can be told whose it was, so its caller does not wait (DESIGN 4)
		g, s := withServer(t, launch{script: stdiotest.Script{Answer: c.text(t)}})
		g.read("a")
		g.expect(g.unknown("a", "read_file"))
		s.await(fmt.Sprintf(`{"event":"server_noise","reason":%q}`, c.Expect.Audit))
		g.quiet()
	},
	"chd-010": answerLost, "chd-016": answerLost,
	"chd-014": func(t *testing.T, c badInput) {
		var in struct{ B64 []byte }
		if err := json.Unmarshal(c.Input, &in); err != nil {
			t.Fatal(err)
		}
		g, s := withServer(t, launch{})
		g.request("u", "agent-a", call("42", "raw", fmt.Sprintf(`{"b64":%s}`, mustJSON(t, in.B64))))
		g.expect(d1.reply("agent-a", "u", "tools/call", "raw", `{"id":42,"result":{"content":[{"type":"text","text":"\ufffd"}]}}`)) // replaced, and said so (DESIGN 4)
		s.await(`{"event":"server_noise","reason":"invalid_utf8"}`)
		g.quiet()
	},
	"chd-007": func(t *testing.T, c badInput) {
		var in struct {
			Gen struct {
				Bytes int `json:"line_bytes"`
				Then  string
			}
		}
		if err := json.Unmarshal(c.Input, &in); err != nil {
			t.Fatal(err)
		}
		longLine(t, c, fmt.Sprintf(`{"bytes":%d,"then":%s}`, in.Gen.Bytes, quoted(in.Gen.Then)), "long")
	},
	"chd-008": func(t *testing.T, c badInput) { longLine(t, c, `{}`, "endless") },
	"chd-015": func(t *testing.T, c badInput) {
		g, s := withServer(t, launch{script: stdiotest.Script{Answer: c.text(t) + good}})
		g.read("q")
		g.expect(g.good("q"))
		g.quiet() // nothing of the question reached the topic
		if given := recorded(s.record); !strings.Contains(given, `"id":"srv-1"`) || !strings.Contains(given, "-32601") {
			t.Errorf("the server's question was not refused: %s", given)
		}
		if strings.Contains(s.events.text()+s.stderr.text(), "GitHub token") {
			t.Error("the server's question is among our own words")
		}
	},
	"chd-018": func(t *testing.T, _ badInput) {
		g, s := withServer(t, launch{})
		g.request("f", "agent-a", call("42", "flood", `{"n":100000}`))
		g.read("after")
		g.expect(d1.reply("agent-a", "f", "tools/call", "flood", `{"id":42,"result":"*"}`))
		g.expect(d1.reply("agent-a", "after", "tools/call", "read_file", `{"id":42,"result":"*"}`))
		g.quiet() // and none of it reached the topic
		s.await(`{"event":"server_noise","reason":"child_notification_flood"}`)
	},
}

// good is a good answer as the corpus writes it.
const good = `{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"good"}]}}` + "\n"

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tools are those in an input that is an answer to tools/list.
func (c badInput) tools(t *testing.T) (tools []string) {
	t.Helper()
	var m struct {
		Result struct{ Tools []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(c.text(t)), &m); err != nil || len(m.Result.Tools) == 0 {
		t.Fatalf("%s lists no tools: %v", c.ID, err)
	}
	for _, tool := range m.Result.Tools {
		tools = append(tools, string(tool))
	}
	return tools
}

func toolNameWithALookalike(t *testing.T, c badInput) {
	g, s := withServer(t, launch{script: stdiotest.Script{Tools: append(c.tools(t), `{"name":"read_file","inputSchema":{"type":"object"}}`)}})
	s.once(`{"event":"warning","reason":"` + c.Expect.Audit + `"}`)
	g.request("l", "agent-a", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	g.expect(d1.reply("agent-a", "l", "tools/list", "", `{"id":1,"result":{"tools":[{"name":"read_file"}]}}`))
	g.request("c", "agent-a", call("1", "rеad_file", `{}`)) // with the Cyrillic e
	g.expect(d1.reply("agent-a", "c", "tools/call", "rеad_file", `{"id":1,"error":{"code":-32602,"data":{"reason":"unknown_tool"}}}`))
	if s.ran() != 0 {
		t.Error("the lookalike was called")
	}
}

// answeredAfterNoise: the answer comes, once, whatever is written around it.
func answeredAfterNoise(t *testing.T, c badInput) {
	g, s := withServer(t, launch{script: stdiotest.Script{Answer: c.text(t), CRLF: c.ID == "chd-003"}})
	g.read("a")
	g.expect(g.good("a"))
	g.quiet()
	if c.Expect.Audit != "" {
		s.await(fmt.Sprintf(`{"event":"server_noise","reason":%q}`, c.Expect.Audit))
	}
	if n := s.ran(); n != c.Expect.Exec {
		t.Errorf("the server was given %d calls", n)
	}
}

// answerLost: what is written is no answer, so the caller hears of it when its
// time is over, and never gets a result.
func answerLost(t *testing.T, c badInput) {
	g, s := withServer(t, launch{script: stdiotest.Script{Answer: c.text(t)}, flags: []string{"--timeout", "1s"}})
	g.read("a")
	s.await(fmt.Sprintf(`{"event":"server_noise","reason":%q}`, c.Expect.Audit))
	g.quiet() // the session lives
	g.expect(d1.reply("agent-a", "a", "tools/call", "read_file", `{"id":42,"!result":0,"error":{"code":-31010,"data":{"reason":"call_timeout","executed":"unknown"}}}`))
	g.quiet()
	if n := s.ran(); n != 1 {
		t.Errorf("the server was given %d calls", n)
	}
}

// longLine: a line over every limit costs the server its life, and us neither
// the session nor the memory.
func longLine(t *testing.T, c badInput, arguments, tool string) {
	g, s := withServer(t, launch{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g.request("x", "agent-a", call("42", tool, arguments))
	g.expect(g.unknown("x", tool))
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 128<<20 {
		t.Errorf("%d MiB were allocated for a line that is thrown away", grown>>20)
	}
	s.await(fmt.Sprintf(`{"event":"server_noise","reason":%q}`, c.Expect.Audit))
	s.await(`{"event":"server_up"}`)
	g.settle()
	g.serves("after")
}

func TestBadServerOutput(t *testing.T) {
	for _, c := range of(t, "child-stdout") {
		f := serverOutput[c.ID]
		if f == nil {
			t.Errorf("%s has no test: %s", c.ID, c.Why)
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			if c.ID == "chd-010" || c.ID == "chd-016" {
				t.Parallel() // they wait for a time-out
			}
			f(t, c)
		})
	}
}

// Servers that do not behave as processes. Where the corpus says `cat` or
// real-server, a server that works has the same fault besides.
var badServers = map[string]func(*testing.T, badInput){
	"prc-001": func(t *testing.T, c badInput) {
		startFails(t, launch{server: []string{"sh", "-c", c.text(t)}}, "sh -c", "status 1")
	},
	"prc-002": func(t *testing.T, c badInput) {
		startFails(t, launch{server: []string{"sh", "-c", c.text(t)}, flags: []string{"--start-timeout", "100ms"}}, "initialize")
	},
	"prc-003": func(t *testing.T, _ badInput) {
		leavesNothing(t, stdiotest.Script{IgnoreTerm: true, IgnoreEOF: true}, 1)
	},
	"prc-004": func(t *testing.T, _ badInput) { leavesNothing(t, stdiotest.Script{Grandchild: "group"}, 2) },
	"prc-005": escapedGrandchild,
	"prc-006": func(t *testing.T, _ badInput) {
		g, _ := withServer(t, launch{script: stdiotest.Script{StderrFlood: true}, flags: []string{"--log-level", "error"}})
		g.serves("e1")
		g.quiet()
	},
	"prc-008": func(t *testing.T, c badInput) {
		g, s := withServer(t, launch{})
		g.request("x", "agent-a", call("42", "close_stdout", `{}`))
		g.expect(g.unknown("x", "close_stdout"))
		s.await(`{"event":"server_exit","reason":"` + c.Expect.Audit + `"}`)
		s.await(`{"event":"server_up"}`)
		g.settle()
		g.serves("after")
	},
	"prc-009": neverReads,
	"prc-011": func(t *testing.T, c badInput) {
		g, s := withServer(t, launch{})
		g.request("x", "agent-a", call("42", "crash", `{}`))
		g.expect(g.unknown("x", "crash"))
		s.await(`{"event":"server_exit"}`) // the server_up after it, not the first
		s.await(`{"event":"server_up"}`)
		g.settle()
		g.quiet()
		if n := s.ran(); n != c.Expect.Exec {
			t.Errorf("the server was given %d calls", n)
		}
	},
	"prc-012": crashLoop,
	"prc-013": func(t *testing.T, c badInput) {
		if n := startFails(t, launch{server: []string{c.text(t)}}, c.text(t), "no such file"); n != 0 {
			t.Errorf("it joined %d times on behalf of what cannot be launched", n)
		}
	},
}

func TestBadServers(t *testing.T) {
	t.Parallel()
	for _, c := range of(t, "child-proc") {
		f := badServers[c.ID]
		if f == nil {
			t.Errorf("%s has no test: %s", c.ID, c.Why)
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel() // most of them wait: for a ladder, a budget, a deadline
			f(t, c)
		})
	}
}

// startFails: without a server it ends, and the last words say why.
func startFails(t *testing.T, l launch, words ...string) (joined int64) {
	g := openStage(t, d1)
	s := l.start(t, g.url)
	if code := s.wait(); code != 3 {
		t.Errorf("exit %d, want 3\n%s", code, s.about())
	}
	lines := strings.Split(s.stderr.text(), "\n")
	for _, word := range words {
		if !strings.Contains(strings.Join(lines, "\n"), word) {
			t.Errorf("stderr does not say %q:\n%s", word, s.stderr.text())
		}
	}
	return g.upgrades.Load()
}

// leavesNothing: of the server's processes none is left.
func leavesNothing(t *testing.T, script stdiotest.Script, processes int) {
	script.Pids = filepath.Join(t.TempDir(), "pids")
	g, s := withServer(t, launch{script: script})
	g.serves("e1")
	if code := s.finish(); code != 0 {
		t.Errorf("exit %d\n%s", code, s.about())
	}
	pids := stdiotest.Pids(t, script.Pids)
	if len(pids) != processes {
		t.Fatalf("the server had the processes %d", pids)
	}
	for _, pid := range pids {
		awaitGone(t, pid)
	}
}

// escapedGrandchild: a process that fled into a session of its own cannot be
// had, but it does not hold us up, and it is named.
func escapedGrandchild(t *testing.T, _ badInput) {
	pids := filepath.Join(t.TempDir(), "pids")
	g, s := withServer(t, launch{script: stdiotest.Script{Grandchild: "session", Pids: pids}})
	g.serves("e1")
	t.Cleanup(func() { // it was started by us after all
		for _, pid := range stdiotest.Pids(t, pids)[1:] {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill() // it may have gone
			}
		}
	})
	if code := s.finish(); code != 0 {
		t.Errorf("exit %d\n%s", code, s.about())
	}
	all := stdiotest.Pids(t, pids)
	awaitGone(t, all[0])
	if runtime.GOOS == "linux" && !strings.Contains(s.stderr.text(), fmt.Sprint(all[1])) {
		t.Errorf("stderr does not name the survivor %d:\n%s", all[1], s.stderr.text())
	}
}

// neverReads: the pipe to the server fills up. Nobody else waits for it; what
// is certainly still with us did not run, of the rest nobody can tell.
func neverReads(t *testing.T, _ badInput) {
	g, s := withServer(t, launch{})
	g.request("stop", "agent-a", call("42", "stop_reading", `{}`))
	s.await(`{"event":"started","env":"stop"}`)
	big := call("42", "read_file", `{"path":"`+strings.Repeat("x", 1<<20)+`"}`)
	for _, env := range []string{"half", "queued-1", "queued-2"} {
		g.request(env, "agent-a", big)
	}
	g.request("p", "bob", `{"jsonrpc":"2.0","id":1,"method":"ping"}`) // answered while the server is stuck
	g.expect(d1.reply("bob", "p", "ping", "", `{"id":1,"result":{}}`))
	down := func(env string) string {
		return d1.reply("agent-a", env, "tools/call", "read_file", `{"id":42,"error":{"code":-31007,"data":{"reason":"server_unavailable","executed":"no"}}}`)
	}
	g.expectAll(g.unknown("stop", "stop_reading"), g.unknown("half", "read_file"), down("queued-1"), down("queued-2"))
	s.await(`{"event":"server_exit"}`)
	s.await(`{"event":"server_up"}`)
	g.settle()
	g.serves("after")
}

// crashLoop: each restart waits longer than the one before, and there is an
// end to it.
func crashLoop(t *testing.T, _ badInput) {
	g, s := withServer(t, launch{})
	last := -1.0
	for i := 0; ; i++ {
		env := fmt.Sprintf("x%d", i)
		g.request(env, "agent-a", call("42", "crash", `{}`))
		g.expect(g.unknown(env, "crash"))
		wait, restarting := s.await(`{"event":"server_exit","exit":3}`)["retry_after_ms"].(float64)
		if !restarting {
			break
		}
		if wait <= last {
			t.Errorf("restart %d waits %v ms, the one before %v ms", i, wait, last)
		}
		last = wait
		g.request("no"+env, "agent-a", call("42", "read_file", `{"path":"/a"}`)) // at once, not when it is back
		g.expect(d1.reply("agent-a", "no"+env, "tools/call", "read_file", `{"id":42,"error":{"code":-31007,"data":{"executed":"no","retryable":true,"retry_after_ms":"*"}}}`))
		s.await(`{"event":"server_up"}`)
		g.settle()
	}
	if code := s.wait(); code != 3 {
		t.Errorf("exit %d, want 3\n%s", code, s.about())
	}
}

// gone reports whether a process has ended. One that nobody has waited for yet
// has ended too.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		_, after, _ := strings.Cut(string(stat), ") ")
		return strings.HasPrefix(after, "Z")
	}
	return !lives(pid)
}

// awaitGone waits for the end of a process, of which nothing tells us.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for late := time.Now().Add(patience); !gone(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}
