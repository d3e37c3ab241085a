package approval

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// Every row of the truth table in WIRE 7.2, and what stands beside it there.
func TestAI11TruthTable(t *testing.T) {
	const pattern1, pattern3 = false, true
	for _, c := range []struct {
		name     string
		delegate bool
		result   string
		outcome  Outcome
		reason   string
	}{
		{"accept, approve true", pattern1, `{"action":"accept","content":{"approve":true}}`, Allowed, ""},
		{"apr-011 accept, approve false", pattern1, `{"action":"accept","content":{"approve":false}}`, Denied, Declined},
		{"apr-012 accept, approve missing", pattern1, `{"action":"accept","content":{}}`, Denied, InvalidAnswer},
		{"apr-013 accept, approve a string", pattern1, `{"action":"accept","content":{"approve":"true"}}`, Denied, InvalidAnswer},
		{"accept, approve 1", pattern1, `{"action":"accept","content":{"approve":1}}`, Denied, InvalidAnswer},
		{"accept, approve null", pattern1, `{"action":"accept","content":{"approve":null}}`, Denied, InvalidAnswer},
		{"accept, approve an object", pattern1, `{"action":"accept","content":{"approve":{"approve":true}}}`, Denied, InvalidAnswer},
		{"accept, approve in another case", pattern1, `{"action":"accept","content":{"Approve":true}}`, Denied, InvalidAnswer},
		{"accept, approve twice", pattern1, `{"action":"accept","content":{"approve":true,"approve":true}}`, Denied, InvalidAnswer},
		{"accept, approve twice, once escaped", pattern1, `{"action":"accept","content":{"approve":false,"appr\u006fve":true}}`, Denied, InvalidAnswer},
		{"accept, no content", pattern1, `{"action":"accept"}`, Denied, InvalidAnswer},
		{"accept, content null", pattern1, `{"action":"accept","content":null}`, Denied, InvalidAnswer},
		{"accept, content an array", pattern1, `{"action":"accept","content":[{"approve":true}]}`, Denied, InvalidAnswer},
		{"accept, approve outside of content", pattern1, `{"action":"accept","approve":true}`, Denied, InvalidAnswer},
		{"accept, approve and action agree", pattern1, `{"action":"accept","content":{"approve":true,"action":"approve"}}`, Allowed, ""},
		{"accept, approve and action contradict", pattern1, `{"action":"accept","content":{"approve":true,"action":"deny"}}`, Denied, InvalidAnswer},
		{"accept, action approve where it was not asked", pattern1, `{"action":"accept","content":{"action":"approve"}}`, Denied, InvalidAnswer},
		{"extra keys are ignored", pattern1, `{"action":"accept","content":{"approve":true,"evil":1,"mood":"good","_meta":{"a":1}},"x":[]}`, Allowed, ""},
		{"decline, whatever the content", pattern1, `{"action":"decline","content":{"approve":true}}`, Denied, Declined},
		{"decline", pattern1, `{"action":"decline"}`, Denied, Declined},
		{"apr-016 cancel, whatever the content", pattern1, `{"action":"cancel","content":{"approve":true}}`, Denied, Cancelled},
		{"another action", pattern1, `{"action":"ACCEPT","content":{"approve":true}}`, Denied, InvalidAnswer},
		{"no action", pattern1, `{"content":{"approve":true}}`, Denied, InvalidAnswer},
		{"action no string", pattern1, `{"action":true,"content":{"approve":true}}`, Denied, InvalidAnswer},
		{"null", pattern1, `null`, Denied, InvalidAnswer},
		{"an array", pattern1, `[{"action":"accept","content":{"approve":true}}]`, Denied, InvalidAnswer},
		{"a string", pattern1, `"accept"`, Denied, InvalidAnswer},
		{"nothing", pattern1, ``, Denied, InvalidAnswer},
		{"no JSON", pattern1, `{"action":"accept","content":{"approve":true}`, Denied, InvalidAnswer},
		{"something after it", pattern1, `{"action":"accept","content":{"approve":true}} {}`, Denied, InvalidAnswer},
		{"no UTF-8", pattern1, "{\"action\":\"accept\",\"content\":{\"approve\":true,\"reason\":\"\xff\"}}", Denied, InvalidAnswer},
		{"apr-034 another digest", pattern1, `{"action":"accept","content":{"approve":true,"digest":"sha256:0000"}}`, Denied, InvalidAnswer},
		{"a digest that is no string", pattern1, `{"action":"accept","content":{"approve":true,"digest":0}}`, Denied, InvalidAnswer},

		{"pattern 3, approve", pattern3, `{"action":"accept","content":{"action":"approve"}}`, Allowed, ""},
		{"pattern 3, deny", pattern3, `{"action":"accept","content":{"action":"deny"}}`, Denied, Declined},
		{"pattern 3, another action", pattern3, `{"action":"accept","content":{"action":"allow"}}`, Denied, InvalidAnswer},
		{"pattern 3, action no string", pattern3, `{"action":"accept","content":{"action":true,"approve":true}}`, Denied, InvalidAnswer},
		{"pattern 3, action missing", pattern3, `{"action":"accept","content":{"delegateTo":"carol"}}`, Denied, InvalidAnswer},
		{"pattern 3, content missing", pattern3, `{"action":"accept"}`, Denied, InvalidAnswer},
		{"pattern 3, decline", pattern3, `{"action":"decline","content":{"action":"approve"}}`, Denied, Declined},
		{"pattern 3, a client that knows only approve", pattern3, `{"action":"accept","content":{"approve":true}}`, Allowed, ""},
		{"pattern 3, approve false", pattern3, `{"action":"accept","content":{"approve":false}}`, Denied, Declined},
		{"pattern 3, contradiction", pattern3, `{"action":"accept","content":{"action":"approve","approve":false}}`, Denied, InvalidAnswer},
		{"pattern 3, delegate and approve", pattern3, `{"action":"accept","content":{"action":"delegate","delegateTo":"carol","approve":true}}`, Denied, InvalidAnswer},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, Options{})
			q := writeFile("alice")
			if c.delegate {
				q = passable(q, "carol")
			}
			s.open(q)
			s.says("alice", c.result)
			e := s.wantEnd(c.outcome, c.reason)
			if len(e.By) != 1 || e.By[0] != Participant("alice") {
				t.Errorf("decided by %v", e.By)
			}
		})
	}
}

// The digest that a question showed may be echoed, in any of its forms.
func TestEchoedDigest(t *testing.T) {
	for _, form := range []func(Digest) string{Digest.String, Digest.Short, func(d Digest) string { return "sha256:" + d.String() }} {
		s := newStage(t, Options{})
		s.open(writeFile("alice"))
		s.says("alice", `{"action":"accept","content":{"approve":true,"digest":"`+form(s.shown("alice").Digest)+`"}}`)
		s.wantEnd(Allowed, "")
	}
}

func TestReasonIsTrimmedAndStripped(t *testing.T) {
	s := newStage(t, Options{})
	s.open(writeFile("alice"))
	var long strings.Builder
	for range 600 {
		long.WriteString("ä")
	}
	s.says("alice", `{"action":"accept","content":{"approve":false,"reason":"  a\u001b[2Jb\u202e\n`+long.String()+`"}}`)
	said := []rune(s.wantEnd(Denied, Declined).Said)
	if got := string(said[:6]); got != "a[2Jb " || len(said) != 500 {
		t.Errorf("%d characters: %q", len(said), got)
	}
}

// What an answer says it answers, and what becomes of it (RELIABILITY AI-3).
func TestAI03AnAnswerMustAgreeInEveryPlace(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(a *Answer)
		reason string // "" counts, "-" is not even ours
	}{
		{"O40 everything agrees", func(a *Answer) {}, ""},
		{"O41 no correlation, as seed 003 has it", func(a *Answer) { a.Corr = nil }, ""},
		{"O64 no JSON-RPC id", func(a *Answer) { a.ID = nil }, ""},
		{"correlation among others", func(a *Answer) { a.Corr = append([]string{"e7"}, a.Corr...) }, ""},
		{"kind says nothing", func(a *Answer) { a.Method = "" }, ""},
		{"apr-001 from the caller", func(a *Answer) { a.Who = Participant("bob") }, "wrong_sender"},
		{"apr-002 from somebody who is no approver", func(a *Answer) { a.Who = Participant("mallory") }, "wrong_sender"},
		{"from somebody called like a door", func(a *Answer) { a.Who = Participant("local") }, "wrong_sender"},
		{"apr-005 correlation to the caller's request", func(a *Answer) { a.Corr = []string{"e7"} }, "bad_correlation"},
		{"apr-006 no correlation where the dialect has one", func(a *Answer) { a.Corr, a.Linked = nil, true }, "bad_correlation"},
		{"D6 the id 0 of stock clients", func(a *Answer) { a.ID = []byte("0") }, ""},
		{"the id of a question that is not known", func(a *Answer) { a.ID = []byte(`"elicit-00000000000000000000000000000000"`) }, "bad_correlation"},
		{"the caller's id", func(a *Answer) { a.ID = []byte("7") }, ""},
		{"the id in other letters", func(a *Answer) { a.ID = []byte(`"\u0065licit-` + string(a.ID[8:])) }, ""},
		{"D6 the id 0 and no correlation", func(a *Answer) { a.Corr, a.ID = nil, []byte("0") }, "-"},
		{"the id 0 and somebody else", func(a *Answer) { a.ID, a.Who = []byte("0"), Participant("mallory") }, "wrong_sender"},
		{"kind of another method", func(a *Answer) { a.Method = "tools/call" }, "wrong_kind"},
		{"nothing agrees", func(a *Answer) { a.Corr, a.ID = []string{"e7"}, []byte("7") }, "-"},
		{"nothing is said", func(a *Answer) { a.Corr, a.ID = nil, nil }, "-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, Options{})
			id := s.open(writeFile("alice"))
			a := s.to(s.shown("alice"), approves)
			c.change(&a)
			acts := s.answer(a)
			switch c.reason {
			case "":
				s.wantEnd(Allowed, "")
				return
			case "-":
				if count[Noted](acts) > 0 {
					t.Errorf("%v", acts)
				}
			default:
				if n := s.wantNoted(record.ForeignAnswer, c.reason); count[Noted](acts) != 1 || n.ID != id || n.Who != a.Who {
					t.Errorf("%v", acts)
				}
			}
			asked, again := acts[len(acts)-1].(Show)
			if wasAsked := a.Who == Participant("alice"); count[Settled](acts) > 0 || again != wasAsked || again && (asked.Why != "misanswered" || asked.To != a.Who) {
				t.Errorf("%v", acts)
			}
			s.wantPending(id)
			s.says("alice", approves)
			s.wantEnd(Allowed, "")
		})
	}
}

// An approver whose answer could not count heard nothing and waited, at any gateway but
// ours (FINDINGS D6). A program that always errs is not asked for ever.
func TestWhoAnswersWronglyIsAskedAgainOnce(t *testing.T) {
	s := newStage(t, Options{})
	id := s.open(writeFile("alice", "carol"))
	first := s.shown("alice")
	for i := range 3 {
		acts := s.answer(Answer{Who: Participant("alice"), ID: []byte("0"), Linked: true, Result: []byte(approves)})
		if again := count[Show](acts); again != max(0, 1-i) {
			t.Errorf("answer %d: asked again %d times", i, again)
		}
	}
	again := s.shown("alice")
	if again.Ask == first.Ask || !strings.Contains(string(again.Params), "Please answer again: your answer names no question") {
		t.Errorf("alice reads %s", again.Params)
	}
	s.wantPending(id)
	s.answer(s.to(first, approves)) // which counts on
	s.wantEnd(Allowed, "")

	// Nobody else's question is put again, nor one that is over, nor for an answer to
	// something else.
	s.open(writeFile("alice"))
	if acts := s.answer(Answer{Who: Participant("alice"), ID: []byte("0"), Method: "tools/call", Result: []byte(`{}`)}); len(acts) > 0 {
		t.Errorf("another method: %v", acts)
	}
	for _, who := range []string{"mallory", "carol"} {
		if acts := s.answer(Answer{Who: Participant(who), ID: []byte("0"), Result: []byte(approves)}); len(acts) > 0 {
			t.Errorf("%s: %v", who, acts)
		}
	}
	s.says("alice", approves)
	if acts := s.answer(Answer{Who: Participant("alice"), ID: []byte("0"), Result: []byte(approves)}); len(acts) > 0 {
		t.Errorf("it is over: %v", acts)
	}
}

// An answer that is no clear yes is a no, and whoever gave it is told so: it may have
// been meant otherwise.
func TestWhoseAnswerIsTakenForANoHearsIt(t *testing.T) {
	for answer, says := range map[string]string{
		`{"action":"accept","content":{"approve":"true"}}`:                          "approve is not true or false",
		`{"action":"accept"}`:                                                       "accepted without content",
		`{"action":"accept","content":{"approve":true,"modifiedTarget":"nowhere"}}`: "is none of the values offered",
		`{"action":"accept","content":{"approve":false}}`:                           "",
		`{"action":"decline"}`:                                                      "",
	} {
		s := newStage(t, Options{})
		s.open(deploy("alice"))
		ask := s.shown("alice")
		acts := s.says("alice", answer)
		var closed strings.Builder
		for _, a := range acts {
			if c, is := a.(Close); is && c.To == Participant("alice") && string(c.RPC) == string(ask.RPC) {
				closed.WriteString(c.Because)
			}
		}
		if says == "" && closed.String() != "" || !strings.Contains(closed.String(), says) {
			t.Errorf("%s: alice hears %q", answer, closed.String())
		}
	}
}

// An answer that points to two questions answers neither (FINDINGS D6).
func TestAnAnswerThatPointsToTwoQuestionsAnswersNeither(t *testing.T) {
	s := newStage(t, Options{})
	older := s.open(writeFile("alice"))
	first := s.shown("alice")
	newer := s.open(writeFile("alice"))
	second := s.shown("alice")
	if first.Ask == second.Ask {
		t.Fatal("one question was put twice")
	}
	for _, a := range []Answer{
		{Corr: []string{first.Ask}, ID: second.RPC},
		{Corr: []string{first.Ask, second.Ask}, ID: first.RPC},
		{Corr: []string{second.Ask, "x", first.Ask}, ID: []byte("0")},
	} {
		a.Who, a.Result = Participant("alice"), []byte(approves)
		if acts := s.answer(a); count[Noted](acts) != 1 || count[Settled](acts) > 0 {
			t.Errorf("%q: %v", a.Corr, acts)
		}
		s.wantNoted(record.ForeignAnswer, "bad_correlation")
		s.wantPending(older)
		s.wantPending(newer)
	}
	s.answer(Answer{Who: Participant("alice"), Corr: []string{second.Ask, second.Ask}, ID: []byte("0"), Result: []byte(approves)})
	s.wantEnd(Allowed, "")
}

// The ids of ended questions are forgotten in time, and what an answer means must not
// change with that: one that links an open question of alice's under the id of an older
// one counted as soon as the older one was forgotten (seed 16015).
func TestAnAnswerToTwoQuestionsCountedWhenOneWasForgotten(t *testing.T) {
	s := newStage(t, Options{})
	s.open(writeFile("alice"))
	older := s.shown("alice")
	s.answer(s.to(older, approves))
	s.wantEnd(Allowed, "")
	s.pass(keepLate)
	s.open(writeFile("alice"))
	a := s.to(s.shown("alice"), approves)
	if s.d.knows(older.Ask) {
		t.Fatal("the older question is not forgotten")
	}
	right := a.ID
	a.ID = older.RPC
	s.answer(a)
	s.wantNoted(record.ForeignAnswer, "bad_correlation")
	a.ID = right
	s.answer(a)
	s.wantEnd(Allowed, "")
}

// The other doors name the question and the digest they showed.
func TestAI23ADoorMustSendTheDigestItShowed(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(a *Answer)
		reason string
	}{
		{"whole digest", func(a *Answer) {}, ""},
		{"no digest", func(a *Answer) { a.Digest = "" }, "digest_mismatch"},
		{"another digest", func(a *Answer) { a.Digest = "00000000" }, "digest_mismatch"},
		{"half a digest", func(a *Answer) { a.Digest = a.Digest[:4] }, "digest_mismatch"},
		{"another door", func(a *Answer) { a.Who = Who{Door: Host} }, "wrong_sender"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t, Options{})
			id := s.open(writeFile("local", "alice"))
			a := s.to(s.shown("local"), approves)
			a.Digest = s.shown("local").Digest.String()
			c.change(&a)
			s.answer(a)
			if c.reason == "" {
				if e := s.wantEnd(Allowed, ""); e.By[0] != (Who{Door: Local}) {
					t.Errorf("decided by %v", e.By)
				}
				return
			}
			s.wantNoted(record.ForeignAnswer, c.reason)
			s.wantPending(id)
		})
	}
	t.Run("no such question", func(t *testing.T) {
		s := newStage(t, Options{})
		if acts := s.answer(Answer{Who: Who{Door: Local}, Question: "x", Digest: "y", Result: []byte(approves)}); len(acts) != 0 {
			t.Errorf("%v", acts)
		}
	})
}

// Nobody but who was asked decides: no other id that is known to anybody does.
func TestAI04ForgedWithAnyOtherId(t *testing.T) {
	s := newStage(t, Options{})
	first, second := s.open(writeFile("alice")), s.open(writeFile("carol"))
	alice, carol := s.shown("alice"), s.shown("carol")
	for _, id := range [][]byte{carol.RPC, []byte("7"), []byte(`"e7"`), []byte(`"` + first + `"`), []byte(`"` + alice.Ask + `"`), alice.RPC[:len(alice.RPC)-1]} {
		for _, corr := range [][]string{nil, {carol.Ask}, {"e7"}, {first}, {alice.Digest.String()}} {
			s.answer(Answer{Who: Participant("alice"), Corr: corr, ID: id, Result: []byte(approves)})
		}
	}
	s.wantPending(first)
	s.wantPending(second)
	if alice.Ask == carol.Ask || string(alice.RPC) == string(carol.RPC) || len(alice.Ask) != 32 {
		t.Errorf("ids %s and %s", alice.RPC, carol.RPC)
	}
}

func TestAI04TheEndOfAQuestionIsNoAskOfIt(t *testing.T) {
	s := newStage(t, Options{})
	id := s.open(writeFile("alice"))
	s.says("alice", declines)
	acts := s.answer(Answer{Who: Participant(""), Corr: []string{id}, Result: []byte(approves)})
	if count[Settled](acts) > 0 {
		t.Errorf("%v", acts)
	}
}

// What comes after the end changes nothing (WIRE O48, O49, O53).
func TestLateAnswers(t *testing.T) {
	for name, end := range map[string]func(s *stage, id string){
		"apr-008 approved twice":         func(s *stage, id string) { s.says("alice", approves) },
		"apr-009 accept after decline":   func(s *stage, id string) { s.says("alice", declines) },
		"apr-019 O48 after expiry":       func(s *stage, id string) { s.pass(time.Minute) },
		"apr-019 O48 without a tick":     func(s *stage, id string) { s.now = s.now.Add(time.Minute) },
		"apr-028 O53 after a withdrawal": func(s *stage, id string) { s.did(s.d.Withdraw(s.now, id, "cancelled")) },
		"after a shutdown":               func(s *stage, id string) { s.did(s.d.AbortAll(s.now, ShuttingDown)) },
		"after the approver has left":    func(s *stage, id string) { s.did(s.d.Left(s.now, Participant("alice"))) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, Options{})
			id := s.open(writeFile("alice"))
			show := s.shown("alice")
			end(s, id)
			s.answer(s.to(show, approves))
			acts := s.answer(s.to(show, approves))
			if n, ok := acts[0].(Noted); len(acts) != 1 || !ok || n.Event != record.LateAnswer || n.ID != id || n.Who != Participant("alice") {
				t.Errorf("%+v", acts)
			}
			if count[Settled](s.acts) != 1 {
				t.Errorf("settled more than once: %s", s.story())
			}
			forged := s.to(show, approves)
			forged.Who = Participant("mallory")
			s.answer(forged)
			s.wantNoted(record.ForeignAnswer, "wrong_sender")
		})
	}
}

func TestLateAnswersAreForgottenAfterAWhile(t *testing.T) {
	s := newStage(t, Options{})
	s.open(writeFile("alice"))
	s.says("alice", declines)
	s.pass(15*time.Minute - time.Nanosecond)
	s.says("alice", approves)
	s.wantNoted(record.LateAnswer, "already_answered")
	s.pass(time.Nanosecond)
	if acts := s.says("alice", approves); len(acts) != 0 {
		t.Errorf("%v", acts)
	}
	if len(s.d.late)+len(s.d.gone)+len(s.d.asks) != 0 {
		t.Error("something is kept")
	}
}
