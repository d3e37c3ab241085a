package engine

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// What is no tool call: resources, prompts, completions, subscriptions and tasks give
// away as much as a tool does (FINDINGS H2).

// giving are the methods that give away content, with what they name and how a
// refusal speaks of them.
var giving = []struct{ method, key, params, words string }{
	{"resources/read", "file:///a", `{"uri":"file:///a"}`, "reading resource file:///a"},
	{"resources/subscribe", "file:///a", `{"uri":"file:///a"}`, "subscribing to resource file:///a"},
	{"resources/unsubscribe", "file:///a", `{"uri":"file:///a"}`, "ending the subscription to resource file:///a"},
	{"prompts/get", "hello", `{"name":"hello"}`, "getting prompt hello"},
	{"completion/complete", "", `{"ref":{"type":"ref/prompt","name":"hello"},"argument":{"name":"a","value":"b"}}`, "completing an argument"},
	{"tasks/list", "", `{}`, "listing tasks"},
	{"tasks/get", "", `{"taskId":"t"}`, "looking at a task"},
	{"tasks/result", "", `{"taskId":"t"}`, "getting the result of a task"},
	{"tasks/cancel", "", `{"taskId":"t"}`, "cancelling a task"},
	{"logging/setLevel", "", `{"level":"debug"}`, "setting the log level"},
	{"subscriptions/listen", "", `{}`, "listening to what changes"},
	{"x/y", "", `{}`, "x/y"},
}

func (s *stage) sends1(env, method, key, params string) {
	s.t.Helper()
	s.says("bob", env, wire.Request, method, key, "", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
}

func TestWhatIsNoToolCallIsServedToNobodyUnasked(t *testing.T) {
	for _, hosted := range []bool{false, true} {
		everyDialect(t, asksAlice, func(s *stage) {
			s.engine.hosted = hosted
			for i, g := range giving {
				s.sends1("e"+string(rune('a'+i)), g.method, g.key, g.params)
				if len(s.lines) > 0 {
					t.Fatalf("%s: the server got %q", g.method, s.lines)
				}
				s.has(s.frames[len(s.frames)-1], "-31004", "the owner's policy does not allow "+g.words+`"`)
			}
			for i, list := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list", "ping", "initialize"} {
				s.frames = nil
				s.sends1("l"+string(rune('a'+i)), list, "", `{}`)
				if n := len(s.lines); n == 0 && len(s.frames) == 0 || strings.Contains(strings.Join(s.frames, ""), `"error"`) {
					t.Errorf("%s is refused: %q", list, s.frames)
				}
				s.lines = nil
			}
		})
	}
}

// With no policy at all whatever is no list is put to the person at this machine.
func TestWithoutAPolicyAReadIsAskedAboutInWords(t *testing.T) {
	for _, d := range wire.Dialects {
		s := askingStageWith(t, d, Config{Policy: policy.Default(), Local: true})
		for i, g := range giving {
			s.lines, s.frames = nil, nil
			s.sends1("e"+string(rune('a'+i)), g.method, g.key, g.params)
			open := s.engine.Pending(0, 0)
			if len(open) != 1 || len(s.lines) > 0 {
				t.Fatalf("%s: %d questions, and the server got %q", g.method, len(open), s.lines)
			}
			v, _ := s.engine.View(s.now, open[0].ID, true)
			want := map[string]string{"resources/read": "bob requests permission to read a resource", "prompts/get": "bob requests permission to get a prompt"}[g.method]
			s.has(v.Headline, want)
			s.has(v.Text(), "Method: "+g.method)
			if strings.Contains(v.Text(), "execute") || strings.Contains(v.Headline, "hello") || strings.Contains(v.Headline, "file:") {
				t.Errorf("a question about %s says\n%s", g.method, v.Text())
			}
			if g.key != "" {
				s.has(v.Text(), ": "+g.key)
				s.has(open[0].Tool, g.method+" "+g.key)
			}
			s.agreeHere()
			s.lastLine(`{"jsonrpc":"2.0","id":%s,"method":"` + g.method + `","params":` + g.params + `}`)
			s.pass(s.engine.timeout)
		}
	}
}

func TestAReadIsDeclinedInTheRightWords(t *testing.T) {
	everyDialect(t, asksAlice+"  - {name: files, ask: ['*'], methods: ['resources/*'], as: write}\n", func(s *stage) {
		s.sends1("e1", "resources/read", "file:///a", `{"uri":"file:///a"}`)
		a := s.question()
		s.has(a.params, "bob requests permission to read a resource", "Approve this request?", `Resource: file:///a`)
		s.answers("alice", a, true, `{"action":"decline"}`)
		s.refused(-31001, `"message":"reading resource file:///a was declined by alice"`)
	})
}

// What a refusal says of a request stood on record with the URI that is hidden there.
func TestTheRecordNamesNothingThatIsHidden(t *testing.T) {
	const rules = asksAlice + "  - {name: files, ask: ['*'], methods: ['resources/*'], as: write}\n"
	for _, c := range []struct{ rules, says string }{
		{rules + "redact: [uri]\n", "reading a resource was declined by alice"},
		{rules + "redact: [text]\n", "reading resource file:///a was declined by alice"},
		{asksAlice + "redact: [uri]\n", "the owner's policy does not allow reading a resource"},
	} {
		everyDialect(t, c.rules, func(s *stage) {
			s.sends1("e1", "resources/read", "file:///a", `{"uri":"file:///a"}`)
			if strings.Contains(c.rules, "files") {
				s.answers("alice", s.question(), true, `{"action":"decline"}`)
			}
			s.has(s.frames[len(s.frames)-1], "reading resource file:///a")
			if got := s.lastNote(record.Ended).Detail; got != c.says {
				t.Errorf("on record is %q, want %q", got, c.says)
			}
		})
	}
}

func TestAProposalToReadIsJudgedAsARead(t *testing.T) {
	s := proposalStage(t, "mew/v0.4", "fulfil: policy")
	s.arrive(mewHead + `"id":"p1","from":"bob","kind":"mcp/proposal","payload":{"method":"resources/read","params":{"uri":"file:///a"}}}`)
	s.rejected("policy")
	if len(s.lines) > 0 {
		t.Errorf("the server got %q", s.lines)
	}
}

// A prompt whose name is too long to be kept was judged as one without a name.
func TestAPromptWithALongNameIsNotOneWithoutAName(t *testing.T) {
	const rules = "version: 1\ndefault: deny\nrules:\n- {name: all, allow: ['*'], methods: [prompts/get]}\n- {name: never, deny: ['secret*'], methods: [prompts/get]}\n"
	everyDialect(t, rules, func(s *stage) {
		s.sends1("e1", "prompts/get", "", `{"name":"secret`+strings.Repeat(" ", keyMax)+`"}`)
		if len(s.lines) > 0 {
			t.Fatalf("the server got %.80q", s.lines)
		}
		s.has(s.frames[len(s.frames)-1], "-32602", "the name of the prompt is longer than 4096 bytes")
	})
}

// A question about a prompt ended whenever the server listed its tools, if one of those had
// the name of the prompt.
func TestAPromptNamedLikeAToolOutlivesAListing(t *testing.T) {
	s := askingStageWith(t, lookup(t, "mcpx/v0.1"), Config{Policy: policy.Default(), Local: true})
	s.sends1("e1", "prompts/get", "write_file", `{"name":"write_file"}`)
	s.said(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	s.answerListing(moreTools)
	if open := s.engine.Pending(0, 0); len(open) != 1 {
		t.Fatalf("%d questions are open: %s", len(open), s.frames)
	}
	s.agreeHere()
	s.lastLine(`{"jsonrpc":"2.0","id":%s,"method":"prompts/get","params":{"name":"write_file"}}`)
}
