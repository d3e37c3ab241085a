package desktop_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

// carded is a stage whose client shows apps, and has our card.
func carded(t *testing.T) *stage {
	t.Helper()
	s := newStage(t, desktop.Config{Card: true})
	s.join(map[string][]string{"fs": {tool("read")}})
	s.meet(showsApps)
	return s
}

// A cardPass is what a page has that a client shows for a call of mcpx_approvals.
type cardPass struct{ key, ticket string }

// openCard has the client show the card.
func (s *stage) openCard() cardPass {
	s.t.Helper()
	s.call(97, "mcpx_approvals", `{}`)
	ticket := regexp.MustCompile(`"_meta":\{"mcpx/card":"([^"]+)"`).FindStringSubmatch(s.one(`"id":97`))
	if ticket == nil {
		s.t.Fatal("there is no ticket")
	}
	return cardPass{s.cardKey(), ticket[1]}
}

// cardKey reads the page, as a client does that shows it, and finds the key in it.
func (s *stage) cardKey() string {
	s.t.Helper()
	s.line(`{"jsonrpc":"2.0","id":"page","method":"resources/read","params":{"uri":"ui://mcpx/approvals"}}`)
	line := s.one(`"uri":"ui://mcpx/approvals"`, `"mimeType":"text/html;profile=mcp-app"`, `"_meta":{"ui":{"csp":{},`)
	key := regexp.MustCompile(`name=\\"mcpx-key\\" content=\\"([^\\]+)\\"`).FindStringSubmatch(line)
	if key == nil {
		s.t.Fatalf("there is no key in %s", line)
	}
	return key[1]
}

type onCard struct {
	Digest, Nonce, Text string
	Schema              struct{ Properties map[string]json.RawMessage }
}

// cardShows are the questions that the card gets, and how many it does not get.
func (s *stage) cardShows(pass cardPass) (questions []onCard, elsewhere int) {
	s.t.Helper()
	s.call(99, "mcpx_card", fmt.Sprintf(`{"key":%q,"ticket":%q}`, pass.key, pass.ticket))
	var m struct {
		Result struct {
			Content           []any
			StructuredContent struct {
				Questions []onCard
				Elsewhere int
			}
		}
	}
	line := s.one(`"id":99,"result"`)
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Result.Content == nil {
		s.t.Fatalf("%v in %s", err, line)
	}
	return m.Result.StructuredContent.Questions, m.Result.StructuredContent.Elsewhere
}

func (s *stage) cardAnswers(q onCard, answer string) {
	s.t.Helper()
	s.call(98, "mcpx_answer", fmt.Sprintf(`{"digest":%q,"nonce":%q,"answer":%s}`, q.Digest, q.Nonce, answer))
}

const allow = `{"action":"accept","content":{"decision":"allow"}}`

func TestTheCardIsForClientsThatShowApps(t *testing.T) {
	s := carded(t)
	s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	line := s.one(`"_meta":{"ui":{"resourceUri":"ui://mcpx/approvals","visibility":["model"]}}`, `"_meta":{"ui":{"resourceUri":"ui://mcpx/approvals","visibility":["app"]}}`)
	var names []string
	for _, one := range listed(t, line) {
		names = append(names, one.Name)
	}
	if want := []string{"mcpx_peers", "mcpx_call", "mcpx_approvals", "mcpx_result", "mcpx_card", "mcpx_answer", "fs__read"}; !slices.Equal(names, want) {
		t.Errorf("listed: %q", names)
	}
	s.line(`{"jsonrpc":"2.0","id":2,"method":"resources/list"}`)
	s.one(`{"resources":[{"_meta":{"ui":{"csp":{},"prefersBorder":true}},"mimeType":"text/html;profile=mcp-app","name":"mcpx_approvals"`)
	s.step(question("q1"))
	s.call(3, "mcpx_approvals", `{}`)
	line = s.one("[d-q1]", "decides on the card")
	if seen, _, _ := strings.Cut(line, `"_meta"`); strings.Contains(line, "bob wants") || strings.Count(line, "id-") != 1 && strings.Contains(seen, "id-") {
		t.Errorf("the model sees what is for the card: %s", line)
	}

	for name, other := range map[string]*stage{"no apps": newStage(t, desktop.Config{Card: true}), "switched off": newStage(t, desktop.Config{})} {
		other.join(nil)
		other.meet(map[string]string{"no apps": `{"elicitation":{}}`, "switched off": showsApps}[name])
		other.step(question("q1"))
		other.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		if line := other.one(); strings.Contains(line, "ui://") || len(listed(t, line)) != 4 {
			t.Errorf("%s: %s", name, line)
		}
		other.line(`{"jsonrpc":"2.0","id":2,"method":"resources/list"}`)
		other.one(`{"resources":[]}`)
		other.line(`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"ui://mcpx/approvals"}}`)
		other.one("-32602", "Unknown resource")
		for i, tool := range []string{"mcpx_card", "mcpx_answer"} {
			other.call(4+i, tool, `{"key":"id-1","digest":"d-q1","nonce":"","answer":`+allow+`}`)
			other.one("-32602", "Unknown tool")
		}
		if len(other.decided) > 0 {
			t.Errorf("%s: decided %v", name, other.decided)
		}
	}
}

func TestTheCardAnswersAQuestionOnce(t *testing.T) {
	s := carded(t)
	key := s.openCard()
	if again := s.openCard(); again != key {
		t.Errorf("a page that a client keeps is an old one: %s, %s", key, again)
	}
	s.step(question("q1"))
	s.step(question("q2"))
	questions, _ := s.cardShows(key)
	if len(questions) != 2 || questions[0].Text != "bob wants rm q1" || questions[0].Nonce == questions[1].Nonce {
		t.Fatalf("%+v", questions)
	}
	if again, _ := s.cardShows(key); !reflect.DeepEqual(again, questions) { // another card of the same client
		t.Errorf("%+v, then %+v", questions, again)
	}
	s.cardAnswers(questions[0], `{"action":"accept","content":{"decision":"deny","reason":"no"}}`)
	s.one(`"id":98`, `"structuredContent":{"digest":"d-q1","outcome":"denied"}`)
	if len(s.decided) != 1 || !reflect.DeepEqual(s.decided[0], desktop.Decide{ID: "q1", Reply: approval.Reply{Reason: "no"}}) {
		t.Errorf("decided: %+v", s.decided)
	}
	if len(s.notes) == 0 || !strings.Contains(s.notes[len(s.notes)-1], "the card in the client answered [d-q1]: denied") {
		t.Errorf("notes: %q", s.notes)
	}
	s.cardAnswers(questions[0], allow)
	s.one(`"isError":true`, "nothing was decided", `"executed":"no"`)
	again, _ := s.cardShows(key)
	if len(again) != 1 || again[0].Nonce != questions[1].Nonce {
		t.Fatalf("%+v", again)
	}
	s.cardAnswers(again[0], allow)
	s.one(`"outcome":"allowed"`)
	if len(s.decided) != 2 || !s.decided[1].Reply.Allow {
		t.Errorf("decided: %+v", s.decided)
	}
}

// The card, and the model that waits for the questions, read "allowed" of an answer that could not be
// sent, and of one that came just after approve, a cancellation or the time had ended the question (I19).
func TestNoAnswerIsSaidToCountThatDidNotLeave(t *testing.T) {
	s := carded(t)
	key := s.openCard()
	s.step(question("q1"))
	first, _ := s.cardShows(key)
	s.fate = desktop.Decided{Unsent: "no seat"}
	s.cardAnswers(first[0], allow)
	if line := s.one(`"isError":true`, "asked still", "no seat", `"executed":"no"`); strings.Contains(line, "outcome") {
		t.Errorf("it counted: %s", line)
	}
	again, _ := s.cardShows(key)
	if len(again) != 1 || again[0].Nonce == first[0].Nonce {
		t.Fatalf("%+v", again)
	}
	s.fate = desktop.Decided{Gone: true}
	s.cardAnswers(again[0], allow)
	s.one(`"isError":true`, "no longer asked; nothing was decided")
	if left, _ := s.cardShows(key); len(left) > 0 {
		t.Errorf("%+v", left)
	}
}

func TestNoAnswerInADialogIsSaidToCountThatDidNotLeave(t *testing.T) {
	s := joined(t, `{"elicitation":{}}`)
	s.step(question("q1"))
	s.call(1, "mcpx_approvals", `{}`)
	dialog := func() string {
		t.Helper()
		return dialogIn(t, s.one("bob wants rm q1"))
	}
	yes := `{"jsonrpc":"2.0","id":%q,"result":` + strings.ReplaceAll(allow, "%", "%%") + `}`
	s.fate = desktop.Decided{Unsent: "no seat"}
	s.line(yes, dialog())
	s.pass(5 * time.Second)
	s.fate = desktop.Decided{Gone: true}
	s.line(yes, dialog()) // it is asked once more
	if line := s.one(`"id":1`, "[d-q1] no longer asked"); strings.Contains(line, "allowed") {
		t.Errorf("it counted: %s", line)
	}
}

// What a model knows of a question is not enough, nor is the card of another.
func TestWhatIsNotOfTheCardDecidesNothing(t *testing.T) {
	s := carded(t)
	s.step(question("q1"))
	s.step(question("q2"))
	for _, args := range []string{`{"key":"id-1","ticket":"id-1"}`, `{"key":"","ticket":""}`, `{}`, `{"key":null,"ticket":null}`} { // nobody has read the page
		s.call(1, "mcpx_card", args)
		if line := s.one(`"id":1`); strings.Contains(line, "bob") {
			t.Errorf("%s: %s", args, line)
		}
	}
	pass := s.openCard()
	for _, args := range []string{ // a page of somebody else's can read ours, a model has heard of no page
		fmt.Sprintf(`{"key":%q}`, pass.key), fmt.Sprintf(`{"key":%q,"ticket":%[1]q}`, pass.key), fmt.Sprintf(`{"ticket":%q}`, pass.ticket),
		fmt.Sprintf(`{"key":%q,"ticket":%[1]q}`, pass.ticket), fmt.Sprintf(`{"key":%q,"Ticket":%q}`, pass.key, pass.ticket),
	} {
		s.call(1, "mcpx_card", args)
		if line := s.one(`"id":1`); strings.Contains(line, "bob") {
			t.Errorf("%s: %s", args, line)
		}
	}
	questions, _ := s.cardShows(s.openCard())
	q1, q2 := questions[0], questions[1]
	for _, args := range []string{
		`{"digest":"d-q1","nonce":"","answer":` + allow + `}`,
		`{"digest":"d-q1","nonce":"` + q2.Nonce + `","answer":` + allow + `}`,
		`{"digest":"d-q1","nonce":["` + q1.Nonce + `"],"answer":` + allow + `}`,
		`{"digest":"D-q1","nonce":"` + q1.Nonce + `","answer":` + allow + `}`,
		`{"nonce":"` + q1.Nonce + `","answer":` + allow + `}`,
		`{"digest":"d-q1","answer":` + allow + `}`,
		`{"digest":"d-q1","nonce":"` + q1.Nonce + `","answer":` + allow + `,"answer":` + allow + `}`,
		`{"digest":"d-q1","nonce":"` + q1.Nonce + `","Answer":` + allow + `}`, // which is a no
	} {
		s.call(1, "mcpx_answer", args)
		s.one(`"id":1`)
	}
	for _, d := range s.decided {
		if d.Reply.Allow {
			t.Errorf("allowed: %+v", d)
		}
	}
	s.step(desktop.Settled{ID: "q2"})
	s.cardAnswers(q2, allow)
	s.one(`"isError":true`, "nothing was decided")
}

// The card does no more than an elicitation: what is no decision there is none here.
func TestWhatIsNoDecisionOnTheCardIsANo(t *testing.T) {
	for _, answer := range []string{
		`{"action":"accept"}`, `{"action":"accept","content":{"decision":"Allow"}}`, `{"action":"accept","content":{"decision":true}}`,
		`{"action":"accept","content":{"decision":"delegate","delegateTo":"eve"}}`, `{"decision":"allow"}`, `{}`, `[]`, `"allow"`, `true`, `null`,
	} {
		s := carded(t)
		q := question("q1")
		q.Question.DelegateTo = []string{"carol"}
		s.step(q)
		questions, _ := s.cardShows(s.openCard())
		if string(questions[0].Schema.Properties["delegateTo"]) == "" {
			t.Fatalf("%+v", questions)
		}
		s.cardAnswers(questions[0], answer)
		s.one(`"id":98`)
		if len(s.decided) != 1 || s.decided[0].Reply.Allow || s.decided[0].Reply.To != "" {
			t.Errorf("%s: decided %+v", answer, s.decided)
		}
	}
}

func TestACardAndADialogDecideOnce(t *testing.T) {
	s := newStage(t, desktop.Config{Card: true})
	s.join(map[string][]string{"fs": {tool("read")}})
	s.meet(strings.Replace(showsApps, `{`, `{"elicitation":{},`, 1))
	pass := s.openCard() // of an earlier call
	s.step(question("q1"))
	s.call(1, "fs__read", `{}`)
	id := dialogIn(t, s.one())
	questions, _ := s.cardShows(pass)
	s.cardAnswers(questions[0], allow)
	said := s.heard()
	if len(said) != 2 || !strings.Contains(said[0], "notifications/cancelled") || !strings.Contains(said[0], id) {
		t.Errorf("said: %q", said)
	}
	s.line(`{"jsonrpc":"2.0","id":%q,"result":{"action":"decline"}}`, id)
	if len(s.decided) != 1 || !s.decided[0].Reply.Allow {
		t.Errorf("decided: %+v", s.decided)
	}
}

func TestTheCardHasRoomForSomeQuestions(t *testing.T) {
	s := carded(t)
	for i := range 6 {
		q := question(fmt.Sprint("q", i))
		q.Question.Text = strings.Repeat("x", 60<<10)
		if i == 0 {
			q.Question.Text = strings.Repeat("x", 65<<10)
		}
		s.step(q)
	}
	key := s.openCard()
	questions, elsewhere := s.cardShows(key)
	if len(questions) != 4 || elsewhere != 2 || questions[0].Digest != "d-q1" {
		t.Fatalf("%d questions, %d elsewhere", len(questions), elsewhere)
	}
	s.cardAnswers(questions[0], allow)
	s.one(`"outcome":"allowed"`)
	if questions, elsewhere = s.cardShows(key); len(questions) != 4 || elsewhere != 1 {
		t.Errorf("%d questions, %d elsewhere", len(questions), elsewhere)
	}
}

// A participant that is called as we are has no address of ours.
func TestNobodysPageStandsAtTheAddressOfTheCard(t *testing.T) {
	for _, id := range []string{"mcpx", "MCPX"} {
		s := newStage(t, desktop.Config{Card: true})
		s.join(map[string][]string{id: {appTool("show", `"ui":{"resourceUri":"ui://approvals"}`)}})
		s.meet(showsApps)
		s.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		address := fmt.Sprintf("ui://%%%02X%s/approvals", id[0], id[1:])
		s.one(`"a":1.0,"ui":{"resourceUri":"` + address + `"}`)
		s.line(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":%q}}`, address)
		if ask := s.open("resources/read"); ask.To != id || string(ask.Params) != `{"uri":"ui://approvals"}` {
			t.Errorf("asked of %s: %s", ask.To, ask.Params)
		}
		s.cardKey()
	}
}

// To a client the pages of all participants are those of one server, which may call what ours
// calls.
func TestTheCardIsClosedWhenAPageOfSomebodyElsesIsShown(t *testing.T) {
	const read, get = "resources/read", "prompts/get"
	for _, c := range []struct {
		method, result string
		closes         bool
	}{
		{read, `{"contents":[{"uri":"ui://v","mimeType":"text/html;profile=mcp-app","text":"x"}]}`, true},
		{read, `{"contents":[{"uri":"note://a","mimeType":"Text/HTML","text":"x"}]}`, true},
		{read, `{"contents":[{"uri":"note://a","mimeType":"text/plain","text":"ui://x text/html"}]}`, false},
		{"tools/call", `{"content":[{"type":"text","text":"x"},{"type":"resource","resource":{"uri":"\u0075i://v","mimeType":"x","text":"y"}}]}`, true},
		{"tools/call", `{"content":[{"type":"resource","resource":{"uri":"note://a","mimeType":"text/html","text":"y"}}]}`, true},
		{"tools/call", `{"content":[{"type":"resource_link","uri":"ui://v"}]}`, true},
		{"tools/call", `{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"ui://"}}],"structuredContent":{"uri":"ui://v"}}`, false},
		{read, `{"contents":[{"uri":"note://a","mimeType":"text/html","text":"x","resource":{}}]}`, true},
		{read, `{"contents":[{"uri":"ui://v","text":"x","resource":{"uri":"note://a","mimeType":"text/plain"}}]}`, true},
		{"tools/call", `{"content":[{"type":"resource_link","uri":"ui://v","resource":{"uri":"note://a"}}]}`, true},
		{get, `{"messages":[{"role":"user","content":{"type":"text","text":"x"}},{"role":"user","content":{"type":"resource","resource":{"uri":"note://a","mimeType":"text/html","text":"y"}}}]}`, true},
		{get, `{"messages":[{"role":"user","content":{"type":"resource_link","uri":"ui://v"}}]}`, true},
		{get, `{"messages":[{"role":"user","content":[{"type":"resource","resource":{"uri":"ui://v","text":"y"}}]}]}`, true},
		{get, `{"description":"ui://v","messages":[{"role":"user","content":{"type":"text","text":"ui://x text/html"}}]}`, false},
	} {
		s := carded(t)
		s.step(question("q1"))
		pass := s.openCard()
		questions, _ := s.cardShows(pass)
		params := `{"name":"fs__read","arguments":{}}`
		switch c.method {
		case read:
			params = `{"uri":"mcpx://fs/note://a"}`
		case get:
			params = `{"name":"fs__greets"}`
			s.step(desktop.Noticed{From: "fs", Method: "notifications/prompts/list_changed"})
			s.pass(time.Second)
			s.answer(s.open("prompts/list"), `{"prompts":[{"name":"greets"}]}`)
			s.pass(time.Second)
			s.heard()
		}
		s.line(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, c.method, params)
		s.answer(s.open(c.method), c.result)
		s.one(`"id":1,"result":` + c.result)
		s.cardAnswers(questions[0], allow)
		if !c.closes {
			s.one(`"outcome":"allowed"`)
			continue
		}
		s.one(`"isError":true`, "could answer in your place", "mcpx-bridge approve")
		s.call(2, "mcpx_card", fmt.Sprintf(`{"key":%q,"ticket":%q}`, pass.key, pass.ticket))
		s.one(`"isError":true`, "could answer in your place")
		s.call(3, "mcpx_approvals", `{}`)
		if line := s.one("mcpx-bridge approve", "d-q1"); strings.Contains(line, "card") {
			t.Errorf("%s: %s", c.result, line)
		}
		if len(s.decided) > 0 || !strings.Contains(strings.Join(s.notes, "\n"), "a page of fs went to the client") {
			t.Errorf("%s: decided %v, notes %q", c.result, s.decided, s.notes)
		}
	}
}
