package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

const docs = `{"items":[
 {"tool":"write_file","uses":2,"args":{"/path":{"under":"/srv/docs"},"/text":{"any":true},"/opts/mode":{"in":["a",1,null]}}},
 {"tool":"build","uses":1},
 {"tool":"move","uses":0,"args":{"/to":{"is":{"b":1,"a":[2]}}}},
 {"tool":"move","uses":3,"args":{"/to":{"is":{"b":1,"a":[2]}}}}],"seconds":1800}`

func parsed(t testing.TB, params string) *Plan {
	t.Helper()
	p, err := Parse([]byte(params))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCovers(t *testing.T) {
	p := parsed(t, docs)
	for _, c := range []struct {
		tool, args string
		item       int
	}{
		{"write_file", `{"path":"/srv/docs/a","text":"x","opts":{"mode":"a"}}`, 0},
		{"write_file", ` {"opts" : {"mode":1}, "text":{"any":["thing"]},"path":"/srv/docs/x/../y"}`, 0},
		{"write_file", `{"path":"/srv/docs/a","text":"x","opts":{"mode":null}}`, 0},
		{"write_file", `{"path":"/srv/docs/a","text":"x","opts":{"mode":1.0}}`, -1},
		{"write_file", `{"path":"/srv/docs/a","text":"x","opts":{"mode":"b"}}`, -1},
		{"write_file", `{"path":"/srv/docs/a","text":"x","opts":{"mode":"a","more":1}}`, -1},
		{"write_file", `{"path":"/srv/docs/a","text":"x","opts":{}}`, -1},
		{"write_file", `{"path":"/srv/docs/a","text":"x","opts":["a"]}`, -1},
		{"write_file", `{"path":"/srv/docs/a","text":"x","opts":"mode"}`, -1},
		{"write_file", `{"path":"/srv/docs/a","opts":{"mode":"a"}}`, -1},
		{"write_file", `{"path":"/srv/docs/a","text":"x","opts":{"mode":"a"},"more":{}}`, -1},
		{"write_file", `{"Path":"/srv/docs/a","text":"x","opts":{"mode":"a"}}`, -1},
		{"write_file", `{"path":"/srv/docs/../a","text":"x","opts":{"mode":"a"}}`, -1},
		{"write_file", `{"path":"/srv/Docs/a","text":"x","opts":{"mode":"a"}}`, -1},
		{"write_file", `{"path":["/srv/docs/a"],"text":"x","opts":{"mode":"a"}}`, -1},
		{"write_file", ``, -1},
		{"write_files", `{"path":"/srv/docs/a","text":"x","opts":{"mode":"a"}}`, -1},
		{"build", ``, 1},
		{"build", `{}`, 1},
		{"build", `{"opts":{}}`, -1},
		{"move", `{"to":{"a":[2],"b":1}}`, 3},
		{"move", `{"to":{"a":[2],"b":1,"c":0}}`, -1},
	} {
		if got := p.Covers(c.tool, []byte(c.args), p.Uses(), nil); got != c.item {
			t.Errorf("%s %s: item %d, want %d", c.tool, c.args, got, c.item)
		}
	}
	if got := p.Covers("build", nil, []int{2, 0, 0, 3}, nil); got != -1 {
		t.Errorf("what is used up covers still, by item %d", got)
	}
}

func TestWhatIsNoPlan(t *testing.T) {
	item := func(args string) string {
		return `{"items":[{"tool":"x","uses":1,"args":{` + args + `}}],"seconds":9}`
	}
	for params, why := range map[string]string{
		``:                                  "",
		`[]`:                                "batch",
		`{}`:                                "items: there are 0",
		`{"items":[],"seconds":1}`:          "items: there are 0",
		`{"items":[{"tool":"x","uses":1}]}`: "seconds",
		`{"items":[{"tool":"x","uses":1}],"seconds":86401}`:                   "seconds",
		`{"items":[{"tool":"x","uses":1}],"seconds":1.5}`:                     "seconds",
		`{"items":[{"tool":"x","uses":1}],"Seconds":1}`:                       "Seconds",
		`{"items":[{"tool":"x","uses":1,"when":1}],"seconds":1}`:              "when",
		`{"items":[{"tool":"x"}],"seconds":1}`:                                "uses",
		`{"items":[{"tool":"x","uses":0}],"seconds":1}`:                       "nothing is left",
		`{"items":[{"tool":"x","uses":1001}],"seconds":1}`:                    "uses",
		`{"items":[{"uses":1}],"seconds":1}`:                                  "tool",
		`{"items":[{"tool":"x","uses":1,"uses":9}],"seconds":1}`:              "uses",
		item(`"path":{"any":true}`):                                           "no JSON pointer",
		item(`"":{"any":true}`):                                               "no JSON pointer",
		item(`"/":{"any":true}`):                                              "no JSON pointer",
		item(`"/a":{}`):                                                       "one of is, in, under and any",
		item(`"/a":{"any":false}`):                                            "one of is, in, under and any",
		item(`"/a":{"any":true,"is":1}`):                                      "one of is, in, under and any",
		item(`"/a":{"in":[]}`):                                                "in has 1 to",
		item(`"/a":{"under":"docs"}`):                                         "does not begin",
		item(`"/a":{"under":"/docs/.."}`):                                     "all there is",
		item(`"/a":{"regex":".*"}`):                                           "regex",
		item(`"/a":{"is":1},"/a/b":{"is":1}`):                                 "is in",
		item(`"/a":{"is":"` + strings.Repeat("x", 1100) + `"}`):               "bytes at most",
		item(`"/a":{"in":[1,2,3,4,5,6,7,8,9]},"/b":{"in":[1,2,3,4,5,6,7,8]}`): "more than 64 calls",
		item(`"/a":{"is":"` + strings.Repeat(" ", MaxBytes) + `"}`):           "16384 bytes",
	} {
		if p, err := Parse([]byte(params)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.90s: %+v, %v, want %q", params, p, err, why)
		}
	}
}

func TestWords(t *testing.T) {
	var m text.Marks
	var said []string
	p := parsed(t, strings.Replace(docs, `"build"`, `"bu\u202eild"`, 1))
	for _, i := range p.Items {
		said = append(said, i.Words(&m, nil))
	}
	want := `up to 2 times: write_file with opts/mode "a" or 1 or null, path in the folder "/srv/docs", text anything at all, and no other arguments
once: bu\u{202e}ild without arguments
struck: move with to {"a":[2],"b":1}, and no other arguments
up to 3 times: move with to {"a":[2],"b":1}, and no other arguments`
	if got := strings.Join(said, "\n"); got != want || m.Banner() == nil {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	if got := string(p.Result("ab12", time.Unix(0, 0))); got != `{"plan":"ab12","until":"1970-01-01T00:00:00Z","uses":[2,1,0,3]}` {
		t.Errorf("the result is %s", got)
	}
}

// What the owner hides of a call's arguments is hidden of a plan too, where it has another name.
func TestRedacted(t *testing.T) {
	p, err := policy.Load("p", []byte(`{version: 1, default: ask, redact: [password, /opts/key]}`))
	if err != nil {
		t.Fatal(err)
	}
	const secret = `{"items":[{"tool":"login","uses":1,"args":{"/password":{"is":"hunter2"},"/opts/key":{"in":["k1","k2"]},"/user":{"is":"ann"},"/text":{"any":true}}}],"seconds":9}`
	got := string(Redacted([]byte(secret), p.Redact))
	var m text.Marks
	words := parsed(t, secret).Items[0].Words(&m, p.Redact)
	for _, hidden := range []string{"hunter2", "k1", "k2"} {
		if strings.Contains(got, hidden) || strings.Contains(words, hidden) {
			t.Errorf("%s is shown: %s; %s", hidden, got, words)
		}
	}
	if !strings.Contains(got, `"/user":{"is":"ann"}`) || !strings.Contains(got, `"/password":"[redacted]"`) || !strings.Contains(words, `user "ann"`) {
		t.Errorf("too much is hidden: %s; %s", got, words)
	}
	if got := string(Redacted([]byte(`{"password":1}`), p.Redact)); strings.Contains(got, "1") {
		t.Errorf("what is no plan is shown: %s", got)
	}
}

// Whatever a plan covers was among the calls that were foreseen of it: a rule that denies it
// had denied the plan.
func FuzzPlan(f *testing.F) {
	f.Add(docs, "write_file", `{"path":"/srv/docs/a","text":"x","opts":{"mode":"a"}}`)
	f.Add(docs, "build", "")
	f.Add(`{"items":[{"tool":"rm","uses":1,"args":{"/path":{"under":"/srv"}}}],"seconds":1}`, "rm", `{"path":"/srv/keys"}`)
	f.Add(`{"items":[{"tool":"rm","uses":1,"args":{"/a~1b/c":{"any":true}}}],"seconds":1}`, "rm", `{"a/b":{"c":"/srv/keys"}}`)
	rules, err := policy.Load("p", []byte(`
version: 1
default: ask
rules:
  - {deny: rm, args: {path: {under: /srv/keys}}}
  - {deny: write_file, args: {"**": {glob: "**/.env"}}}
  - {deny: "*", args: {/opts/mode: {is: b}}}
  - {deny: move, args: {/to/b: {min: 2}}}
  - {deny: build, args: {path: {type: absent}, other: {type: absent}}, except: {args: {force: {is: true}}}}
`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, params, tool, args string) {
		p, err := Parse([]byte(params))
		if err != nil {
			return
		}
		var m text.Marks
		for _, i := range p.Items {
			if words := i.Words(&m, nil); !text.Plain(words) {
				t.Errorf("it says %q", words)
			}
		}
		if args != "" && jsonrpc.Scan([]byte(args), jsonrpc.Called, nil, nil) != nil || p.Covers(tool, []byte(args), p.Uses(), nil) < 0 {
			return
		}
		call := func(tool string, args []byte) policy.Call {
			return policy.Call{From: "eve", Via: "request", Method: "tools/call", Tool: tool, Args: args, Now: time.Now()}
		}
		if before, now := rules.Foresee(p.Calls(call), nil), rules.Decide(call(tool, []byte(args)), nil); now.Verdict < before.Verdict {
			t.Errorf("%s %s is denied, and the plan was not: %s", tool, args, params)
		}
	})
}
