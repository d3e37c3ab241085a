package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	strict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

const takesPasskeys = "version: 1\ndefault: deny\nrules:\n - {name: some, allow: ['read_*']}\n - {name: risky, ask: ['write_*'], as: {of: [local], confirm: passkey}}\nredact: [path]\n"

func passkeyStage(t *testing.T) *stage {
	s := stageWith(t, lookup(t, "mcpx/v0.1"), Config{Policy: rules(t, takesPasskeys), Local: true})
	s.seat()
	s.startServer()
	s.frames, s.lines, s.notes = nil, nil, nil
	return s
}

// view is the one question that is open.
func (s *stage) view() approval.View {
	s.t.Helper()
	ids := s.engine.desk.Resolve("")
	if len(ids) != 1 {
		s.t.Fatalf("%d questions are open", len(ids))
	}
	v, _ := s.engine.View(s.now, ids[0], true)
	return v
}

// signed has a passkey of somebody at this machine sign a yes, and returns what it signs.
func (s *stage) signed(v approval.View, result string) (statement []byte) {
	s.t.Helper()
	who := approval.Who{Door: approval.Local}
	for _, f := range s.engine.Step(s.now, Decided{approval.Answer{Who: who, Question: v.ID, Digest: v.Digest, Result: []byte(result), Draft: true}}) {
		if told, ok := f.(Told); ok {
			if sign, ok := told.Act.(approval.ToSign); ok {
				statement = sign.Statement
			}
		}
	}
	if statement == nil {
		s.t.Fatal("nothing is to be signed")
	}
	s.do(Decided{approval.Answer{Who: who, Question: v.ID, Digest: v.Digest, Signed: &approval.Signed{Statement: statement, Proof: json.RawMessage(`{"statement":"s"}`)}}})
	return statement
}

// What was signed is on record before the call that it lets run, with its arguments as the policy
// shows them.
func TestAYesThatTakesAPasskeyIsOnRecordWithItsProof(t *testing.T) {
	s := passkeyStage(t)
	s.call("bob", "e1", "1", "write_file", `{"path":"/secret"}`)
	s.decides(s.view(), yes)
	if !s.noted(record.ForeignAnswer, approval.Unconfirmed) || len(s.lines) > 0 {
		t.Fatalf("a plain yes: %+v, %q", s.notes, s.lines)
	}
	s.signed(s.view(), yes)
	at := map[record.Event]int{}
	for i, r := range s.notes {
		at[r.Event] = i + 1
		if r.Event == record.Confirmed {
			s.has(string(r.JSON()), `"passkey":{"statement":"s"}`, `"from":"bob"`, `"tool":"write_file"`, `"by":["local"]`, `"path":"[redacted]"`)
			if strings.Contains(string(r.JSON()), "secret") {
				t.Errorf("what is hidden is on record: %s", r.JSON())
			}
		}
	}
	if at[record.Asked] == 0 || at[record.Confirmed] < at[record.Asked] || at[record.Decided] < at[record.Confirmed] || at[record.Started] < at[record.Decided] || len(s.lines) != 1 {
		t.Errorf("the order is %v, and the server got %q", at, s.lines)
	}
	s.has(string(s.notes[at[record.Asked]-1].JSON()), `"confirm":"passkey"`)
}

// Whoever may not say yes to a call could else say yes to a policy that asks nobody.
func TestALooserPolicyTakesAPasskeyWhereCallsDo(t *testing.T) {
	s := passkeyStage(t)
	v, open := s.saves(strings.Replace(takesPasskeys, ", confirm: passkey", "", 1))
	if !open || v.Confirm != "passkey" {
		t.Fatalf("open %v, %s", open, v.Text())
	}
	s.decides(v, yes)
	if s.eventsOf(record.Reloaded) != 0 || !s.noted(record.ForeignAnswer, approval.Unconfirmed) {
		t.Fatalf("it counts by a plain yes: %+v", s.notes)
	}
	s.signed(v, yes)
	if s.eventsOf(record.Confirmed) != 1 || s.eventsOf(record.Reloaded) != 1 {
		t.Errorf("%+v", s.notes)
	}
	s.call("bob", "e1", "1", "write_file", path)
	if v := s.view(); v.Confirm != "" {
		t.Error("it is not in force")
	}
}

// A policy file that is saved while the bridge is halted is shown to nobody before it goes on: the
// log was one that had allowed another question than was put (seed 127).
func TestAPolicyFileThatWaitsWhileHaltedIsOnRecordAsItIsShown(t *testing.T) {
	s := passkeyStage(t)
	s.do(Halt{By: "local"})
	v, open := s.saves(strings.Replace(takesPasskeys, ", confirm: passkey", "", 1))
	for _, r := range s.notes {
		if !open || r.Event == record.ReloadWaiting && r.Digest != v.Short {
			t.Errorf("shown as %s, and on record as %s", v.Short, r.Digest)
		}
	}
	if s.eventsOf(record.ReloadWaiting) != 1 {
		t.Errorf("on record is %+v", s.notes)
	}
}

// A policy that comes to want one holds for a question that is open.
func TestAnOpenQuestionTakesAPasskeyOnceThePolicySaysSo(t *testing.T) {
	s := passkeyStage(t)
	s.do(Reloaded{rules(t, strings.Replace(takesPasskeys, ", confirm: passkey", "", 1))})
	s.call("bob", "e1", "1", "write_file", path)
	s.do(Reloaded{rules(t, takesPasskeys)})
	s.decides(s.view(), yes)
	if len(s.lines) > 0 {
		t.Fatalf("it ran by a plain yes: %q", s.lines)
	}
	s.signed(s.view(), yes)
	if len(s.lines) != 1 {
		t.Errorf("the server got %q", s.lines)
	}
	if s.eventsOf(record.Tightened) != 1 {
		t.Fatalf("%+v", s.notes)
	}
	for _, r := range s.notes {
		if r.Event == record.Tightened {
			s.has(string(r.JSON()), `"call":`, `"from":"bob"`, `"tool":"write_file"`, `"question":`, `"need":1`, `"confirm":"passkey"`, `"args":{"path":"[redacted]"}`)
		}
	}
}

// Whoever leaves nothing of a plan says no: it was asked about once more, as after a yes that lacks
// a signature (seed 32718).
func TestNothingLeftOfAPlanIsANo(t *testing.T) {
	s := passkeyStage(t)
	s.plans("p1", `{"items":[{"tool":"write_file","uses":2,"args":{"/path":{"any":true}}}],"seconds":600}`)
	s.decides(s.view(), `{"action":"accept","content":{"approve":true,"uses1":0}}`)
	if open := s.engine.desk.Resolve(""); len(open) > 0 || s.noted(record.ForeignAnswer, approval.Unconfirmed) {
		t.Errorf("%d questions are open: %+v", len(open), s.notes)
	}
}

// A plan takes a passkey where one of its calls does, and lets none of those run unasked.
func TestAPlanLetsNoCallRunThatTakesAPasskey(t *testing.T) {
	s := passkeyStage(t)
	s.plans("p1", `{"items":[{"tool":"write_file","uses":2,"args":{"/path":{"any":true}}}],"seconds":600}`)
	v := s.view()
	s.decides(v, yes)
	if len(s.engine.Grants(s.now)) > 0 {
		t.Fatal("it counts by a plain yes")
	}
	s.signed(v, yes)
	s.pass(3 * 1e9) // for a claim that nobody returns
	if len(s.engine.Grants(s.now)) != 1 {
		t.Fatalf("the plan does not count: %q", s.frames)
	}
	s.call("bob", "e1", "1", "write_file", `{"path":"/a"}`)
	if v := s.view(); v.Confirm != "passkey" || !s.noted(record.GrantUnused, "not_offered") {
		t.Errorf("it is not asked about: %+v", s.notes)
	}
}

// What is signed of the arguments is what is on record of them, so that it can be compared, and
// what is hidden cannot be guessed from it: of a call, and of a plan, whose arguments have other names.
func TestWhatIsSignedOfArgumentsIsWhatIsOnRecord(t *testing.T) {
	for _, item := range []string{`{"any":true}`, `{"under":"/secret"}`, `{"is":"/secret"}`} {
		s := passkeyStage(t)
		s.plans("p1", `{"items":[{"tool":"write_file","uses":2,"args":{"/path":`+item+`}}],"seconds":600}`)
		s.recordsWhatIsSigned()
	}
	for _, args := range []string{`{"path":"/secret"}`, "{\"path\":\n\"/a\"}", " {\"path\":\"x\\u2028<>&\"\r\n}", "{\"path\":\"\u2028\u202e<\"}"} {
		s := passkeyStage(t)
		s.call("bob", "e1", "1", "write_file", args)
		s.recordsWhatIsSigned()
	}
}

// recordsWhatIsSigned has the open question signed, and compares that with what is on record.
func (s *stage) recordsWhatIsSigned() {
	s.t.Helper()
	statement := s.signed(s.view(), yes)
	var said struct {
		Args string `json:"recorded_args"`
	}
	if err := json.Unmarshal(statement, &said); err != nil {
		s.t.Fatal(err)
	}
	compared := 0
	for _, r := range s.notes {
		if r.Event != record.Asked && r.Event != record.Confirmed {
			continue
		}
		compared++
		var on struct {
			Args jsontext.Value `json:"args"`
		}
		if err := strict.Unmarshal(r.ForAudit(), &on); err != nil {
			s.t.Fatal(err)
		}
		if sum := sha256.Sum256(on.Args); hex.EncodeToString(sum[:]) != said.Args || strings.Contains(string(on.Args), "secret") {
			s.t.Errorf("%s has %q, and what was signed is %s", r.Event, on.Args, statement)
		}
	}
	if compared != 2 {
		s.t.Errorf("%d records", compared)
	}
}
