package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// fault is the gateway that complains of a frame of ours.
func (s *stage) fault(code, about, kind string) {
	s.t.Helper()
	link := `,"correlation_id":"` + about + `"`
	if s.dialect.Protocol != "mcpx/v0.1" && s.dialect.Protocol != "mcp-x/v0" {
		link = `,"correlation_id":["` + about + `"]`
	}
	if about == "" {
		link = ""
	}
	if kind != "" {
		kind = `,"attempted_kind":"` + kind + `"`
	}
	body := `"kind":"system/error"` + link + `,"payload":{"error":"` + code + `","message":"no"` + kind + `}`
	if s.dialect.Protocol == "mcp-x/v0" {
		body = `"kind":"system"` + link + `,"payload":{"type":"error","code":"` + code + `","message":"no"}`
	}
	s.arrive(`{"protocol":"` + s.dialect.Protocol + `","id":"g` + about + `","ts":"2026-01-01T00:00:00Z","from":"system:gateway",` + body + `}`)
}

// Who may ask no more waited out the time of a question that nobody had got.
func TestAQuestionThatTheGatewayRefusesIsAnsweredAtOnce(t *testing.T) {
	for _, protocol := range []string{"mcp-x/v0", "mcpx/v0.1", "mew/v0.4"} {
		d, _ := wire.Lookup(protocol)
		s := askingStage(t, d, raceRules)
		s.asksFor("bob", "e1", "7", "write_file", path, "")
		s.fault("capability_violation", s.question().env, "")
		s.has(strings.Join(s.frames, ""), `"code":-31003`, `"to":["bob"]`)
	}
	s := proposalStage(t, "mcpx/v0.1", "fulfil: ask")
	s.proposes("bob", "p1", "fs", "write_file", path, "")
	s.fault("capability_violation", s.question().env, "mcp/request:elicitation/create")
	s.rejected("policy")

	// A stock gateway names the kind alone.
	s.proposes("bob", "p2", "fs", "write_file", path, "")
	s.question()
	s.fault("capability_violation", "", "mcp/request:elicitation/create")
	s.rejected("policy")
}

func TestADelegateWhomTheGatewayRefusesLeavesNobodyWaiting(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := askingStage(t, d, "version: 1\ndefault: deny\nasks: {default: {of: [alice], delegate: {to: [carol]}}}\nrules:\n - {name: writes, ask: ['write_*']}\n")
	s.comes("carol")
	s.asksFor("bob", "e1", "7", "write_file", path, "")
	s.answers("alice", s.question(), true, `{"action":"accept","content":{"action":"delegate","delegateTo":"carol"}}`)
	q := s.question()
	if q.to != "carol" || strings.Contains(q.params, "delegateTo") || !strings.Contains(q.params, `"required":["approve"]`) {
		t.Errorf("the second of a chain of one is asked: %s", q.params)
	}
	s.frames = nil
	s.fault("capability_violation", q.env, "")
	s.has(s.only(), `"code":-31003`, `"to":["bob"]`)
}

// A no in other words freed nobody who waited for it.
func TestANoInOtherWordsFreesThoseWhoWait(t *testing.T) {
	for kind, payload := range map[string]string{
		"proposal-response":    `{"proposal_id":"p1","status":"reject","reason":"busy"}`,
		"mcpx.status.proposal": `{"proposal_id":"p1","status":"unable"}`,
		"proposal/status":      `{"proposalId":"p1","status":"unable"}`,
	} {
		s := proposalStage(t, "mcpx/v0.1", forAll)
		s.offersRead("p1", "", `,"preferred":"carol"`)
		s.nothing("before carol has said anything")
		s.arrive(`{"protocol":"mcpx/v0.1","id":"x1","ts":"2026-01-01T00:00:00Z","from":"carol","to":["bob"],"kind":"` + kind + `","payload":` + payload + `}`)
		s.claim("p1")
	}
	s := proposalStage(t, "mcpx/v0.1", forAll)
	s.offersRead("p1", "", `,"preferred":"carol"`)
	s.arrive(`{"protocol":"mcpx/v0.1","id":"x1","ts":"2026-01-01T00:00:00Z","from":"carol","to":["bob"],"kind":"proposal-response","payload":{"proposal_id":"p1","status":"accept"}}`)
	s.nothing("carol agrees")
}

// Nobody served what named nobody, and nobody said so: its proposer waited its whole time.
func TestWhatNamesNobodyIsRefusedWhereThatHelps(t *testing.T) {
	const counts = `,"counts_rejects":true`
	for name, c := range map[string]struct {
		proposals, tool, more string
		alone                 bool
		want                  []string
	}{
		"others may serve it":                      {"fulfil: ask", "nope", "", false, nil},
		"its proposer counts rejects":              {"fulfil: ask", "nope", counts, false, []string{"incapable"}},
		"nobody else is here":                      {"fulfil: ask", "nope", "", true, []string{"incapable"}},
		"we could, and may not":                    {"fulfil: ask", "read_file", counts, false, []string{"policy"}},
		"we could, and may not, and are alone":     {"fulfil: ask", "read_file", "", true, []string{"policy"}},
		"people may have it done: nothing is said": {"fulfil: never", "read_file", counts, false, nil},
		"the owner says never":                     {"fulfil: ask, reject_untargeted: never", "nope", counts, true, nil},
		"the owner says always":                    {"fulfil: ask, reject_untargeted: always", "nope", "", false, []string{"incapable"}},
		"its proposer wants no reject":             {"fulfil: ask", "nope", counts + `,"targeting":{"quick_reject":false}`, false, nil},
	} {
		for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
			s := proposalStage(t, protocol, c.proposals)
			if c.alone {
				for _, who := range []string{"alice", "carol", "mallory"} {
					s.leaves(who)
				}
			}
			s.frames = nil
			s.proposes("bob", "p1", "", c.tool, path, c.more)
			if got := s.rejects(); strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("%s, %s: rejected as %q, want %q", protocol, name, got, c.want)
			}
		}
	}
}

// How it stands is said in the words of the proposal, whichever those are.
func TestHowItStandsIsSaidInTheWordsOfTheProposal(t *testing.T) {
	for kind, want := range map[string][]string{
		"proposal":                           {`"kind":"proposal/status"`, `"proposalId":"p1"`, `"status":"pending"`, `"reason":"considering"`},
		"mcp.proposal.tools/call":            {`"kind":"mcpx.status.proposal"`, `"proposal_id":"p1"`, `"status":"considering"`},
		"mcp/proposal:tools/call:write_file": {`"kind":"mcpx.status.proposal"`, `"status":"considering"`},
	} {
		d, _ := wire.Lookup("mcpx/v0.1")
		s := askingStageWith(t, d, Config{Policy: rules(t, raceRules), ProposalStatus: true})
		s.engine.room.caps, _ = wire.ParseCaps([]byte(`["mcp/*","mcpx.*","proposal/*","proposal-reject","chat"]`))
		propose := func(id, to, more string) {
			s.arrive(`{"protocol":"mcpx/v0.1","id":"` + id + `","ts":"2026-01-01T00:00:00Z","from":"bob",` + to + `"kind":"` + kind +
				`","payload":{"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/` + id + `"}}` + more + `}}`)
		}
		propose("p1", `"to":["fs"],`, "")
		q := s.question()
		s.has(s.only(), want...)
		s.frames = nil
		s.answers("alice", q, true, yes)
		s.has(strings.Join(s.frames, "\n"), "processing")
		s.frames = nil
		propose("p2", "", `,"preferred":["carol","fs"]`)
		s.has(s.only(), "queued")
	}
}

// The proposer's own end of a proposal's time was put down as a change of mind.
func TestWhatItsProposerSaysIsOverHasExpired(t *testing.T) {
	s := proposalStage(t, "mcpx/v0.1", "fulfil: ask")
	s.proposes("bob", "p1", "fs", "write_file", path, "")
	s.question()
	s.arrive(`{"protocol":"mcpx/v0.1","id":"x1","ts":"2026-01-01T00:00:00Z","from":"bob","kind":"proposal/status","payload":{"proposalId":"p1","status":"expired"}}`)
	if !s.noted(record.Expired, "expired") || len(s.engine.Pending(0, 0)) != 0 {
		t.Errorf("%+v", s.notes)
	}
}

// Why it is proposed was neither shown to whoever decides nor kept.
func TestWhyItIsProposedIsShownAndKept(t *testing.T) {
	s := proposalStage(t, "mcpx/v0.1", "fulfil: ask")
	s.proposes("bob", "p1", "fs", "write_file", path, `,"reason":"the build is red\npassword=hunter2","ttl":60000,"preferred":["carol","fs"]`)
	q := s.question()
	s.has(q.params, `The proposer says: \"the build is red\\npassword=[redacted]\"`, `"envelopeId":"p1"`)
	if strings.Contains(q.params, "requestId") || strings.Contains(q.params, "hunter2") {
		t.Errorf("it is asked as %s", q.params)
	}
	s.has(s.recorded(record.Proposed), `"preferred":["carol","fs"]`, `"ttl_ms":60000`, `"why":"the build is red\npassword=[redacted]"`)
	s.says("bob", "w1", wire.Withdraw, "", "", "p1", `{"reason":"token: abc123, sorry"}`)
	if !s.noted(record.Withdrawn, "token:[redacted], sorry") {
		t.Errorf("%+v", s.notes)
	}
	s.pass(time.Second)
}
