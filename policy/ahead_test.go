package policy_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func TestForesee(t *testing.T) {
	const rules = `
default: allow
rules:
  - {name: secrets, deny: ["*"], args: {path: {under: [/etc, /srv/keys]}}}
  - {name: env, deny: [env_file], args: {path: {glob: "**/.env*"}}}
  - {name: night, deny: [at_night], hours: "22:00-06:00 UTC"}
  - {name: big, deny: [big], when: "size(args.text) > 10"}
  - {name: any, deny: [deep], args: {"**": {is: drop}}}
  - {name: edits, ask: [edit], as: two}
asks: {two: {of: [ann, bob], need: 2}}
`
	p := load(t, rules)
	in := func(folder string) []policy.Open { return []policy.Open{{At: "/path", Under: folder}} }
	for what, c := range map[string]struct {
		call policy.Call
		want string
		why  string
	}{
		"a folder beside what is denied": {policy.Call{Tool: "x", Open: in("/srv/docs")}, "ask ", ""},
		"a folder in what is denied":     {policy.Call{Tool: "x", Open: in("/etc/ssl")}, "deny secrets", "under"},
		"a folder that holds it":         {policy.Call{Tool: "x", Open: in("/srv")}, "deny secrets", "not known before"},
		"a folder that holds it by case": {policy.Call{Tool: "x", Open: in("/SRV")}, "deny secrets", "not known before"},
		"a folder in it by case":         {policy.Call{Tool: "x", Open: in("/Etc/ssl")}, "deny secrets", "not every system"},
		"anything":                       {policy.Call{Tool: "x", Open: []policy.Open{{At: "/path"}}}, "deny secrets", "not known before"},
		"anything elsewhere":             {policy.Call{Tool: "x", Args: []byte(`{"path":"/srv/docs/a"}`), Open: []policy.Open{{At: "/text"}}}, "ask ", ""},
		"an object where a path is":      {policy.Call{Tool: "x", Open: []policy.Open{{At: "/path/0"}}}, "deny secrets", "it is an object"},
		"a pattern":                      {policy.Call{Tool: "env_file", Open: in("/srv/docs")}, "deny env", "not known before"},
		"a pattern and what is known":    {policy.Call{Tool: "env_file", Args: []byte(`{"path":"/srv/docs/a"}`)}, "ask ", ""},
		"a time":                         {policy.Call{Tool: "at_night"}, "deny night", "not known before"},
		"an expression":                  {policy.Call{Tool: "big", Args: []byte(`{"text":"a"}`)}, "deny big", "not known before"},
		"any string":                     {policy.Call{Tool: "deep", Args: []byte(`{"a":"b"}`), Open: []policy.Open{{At: "/c/d"}}}, "deny any", "not known before"},
		"who is asked":                   {policy.Call{Tool: "edit"}, "ask ", ""},
	} {
		c.call.From, c.call.Via, c.call.Method, c.call.Now = "eve", "request", "tools/call", time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
		d := p.Foresee([]policy.Call{c.call}, nil)
		rule := d.Rule
		if d.Verdict == policy.Ask {
			rule = ""
		}
		if got := d.Verdict.String() + " " + rule; got != c.want || !strings.Contains(d.Why(), c.why) {
			t.Errorf("%s: %s, want %s (%s)", what, got, c.want, d.Why())
		}
	}
	both := []policy.Call{{From: "eve", Via: "request", Method: "tools/call", Tool: "x"}, {From: "eve", Via: "request", Method: "tools/call", Tool: "edit"}}
	if d := p.Foresee(both, nil); d.Verdict != policy.Ask || d.Ask.Need != 2 || !slices.Equal(d.Ask.Of, []string{"ann", "bob"}) {
		t.Errorf("the strictest of both: %s %+v", d, d.Ask)
	}
	if d := p.Foresee(both[:1], nil); d.Verdict != policy.Ask || !slices.Equal(d.Ask.Of, []string{"local"}) {
		t.Errorf("what is allowed is asked: %s %+v", d, d.Ask)
	}
}

// Whatever is not known comes out as whatever it likes: what is denied then was denied
// before, and who must agree then had to agree before; only that a proposal which is allowed
// is asked about all the same is not of the rules.
func TestWhatIsForeseenIsNoLooserThanTheCall(t *testing.T) {
	asked := 0
	for seed := range uint64(4 * rounds) {
		d := newDice(seed)
		limited := func(rule string) bool { return strings.Contains(rule, "limit:") } // which is known at the call
		p := load(t, file(d.fallback(), slices.DeleteFunc(d.rules(), limited)))
		args := d.args()
		delete(args, "/e/*")
		c := d.call(args)
		c.Ahead, c.Via = true, "request"
		for _, name := range []string{"a", "b", "/c/d"} {
			if d.Float64() < 0.5 {
				delete(args, name)
				c.Open = append(c.Open, policy.Open{At: "/" + strings.TrimPrefix(name, "/"), Under: d.one("", "/srv", "/srv/x", "/tmp")})
			}
		}
		c.Args = object(args)
		before := p.Foresee([]policy.Call{c}, nil)
		if before.Verdict == policy.Ask {
			asked++
		}
		for range 20 {
			known := maps.Clone(args)
			for _, o := range c.Open {
				name := o.At
				if name != "/c/d" {
					name = name[1:]
				}
				if known[name] = d.value(); o.Under != "" {
					known[name] = `"` + o.Under + d.one("", "/", "/x", "/docs/y/x", "/.env") + `"`
				}
			}
			then := c
			then.Ahead, then.Open, then.Args = false, nil, object(known)
			then.Now = then.Now.Add(time.Duration(d.IntN(200)) * time.Hour)
			got := p.Decide(then, nil)
			if got.Verdict < before.Verdict {
				t.Fatalf("seed %d: %s, and then %s for %s", seed, before, got, then.Args)
			}
			if got.Verdict == policy.Ask && before.Verdict == policy.Ask && (before.Ask.Need < got.Ask.Need || !among(before.Ask.Of, got.Ask.Of)) {
				t.Fatalf("seed %d: %+v, and then %+v for %s", seed, before.Ask, got.Ask, then.Args)
			}
		}
	}
	if asked < rounds/4 {
		t.Errorf("only %d were not denied", asked)
	}
}

func among(some, others []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(others, s) })
}

func TestFolders(t *testing.T) {
	for path, why := range map[string]string{
		"/srv": "", "/srv/my docs": "", "c:/users": "", "/srv/ä": "",
		"": "does not begin", "srv": "does not begin", "~/x": "does not begin", "/": "all there is", "/..": "all there is", "c:x": "does not begin",
		"/srv/": `not clean: write "/srv"`, "/srv/../etc": `not clean: write "/etc"`, "//srv": "not clean", "/srv/./a": "not clean",
		"/srv/%2e%2e": "not every system", `/srv\..`: "not every system", "/srv/\u2025": "not every system", " /srv": "does not begin", "C:/Users": "not clean",
	} {
		if got := policy.Folder(path); why == "" && got != "" || !strings.Contains(got, why) {
			t.Errorf("%q: %q, want %q", path, got, why)
		}
	}
	for path, in := range map[string]bool{
		"/srv/docs": true, "/srv/docs/a": true, "/srv/docs/a/../b": true, "/srv/docs/.hidden": true,
		"/srv": false, "/srv/docs-evil": false, "/srv/docs/../x": false, "/srv/docs/%2e%2e/x": false, "/srv/docs/..%20": false, "/srv/Docs/a": false, "/SRV/docs/a": false,
		"docs/a": false, "/srv/docs/a\x00/../..": false, `/srv/docs/..\..\x`: false, "/srv/docs /a": false, "": false,
	} {
		if policy.Within("/srv/docs", path) != in {
			t.Errorf("%q in /srv/docs: %v", path, !in)
		}
	}
}

func TestFolderOfAPath(t *testing.T) {
	for path, folder := range map[string]string{
		"/srv/docs/a": "/srv/docs", "/srv/docs/x/../a": "/srv/docs", `C:\Users\ann\a.txt`: "c:/users/ann", "/srv/docs/": "/srv",
		"/a": "", "a": "", "docs/a": "", "~/a": "", "": "", "/srv/docs/%2e%2e/a": "", `/srv/docs/..\a`: "", "/srv/\u2025/x/a": "", "/..": "",
	} {
		if got := policy.FolderOf(path); got != folder {
			t.Errorf("%q: %q, want %q", path, got, folder)
		}
	}
}

// What counts as within a folder is there to whoever cleans paths, and takes escapes and
// backslashes for what they may mean; a folder that is taken for one holds itself.
func FuzzWithin(f *testing.F) {
	f.Add("/srv/docs", "/srv/docs/a")
	f.Add("/srv/docs", "/srv/docs/%2e%2e/x")
	f.Add("c:/docs", `C:\docs\..\x`)
	p := load(f, `{default: ask, rules: [{deny: read, args: {path: {under: /srv/keys}}}]}`)
	f.Fuzz(func(t *testing.T, folder, path string) {
		if policy.Folder(folder) != "" || !policy.Within(folder, path) {
			return
		}
		c := policy.Call{From: "eve", Via: "request", Method: "tools/call", Tool: "read", Now: time.Now()}
		c.Open = []policy.Open{{At: "/path", Under: folder}}
		before := p.Foresee([]policy.Call{c}, nil)
		c.Open, c.Args = nil, []byte(`{"path":`+quoted(path)+`}`)
		if d := p.Decide(c, nil); d.Verdict < before.Verdict {
			t.Errorf("%q in %q: %s, and foreseen was %s", path, folder, d, before)
		}
	})
}

// Of two asks about one call a folder is remembered only where both mean that of the same
// argument, and a policy that offers another one is looser.
func TestFoldersOfTwoAsks(t *testing.T) {
	const two = `
version: 1
default: deny
asks:
  a: {of: [ann], remember: [once, folder, tool], folder: /path}
  b: {of: [ann], remember: [once, folder], folder: FOLDER}
rules:
  - {name: a, ask: [write], as: a}
  - {name: b, ask: [write], as: b}
`
	at := func(folder string) *policy.Policy { return load(t, strings.Replace(two, "FOLDER", folder, 1)) }
	c := policy.Call{From: "eve", Via: "request", Method: "tools/call", Tool: "write", Now: time.Now()}
	if d := at("/path").Decide(c, nil); !slices.Equal(d.Ask.Remember, []string{"once", "folder"}) || d.Ask.Folder != "/path" {
		t.Errorf("of the same argument: %+v", d.Ask)
	}
	if d := at("/to").Decide(c, nil); !slices.Equal(d.Ask.Remember, []string{"once"}) || d.Ask.Folder != "" {
		t.Errorf("of two arguments: %+v", d.Ask)
	}
	if looser := policy.Looser(at("/path"), at("/to")); len(looser) == 0 {
		t.Error("another folder is not looser")
	}
}
