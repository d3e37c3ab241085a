package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// begin starts propose as bob on a stage with fs, alice and carol present.
func begin(t *testing.T, d tongue, args ...string) (*stage, *sidecar) {
	t.Helper()
	g := openStage(t, d)
	g.me = "bob"
	s := launch{raw: true, flags: append([]string{"propose", "--gateway", g.url, "--topic", "t1", "--id", "bob", "--timeout", "20s"}, args...)}.start(t, g.url)
	g.side = s
	g.accept()
	g.greet("fs", "alice", "carol", "mallory")
	return g, s
}

// proposalOf is the pattern of a proposal of echo; its id is then $p.
func (d tongue) proposalOf(to, kind, more string) string {
	if to != "" {
		to = fmt.Sprintf(`"to":[%q],`, to)
	} else {
		to = `"!to":0,`
	}
	return fmt.Sprintf(`{"id":"$p",%s"kind":%q,"!correlation_id":0,"payload":{"!jsonrpc":0,"!id":0,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}%s}}`, to, kind, more)
}

func (d tongue) proposal() string {
	if d.kinds == "method" {
		return "mcp/proposal:tools/call:echo"
	}
	return "mcp/proposal"
}

// fulfil plays a request that somebody makes to fs for the proposal, and its
// answer.
func (g *stage) fulfil(by, env, proposal string) {
	g.t.Helper()
	g.send(g.d.frame(env, by, "fs", g.d.kind("request", "tools/call", "echo"), proposal, call("7", "echo", `{"text":"x"}`)))
}

func (g *stage) respond(to, env, payload string) {
	g.t.Helper()
	g.send(g.d.frame("re-"+env, "fs", to, g.d.kind("response", "tools/call", "echo"), env, payload))
}

// proposalID is the id of the proposal that was expected last.
func (g *stage) proposalID() string { return strings.Trim(g.names["$p"], `"`) }

const echoed = `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"done it"}]}}`

func (s *sidecar) exits(code int, words ...string) {
	s.t.Helper()
	if got := s.wait(); got != code {
		s.t.Errorf("exit %d, want %d\n%s", got, code, s.about())
	}
	for _, w := range words {
		if !strings.Contains(s.stderr.text(), w) {
			s.t.Errorf("stderr does not say %q\n%s", w, s.stderr.text())
		}
	}
}

// spoken are the dialects that have proposals.
func spoken(t *testing.T, f func(t *testing.T, d tongue)) {
	for _, d := range tongues[1:] {
		t.Run(d.name, func(t *testing.T) { f(t, d) })
	}
}

// A proposal ends with the result of the request that somebody made for it,
// whoever that was; rejects of others and lies of others do not end it.
func TestProposeEndsAtFulfilment(t *testing.T) {
	for _, by := range []string{"fs", "alice"} {
		spoken(t, func(t *testing.T, d tongue) {
			g, s := begin(t, d, "fs", "echo", `{"text":"x"}`)
			g.expect(d.proposalOf("fs", d.proposal(), ""))
			p := g.proposalID()
			g.send(d.frame("j1", "carol", "bob", "mcp/reject", p, `{"reason":"busy"}`))
			g.send(d.frame("j2", "mallory", "bob", d.kind("response", "tools/call", "echo"), p, echoed))
			g.fulfil(by, "s1", p)
			g.send(d.frame("j3", "mallory", "bob", d.kind("response", "tools/call", "echo"), "s1", echoed))
			g.respond("bob", "s1", echoed)
			s.exits(0, "carol refused it: busy", p)
			if got := strings.TrimSpace(s.events.text()); got != "done it" {
				t.Errorf("stdout is %q", got)
			}
		})
	}
}

// Who was asked may go and come back before the answer: that is said, and waited for.
func TestProposeSaysThatWhoWasAskedHasLeft(t *testing.T) {
	spoken(t, func(t *testing.T, d tongue) {
		g, s := begin(t, d, "fs", "echo", `{"text":"x"}`)
		g.expect(d.proposalOf("fs", d.proposal(), ""))
		p := g.proposalID()
		g.send(d.presence("alice-leaves", "leave", "alice"))
		g.send(d.presence("fs-beats", "heartbeat", "fs"))
		g.send(d.presence("fs-leaves", "leave", "fs"))
		g.send(d.presence("fs-joins", "join", "fs"))
		g.send(d.presence("fs-beats-again", "heartbeat", "fs"))
		g.fulfil("fs", "s1", p)
		g.respond("bob", "s1", echoed)
		s.exits(0, "fs has left the topic", "fs is back in the topic")
		if strings.Contains(s.stderr.text(), "alice") || strings.Count(s.stderr.text(), "is back") != 1 {
			t.Errorf("stderr: %s", s.stderr.text())
		}
	})
}

// The one it is put to says no: 8 and the reason, in every spelling of a no.
func TestProposeEndsAtReject(t *testing.T) {
	spoken(t, func(t *testing.T, d tongue) {
		g, s := begin(t, d, "fs", "echo", `{"text":"x"}`, "--json")
		g.expect(d.proposalOf("fs", d.proposal(), ""))
		g.send(d.frame("j1", "fs", "bob", "mcp/reject", g.proposalID(), `{"reason":"policy","detail":"policy_denied"}`))
		s.exits(8, "fs refused echo, it did not run: the owner's policy does not allow echo (policy_denied)")
		if why := g.names.mismatch(`{"proposal":"$p","rejected":[{"from":"fs","reason":"policy","detail":"policy_denied"}]}`, s.events.text()); why != "" {
			t.Errorf("stdout: %s: %s", why, s.events.text())
		}
	})
	for _, c := range []struct{ style, kind, reject, body string }{
		{"v2", "mcp/proposal:tools/call:echo", "mcp.reject", `"correlationId":["$"],"payload":{"reason":"gone_fishing"}`},
		{"seed001", "mcp.proposal.tools/call:echo", "mcpx.reject.proposal", `"correlationId":"$","payload":{"reason":"gone_fishing"}`},
		{"seed000", "proposal", "proposal-reject", `"payload":{"proposal_id":"$","reason":"error","detail":"gone_fishing"}`},
		{"seed002", "proposal", "mcp/reject", `"correlation_id":"$","payload":{"reason":"gone_fishing"}`},
	} {
		t.Run(c.style, func(t *testing.T) {
			g, s := beginWith(t, `["mcp/*","mcp.*","mcpx.*","proposal*"]`, "fs", "echo", `{"text":"x"}`, "--style", c.style)
			g.expect(d1.proposalOf("fs", c.kind, ""))
			g.send(`{"protocol":"mcpx/v0.1","id":"j1","from":"fs","to":["bob"],"kind":"` + c.reject + `",` + strings.ReplaceAll(c.body, "$", g.proposalID()) + `}`)
			s.exits(8, "gone_fishing")
		})
	}
}

// beginWith is begin in mcpx/v0.1 with these capabilities.
func beginWith(t *testing.T, caps string, args ...string) (*stage, *sidecar) {
	t.Helper()
	g := openStage(t, d1)
	g.me = "bob"
	g.side = launch{raw: true, flags: append([]string{"propose", "--gateway", g.url, "--topic", "t1", "--id", "bob", "--timeout", "20s"}, args...)}.start(t, g.url)
	g.accept()
	g.send(d1.presence("join-of-me", "join", "bob"))
	g.send(d1.welcome("bob", caps, "fs", "alice"))
	return g, g.side
}

// One for all ends with the no of the last who could do it, in whatever words: whoever
// proposed it waited its whole time (FINDINGS S5, S18).
func TestProposeToAllEndsWithTheLastNo(t *testing.T) {
	spoken(t, func(t *testing.T, d tongue) {
		t.Parallel()
		g, s := begin(t, d, "echo", `{"text":"x"}`, "--reason", "the tests are red")
		g.expect(d.proposalOf("", d.proposal(), `,"counts_rejects":true,"reason":"the tests are red"`))
		p := g.proposalID()
		for i, who := range []string{"fs", "alice", "carol"} {
			g.send(d.frame(fmt.Sprint("j", i), who, "bob", "mcp/reject", p, `{"reason":"incapable"}`))
		}
		if d == d1 {
			g.send(d.frame("j9", "mallory", "bob", "proposal-response", p, `{"status":"reject","reason":"busy"}`))
		} else {
			g.send(d.frame("j9", "mallory", "bob", "mcp/reject", p, `{"reason":"busy"}`))
		}
		s.exits(8, "mallory refused it: busy", "nobody here will do echo")
	})
}

// What the bridge takes for one who could serve a proposal, who proposes it does too: it
// gave up while such a one was still there.
func TestProposeGaveUpOnWhoMayServeUnderAPlainWord(t *testing.T) {
	g := openStage(t, d1)
	g.me = "bob"
	g.side = launch{raw: true, flags: []string{"propose", "--gateway", g.url, "--topic", "t1", "--id", "bob", "--timeout", "20s", "echo"}}.start(t, g.url)
	g.accept()
	g.send(d1.presence("join-of-me", "join", "bob"))
	g.send(d1.frame("welcome-bob", "system:gateway", "bob", "system/welcome", "",
		`{"you":{"id":"bob","capabilities":["mcp/*","chat"]},"participants":[{"id":"fs","capabilities":["mcp/*"]},{"id":"carol","capabilities":["mcp"]},{"id":"alice","capabilities":["chat"]}]}`))
	g.expect(`{"id":"$p"}`)
	p := g.proposalID()
	g.send(d1.frame("j1", "fs", "bob", "mcp/reject", p, `{"reason":"incapable"}`))
	g.send(d1.frame("j2", "carol", "bob", "mcp/reject", p, `{"reason":"busy"}`))
	g.side.exits(8, "carol refused it: busy", "nobody here will do echo")
}

// One for all goes on when some will not, until the time is over; then it is
// taken back, and that in the style in which it was made.
func TestProposeToAllOutlastsRejects(t *testing.T) {
	t.Parallel()
	spoken(t, func(t *testing.T, d tongue) {
		t.Parallel()
		g, s := begin(t, d, "echo", `{"text":"x"}`, "--timeout", "4s")
		g.expect(d.proposalOf("", d.proposal(), ""))
		p := g.proposalID()
		for i, who := range []string{"fs", "alice", "carol", "fs"} {
			g.send(d.frame(fmt.Sprint("j", i), who, "bob", "mcp/reject", p, `{"reason":"incapable"}`))
		}
		g.expect(fmt.Sprintf(`{"!to":0,"kind":"mcp/withdraw","correlation_id":%s,"payload":{"reason":"timeout"}}`, d.link(p)))
		s.exits(9, "carol refused it: incapable", "nobody did echo in time", "hint: a bridge leaves alone what names nobody")
		if n := strings.Count(s.stderr.text(), "fs refused it"); n != 1 {
			t.Errorf("fs refused it, %d times", n)
		}
	})
	for style, want := range map[string]string{
		"seed001": `{"kind":"mcpx.withdraw.proposal","correlation_id":"$p","correlationId":"$p","payload":{"proposal_id":"$p","reason":"timeout"}}`,
		"seed002": `{"kind":"proposal/withdraw","payload":{"proposalId":"$p","reason":"timeout"}}`,
	} {
		g, s := beginWith(t, `["mcp/*","mcp.*","mcpx.*","proposal*"]`, "echo", "--style", style, "--timeout", "2s")
		g.expect(`{"id":"$p"}`)
		g.expect(want)
		s.exits(9)
	}
}

// An interrupt takes it back.
func TestProposeInterrupted(t *testing.T) {
	spoken(t, func(t *testing.T, d tongue) {
		g, s := begin(t, d, "fs", "echo", `{"text":"x"}`)
		g.expect(d.proposalOf("fs", d.proposal(), ""))
		s.stop()
		g.expect(fmt.Sprintf(`{"kind":"mcp/withdraw","correlation_id":%s,"payload":{"reason":"no_longer_needed"}}`, d.link(g.proposalID())))
		s.exits(130, "withdrew echo, which nobody had begun")
	})
}

// Without a seat nothing can be taken back: it said "could not be withdrawn" and "withdrew".
func TestProposeInterruptedWithoutASeatHasWithdrawnNothing(t *testing.T) {
	g, s := begin(t, d1, "fs", "echo", `{"text":"x"}`, "--log-format", "json")
	g.expect(d1.proposalOf("fs", d1.proposal(), ""))
	g.drop()
	if !s.stderr.first(`{"msg":"no link to the topic, trying again"}`, patience) {
		t.Fatal("it is not said that the seat is lost")
	}
	s.stop()
	s.exits(130, "told to stop, and waits for echo no more; it could not be withdrawn: ")
	if strings.Contains(s.stderr.text(), "withdrew") {
		t.Errorf("stderr: %s", s.stderr.text())
	}
}

// Whom it is for, and for how long, stands in it; where those alone were to do
// it and will not, that is the end.
func TestProposeHints(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--preferred", "fs", "--preferred", "alice", "--exclusive", "--ttl", "30s"},
			`,"targeting":{"preferred":["fs","alice"],"exclusive":true,"fallback_to_broadcast":false,"quick_reject":true},"ttl":30000`},
		{[]string{"--preferred", "fs", "--preferred", "alice", "--exclusive"}, `,"!ttl":0`},
	} {
		g, s := begin(t, d1, append([]string{"echo", `{"text":"x"}`}, c.args...)...)
		g.expect(d1.proposalOf("", d1.proposal(), c.want))
		p := g.proposalID()
		g.send(d1.frame("j1", "carol", "bob", "mcp/reject", p, `{"reason":"incapable"}`))
		g.send(d1.frame("j2", "fs", "bob", "mcp/reject", p, `{"reason":"busy"}`))
		g.send(d1.frame("j3", "alice", "bob", "mcp/reject", p, `{"reason":"disagree"}`))
		s.exits(8, "fs refused it: busy", "alice refused it: disagree", "everybody who alone might do echo refused")
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--preferred", "fs", "--exclusive", "--fallback", "2s"}, `{"preferred":["fs"],"exclusive":true,"exclusive_timeout":2000,"fallback_to_broadcast":true}`},
		{[]string{"--preferred", "fs", "--fallback", "2s"}, `{"preferred":["fs"],"exclusive":false,"fallback_timeout":2000}`},
		{[]string{"--preferred", "fs"}, `{"preferred":["fs"],"exclusive":false}`},
	} {
		g, s := begin(t, d1, append([]string{"echo", `{"text":"x"}`}, c.args...)...)
		g.expect(d1.proposalOf("", d1.proposal(), `,"targeting":`+c.want))
		g.send(d1.frame("j2", "fs", "bob", "mcp/reject", g.proposalID(), `{"reason":"busy"}`))
		g.fulfil("fs", "s1", g.proposalID())
		g.respond("bob", "s1", echoed)
		s.exits(0)
	}
}

// Nobody has begun when --ttl is over; what has begun is waited for.
func TestProposeTTL(t *testing.T) {
	t.Parallel()
	g, s := begin(t, d1, "echo", `{"text":"x"}`, "--ttl", "200ms")
	g.expect(d1.proposalOf("", d1.proposal(), `,"ttl":200`))
	g.expect(`{"kind":"mcp/withdraw","payload":{"reason":"timeout"}}`)
	s.exits(9, "nobody began echo in time")

	g, s = begin(t, d1, "echo", `{"text":"x"}`, "--ttl", "4s", "--timeout", "5s")
	g.expect(d1.proposalOf("", d1.proposal(), ""))
	g.fulfil("fs", "s1", g.proposalID())
	g.expect(`{"kind":"mcp/withdraw"}`)
	s.exits(9, "echo has begun, and gave no result in time")
}

// A go-between's try may fail without an end; what was changed is said.
func TestProposeSurvivesAFailedTry(t *testing.T) {
	g, s := begin(t, mew4, "echo", `{"text":"x"}`)
	g.expect(mew4.proposalOf("", "mcp/proposal", ""))
	p := g.proposalID()
	g.fulfil("carol", "s1", p)
	g.respond("carol", "s1", `{"error":{"code":-31004,"message":"the rules forbid it"}}`)
	g.send(mew4.frame("c1", "alice", "", "chat", p, `{"text":"let me see"}`))
	g.send(mew4.frame("s2", "alice", "", "mcp/request", p, `{"method":"tools/call","params":{"name":"echo","arguments":{"text":"y"}}}`)) // as stock fulfillers do
	g.respond("alice", "s2", `{"result":{"isError":true,"content":[{"type":"text","text":"no such y"}]}}`)
	s.exits(1, "carol has it done by fs", "carol failed with fs: the rules forbid it", "alice says: let me see", `changed: echo {"text":"y"}`, "fs says that echo failed")

	g, s = begin(t, mew4, "fs", "echo", `{"text":"x"}`)
	g.expect(mew4.proposalOf("fs", "mcp/proposal", ""))
	g.send(mew4.frame("r1", "fs", "bob", "mcp/response", g.proposalID(), echoed)) // answered directly (WIRE 7.8)
	s.exits(0)

	g, s = begin(t, d1, "fs", "echo", `{"text":"x"}`)
	g.expect(d1.proposalOf("fs", d1.proposal(), ""))
	g.send(d1.frame("st", "fs", "bob", "mcpx.status.proposal", g.proposalID(), `{"status":"queued"}`))
	g.fulfil("fs", "s1", g.proposalID())
	g.respond("bob", "s1", `{"jsonrpc":"2.0","id":7,"error":{"code":-31008,"message":"the server is gone","data":{"reason":"outcome_unknown"}}}`)
	s.exits(9, "fs says: queued", "the server is gone")
}

// Where there is no word for it, or no leave, it never goes out (O90).
func TestProposeWhereItCannotBeSaid(t *testing.T) {
	_, s := begin(t, d0, "fs", "echo", `{"text":"x"}`)
	s.exits(8, "this topic speaks mcp-x/v0, which has no word for a proposal", "mcpx-bridge call")

	_, s = beginWith(t, `["mcp/response:*","chat"]`, "fs", "echo")
	s.exits(8, "does not let bob send proposals")

	g, s := begin(t, mew4, "fs", "echo")
	g.expect(`{"id":"$p","kind":"mcp/proposal"}`)
	g.send(mew4.frame("f1", "system:gateway", "bob", "system/error", g.proposalID(), `{"error":"capability_violation","attempted_kind":"mcp/proposal"}`))
	s.exits(8, "the gateway does not allow mcp/proposal: capability_violation")

	_, s = begin(t, mew4, "fz", "echo")
	s.exits(9, "did you mean fs?")
}

// withdraw needs to be who proposed, and says it in every dialect.
func TestWithdrawCommand(t *testing.T) {
	spoken(t, func(t *testing.T, d tongue) {
		g := openStage(t, d)
		g.me = "bob"
		g.side = launch{raw: true, flags: []string{"withdraw", "p1", "--gateway", g.url, "--topic", "t1", "--id", "bob", "--reason", "timeout"}}.start(t, g.url)
		g.accept()
		g.greet("fs")
		g.expect(fmt.Sprintf(`{"!to":0,"kind":"mcp/withdraw","correlation_id":%s,"payload":{"reason":"timeout"}}`, d.link("p1")))
		g.side.exits(0)
	})
}

func TestProposeMisused(t *testing.T) {
	for words, args := range map[string][]string{
		"PEER and --preferred exclude":  {"propose", "fs", "echo", "--preferred", "fs"},
		"are about --preferred":         {"propose", "echo", "--exclusive"},
		"--fallback is between":         {"propose", "echo", "--preferred", "a", "--fallback", "11m"},
		"--ttl is between":              {"propose", "echo", "--ttl", "11m"},
		"there is no style":             {"propose", "echo", "--style", "chat"},
		"--timeout must be more":        {"propose", "echo", "--timeout", "0s"},
		"--preferred":                   {"propose", "echo", "--preferred", "a b"},
		"propose: TOOL is missing":      {"propose"},
		"propose: argument 1 is empty":  {"propose", ""},
		"argument 2 is empty":           {"propose", "fs", "", "a=b"},
		"call: argument 2 is empty":     {"call", "fs", "--", ""},
		"withdraw: argument 1 is empty": {"withdraw", "", "--id", "bob"},
		"call: argument 1 is empty":     {"call", "", "echo"},
		"tools: argument 1 is empty":    {"tools", ""},
		"is no argument":                {"propose", "fs", "echo", "word"},
		"withdraw needs the --id":       {"withdraw", "p1"},
		"is no id of a proposal":        {"withdraw", "p\x1b", "--id", "bob"},
		"withdraw: PROPOSAL is missing": {"withdraw", "--id", "bob"},
	} {
		out := newDiary()
		if code := run(context.Background(), args, env{stdin: strings.NewReader(""), stdout: newDiary(), stderr: out, getenv: launch{}.getenv(t), environ: func() []string { return nil }}); code != 2 || !strings.Contains(out.text(), words) {
			t.Errorf("%q: exit %d, says %s, want %q", args, code, out.text(), words)
		}
	}
}

func TestSplitTarget(t *testing.T) {
	for _, c := range []struct {
		args     []string
		to, name string
		rest     int
	}{
		{[]string{"echo"}, "", "echo", 0},
		{[]string{"fs", "echo"}, "fs", "echo", 0},
		{[]string{"echo", "-"}, "", "echo", 1},
		{[]string{"echo", ` {"a":1}`}, "", "echo", 1},
		{[]string{"echo", "a=1", "b:=2"}, "", "echo", 2},
		{[]string{"fs", "echo", "a=1"}, "fs", "echo", 1},
	} {
		if to, name, rest := splitTarget(c.args); to != c.to || name != c.name || len(rest) != c.rest || !slices.Equal(rest, c.args[len(c.args)-c.rest:]) {
			t.Errorf("%q: %q %q %q", c.args, to, name, rest)
		}
	}
}

// Whoever makes a request under the id of one that another made takes nothing
// from it: neither its result, nor, where PEER alone is asked, its failure.
func TestProposeTellsRequestsUnderOneIDApart(t *testing.T) {
	spoken(t, func(t *testing.T, d tongue) {
		g, s := begin(t, d, "echo", `{"text":"x"}`)
		g.expect(d.proposalOf("", d.proposal(), ""))
		p := g.proposalID()
		g.send(d.frame("s1", "fs", "fs", d.kind("request", "tools/call", "echo"), p, call("7", "echo", `{"text":"x"}`)))
		g.send(d.frame("s1", "mallory", "carol", d.kind("request", "tools/call", "echo"), p, call("7", "echo", `{"text":"x"}`)))
		g.respond("bob", "s1", echoed)
		s.exits(0)

		g, s = begin(t, d, "fs", "echo", `{"text":"x"}`)
		g.expect(d.proposalOf("fs", d.proposal(), ""))
		p = g.proposalID()
		g.send(d.frame("s1", "fs", "fs", d.kind("request", "tools/call", "echo"), p, call("7", "echo", `{"text":"x"}`)))
		g.send(d.frame("s1", "mallory", "fs", d.kind("request", "tools/call", "echo"), p, call("7", "echo", `{"text":"x"}`)))
		g.respond("bob", "s1", `{"jsonrpc":"2.0","id":7,"error":{"code":-31008,"message":"the server ended"}}`)
		s.exits(9, "the server ended")
	})
}

// What a stranger says has no end of rejects and tries to remember.
func TestPursuitIsBounded(t *testing.T) {
	g, s := begin(t, d1, "echo", `{"text":"x"}`)
	g.expect(d1.proposalOf("", d1.proposal(), ""))
	p := g.proposalID()
	for i := range 3000 {
		g.send(d1.frame(fmt.Sprint("t", i), "mallory", "", d1.kind("request", "tools/call", "echo"), p, call("7", "echo", `{}`)))
		g.send(d1.frame(fmt.Sprint("r", i), fmt.Sprint("m", i), "", "mcp/reject", p, `{}`))
	}
	g.send(d1.frame("c", "mallory", "", "chat", p, `{"text":"`+strings.Repeat("x", 1<<20)+`"}`))
	g.respond("mallory", "t2999", echoed) // not remembered
	g.fulfil("fs", "s1", p)               // nobody's noise keeps another from being heard
	g.respond("bob", "s1", strings.Replace(echoed, "done it", "first", 1))
	s.exits(0)
	if got := strings.TrimSpace(s.events.text()); got != "first" {
		t.Errorf("stdout is %q", got)
	}
	if n := len(s.stderr.text()); n > 1<<18 {
		t.Errorf("%d bytes on stderr", n)
	}
}
