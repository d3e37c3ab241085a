package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// Proposals at a real gateway, with several bridges.

// bridge starts a bridge there under an id and with rules of its own.
func (h *hall) bridge(id, rules string, script stdiotest.Script, flags ...string) *sidecar {
	l := ruled(h.t, rules, append(flags, "--dialect", h.d.protocol)...)
	l.env = map[string]string{"MCPX_AUTH_TOKEN": h.mint(id)}
	l.id, l.script = id, script
	s := l.start(h.t, h.url)
	s.ready()
	return s
}

// A proposer is a participant that knows nothing of us. It gives up at the first
// reject, as stock ones do.
type proposer struct {
	*guest
	heard  chan string // rejects and answers about its proposals, and requests for them
	before []string    // what hears has looked at
}

func (h *hall) proposer(id string) *proposer {
	p := &proposer{heard: make(chan string, 64)}
	p.guest = h.guest(id, func(_ *guest, frame []byte) {
		for _, kind := range []string{"mcp/reject", "mcp/response", "mcp/request"} {
			if strings.Contains(string(frame), `"kind":"`+kind) && strings.Contains(string(frame), `"correlation_id"`) {
				p.heard <- string(frame)
				return
			}
		}
	})
	return p
}

// hears waits for a frame that matches, whatever else comes before or between;
// one that matches never is the end.
func (p *proposer) hears(pattern, never string) string {
	p.t.Helper()
	for i := 0; ; i++ {
		if i == len(p.before) {
			select {
			case frame := <-p.heard:
				p.before = append(p.before, frame)
			case <-time.After(patience):
				p.t.Fatalf("%s hears nothing like %s, but %q", p.id, pattern, p.before)
			}
		}
		frame := p.before[i]
		if never != "" && (names{}).mismatch(never, frame) == "" {
			p.t.Fatalf("%s hears %s", p.id, frame)
		}
		if (names{}).mismatch(pattern, frame) == "" {
			return frame
		}
	}
}

func (h *hall) proposal(env, payload string) string {
	return play{stage: &stage{d: h.d}}.proposed(env, "bob", "", payload)
}

// The flow of seed 000: who is busy says so, and the second serves it.
func TestWhoIsBusySaysSoAndTheSecondServes(t *testing.T) {
	t.Parallel()
	for _, d := range []tongue{d1, mew4} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			h := newHall(t, d)
			bob := h.proposer("bob")
			one := h.bridge("one", proposalRules(fulfils), stdiotest.Script{}, "--max-calls", "1")
			two := h.bridge("two", proposalRules(fulfils), stdiotest.Script{})
			bob.send(h.proposal("p0", proposing("slow", `{"ms":5000}`, `,"targeting":{"preferred":["one"],"exclusive":true,"fallback_to_broadcast":false}`)))
			bob.hears(`{"from":"one","to":["one"]}`, "")
			bob.send(h.proposal("p1", proposing("read_file", readArguments, `,"targeting":{"preferred":["one","two"],"quick_reject":true}`)))
			bob.hears(fmt.Sprintf(`{"from":"one","to":["bob"],"kind":"mcp/reject","correlation_id":%s,"payload":{"reason":"busy"}}`, d.link("p1")), "")
			bob.hears(`{"from":"two","kind":"*","payload":{"result":"*"}}`, `{"from":"two","kind":"mcp/reject"}`)
			if n := two.ran(); n != 1 {
				t.Errorf("two was given %d calls", n)
			}
			if n := one.events.count(`{"event":"started","proposal":"p1"}`); n != 0 {
				t.Errorf("one serves it too, %d times", n)
			}
			one.await(`{"event":"rejected","proposal":"p1","reason":"busy"}`)
		})
	}
}

// Nine of ten cannot serve what is proposed to all, and keep quiet.
func TestOneOfTenServesWhatIsProposedToAll(t *testing.T) {
	t.Parallel()
	h := newHall(t, d1)
	bob := h.proposer("bob")
	var bridges []*sidecar
	for i := range 10 {
		script := stdiotest.Script{Tools: []string{`{"name":"other","inputSchema":{"type":"object"}}`}}
		if i == 6 {
			script = stdiotest.Script{}
		}
		bridges = append(bridges, h.bridge(fmt.Sprint("b", i), proposalRules(fulfils), script))
	}
	bob.send(h.proposal("p1", proposing("read_file", readArguments, "")))
	bob.hears(`{"from":"b6","kind":"mcp/response:tools/call:read_file","payload":{"result":"*"}}`, `{"kind":"mcp/reject"}`)
	for i, b := range bridges {
		want := 0
		if i == 6 {
			want = 1
		}
		if got := b.ran(); got != want {
			t.Errorf("b%d was given %d calls, want %d", i, got, want)
		}
	}
}

// A bridge that is killed while it serves a proposal does not serve it again,
// though the proposal comes again. Its record says that nobody knows.
func TestAKilledBridgeServesNoProposalTwice(t *testing.T) {
	h := newHall(t, d1)
	bob := h.proposer("bob")
	dir := t.TempDir()
	record, log, rules := filepath.Join(dir, "given"), filepath.Join(dir, "fs.jsonl"), filepath.Join(dir, "rules.yaml")
	if err := os.WriteFile(rules, []byte(proposalRules(fulfils)), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() *killable {
		args := append([]string{"run", "--json", "--gateway", h.url, "--topic", "t1", "--id", "fs", "--policy", rules, "--audit", log, "--"},
			stdiotest.Command(t, stdiotest.Script{Record: record})...)
		k := startKillable(t, dir, h.mint("fs"), args...)
		k.record = record
		k.ready()
		return k
	}
	started := play{stage: &stage{d: d1}}.proposed("p1", "bob", "fs", proposing("slow", `{"ms":60000}`, ""))
	asked := play{stage: &stage{d: d1}}.proposed("p2", "bob", "fs", proposing("read_file", readArguments, ""))

	k := start()
	bob.send(started)
	bob.hears(`{"from":"fs","to":["fs"],"correlation_id":"p1"}`, "")
	k.await(`{"event":"started","proposal":"p1"}`)
	k.kill()
	k = start()
	bob.send(started)
	k.await(`{"event":"dropped","reason":"duplicate_envelope","env":"p1"}`)
	bob.send(asked) // and it lives
	bob.hears(`{"from":"fs","to":["bob","fs"],"payload":{"result":"*"}}`, "")
	if n := len(k.given("tools/call")); n > 2 {
		t.Errorf("the servers were given %d calls: %s", n, recorded(record))
	}
	events := lifeOnRecord(t, log, "p1")
	if got := strings.Join(events, " "); got != "proposed decided started ended" {
		t.Errorf("on record is %s", got)
	}
	if r, err := audit.VerifyLog(log, audit.Checks{}); err != nil || !r.OK {
		t.Errorf("%+v %v", r.Fault, err)
	}
}

// lifeOnRecord are the events that `audit show --proposal` shows.
func lifeOnRecord(t *testing.T, log, proposal string) (events []string) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"audit", "show", log, "--proposal", proposal, "--json"}, env{stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
		getenv: func(string) string { return "" }, environ: os.Environ}); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	for line := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
		var r struct{ Event string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		events = append(events, r.Event)
	}
	return events
}

// A proposal's whole life can be read: who proposed it, who was asked, who
// agreed, what ran and how it ended; and why it was refused, or withdrawn.
func TestAuditShowTellsAProposalsLife(t *testing.T) {
	log := filepath.Join(t.TempDir(), "fs.jsonl")
	g, s := perform(t, d1, ruled(t, proposalRules(""), "--audit", log))
	p := play{g, s}
	p.agrees(p.asked("p-done", ""), "p-done")
	p.takes("p-done", "write_file", writeArguments, anyResult)
	p.decides("alice", p.asked("p-no", ""), `{"action":"decline"}`)
	p.expect(p.rejected("p-no", "disagree"))
	q := p.asked("p-back", "")
	p.withdraws("w", "p-back", "bob")
	p.expect(p.withdrawn(q))
	p.proposes("p-never", "nope", `{}`, "")
	p.expect(p.rejected("p-never", "incapable"))
	p.proposes("p-other", "read_file", readArguments, "")
	p.poses("alice", anyQuestion)
	p.requests("r1", "carol", "fs", "p-other", "read_file", readArguments)
	p.expectAll(`{"to":["alice"],"payload":{"method":"notifications/cancelled"}}`, p.toServer("r1", "carol", "read_file", anyResult))
	s.finish()
	for proposal, want := range map[string]string{
		"p-done":  "proposed asked decided started ended fulfilled",
		"p-no":    "proposed asked decided rejected",
		"p-back":  "proposed asked withdrawn decided withdrawn",
		"p-never": "proposed rejected",
		"p-other": "proposed asked decided taken decided withdrawn started ended fulfilled",
	} {
		if got := strings.Join(lifeOnRecord(t, log, proposal), " "); got != want {
			t.Errorf("%s: on record is\n%s, want\n%s", proposal, got, want)
		}
	}
}
