package client

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// elicitation is an elicitation from somebody to alice about the call in envelope env.
func elicitation(t *testing.T, from, id, env string) *wire.Envelope {
	t.Helper()
	return frame(t, `{"protocol":"mcpx/v0.1","id":"env-%[2]s","ts":"2026-01-01T00:00:00Z","from":"%[1]s","to":["alice"],"kind":"mcp/request:elicitation/create",`+
		`"payload":{"jsonrpc":"2.0","id":"%[2]s","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean"}}},`+
		`"metadata":{"elicitationType":"tool_approval","timeout":60,"originalRequest":{"from":"bob","tool":"rm","arguments":{},"envelopeId":"%[3]s"}}}}}`, from, id, env)
}

func cancelled(t *testing.T, from, id string) *wire.Envelope {
	t.Helper()
	return frame(t, `{"protocol":"mcpx/v0.1","id":"c-%[1]s-%[2]s","ts":"2026-01-01T00:00:00Z","from":"%[1]s","to":["alice"],"kind":"mcp/request:notifications/cancelled",`+
		`"payload":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"%[2]s","reason":"allowed by carol"}}}`, from, id)
}

func frame(t *testing.T, format string, args ...any) *wire.Envelope {
	t.Helper()
	d, ok := wire.Lookup("mcpx/v0.1")
	if !ok {
		t.Fatal("no dialect")
	}
	e, err := d.Decode(fmt.Appendf(nil, format, args...))
	if err != nil {
		t.Fatal(err)
	}
	return &e
}

func (s *ApprovalInbox) pose(t *testing.T, e *wire.Envelope) {
	t.Helper()
	if err := s.takeQuestion(e, []byte(`"x"`)); err != nil {
		t.Fatal(err)
	}
}

// AI-22: what is put again takes the place of what was put before; nobody
// answers the first then.
func TestAI22AQuestionPutAgainIsOneQuestion(t *testing.T) {
	s := &ApprovalInbox{}
	s.pose(t, elicitation(t, "fs", "1", "e7"))
	first, _ := s.List(t.Context(), false)
	s.pose(t, elicitation(t, "fs", "2", "e7"))
	s.pose(t, elicitation(t, "other", "3", "e7"))
	all, _ := s.List(t.Context(), false)
	if len(all) != 2 || all[0].ID == first[0].ID || all[0].Bridge != "fs" || all[1].Bridge != "other" {
		t.Errorf("%+v", all)
	}
	if _, err := s.Decide(t.Context(), inbox.Decision{ID: first[0].ID, Digest: first[0].Short}); !isUnknown(err) {
		t.Errorf("the first was answered: %v", err)
	}
}

// The id of an envelope is the caller's choice: mallory's call under the id of honest's took
// honest's question away.
func TestNobodysQuestionTakesThePlaceOfAnothers(t *testing.T) {
	const honest = `"from":"honest","tool":"rm","arguments":{},"envelopeId":"e7"`
	for _, original := range []string{
		strings.Replace(honest, `"honest"`, `"mallory"`, 1), strings.Replace(honest, `"rm"`, `"ls"`, 1), honest + `,"method":"resources/read"`, honest + `,"proposer":"mallory"`,
	} {
		s := &ApprovalInbox{}
		s.pose(t, claiming(t, "fs", "1", `"originalRequest":{`+honest+`}`))
		first, _ := s.List(t.Context(), false)
		s.pose(t, claiming(t, "fs", "2", `"originalRequest":{`+original+`}`))
		if all, _ := s.List(t.Context(), false); len(all) != 2 || all[0].ID != first[0].ID {
			t.Errorf("%s: %+v", original, all)
		}
	}
}

// claiming is an elicitation to alice with metadata.
func claiming(t *testing.T, from, id, metadata string) *wire.Envelope {
	t.Helper()
	return frame(t, `{"protocol":"mcpx/v0.1","id":"env-%[2]s","ts":"2026-01-01T00:00:00Z","from":"%[1]s","to":["alice"],"kind":"mcp/request:elicitation/create",`+
		`"payload":{"jsonrpc":"2.0","id":"x","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean"}}},`+
		`"metadata":{"elicitationType":"tool_approval","timeout":60,%[3]s}}}}`, from, id, metadata)
}

func tallied(t *testing.T, from string, names int) *wire.Envelope {
	t.Helper()
	return frame(t, `{"protocol":"mcpx/v0.1","id":"t-%[1]s","ts":"2026-01-01T00:00:00Z","from":"%[1]s","to":["alice"],"kind":"mcp/request:notifications/mcpx/agreed",`+
		`"payload":{"jsonrpc":"2.0","method":"notifications/mcpx/agreed","params":{"requestId":"x","need":2,"agreed":[%[2]s]}}}`, from, strings.TrimSuffix(strings.Repeat(`"ann",`, names), ","))
}

// Twenty questions, each with a tally of 260 000 names, were 747 MB.
func TestATallyHasItsBoundsToo(t *testing.T) {
	s := &ApprovalInbox{}
	s.pose(t, elicitation(t, "fs", "1", "e7"))
	for _, c := range []struct{ names, have int }{{3, 3}, {101, 3}, {100, 100}, {260_000, 100}} {
		s.agreed(tallied(t, "fs", c.names))
		if all, _ := s.List(t.Context(), false); all[0].Have != c.have {
			t.Errorf("a tally of %d: %d have agreed", c.names, all[0].Have)
		}
	}
}

// Lists of many short things take many times the bytes that they had in the params.
func TestWhatIsKeptOfQuestionsHasABound(t *testing.T) {
	s := &ApprovalInbox{}
	args := `{"` + strings.Repeat("a", 1000) + `":[` + strings.Repeat("0,", 1999) + `0]}` // 5 KB, 2 MB of names
	for i := range 10 {
		e := claiming(t, "fs", fmt.Sprint(i), fmt.Sprintf(`"originalRequest":{"from":"bob","tool":"rm","envelopeId":"e%d","arguments":%s}`, i, args))
		if err := s.takeQuestion(e, fmt.Appendf(nil, `"%d"`, i)); (err == nil) != (i < 3) || err != nil && !errors.Is(err, errTooMany) {
			t.Errorf("question %d: %v", i, err)
		}
	}
	s.pose(t, elicitation(t, "other", "z", "ez"))
}

func isUnknown(err error) bool {
	r, ok := errors.AsType[*inbox.Refusal](err)
	return ok && r.Reason == inbox.Unknown
}

func TestOnlyWhoAskedTakesAQuestionBack(t *testing.T) {
	s := &ApprovalInbox{}
	e := elicitation(t, "fs", "1", "e7")
	if err := s.takeQuestion(e, []byte(`"1"`)); err != nil {
		t.Fatal(err)
	}
	s.cancelled(cancelled(t, "mallory", "1"))
	s.cancelled(cancelled(t, "fs", "2"))
	if all, _ := s.List(t.Context(), false); len(all) != 1 {
		t.Fatal("it is gone")
	}
	for e := range s.Watch(t.Context()) {
		if e == (inbox.Event{}) {
			s.cancelled(cancelled(t, "fs", "1"))
			continue
		}
		if e.Event != "closed" || e.Because != "allowed by carol" {
			t.Errorf("%+v", e)
		}
		break
	}
	if all, _ := s.List(t.Context(), false); len(all) != 0 {
		t.Error("it is still there")
	}
}

// What others made of a question that was answered here is heard, once, and from whoever put it.
func TestWhatCameOfAnAnswerIsHeard(t *testing.T) {
	s := &ApprovalInbox{}
	e := elicitation(t, "fs", "1", "e7")
	if err := s.takeQuestion(e, []byte(`"1"`)); err != nil {
		t.Fatal(err)
	}
	a, answer, err := s.takeToAnswer(s.all()[0].View.ID, func(*Question) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	s.wasSent(answer)
	for e := range s.Watch(t.Context()) {
		if e == (inbox.Event{}) {
			s.cancelled(cancelled(t, "mallory", "1"))
			s.cancelled(cancelled(t, "fs", "1"))
			s.cancelled(cancelled(t, "fs", "1"))
			s.Post(inbox.Event{Event: "changed"})
			continue
		}
		if e.Event == "changed" {
			t.Error("it is heard of never")
			break
		}
		if want := (inbox.Event{Event: "closed", ID: a.View.ID, Because: "allowed by carol"}); e != want {
			t.Errorf("%+v", e)
		}
		break
	}
	if len(s.sent) > 0 {
		t.Error("it is heard of twice")
	}
}

func TestQuestionsOfTheTopicExpireAndDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &ApprovalInbox{}
		for i := range maxElicited {
			s.pose(t, elicitation(t, "fs", fmt.Sprint(i), fmt.Sprint("e", i)))
		}
		if err := s.takeQuestion(elicitation(t, "fs", "z", "ez"), []byte(`"z"`)); !errors.Is(err, errTooMany) {
			t.Errorf("one too many: %v", err)
		}
		s.pose(t, elicitation(t, "other", "z", "ez"))
		time.Sleep(60 * time.Second)
		synctest.Wait()
		if all, _ := s.List(t.Context(), false); len(all) != 0 {
			t.Errorf("%d are still open", len(all))
		}
	})
}

// Fifteen questions of 8 MiB were 313 MB here (FINDINGS L3).
func TestQuestionsOfOneParticipantFillTheirOwnShareAlone(t *testing.T) {
	s := &ApprovalInbox{}
	ask := func(from, id string, size int) error {
		t.Helper()
		e := frame(t, `{"protocol":"mcpx/v0.1","id":"env-%[2]s","ts":"2026-01-01T00:00:00Z","from":"%[1]s","to":["alice"],"kind":"mcp/request:elicitation/create",`+
			`"payload":{"jsonrpc":"2.0","id":"%[2]s","method":"elicitation/create","params":{"message":"m%[3]s","requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean"}}},`+
			`"metadata":{"elicitationType":"tool_approval","timeout":60,"originalRequest":{"from":"bob","tool":"rm","arguments":{},"envelopeId":"%[2]s"}}}}}`, from, id, strings.Repeat("x", size))
		return s.takeQuestion(e, []byte(`"`+id+`"`))
	}
	if err := ask("fs", "huge", maxElicitedBytes); err == nil {
		t.Error("one question has more than there is room for")
	}
	for i := range 3 {
		if err := ask("fs", fmt.Sprint("a", i), maxElicitedBytes/4); err != nil {
			t.Fatal(err)
		}
	}
	if err := ask("fs", "b", maxElicitedBytes/4); !errors.Is(err, errTooMany) {
		t.Errorf("the fourth quarter, with what stands around it: %v", err)
	}
	if err := ask("other", "c", maxElicitedBytes/2); err != nil {
		t.Errorf("somebody else's: %v", err)
	}
	s.end("done", func(a *Question) bool { return a.From == "fs" })
	if err := ask("fs", "d", maxElicitedBytes/4); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}

// A form that wants action had approve: true by the socket, where nobody was there to pass it on to.
func TestAFormThatWantsActionGetsIt(t *testing.T) {
	s := &ApprovalInbox{}
	s.pose(t, frame(t, `{"protocol":"mcpx/v0.1","id":"env-1","ts":"2026-01-01T00:00:00Z","from":"fs","to":["alice"],"kind":"mcp/request:elicitation/create",`+
		`"payload":{"jsonrpc":"2.0","id":"1","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"action":{"type":"string","enum":["approve","deny"]}}},`+
		`"metadata":{"elicitationType":"tool_approval","timeout":60,"originalRequest":{"from":"bob","tool":"rm","arguments":{"path":"/a"},"envelopeId":"e7"}}}}}`))
	all, _ := s.List(t.Context(), true)
	if len(all) != 1 || all[0].Bridge != "fs" || all[0].From != "bob" || all[0].Tool != "rm" || string(all[0].Args) != `{"path":"/a"}` || all[0].Asking[0] != "alice" {
		t.Fatalf("%+v", all)
	}
	v, err := s.Show(t.Context(), all[0].ID[:8])
	if err != nil {
		t.Fatal(err)
	}
	if v.Me != "alice" || v.People[0].Who != v.Me {
		t.Errorf("%s may not answer %+v", v.Me, v.People)
	}
	if d := inbox.Decide(&v, &approval.Reply{Allow: true}); string(d.Result) != `{"action":"accept","content":{"action":"approve"}}` {
		t.Errorf("it gets %s", d.Result)
	}
	if _, err := s.Decide(t.Context(), inbox.Decision{ID: v.ID, Digest: "00000000", Result: []byte("{}")}); err == nil || isUnknown(err) {
		t.Errorf("another digest: %v", err)
	}
}

// A question that ended, or was put again, while its answer could not be sent was put back: it
// stood until its deadline, beside the one that had taken its place, and took answers for nothing.
func TestAQuestionThatEndedWhileItsAnswerFailedWasPutBack(t *testing.T) {
	for name, meanwhile := range map[string]func(*ApprovalInbox){
		"it was cancelled": func(s *ApprovalInbox) { s.cancelled(cancelled(t, "fs", "1")) },
		"it was put again": func(s *ApprovalInbox) { s.pose(t, elicitation(t, "fs", "2", "e7")) },
		"nothing happened": func(*ApprovalInbox) {},
	} {
		s := &ApprovalInbox{}
		New(&localgateway.Connector{}, Options{Approvals: s}) // which has no seat, so nothing can be sent
		if err := s.takeQuestion(elicitation(t, "fs", "1", "e7"), []byte(`"1"`)); err != nil {
			t.Fatal(err)
		}
		id := s.all()[0].View.ID
		_, err := s.Answer(id, func(*Question) []byte { meanwhile(s); return []byte("{}") })
		if err == nil {
			t.Fatal("it was sent")
		}
		ended := name != "nothing happened"
		if open := s.Question(id) != nil; open == ended || isUnknown(err) != ended || len(s.sent) > 0 {
			t.Errorf("%s: it is open: %t, %v, %d answers are waited for", name, open, err, len(s.sent))
		}
	}
}

// A question whose time was over before it was opened, as its asker can have it, ended first and was
// opened then: serve kept it for ever, and put it before its person.
func TestAQuestionThatEndedBeforeItWasOpenedStayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, open := &ApprovalInbox{}, false
		s.Closed = func(string) { open = false }
		s.Opened = func(*Question) {
			time.Sleep(61 * time.Second) // it has 60
			synctest.Wait()
			open = true
		}
		s.pose(t, elicitation(t, "fs", "1", "e7"))
		if open || len(s.all()) > 0 {
			t.Error("it is open still")
		}
	})
}
