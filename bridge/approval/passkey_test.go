package approval

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// confirmed is a question whose yes takes a passkey.
func confirmed(q Question) Question {
	q.Terms.Confirm = policy.Passkey
	return q
}

// draft says what is to be signed for an answer; nil: nothing.
func (s *stage) draft(id, result string) []byte {
	s.t.Helper()
	v, ok := s.d.View(s.now, id, true)
	if !ok {
		s.t.Fatalf("the question is gone: %s", s.story())
	}
	acts := s.answer(Answer{Who: Who{Door: Local}, Question: id, Digest: v.Digest, Result: []byte(result), Draft: true})
	for _, a := range acts {
		if a, ok := a.(ToSign); ok {
			return a.Statement
		}
	}
	return nil
}

// signs gives a yes that a passkey of somebody has signed.
func (s *stage) signs(who, id string, statement []byte) []Act {
	s.t.Helper()
	v, _ := s.d.View(s.now, id, true)
	return s.answer(Answer{Who: named(who), Question: id, Digest: v.Digest, Signed: &Signed{Statement: statement, Proof: json.RawMessage(`{"x":1}`)}})
}

func TestAYesTakesAPasskey(t *testing.T) {
	s := newStage(t, Options{})
	id := s.open(confirmed(writeFile("local", "alice")))
	if show := s.shown("alice"); !strings.Contains(string(show.Params), TakesPasskey) || !strings.Contains(string(show.Params), `"confirm":"passkey"`) {
		t.Errorf("alice does not read where a yes counts: %s", show.Params)
	}
	s.says("local", approves)
	if n := s.wantNoted(record.ForeignAnswer, Unconfirmed); n.Who.String() != "local" {
		t.Errorf("noted of %s", n.Who)
	}
	s.wantPending(id)
	s.says("alice", approves)
	s.wantNoted(record.ForeignAnswer, Unconfirmed)
	s.wantPending(id)
	if again := s.shown("alice"); again.Why != "misanswered" || again.Problem != TakesPasskey {
		t.Errorf("alice is not told why: %+v", again)
	}
	statement := s.draft(id, approves)
	var said struct{ Question, From, Method, Tool, Digest, Nonce string }
	if err := json.Unmarshal(statement, &said); err != nil || said.Question != id || said.From != "bob" || said.Tool != "write_file" || len(said.Nonce) != 32 {
		t.Fatalf("what is to be signed is %s: %v", statement, err)
	}
	if other := s.draft(id, approves); string(other) == string(statement) {
		t.Error("the same is signed twice")
	}
	s.wantPending(id)
	s.signs("local", id, statement)
	end := s.wantEnd(Allowed, "")
	if n := s.wantNoted(record.Confirmed, ""); said.Digest != end.Ran.String() || n.Digest != end.Ran || string(n.Args) != string(end.Args) || string(n.Signed.Statement) != string(statement) {
		t.Errorf("what was signed is %s, and %s ran", statement, end.Ran)
	}
	nothingLeft(t, s.d)
}

// A no takes none, from wherever it comes.
func TestANoTakesNoPasskey(t *testing.T) {
	for _, who := range []string{"local", "alice"} {
		s := newStage(t, Options{})
		s.open(confirmed(writeFile("local", "alice")))
		s.says(who, approves) // which counts for nothing
		s.says(who, declines)
		s.wantEnd(Denied, Declined)
	}
}

// What is signed is what runs: an edit is part of it.
func TestAPasskeySignsTheEditedCall(t *testing.T) {
	s := newStage(t, Options{})
	id := s.open(confirmed(deploy("local", "alice")))
	s.draft(id, approves)
	edited := s.draft(id, `{"action":"accept","content":{"approve":true,"modifiedTarget":"staging"}}`)
	s.signs("local", id, edited)
	end := s.wantEnd(Allowed, "")
	if n := s.wantNoted(record.Confirmed, ""); string(n.Args) != `{"target":"staging"}` || n.Digest != end.Ran || !strings.Contains(string(edited), end.Ran.String()) || string(end.Args) != string(n.Args) {
		t.Errorf("signed was %s, and %s runs, by %v", edited, end.Args, end.By)
	}
}

// A halt puts the end of a question off, and leaves what was shown of it as it was: that is what
// is signed.
func TestAPasskeySignsWhatWasShownBeforeAHalt(t *testing.T) {
	for name, result := range map[string]string{"as asked": approves, "edited": `{"action":"accept","content":{"approve":true,"modifiedTarget":"staging"}}`} {
		for _, before := range []bool{true, false} {
			s := newStage(t, Options{})
			id := s.open(confirmed(deploy("local")))
			statement := s.draft(id, result)
			s.halt()
			s.now = s.now.Add(time.Minute)
			s.resume()
			if !before {
				statement = s.draft(id, result)
			}
			s.signs("local", id, statement)
			if end := s.wantEnd(Allowed, ""); !strings.Contains(string(statement), end.Ran.String()) {
				t.Errorf("%s, signed before %v: signed was %s, and %s ran", name, before, statement, end.Ran)
			}
		}
	}
}

// A yes with a change that is not offered is a no, as it is elsewhere.
func TestAYesThatIsNotWellFormedTakesNoPasskey(t *testing.T) {
	s := newStage(t, Options{})
	s.open(confirmed(deploy("local", "alice")))
	s.says("alice", `{"action":"accept","content":{"approve":true,"modifiedTarget":"moon"}}`)
	if end := s.wantEnd(Denied, InvalidModification); len(end.By) != 1 {
		t.Errorf("by %v", end.By)
	}
}

// What was signed is good once, for that question, as long as it stands as it was shown.
func TestWhatWasSignedIsGoodOnce(t *testing.T) {
	for name, spoil := range map[string]func(s *stage, id string, statement []byte) []byte{
		"for another question": func(s *stage, _ string, _ []byte) []byte {
			return s.draft(s.open(confirmed(writeFile("local"))), approves)
		},
		"made up": func(*stage, string, []byte) []byte { return []byte(`{"question":"x"}`) },
		"nothing": func(*stage, string, []byte) []byte { return nil },
		"changed": func(_ *stage, _ string, statement []byte) []byte {
			return []byte(strings.Replace(string(statement), "write_file", "read_file", 1))
		},
		"under another policy": func(s *stage, _ string, statement []byte) []byte {
			s.did(s.judged(func(q *Question, _ []byte) policy.Decision {
				return policy.Decision{Verdict: policy.Ask, Ask: &q.Terms}
			}))
			return statement
		},
		"one of too many": func(s *stage, id string, statement []byte) []byte {
			for range maxDrafts {
				s.draft(id, approves)
			}
			return statement
		},
	} {
		s := newStage(t, Options{})
		id := s.open(confirmed(writeFile("local")))
		s.signs("local", id, spoil(s, id, s.draft(id, approves)))
		if n := s.wantNoted(record.ForeignAnswer, OtherSigned); n.ID != id {
			t.Errorf("%s: noted of %s", name, n.ID)
		}
		s.wantPending(id)
	}
}

// Whoever is at this machine can enrol a passkey: however many there are, and in whose name one
// comes, they are one person.
func TestPasskeysSignForLocalAlone(t *testing.T) {
	s := newStage(t, Options{})
	id := s.open(confirmed(writeFile("local", "alice", "dave")))
	for _, who := range []string{"bob", "mallory", "fs", "host", "alice"} { // the caller, nobody, the bridge, no client, one who is asked
		s.signs(who, id, s.draft(id, approves))
		s.wantNoted(record.ForeignAnswer, "wrong_sender")
	}
	fromTopic := s.to(s.shown("alice"), approves)
	fromTopic.Signed = &Signed{Statement: s.draft(id, approves)}
	s.answer(fromTopic)
	s.wantPending(id)
	v, _ := s.d.View(s.now, id, true)
	s.answer(Answer{Who: named("local"), Question: id, Digest: v.Digest, Signed: &Signed{Statement: s.draft(id, approves), Problem: "the signature is not by this passkey"}})
	if n := s.wantNoted(record.ForeignAnswer, BadPasskey); n.Said == "" {
		t.Error("it is not said why")
	}
	s.signs("local", id, s.draft(id, approves))
	s.wantNoted(record.Confirmed, "")
	s.wantEnd(Allowed, "")
}

// A draft decides nothing, whatever it says; where no passkey is wanted it is no answer.
func TestADraftDecidesNothing(t *testing.T) {
	s := newStage(t, Options{})
	id := s.open(confirmed(deploy("local")))
	for _, result := range []string{declines, `{"action":"cancel"}`, `{`, ``, `{"action":"accept","content":{"approve":true,"modifiedTarget":"moon"}}`, `{"action":"accept","content":{"approve":false}}`} {
		if statement := s.draft(id, result); statement != nil {
			t.Errorf("%s: to be signed is %s", result, statement)
		}
		s.wantPending(id)
	}
	plain := s.open(writeFile("local"))
	if s.draft(plain, approves) != nil {
		t.Error("a yes that takes no passkey is to be signed")
	}
	s.wantPending(plain)
	s.signs("local", plain, []byte(`{}`))
	s.wantNoted(record.ForeignAnswer, OtherSigned)
	s.wantPending(plain)
}

// Nothing is remembered, and what was remembered before does not count.
func TestARememberedYesIsNoPasskey(t *testing.T) {
	s := newStage(t, Options{})
	q := writeFile("local")
	q.Terms.Remember = []string{"once", "session"}
	s.open(q)
	s.says("local", `{"action":"accept","content":{"approve":true,"remember":"session"}}`)
	if s.wantEnd(Allowed, "").Made == nil {
		t.Fatal("nothing is remembered")
	}
	id := s.open(confirmed(q))
	s.wantPending(id)
	s.wantNoted(record.GrantUnused, notOffered)
}

func TestAStricterPolicyWantsAPasskey(t *testing.T) {
	s := newStage(t, Options{})
	id := s.open(writeFile("local"))
	s.did(s.judged(func(q *Question, _ []byte) policy.Decision {
		terms := q.Terms
		terms.Confirm = policy.Passkey
		return policy.Decision{Verdict: policy.Ask, Ask: &terms}
	}))
	s.says("local", approves)
	s.wantNoted(record.ForeignAnswer, Unconfirmed)
	s.wantPending(id)
}

func TestNoPasskeyCountsWhileHaltedOrTooLate(t *testing.T) {
	s := newStage(t, Options{})
	id := s.open(confirmed(writeFile("local")))
	statement := s.draft(id, approves)
	s.halt()
	s.signs("local", id, statement)
	s.wantNoted(record.LateAnswer, Halted)
	if s.draft(id, approves) != nil {
		t.Error("a yes can be drafted while halted")
	}
	s.resume()
	s.pass(time.Minute)
	s.wantEnd(Expired, TimedOut)
	s.signs("local", id, statement)
	s.wantNoted(record.LateAnswer, "expired")
}

// Rules that are merged may leave nobody who could agree, or fewer than must: then nobody is asked,
// and the caller does not wait.
func TestNobodyIsAskedWhereNobodyCouldSign(t *testing.T) {
	two := confirmed(writeFile("local", "alice", "dave"))
	two.Terms.Need = 2
	for name, q := range map[string]Question{"nobody": confirmed(writeFile("alice")), "one of two": two} {
		s := newStage(t, Options{})
		s.open(q)
		if s.wantEnd(Refused, NoApprover); len(s.d.Pending(0, 0)) > 0 {
			t.Errorf("%s: it is open", name)
		}
	}
	for pageless, open := range map[bool]int{true: 0, false: 1} {
		s := newStage(t, Options{NoPage: pageless})
		s.open(confirmed(writeFile("local")))
		if n := len(s.d.Pending(0, 0)); n != open {
			t.Errorf("without a page: %t, and %d are open", pageless, n)
		}
	}
}

// So it is where somebody is asked already when the policy comes to want one.
func TestNobodyIsWaitedForWhoCannotSign(t *testing.T) {
	s := newStage(t, Options{})
	s.open(writeFile("alice"))
	s.did(s.judged(func(q *Question, _ []byte) policy.Decision {
		terms := q.Terms
		terms.Confirm = policy.Passkey
		return policy.Decision{Verdict: policy.Ask, Ask: &terms}
	}))
	s.wantEnd(Refused, NoApprover)
}

// Where a policy comes to want a passkey, a yes that was given without one counts no more.
func TestAYesOfBeforeThePolicyWantedAPasskeyCountsNoMore(t *testing.T) {
	s := newStage(t, Options{})
	q := writeFile("local", "alice")
	q.Terms.Need = 2
	id := s.open(q)
	s.says("alice", approves)
	s.wantPending(id)
	terms := q.Terms
	terms.Need, terms.Confirm = 1, policy.Passkey
	s.did(s.judged(func(*Question, []byte) policy.Decision { return policy.Decision{Verdict: policy.Ask, Ask: &terms} }))
	if n := s.wantNoted(record.Tightened, ""); n.ID != id || n.Question.Terms.Confirm != policy.Passkey {
		t.Errorf("%+v", n)
	}
	s.wantEnd(Refused, NoApprover)
}
