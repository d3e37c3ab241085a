package approval

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// alwaysFor makes the grant for a call whose arguments are args.
func alwaysFor(t *testing.T, args string) *Grant {
	s := newStage(t, Options{})
	q := rememberable("alice", "local")
	q.Args = []byte(args)
	s.open(q)
	s.says("alice", keeps("always"))
	return s.wantEnd(Allowed, "").Made
}

// fileOf is the file of some grants.
func fileOf(t testing.TB, all ...Grant) []byte {
	t.Helper()
	text, err := WriteGrants(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAI18TheFileOfGrants(t *testing.T) {
	g := alwaysFor(t, `{"path":"/a","n":1.50,"to":["x",{"y":null}]}`)
	want := `{
  "version": 1,
  "grants": [
    {
      "id": "` + g.ID + `",
      "from": "bob",
      "via": "request",
      "tool": "write_file",
      "args": {
        "n": 1.50,
        "path": "/a",
        "to": [
          "x",
          {
            "y": null
          }
        ]
      },
      "by": [
        "alice"
      ],
      "made": "2026-01-01T00:00:00Z",
      "until": "2026-01-31T00:00:00Z",
      "rules": [
        "small-writes"
      ],
      "topic": "` + g.Topic + `",
      "server": "a-test-server --pass hunter2",
      "dir": "/srv",
      "command": "c1",
      "fingerprint": "` + g.Fingerprint + `"
    }
  ]
}
`
	if got := fileOf(t, *g); string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A grant that was written down and read again lets the call run that it was made of, and
// nothing near it.
func TestAI18AGrantOfTheFileMeansTheCallAndNoMore(t *testing.T) {
	for _, c := range []struct {
		args  string
		other []string
	}{
		{`{}`, []string{`{"a":1}`}},
		{`{"path":"/a","text":"x"}`, []string{`{}`, `{"path":"/a"}`, `{"path":"/a","text":"x","mode":1}`, `{"path":"/a","text":"X"}`, `{"path":"/a","text":null}`, `{"path":"/a","Text":"x"}`}},
		{`{"n":9007199254740993}`, []string{`{"n":9007199254740992}`, `{"n":9007199254740993.0}`, `{"n":"9007199254740993"}`}},
		{`{"n":999999999999999999}`, []string{`{"n":1000000000000000000}`, `{"n":999999999999999998}`}},
		{`{"a":-0,"b":1.0,"c":0.10}`, []string{`{"a":0,"b":1.0,"c":0.10}`, `{"a":-0,"b":1,"c":0.10}`, `{"a":-0,"b":1.0,"c":0.1}`, `{"a":-0.0,"b":1.0,"c":0.10}`}},
		{`{"a":[],"o":{}}`, []string{`{"a":[1],"o":{}}`, `{"a":[],"o":{"x":1}}`, `{"a":{},"o":[]}`, `{"a":"","o":{}}`, `{"a":null,"o":null}`}},
		{`{"o":{"l":[1,[2,"3"]]}}`, []string{`{"o":{"l":[1,[2,"3"],4]}}`, `{"o":{"l":[1,[2,"3",4]]}}`, `{"o":{"l":[1,[2,3]]}}`, `{"o":{"l":{"0":1,"1":[2,"3"]}}}`}},
		{`{"a/b":{"~":true},"weird \"key\"\n":"va\\lue \u202e 😀","é":"yes"}`, []string{`{"a/b":{"~":false},"weird \"key\"\n":"va\\lue \u202e 😀","é":"yes"}`, `{"a/b":{"~":true},"weird \"key\"\n":"value \u202e 😀","é":"yes"}`}},
		{`{"t":"true","n":"1","z":"null","d":"2026-01-01","s":" "}`, []string{`{"t":true,"n":1,"z":null,"d":"2026-01-01","s":" "}`, `{"t":"true","n":"1","z":"null","d":"2026-01-01","s":""}`}},
		{`{"y":"*a","c":"args[\"x\"] || true","k":"&a !!str","h":"# - x: |"}`, []string{`{"y":"*b","c":"args[\"x\"] || true","k":"&a !!str","h":"# - x: |"}`}},
	} {
		t.Run(c.args, func(t *testing.T) {
			g := alwaysFor(t, c.args)
			if g.Keep != "always" {
				t.Fatalf("kept for %s only", g.Keep)
			}
			kept, err := ReadGrants("grants", fileOf(t, *g))
			if err != nil {
				t.Fatal(err)
			}
			runs := func(change func(*Question), later time.Duration) bool {
				s := newStage(t, Options{Grants: kept})
				s.pass(later)
				q := rememberable("alice", "local")
				q.Args = []byte(c.args)
				change(&q)
				_, asked := s.d.pending[s.open(q)]
				return !asked
			}
			if !runs(func(*Question) {}, 0) {
				t.Error("it is asked about again")
			}
			if runs(func(*Question) {}, g.Until.Sub(began)) {
				t.Error("it runs after its end")
			}
			for name, change := range map[string]func(*Question){
				"caller": func(q *Question) { q.Caller = "bobby" }, "tool": func(q *Question) { q.Tool = "write_files" },
				"way": func(q *Question) { q.Via = "proposal" }, "proposer": func(q *Question) { q.Proposer = "eve" },
				"method": func(q *Question) { q.Method = "prompts/run" }, "definition": func(q *Question) { q.Fingerprint += "0" },
				"something beside": func(q *Question) { q.Beside = []byte(`{"task":{}}`) },
			} {
				if runs(change, 0) {
					t.Errorf("with another %s, it runs", name)
				}
			}
			for _, args := range c.other {
				if runs(func(q *Question) { q.Args = []byte(args) }, 0) {
					t.Errorf("%s runs", args)
				}
			}
		})
	}
}

// What nobody could look over in a file is remembered for the session.
func TestGrantsThatAreForTheSessionOnly(t *testing.T) {
	long := make([]string, 100)
	for i := range long {
		long[i] = fmt.Sprintf(`"k%d":%d`, i, i)
	}
	for _, args := range []string{`{"*":1}`, `{"":1}`, `{"a":[{"*":1}]}`, `{"n":1e400}`, `{"n":` + strings.Repeat("9", 30) + `}`, "{" + strings.Join(long, ",") + "}",
		`{"s":"` + strings.Repeat("x", 5000) + `"}`} {
		if g := alwaysFor(t, args); g.Keep != "session" || g.Until != began.Add(8*time.Hour) {
			t.Errorf("%.40s: %s", args, g.Keep)
		}
	}
	for _, name := range []string{"write_*", "a?", "!x", "a b", "", strings.Repeat("x", 129), "re:a", "&a", "*a", "[a]", "{a: b}", "a: b", "a #b", "- a", "a\nb", `a"b`, `"a"`, "'a'", "a\\", "a || true", "a\u202eb", "é", "a,b", "%a", "@a", "`a`", "null\x00"} {
		if g := grantTo(t, "bob", name); g.Keep != "session" {
			t.Errorf("tool %q: %s", name, g.Keep)
		}
		if name != strings.Repeat("x", 129) {
			if g := grantTo(t, name, "write"); g.Keep != "session" {
				t.Errorf("caller %q: %s", name, g.Keep)
			}
		}
	}
	if g := grantTo(t, strings.Repeat("b", 65), "write"); g.Keep != "session" {
		t.Errorf("a caller with a long name: %s", g.Keep)
	}
	// Words that other formats take for something else are but names.
	for _, name := range []string{"null", "true", "no", "1e3", "0x1F", "-", "2026-01-01", "__proto__", strings.Repeat("b", 64)} {
		g := grantTo(t, name, name+"/x")
		if g.Keep != "always" {
			t.Errorf("%s: %s", name, g.Keep)
			continue
		}
		if back, err := ReadGrants("grants", fileOf(t, *g)); err != nil || len(back) != 1 || back[0].Caller != name || back[0].Tool != name+"/x" {
			t.Errorf("%s: read back as %+v, %v", name, back, err)
		}
	}
	if g := grantTo(t, strings.Repeat("b", 64), strings.Repeat("x", 128)); g.Keep != "always" {
		t.Errorf("names as long as they may be: %s", g.Keep)
	}
}

// grantTo makes the grant for a caller and a tool that is to be kept always.
func grantTo(t *testing.T, caller, tool string) *Grant {
	s := newStage(t, Options{})
	q := rememberable("alice", "local")
	q.Caller, q.Tool = caller, tool
	s.open(q)
	s.says("alice", keeps("always"))
	return s.end().Made
}

// lasting is a grant as a file may have it.
func lasting(id, args string) Grant {
	return Grant{ID: id, Keep: "always", Caller: "bob", Via: "request", Method: "tools/call", Tool: "t", Args: []byte(args), Until: began.Add(time.Hour), Made: began,
		Topic: "t1", Gateway: "wss://g", Server: "s", Dir: "/srv", Command: "c1", Fingerprint: "f1", By: []Who{Participant("alice"), {Door: Local}}, Rules: []string{"ask write_*"}}
}

// What stands in the file is what people see there: nothing hidden, nothing that moves a
// terminal's cursor.
func TestNothingHidesInTheFileOfGrants(t *testing.T) {
	g := lasting("0a", `{"a":"x`+"\u202e\u200b\u009b"+`y","`+"\u2066"+`":"\u001b[2J"}`)
	g.Server, g.Rules = "srv\u202e", []string{"r\x1b[1m\u200f"}
	text := fileOf(t, g)
	for _, bad := range []string{"\u202e", "\u200b", "\u009b", "\u2066", "\u200f", "\x1b", "\x7f"} {
		if bytes.Contains(text, []byte(bad)) {
			t.Errorf("%+q stands in\n%q", bad, text)
		}
	}
	back, err := ReadGrants("grants", text)
	if err != nil || !reflect.DeepEqual(back, []Grant{{ID: g.ID, Keep: g.Keep, Caller: g.Caller, Via: g.Via, Method: g.Method, Tool: g.Tool, Args: Canonical(g.Args), Until: g.Until, Made: g.Made,
		Topic: g.Topic, Gateway: g.Gateway, Server: g.Server, Dir: g.Dir, Command: g.Command, Fingerprint: g.Fingerprint, By: g.By, Rules: g.Rules}}) {
		t.Errorf("%+v, %v", back, err)
	}
}

// A file that is not to the letter what a bridge writes is no yes at all, not even where it
// is right, and the error says where it is not.
func TestAI18AFileOfGrantsThatIsDamaged(t *testing.T) {
	a, b := lasting("0a0a0a0a", `{"path":"/a","n":1}`), lasting("0b0b0b0b", `{"path":"/b"}`)
	whole := string(fileOf(t, a, b))
	first := strings.Index(whole, `"id": "0b0b0b0b"`)
	head, second := whole[:first], whole[first:] // of b's fields
	start := strings.Count(whole[:strings.LastIndex(head, "{")], "\n") + 1
	for _, c := range []struct {
		name, old, new string
		line           int // 0: where the changed text begins
	}{
		{"another member", `"tool": "t"`, `"tool": "t", "tools": ["*"]`, 0},
		{"a member of the session's grants", `"tool": "t"`, `"tool": "t", "unverified": true`, 0},
		{"a member in other letters", `"tool": "t"`, `"Tool": "t"`, 0},
		{"the same member twice", `"tool": "t"`, `"tool": "t", "tool": "u"`, 0},
		{"the same argument twice", `"path": "/b"`, `"path": "/b", "path": "/c"`, 0},
		{"arguments that are none", `"args": {`, `"args": [], "x": {`, 0},
		{"arguments in a list", "{\n        \"path\": \"/b\"\n      }", `["/b"]`, start},
		{"arguments in a text", "{\n        \"path\": \"/b\"\n      }", `"{}"`, start},
		{"any arguments", "{\n        \"path\": \"/b\"\n      }", `null`, -1},
		{"a name for any argument", `"path": "/b"`, `"*": "/b"`, start},
		{"a list of tools", `"tool": "t"`, `"tool": ["t", "u"]`, 0},
		{"any tool", `"tool": "t"`, `"tool": "*"`, start},
		{"a number for a tool", `"tool": "t"`, `"tool": 1`, 0},
		{"no tool", `"tool": "t"`, `"tool": null`, 0},
		{"any caller", `"from": "bob"`, `"from": "*"`, start},
		{"a caller with nothing", `"from": "bob"`, `"from": ""`, start},
		{"another way", `"via": "request"`, `"via": "any"`, start},
		{"nobody", "[\n        \"alice\",\n        \"local\"\n      ]", `[]`, start},
		{"somebody without a name", `"alice"`, `""`, start},
		{"somebody who is null", `"alice"`, `null`, 0},
		{"one who is no list", "[\n        \"alice\",\n        \"local\"\n      ]", `"alice"`, -1},
		{"no such day", `"made": "2026`, `"made": "last`, 0},
		{"a day of another kind", `"until": "2026-01-01T01:00:00Z"`, `"until": 2026`, 0},
		{"without an end", `      "until": "2026-01-01T01:00:00Z",` + "\n", "", start},
		{"without a beginning", `      "made": "2026-01-01T00:00:00Z",` + "\n", "", start},
		{"no topic", `      "topic": "t1",` + "\n", "", start},
		{"no directory", `      "dir": "/srv",` + "\n", "", start},
		{"no command", `      "command": "c1",` + "\n", "", start},
		{"no definition", `"fingerprint": "f1"`, `"fingerprint": ""`, start},
		{"a gateway that is null", `"gateway": "wss://g"`, `"gateway": null`, 0},
		{"rules that are null", "[\n        \"ask write_*\"\n      ]", `null`, -1},
		{"without an id", `"id": "0b0b0b0b",`, ``, start},
		{"the id of another", `"0b0b0b0b"`, `"0a0a0a0a"`, start},
		{"half a character", `"/b"`, `"\ud800"`, 0},
		{"a character that is none", `"/b"`, "\"\xff\"", 0},
		{"a comma too many", "\"fingerprint\": \"f1\"\n", "\"fingerprint\": \"f1\",\n", -1},
		{"a comment", `"tool": "t"`, `// mine` + "\n" + `"tool": "t"`, 0},
		{"a quote too few", `"tool": "t"`, `"tool": "t`, 0},
		{"more behind it", "  ]\n}\n", "  ]\n}\n{}", -1},
		{"zeros at the end", "  ]\n}\n", "  ]\n}\n\x00\x00", -1},
		{"half of it", second[len(second)/2:], "", -1},
		{"a member of the whole", "  ]\n}\n", "  ], \"default\": \"allow\"\n}\n", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := head + strings.Replace(second, c.old, c.new, 1)
			if text == whole {
				t.Fatal("nothing is changed")
			}
			kept, err := ReadGrants("grants.json", []byte(text))
			if err == nil || kept != nil {
				t.Fatalf("%+v, %v\n%s", kept, err, text)
			}
			at := c.line
			if at == 0 {
				at = strings.Count(head+second[:strings.Index(second, c.old)], "\n") + 1
			}
			if want := fmt.Sprintf("grants.json:%d:", at); c.line >= 0 && !strings.HasPrefix(err.Error(), want) || !strings.HasPrefix(err.Error(), "grants.json:") {
				t.Errorf("%v, want line %d\n%s", err, at, text)
			}
		})
	}
	for _, text := range []string{"", " ", "null", "[]", "{}", `{"version":1}`, `{"version":1,"grants":null}`, `{"version":2,"grants":[]}`, `{"grants":[]}`, `{"version":"1","grants":[]}`, `{"version":1,"grants":{}}`,
		`{"version":1,"grants":[null]}`, `{"version":1,"grants":[[]]}`, `{"version":1,"grants":[{}]}`, `{"version":1,"version":1,"grants":[]}`, "version: 1\ndefault: deny\nrules:\n", "\ufeff" + whole, strings.Repeat("[", 20000), "\x00" + whole} {
		if kept, err := ReadGrants("grants.json", []byte(text)); err == nil || kept != nil || !strings.HasPrefix(err.Error(), "grants.json:") {
			t.Errorf("%.80q: %+v, %v", text, kept, err)
		}
	}
	if kept, err := ReadGrants("grants.json", []byte(whole)); err != nil || len(kept) != 2 {
		t.Errorf("as it was: %+v, %v", kept, err)
	}
}

// Cut anywhere, the file is no yes.
func TestAI18AFileOfGrantsThatIsCut(t *testing.T) {
	whole := fileOf(t, lasting("0a0a0a0a", `{"path":"/a"}`), lasting("0b0b0b0b", `{"path":"/b"}`))
	for n := range len(whole) - 1 { // the last is a line break
		if kept, err := ReadGrants("grants", whole[:n]); err == nil || kept != nil {
			t.Fatalf("%d of %d bytes are %+v", n, len(whole), kept)
		}
	}
}

// A file of more than a bridge remembers is read all the same, and the first count.
func TestTenThousandGrants(t *testing.T) {
	var all []Grant
	for i := range 10_000 {
		g := lasting(fmt.Sprintf("%08x", i), fmt.Sprintf(`{"n":%d}`, i))
		g.Tool, g.By, g.Rules = "write_file", []Who{Participant("alice")}, nil
		all = append(all, g)
	}
	text := fileOf(t, all...)
	kept, err := ReadGrants("grants", text)
	if err != nil || len(kept) != len(all) {
		t.Fatal(len(kept), err)
	}
	if again := fileOf(t, kept...); !bytes.Equal(again, text) {
		t.Error("written again, it is another file")
	}
	s := newStage(t, Options{Grants: kept})
	if got := s.d.Grants(s.now); len(got) != maxGrants || got[0].ID != all[0].ID || got[maxGrants-1].ID != all[maxGrants-1].ID {
		t.Errorf("%d count", len(got))
	}
}

// What a grant may be for is written and read as it is, to the last digit.
func FuzzLastingArguments(f *testing.F) {
	for _, args := range []string{`{"a":[1,{"b":"c"}]}`, `{"\u0000":"\ud83d\ude00"}`, `{"n":9007199254740993,"z":-0,"o":1.0}`, `{"\"":"\u202e"}`} {
		f.Add(args)
	}
	f.Fuzz(func(t *testing.T, args string) {
		if !readable(args) {
			t.Skip()
		}
		g := lasting("0a", string(canonicalText(args)))
		if !g.lasts() {
			t.Skip()
		}
		if back, err := ReadGrants("grants", fileOf(t, g)); err != nil || !reflect.DeepEqual(back, []Grant{g}) {
			t.Fatalf("read back as %+v, %v", back, err)
		}
	})
}

// Whatever stands in a file of yeses, what is read of it is whole, and written again it
// says the same; or there is an error that says where.
func FuzzGrants(f *testing.F) {
	whole := fileOf(f, lasting("0a", `{"path":"/a","n":1}`))
	for _, text := range []string{string(whole), strings.Replace(string(whole), `"bob"`, `["bob", "eve"]`, 1), strings.Replace(string(whole), `1`, `1.0`, 1), `{"version":1,"grants":[]}`, "version: 1\nrules: []\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		kept, err := ReadGrants("grants.json", text)
		if err != nil {
			if kept != nil || !strings.HasPrefix(err.Error(), "grants.json:") {
				t.Fatalf("%v, %v", kept, err)
			}
			return
		}
		for i := range kept {
			if g := &kept[i]; !g.lasts() || g.Keep != "always" || g.Until.IsZero() || !readable(string(g.Args)) {
				t.Errorf("%q is a yes: %+v", text, g)
			}
		}
		again := fileOf(t, kept...)
		back, err := ReadGrants("grants.json", again)
		if err != nil || !bytes.Equal(fileOf(t, back...), again) || len(back) != len(kept) {
			t.Errorf("%q is written as %q, %v", text, again, err)
		}
	})
}
