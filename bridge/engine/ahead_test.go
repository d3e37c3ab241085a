package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

const planRules = `
version: 1
default: deny
asks: {default: {of: [alice, carol], within: 60s}, two: {of: [alice, carol], need: 2}}
redact: [text]
rules:
  - {name: reads, allow: [read_file]}
  - {name: writes, ask: [write_file]}
  - {name: deploys, ask: [deploy], as: two}
  - {name: keys, deny: ["*"], args: {path: {under: /srv/keys}}}
`

const docsPlan = `{"items":[{"tool":"write_file","uses":2,"args":{"/path":{"under":"/srv/docs"},"/text":{"any":true}}},{"tool":"read_file","uses":1,"args":{"/path":{"is":"/a"}}}],"seconds":600}`

// plans puts a plan of bob's to us: as a proposal, where the dialect has such.
func (s *stage) plans(env, params string) {
	s.t.Helper()
	if s.dialect.Protocol == "mcp-x/v0" {
		s.says("bob", env, wire.Request, "mcpx/plan", "", "", `{"jsonrpc":"2.0","id":1,"method":"mcpx/plan","params":`+params+`}`)
		return
	}
	s.says("bob", env, wire.Proposal, "mcpx/plan", "", "", `{"method":"mcpx/plan","params":`+params+`,"reason":"the docs"}`)
}

// agreed has one of those who were asked say yes, and returns what they were asked.
func (s *stage) agreed(result string) ask {
	s.t.Helper()
	q := s.question()
	s.answers(q.to, q, true, result)
	s.pass(time.Second) // for a claim that nobody returns
	return q
}

// plannedStage has a plan that counts, of which frames are forgotten.
func plannedStage(t *testing.T, d wire.Dialect, rulesText, plan string) *stage {
	t.Helper()
	s := askingStage(t, d, rulesText)
	s.plans("p1", plan)
	s.agreed(yes)
	if n := len(s.engine.Grants(s.now)); n != 1 {
		t.Fatalf("%d plans count: %q", n, s.frames)
	}
	s.frames, s.notes = nil, nil
	return s
}

// runs reports whether a call of bob's runs unasked.
func (s *stage) runs(env, tool, args string) bool {
	s.t.Helper()
	before := s.asked()
	s.asksFor("bob", env, fmt.Sprintf("%q", env), tool, args, "")
	ran := s.asked() > before
	if ran {
		s.said(`{"jsonrpc":"2.0","id":` + s.lastID() + `,"result":{}}`)
	}
	s.frames = nil
	return ran
}

// A plan is one question, whole; its yes gives leave for what it covers, as often as it says,
// to its proposer alone.
func TestAPlanCoversWhatWasShownAndNoMore(t *testing.T) {
	for _, d := range wire.Dialects {
		t.Run(strings.ReplaceAll(d.Protocol, "/", "_"), func(t *testing.T) {
			s := askingStage(t, d, planRules)
			s.plans("p1", docsPlan)
			q := s.question()
			s.has(q.params, "make calls by a plan", `Item 1: up to 2 times: write_file with path in the folder \"/srv/docs\", text anything at all, and no other arguments`,
				`Item 2: once: read_file with path \"/a\", and no other arguments`, "run unasked for 10m", `"uses1"`, `"seconds"`)
			s.answers(q.to, q, true, yes)
			s.pass(time.Second)
			if len(s.lines) > 0 {
				t.Errorf("the server was told: %q", s.lines)
			}
			grant := s.engine.Grants(s.now)[0]
			s.has(strings.Join(s.frames, "\n"), `"result":{"plan":"`+grant.ID+`"`, `"uses":[2,1]`)
			if r := s.decided(); r.Grant != grant.ID || r.Keep != "plan" || fmt.Sprint(r.Uses) != "[2 1]" || r.Digest != grant.ID {
				t.Errorf("on record is %s", r.JSON())
			}
			s.frames, s.notes = nil, nil
			const in = `{"path":"/srv/docs/a","text":"x"}`
			for env, args := range map[string]string{"beyond": `{"path":"/srv/docs/../a","text":"x"}`, "less": `{"path":"/srv/docs/a"}`, "case": `{"path":"/srv/Docs/a","text":"x"}`} {
				if s.runs(env, "write_file", args) {
					t.Errorf("%s runs", args)
				}
			}
			before := s.asked()
			s.asksFor("mallory", "m1", "1", "write_file", in, "")
			s.asksFor("bob", "b1", "2", "write_file", in, `"_meta":{"x":1},`)
			if s.asked() > before {
				t.Error("somebody else's call runs, or one that brings more")
			}
			if !s.runs("u1", "write_file", in) {
				t.Error("what the plan covers is asked about")
			}
			if r := s.decided(); r.Grant != grant.ID || r.Item != 1 || r.Use != 1 {
				t.Errorf("the first use is on record as %s", r.JSON())
			}
			if !s.runs("u2", "write_file", `{"text":"y","path":"/srv/docs/b"}`) || s.decided().Use != 2 {
				t.Error("the second is asked about")
			}
			if s.runs("u3", "write_file", in) {
				t.Error("it runs once more than was shown")
			}
			if g := s.engine.Grants(s.now)[0]; fmt.Sprint(g.Used) != "[2 0]" || g.What() != "write_file 2/2, read_file 0/1" {
				t.Errorf("it is listed as %s", g.What())
			}
		})
	}
}

func TestAPlanIsRefusedThatAnotherRuleDeniesPartOf(t *testing.T) {
	for what, c := range map[string]struct{ plan, say string }{
		"a folder that holds what is denied": {`{"items":[{"tool":"read_file","uses":1,"args":{"/path":{"is":"/a"}}},{"tool":"write_file","uses":1,"args":{"/path":{"under":"/srv"}}}],"seconds":9}`, "of the calls of write_file that it covers, some are or may be denied by rule keys"},
		"anything":                           {`{"items":[{"tool":"write_file","uses":1,"args":{"/path":{"any":true}}}],"seconds":9}`, "calls of write_file"},
		"one of several":                     {`{"items":[{"tool":"read_file","uses":1,"args":{"/path":{"in":["/a","/srv/keys/b"]}}}],"seconds":9}`, "calls of read_file"},
		"what no rule names":                 {`{"items":[{"tool":"delete_file","uses":1}],"seconds":9}`, "unknown tool"},
		"no plan":                            {`{"items":[]}`, "the plan cannot be read: items"},
	} {
		s := askingStage(t, lookup(t, "mew/v0.4"), planRules)
		s.plans("p1", c.plan)
		if _, asked := s.maybeQuestion(); asked || len(s.engine.Grants(s.now)) > 0 {
			t.Errorf("%s: somebody is asked", what)
		}
		s.has(strings.Join(s.frames, "\n"), `"kind":"mcp/reject"`, c.say)
	}
	s := askingStage(t, lookup(t, "mew/v0.4"), planRules)
	s.plans("p1", `{"items":[{"tool":"write_file","uses":1,"args":{"/path":{"under":"/srv"}}}],"seconds":9}`)
	if r := s.decided(); r.Rule != "keys" || !strings.Contains(r.Detail, "not known before the call") {
		t.Errorf("on record is %s", r.JSON())
	}
	s = askingStage(t, lookup(t, "mew/v0.4"), planRules+`  - {name: no-plans, deny: ["*"], methods: [mcpx/plan]}`+"\n")
	s.plans("p1", docsPlan)
	s.has(s.only(), `"reason":"policy"`)
}

// Nobody has a plan of somebody else's put to people as their own.
func TestAPlanIsItsProposers(t *testing.T) {
	s := askingStage(t, lookup(t, "mew/v0.4"), planRules)
	s.plans("p1", docsPlan)
	q := s.question()
	s.says("mallory", "r1", wire.Request, "mcpx/plan", "", "p1", `{"jsonrpc":"2.0","id":1,"method":"mcpx/plan","params":`+docsPlan+`}`)
	if other, is := s.maybeQuestion(); is && strings.Contains(other.params, "mallory") {
		t.Fatalf("somebody is asked: %s", other.params)
	}
	s.has(strings.Join(s.frames, "\n"), `"code":-32602`, `its proposer's own`)
	s.answers(q.to, q, true, yes)
	s.pass(time.Second)
	if g := s.engine.Grants(s.now); len(g) != 1 || g[0].Caller != "bob" {
		t.Errorf("plans that count: %+v", g)
	}
}

// Whoever must agree to one of its calls must agree to the plan, and edits only narrow it.
func TestAPlanIsNarrowedByThoseWhoMustAgree(t *testing.T) {
	const both = `{"items":[{"tool":"write_file","uses":5,"args":{"/path":{"under":"/srv/docs"}}},{"tool":"deploy","uses":3,"args":{"/target":{"is":"staging"}}}],"seconds":600}`
	s := askingStage(t, lookup(t, "mew/v0.4"), planRules)
	s.plans("p1", both)
	s.agreed(yes)
	if n := len(s.engine.Grants(s.now)); n != 0 {
		t.Fatal("one of two is enough")
	}
	s.agreed(`{"action":"accept","content":{"approve":true,"uses1":1,"uses2":0,"seconds":60}}`)
	if n := len(s.engine.Grants(s.now)); n != 0 {
		t.Fatal("a plan counts that only one has seen as it is now")
	}
	q := s.agreed(yes)
	s.has(q.params, "Item 1: once: write_file", "Item 2: struck: deploy", "for 1m")
	if !s.runs("u1", "write_file", `{"path":"/srv/docs/a"}`) || s.runs("u2", "write_file", `{"path":"/srv/docs/a"}`) || s.runs("u3", "deploy", `{"target":"staging"}`) {
		t.Error("what was struck runs")
	}
	s = askingStage(t, lookup(t, "mew/v0.4"), planRules)
	s.plans("p1", docsPlan)
	q = s.agreed(`{"action":"accept","content":{"approve":true,"folder1":"/srv/docs/new"}}`)
	s.has(q.params, `"folder1":{"type":"string","title":"Folder of item 1, or one in it","default":"/srv/docs"}`)
	if !s.runs("u1", "write_file", `{"path":"/srv/docs/new/a","text":"x"}`) || s.runs("u2", "write_file", `{"path":"/srv/docs/a","text":"x"}`) {
		t.Error("a folder is not narrowed")
	}
	for _, wider := range []string{`"uses1":6`, `"seconds":601`, `"uses1":-1`, `"uses1":1.5`, `"items":[]`,
		`"folder1":"/srv"`, `"folder1":"/srv/docs/../b"`, `"folder1":"/srv/docsmore"`, `"folder1":"/SRV/docs"`, `"folder1":""`, `"folder1":"docs"`, `"folder1":"/srv/docs/"`} {
		s := askingStage(t, lookup(t, "mew/v0.4"), planRules)
		s.plans("p1", docsPlan)
		s.agreed(`{"action":"accept","content":{"approve":true,` + wider + `}}`)
		if n := len(s.engine.Grants(s.now)); n != 0 {
			t.Errorf("%s widens it", wider)
		}
	}
}

func TestAPlanEnds(t *testing.T) {
	const in = `{"path":"/srv/docs/a","text":"x"}`
	for what, end := range map[string]func(s *stage){
		"in time":       func(s *stage) { s.now = s.now.Add(10 * time.Minute); s.do(Tick{}) },
		"taken back":    func(s *stage) { s.do(Revoked{s.engine.Grants(s.now)[0].ID}) },
		"a tighter law": func(s *stage) { s.do(Reloaded{rules(s.t, planRules+"  - {deny: [nothing]}\n")}) },
		"need of more": func(s *stage) {
			s.do(Reloaded{rules(s.t, strings.Replace(planRules, "within: 60s", "need: 2, within: 60s", 1))})
		},
		"another tool": func(s *stage) {
			s.said(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			s.answerListing(strings.Replace(moreTools, `"write_file"`, `"write_file","description":"now more"`, 1))
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := plannedStage(t, lookup(t, "mew/v0.4"), planRules, docsPlan)
			end(s)
			if s.runs("u1", "write_file", in) {
				t.Error("it runs")
			}
		})
	}
	s := plannedStage(t, lookup(t, "mew/v0.4"), planRules, docsPlan)
	s.do(Reloaded{rules(t, planRules+"  - {name: more, allow: [delete_file]}\n")})
	if len(s.engine.Grants(s.now)) != 1 {
		t.Error("a policy that is only looser ends it")
	}
	s.do(Reloaded{rules(t, planRules+"  - {name: new, deny: [write_file]}\n")})
	if !s.noted(record.Revoked, "policy_tightened") {
		t.Error("that it ended is not on record")
	}
}

// A call that a rule denies is denied, and one that a limit asks about is asked about, whatever
// was planned.
func TestEachUseOfAPlanIsJudged(t *testing.T) {
	limited := strings.Replace(planRules, "{name: reads, allow: [read_file]}", "{name: reads, allow: [read_file], limit: {count: 1/day, over: ask}}", 1)
	s := plannedStage(t, lookup(t, "mew/v0.4"), limited, `{"items":[{"tool":"read_file","uses":9,"args":{"/path":{"is":"/a"}}}],"seconds":600}`)
	if !s.runs("u1", "read_file", `{"path":"/a"}`) || s.runs("u2", "read_file", `{"path":"/a"}`) {
		t.Error("a plan answers for a limit")
	}
	if !s.noted(record.GrantUnused, "over_limit") {
		t.Error("nobody is told why it is asked")
	}
}

// A use is on disk before it starts. What cannot be put there does not run, and is used up.
func TestAUseIsOnDiskBeforeItStarts(t *testing.T) {
	s := plannedStage(t, lookup(t, "mew/v0.4"), planRules, docsPlan)
	s.synced = false
	s.asksFor("bob", "u1", "1", "write_file", `{"path":"/srv/docs/a","text":"x"}`, "")
	if s.asked() != 0 || len(s.tickets) != 1 || s.decided().Use != 1 {
		t.Fatalf("%d ran, %d waited for the disk", s.asked(), len(s.tickets))
	}
	s.do(Synced{Ticket: s.tickets[0], Err: errors.New("no disk")})
	if s.asked() != 0 {
		t.Error("it runs")
	}
	if g := s.engine.Grants(s.now)[0]; g.Used[0] != 1 {
		t.Error("it is not used up")
	}
}

const widerRules = `
version: 1
default: deny
asks: {default: {of: [alice, carol], within: 60s, remember: [once, session, folder, tool], folder: /path}}
rules:
  - {name: writes, ask: [write_file]}
  - {name: keys, deny: ["*"], args: {path: {under: /srv/keys}}}
`

// A yes for a folder covers the calls that it says, and no others; one for a tool is not offered
// where a rule denies some of its calls.
func TestAYesForAFolderCoversWhatItSays(t *testing.T) {
	everyDialect(t, widerRules, func(s *stage) {
		s.asksFor("bob", "w1", "1", "write_file", `{"path":"/srv/docs/a","text":"x"}`, "")
		q := s.question()
		s.has(q.params, `"enum":["once","session","folder"]`, `folder: every call of write_file with path in the folder \"/srv/docs\", text anything at all, and no other arguments, runs unasked until the bridge stops`)
		s.answers(q.to, q, true, `{"action":"accept","content":{"approve":true,"remember":"folder"}}`)
		if r := s.decided(); r.Keep != "folder" || string(r.Covers) != `{"/text":{"any":true},"/path":{"under":"/srv/docs"}}` {
			t.Errorf("on record is %s", r.JSON())
		}
		for env, c := range map[string]struct {
			from, args string
			runs       bool
		}{
			"in":       {"bob", `{"path":"/srv/docs/deep/b","text":"y"}`, true},
			"beside":   {"bob", `{"path":"/srv/other","text":"y"}`, false},
			"climbing": {"bob", `{"path":"/srv/docs/../other","text":"y"}`, false},
			"escaped":  {"bob", `{"path":"/srv/docs/%2e%2e/other","text":"y"}`, false},
			"case":     {"bob", `{"path":"/SRV/docs/b","text":"y"}`, false},
			"less":     {"bob", `{"path":"/srv/docs/b"}`, false},
			"another":  {"mallory", `{"path":"/srv/docs/b","text":"y"}`, false},
		} {
			before := s.asked()
			s.asksFor(c.from, env, fmt.Sprintf("%q", env), "write_file", c.args, "")
			if ran := s.asked() > before; ran != c.runs {
				t.Errorf("%s: it runs unasked: %v", env, ran)
			}
		}
		s.do(Reloaded{rules(t, widerRules+"  - {name: new, deny: [write_file], args: {text: {is: secret}}}\n")})
		before := s.asked()
		s.asksFor("bob", "later", "9", "write_file", `{"path":"/srv/docs/c","text":"y"}`, "")
		if s.asked() > before {
			t.Error("it outlives a stricter policy")
		}
	})
}

func TestAYesForAToolOrFolderIsNotOffered(t *testing.T) {
	for what, c := range map[string]struct{ rules, args, offers string }{
		"where nothing is denied":       {strings.Replace(widerRules, "deny: [\"*\"]", "deny: [other]", 1), `{"path":"/srv/docs/a"}`, `"enum":["once","session","folder","tool"]`},
		"where a part is denied":        {widerRules, `{"path":"/srv/a"}`, `"enum":["once","session"]`},
		"where a pattern denies":        {widerRules + "  - {name: env, deny: [write_file], args: {path: {glob: \"**/.env\"}}}\n", `{"path":"/srv/docs/a"}`, `"enum":["once","session"]`},
		"of the root":                   {widerRules, `{"path":"/a"}`, `"enum":["once","session"]`},
		"of what leads nobody knows to": {strings.Replace(widerRules, "deny: [\"*\"]", "deny: [other]", 1), `{"path":"/srv/docs/%2e%2e/a"}`, `"enum":["once","session","tool"]`},
		"of a name without a folder":    {strings.Replace(widerRules, "deny: [\"*\"]", "deny: [other]", 1), `{"path":"a"}`, `"enum":["once","session","tool"]`},
	} {
		s := askingStage(t, lookup(t, "mew/v0.4"), c.rules)
		s.asksFor("bob", "w1", "1", "write_file", c.args, "")
		if q := s.question(); !strings.Contains(q.params, c.offers) {
			t.Errorf("%s: %s", what, q.params)
		}
	}
}

// A yes that cannot be put on disk counts for nothing later either.
func TestAYesThatIsNotOnDiskIsNotRemembered(t *testing.T) {
	for _, word := range []string{"session", "folder", "tool"} {
		s := askingStage(t, lookup(t, "mew/v0.4"), strings.Replace(widerRules, "deny: [\"*\"]", "deny: [other]", 1))
		s.asksFor("bob", "w1", "1", "write_file", inDocs, "")
		q := s.question()
		s.synced = false
		s.answers(q.to, q, true, `{"action":"accept","content":{"approve":true,"remember":"`+word+`"}}`)
		if len(s.tickets) != 1 {
			t.Fatal("it does not wait")
		}
		s.do(Unrecorded{Err: errors.New("no disk")})
		s.do(Synced{Ticket: s.tickets[0], Err: errors.New("no disk")})
		s.synced = true
		s.do(AuditUp{})
		if n := len(s.engine.Grants(s.now)); n != 0 {
			t.Errorf("%s: %d grants", word, n)
		}
		if s.runs("w2", "write_file", inDocs) {
			t.Errorf("%s: the next runs unasked", word)
		}
	}
}

// Of two who must agree the one who agrees to less has their way.
func TestTheNarrowerOfTwoYesesIsRemembered(t *testing.T) {
	s := askingStage(t, lookup(t, "mew/v0.4"), strings.Replace(widerRules, "within", "need: 2, within", 1))
	s.asksFor("bob", "w1", "1", "write_file", `{"path":"/srv/docs/a"}`, "")
	for _, word := range []string{"folder", "session"} {
		q := s.question()
		s.answers(q.to, q, true, `{"action":"accept","content":{"approve":true,"remember":"`+word+`"}}`)
	}
	if g := s.engine.Grants(s.now); len(g) != 1 || g[0].Keep != "session" || g[0].Ahead() {
		t.Errorf("remembered is %+v", g)
	}
}

// A plan can be said in each spelling that proposals ever had.
func TestAPlanInEverySpelling(t *testing.T) {
	for _, kind := range []string{"mcp/proposal:mcpx/plan", "mcp.proposal.mcpx/plan", "mcp.proposal", "proposal"} {
		s := askingStage(t, lookup(t, "mcpx/v0.1"), planRules)
		s.arrive(`{"protocol":"mcpx/v0.1","id":"p1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"` + kind + `","payload":{"method":"mcpx/plan","params":` + docsPlan + `}}`)
		s.agreed(yes)
		if g := s.engine.Grants(s.now); len(g) != 1 {
			t.Errorf("%s: %q", kind, s.frames)
		}
	}
	s := askingStage(t, lookup(t, "mew/v0.4"), planRules)
	s.arrive(`{"protocol":"mew/v0.4","id":"p1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/proposal","payload":{"method":"mcpx/plan","params":` + docsPlan + `}}`)
	s.agreed(yes)
	if g := s.engine.Grants(s.now); len(g) != 1 {
		t.Errorf("mew/v0.4: %q", s.frames)
	}
}

// What bob proposes to all runs by his plan, as soon as it is known that nobody else claims it. Until then it was not
// among what waits to start, and ran though the plan had been taken back.
func TestWhatIsClaimedByAPlanThatIsTakenBackDoesNotStart(t *testing.T) {
	law := func(more string) string { return planRules + more + "proposals: {" + forAll + "}\n" }
	for what, ends := range map[string]func(s *stage){
		"nothing happens":  func(*stage) {},
		"it is taken back": func(s *stage) { s.do(Revoked{s.engine.Grants(s.now)[0].ID}) },
		"a tighter law":    func(s *stage) { s.do(Reloaded{rules(s.t, law("  - {deny: [nothing]}\n"))}) },
	} {
		s := plannedStage(t, lookup(t, "mew/v0.4"), law(""), docsPlan)
		s.proposes("bob", "p2", "", "write_file", inDocs, "")
		claim := s.claim("p2")
		ends(s)
		s.frames = nil
		s.echo(claim)
		kept := what == "nothing happens"
		if ran := s.asked() == 1; ran != kept {
			t.Errorf("%s: it runs: %t", what, ran)
		}
		if !kept {
			s.has(strings.Join(s.frames, "\n"), `"code":-31001`, `"reason":"revoked"`, `"executed":"no"`, `"to":["bob"]`)
		}
	}
}

// A plan that is used up was nowhere to be found while its last call waited to start.
func TestThatItsLastCallWaitsKeepsNoPlanFromBeingTakenBack(t *testing.T) {
	const once = `{"items":[{"tool":"write_file","uses":1,"args":{"/path":{"under":"/srv/docs"},"/text":{"any":true}}}],"seconds":600}`
	for what, ends := range map[string]func(s *stage, id string){
		"nothing happens":  func(*stage, string) {},
		"it is taken back": func(s *stage, id string) { s.do(Revoked{id}); s.do(Revoked{id}) },
		"a tighter law":    func(s *stage, _ string) { s.do(Reloaded{rules(s.t, planRules+"  - {deny: [nothing]}\n")}) },
	} {
		s := plannedStageOf(t, planRules, once)
		id := s.engine.Grants(s.now)[0].ID
		s.synced = false
		s.asksFor("bob", "u1", "1", "write_file", inDocs, "")
		if g := s.engine.Grants(s.now); len(g) != 1 || g[0].What() != "write_file 1/1" {
			t.Errorf("%s: listed is %+v", what, g)
		}
		ends(s, id)
		s.do(Synced{Ticket: s.tickets[0]})
		kept := what == "nothing happens"
		if ran := s.asked() == 1; ran != kept {
			t.Errorf("%s: its call runs: %t", what, ran)
		}
		if n := s.eventsOf(record.Revoked); n != 1 && !kept || len(s.engine.Grants(s.now)) != 0 {
			t.Errorf("%s: it is on record %d times that it was taken back, and listed is %+v", what, n, s.engine.Grants(s.now))
		}
	}
}

// A call that is over, and waits for the disk all the same, has no plan listed.
func TestAPlanIsNotListedForACallThatIsOver(t *testing.T) {
	const once = `{"items":[{"tool":"write_file","uses":1,"args":{"/path":{"under":"/srv/docs"},"/text":{"any":true}}}],"seconds":600}`
	s := plannedStageOf(t, planRules, once)
	s.synced = false
	s.asksFor("bob", "u1", "1", "write_file", inDocs, "")
	s.takesBack("bob", "c1", "1", "u1")
	if g := s.engine.Grants(s.now); len(g) != 0 {
		t.Errorf("listed is %+v", g)
	}
}
