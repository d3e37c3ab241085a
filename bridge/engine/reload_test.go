package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

const looserRules = "version: 1\ndefault: deny\nrules:\n - {name: some, allow: ['read_*', 'write_*', 'delete_*']}\n"

// saves a policy file, and gives the question that is open at this machine then,
// if there is one.
func (s *stage) saves(text string) (v approval.View, open bool) {
	s.t.Helper()
	s.do(Saved{Policy: rules(s.t, text), File: "/srv/policy.yaml"})
	ids := s.engine.desk.Resolve("")
	if len(ids) == 0 {
		return v, false
	}
	return s.engine.View(s.now, ids[0], true)
}

func (s *stage) decides(v approval.View, result string) {
	s.do(Decided{approval.Answer{Who: approval.Who{Door: approval.Local}, Question: v.ID, Digest: v.Digest, Result: []byte(result)}})
}

// What cannot be put on record is not asked about: the answer was on record, and no question
// (seed 2274).
func TestAPolicyFileWaitsUntilThatCanBePutOnRecord(t *testing.T) {
	s := reloadStage(t)
	s.do(Unrecorded{Err: errors.New("the disk is full")})
	if _, open := s.saves(looserRules); open {
		t.Error("it is asked about while that cannot be put on record")
	}
	s.pass(reloadAgain)
	if n := len(s.engine.desk.Resolve("")); n > 0 {
		t.Error("it is asked about a minute later, and the disk is still full")
	}
	s.do(AuditUp{})
	s.notes = nil
	s.pass(reloadAgain)
	if s.eventsOf(record.ReloadWaiting) != 1 || len(s.engine.desk.Resolve("")) != 1 {
		t.Errorf("on record is %+v", s.notes)
	}
}

func reloadStage(t *testing.T) *stage {
	d, _ := wire.Lookup("mcpx/v0.1")
	s := stageWith(t, d, Config{Policy: rules(t, allowsSome), Local: true})
	s.seat()
	s.startServer()
	s.frames, s.lines, s.notes = nil, nil, nil
	return s
}

func (s *stage) mayDelete() bool {
	before := s.asked()
	s.call("bob", "c"+s.now.Format("150405.000")+string(rune('a'+len(s.frames))), "7", "delete_file", "{}")
	return s.asked() > before
}

func (s *stage) eventsOf(event record.Event) (n int) {
	for _, r := range s.notes {
		if r.Event == event {
			n++
		}
	}
	return n
}

func TestAToolWroteThePolicyAndSwitchedTheGateOff(t *testing.T) {
	s := reloadStage(t)
	v, open := s.saves(looserRules)
	if !open || s.mayDelete() || s.eventsOf(record.ReloadWaiting) != 1 || s.eventsOf(record.Reloaded) != 0 {
		t.Fatalf("open %v, %+v", open, s.notes)
	}
	if text := v.Text(); !strings.Contains(text, "may let more through") || !strings.Contains(text, "delete_*") || !strings.Contains(text, "/srv/policy.yaml") {
		t.Error(text)
	}
	s.decides(v, yes)
	if !s.mayDelete() || s.eventsOf(record.Reloaded) != 1 || s.eventsOf(record.ReloadDecided) != 1 {
		t.Errorf("it does not count: %+v", s.notes)
	}
}

func TestAStricterPolicyCountsAtOnce(t *testing.T) {
	s := reloadStage(t)
	if _, open := s.saves("version: 1\ndefault: deny\n"); open || s.eventsOf(record.Reloaded) != 1 {
		t.Errorf("open %v, %+v", open, s.notes)
	}
	s.call("bob", "e1", "1", "read_file", `{"path":"/a"}`)
	if s.asked() != 0 {
		t.Error("a call ran that the policy denies by now")
	}
}

// A run that goes on under the rules of another asks about all that people have not said, though a
// stricter file had come in between.
func TestWhatPeopleStoodBehindIsKeptForTheNextRun(t *testing.T) {
	s := stageWith(t, lookup(t, "mcpx/v0.1"), Config{Local: true, Policy: rules(t, "version: 1\ndefault: deny\n"),
		Backed: rules(t, "version: 1\ndefault: allow\nrules:\n - {name: keep, deny: ['delete_*']}\n")})
	s.seat()
	v, open := s.saves("version: 1\ndefault: allow\n")
	if text := v.Text(); !open || !strings.Contains(text, "keep") {
		t.Errorf("open %v, and nobody reads that a deny is gone: %s", open, text)
	}
}

func TestALooserPolicyWaitsForAYes(t *testing.T) {
	for name, end := range map[string]func(s *stage, v approval.View){
		"a no":               func(s *stage, v approval.View) { s.decides(v, `{"action":"decline"}`) },
		"no answer":          func(s *stage, v approval.View) { s.pass(23 * time.Hour) },
		"no answer in a day": func(s *stage, v approval.View) { s.pass(25 * time.Hour) },
		"no disk": func(s *stage, v approval.View) {
			s.synced = false
			s.decides(v, yes)
			s.do(Synced{Ticket: s.tickets[0], Err: errors.New("disk full")})
		},
		"a stop":                     func(s *stage, v approval.View) { s.do(Stopping{}) },
		"the old file again":         func(s *stage, v approval.View) { s.saves(allowsSome); s.decides(v, yes) },
		"a yes to what was replaced": func(s *stage, v approval.View) { s.saves(looserRules + "# again\n"); s.decides(v, yes) },
	} {
		t.Run(name, func(t *testing.T) {
			s := reloadStage(t)
			v, open := s.saves(looserRules)
			if !open {
				t.Fatal("nobody was asked")
			}
			if end(s, v); s.mayDelete() {
				t.Error("it counts")
			}
		})
	}
}

func TestAPolicyThatWaitsIsAskedAboutAgain(t *testing.T) {
	s := reloadStage(t)
	s.saves(looserRules)
	s.pass(25 * time.Hour)
	ids := s.engine.desk.Resolve("")
	if len(ids) != 1 {
		t.Fatalf("%d questions", len(ids))
	}
	v, _ := s.engine.View(s.now, ids[0], true)
	if s.decides(v, yes); !s.mayDelete() {
		t.Error("it does not count")
	}
}

// The person had been told that it counts, and it did not until it was saved again.
func TestAYesToAPolicyThatCouldNotBePutOnRecordWasSwallowed(t *testing.T) {
	s := reloadStage(t)
	v, _ := s.saves(looserRules)
	s.synced = false
	s.decides(v, yes)
	s.do(Synced{Ticket: s.tickets[0], Err: errors.New("disk full")})
	s.tickets, s.synced = nil, true
	if !s.noted(record.ReloadDecided, "audit_unavailable") {
		t.Errorf("nothing says so: %+v", s.notes)
	}
	s.pass(2 * time.Minute)
	ids := s.engine.desk.Resolve("")
	if len(ids) != 1 {
		t.Fatalf("%d questions", len(ids))
	}
	v, _ = s.engine.View(s.now, ids[0], true)
	if s.decides(v, yes); !s.mayDelete() {
		t.Error("it does not count")
	}
}

func TestNobodyAtThisMachineLetsALooserPolicyWait(t *testing.T) {
	s := newStage(t, "mcpx/v0.1")
	if _, open := s.saves(looserRules); open || s.mayDelete() || s.eventsOf(record.ReloadWaiting) == 0 {
		t.Errorf("open %v, %+v", open, s.notes)
	}
	s.pass(10 * time.Minute)
	if s.mayDelete() {
		t.Error("it counts")
	}
}

func TestADenyThatToolsSlipPastIsWarnedOf(t *testing.T) {
	s := reloadStage(t)
	const slips = "version: 1\ndefault: deny\nrules:\n - {name: some, allow: ['read_*', 'write_*']}\n - {name: env, deny: ['*'], args: {file: {glob: '**/.env'}}}\n"
	s.saves(slips)
	if !s.noted(record.Warning, "deny_unreached") {
		t.Errorf("%+v", s.notes)
	}
	s.notes = nil
	s.saves(strings.Replace(slips, "file:", "'**':", 1) + " - {deny: ['*'], args: {file: {glob: '**/.env'}}}\n")
	if s.noted(record.Warning, "deny_unreached") {
		t.Errorf("%+v", s.notes)
	}
}

// A policy is held against the tools when they are known, and again when they change: run
// said nothing at the start but for denies, and nothing at all of tools that came later.
func TestWhatAPolicyHardlyMeansIsWarnedOfOnce(t *testing.T) {
	s := stageWith(t, lookup(t, "mcpx/v0.1"), Config{Policy: rules(t, "version: 1\ndefault: deny\nrules:\n - {allow: ['read_*']}\n - {name: typo, allow: [raed_file]}\n"+
		" - {name: env, deny: ['*'], args: {path: {glob: '**/.env'}}}\n")})
	s.seat()
	s.startServer()
	if !s.noted(record.Warning, "policy_doubtful") || s.noted(record.Warning, "deny_unreached") {
		t.Errorf("at the start: %+v", s.notes)
	}
	s.notes = nil
	more := strings.Replace(tools, `{"tools":[`, `{"tools":[{"name":"move","inputSchema":{"type":"object","properties":{"source":{"type":"string"}}}},`, 1)
	for range 3 {
		s.relists(more)
		s.relists(tools)
	}
	if !s.noted(record.Warning, "deny_unreached") || s.eventsOf(record.Warning) != 1 {
		t.Errorf("when a tool came: %+v", s.notes)
	}
}
