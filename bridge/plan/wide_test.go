package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func TestAround(t *testing.T) {
	many := `{`
	for i := range MaxArgs + 1 {
		many += fmt.Sprintf(`"a%d":1,`, i)
	}
	many = strings.TrimSuffix(many, ",") + `}`
	for _, c := range []struct{ args, folder, words string }{
		{`{"path":"/srv/docs/a","text":"x"}`, "/path", ` with path in the folder "/srv/docs", text anything at all, and no other arguments`},
		{`{"path":"/srv/docs/a","text":"x"}`, "", ` with path anything at all, text anything at all, and no other arguments`},
		{`{"a/b":"/srv/docs/a"}`, "/a~1b", ` with a~1b in the folder "/srv/docs", and no other arguments`},
		{`{}`, "", " without arguments"},
		{``, "", " without arguments"},
		{`{}`, "/path", ""},
		{`{"text":"x"}`, "/path", ""},
		{`{"path":5}`, "/path", ""},
		{`{"path":"/a"}`, "/path", ""},
		{`{"path":"a/b"}`, "/path", ""},
		{`{"path":["/srv/docs/a"]}`, "/path", ""},
		{`{"":1}`, "", ""},
		{`{"` + strings.Repeat("x", 200) + `":1}`, "", ""},
		{many, "", ""},
	} {
		p := Around("write", []byte(c.args), jsontext.Pointer(c.folder))
		got := ""
		if p != nil {
			var m text.Marks
			got = p.Items[0].With(&m, nil)
		}
		if got != c.words {
			t.Errorf("%.60s in %q: %q, want %q", c.args, c.folder, got, c.words)
		}
	}
	p := Around("write", []byte(`{"path":"/srv/docs/a","text":"x"}`), "/path")
	if got := string(p.Items[0].JSON(nil)); got != `{"/text":{"any":true},"/path":{"under":"/srv/docs"}}` {
		t.Errorf("it is written as %s", got)
	}
	if got := string(p.Items[0].JSON(func([]byte) []byte { return nil })); !strings.Contains(got, `"/path":"[redacted]"`) {
		t.Errorf("what is hidden is written as %s", got)
	}
}

// What is around a call has the call in it, and is a plan as people could have sent it.
func FuzzAround(f *testing.F) {
	f.Add(`{"path":"/srv/docs/a","text":"x"}`, "path")
	f.Add(`{"path":"C:\\Users\\a"}`, "path")
	f.Add(`{"p":"/srv/a b/%41/c"}`, "p")
	f.Fuzz(func(t *testing.T, args, name string) {
		if jsonrpc.Scan([]byte(args), jsonrpc.Called, nil, nil) != nil || !strings.HasPrefix(strings.TrimLeft(args, " \n\r\t"), "{") {
			return
		}
		for _, folder := range []jsontext.Pointer{"", jsontext.Pointer("").AppendToken(name)} {
			p := Around("tool", []byte(args), folder)
			if p == nil {
				continue
			}
			if p.Covers("tool", []byte(args), p.Uses(), nil) != 0 {
				t.Errorf("%q is not among what is around it, by %q", args, folder)
			}
			if _, err := Parse(fmt.Appendf(nil, `{"items":[{"tool":"tool","uses":1,"args":%s}],"seconds":1}`, p.Items[0].JSON(nil))); err != nil {
				t.Errorf("around %q is no plan: %v", args, err)
			}
		}
	})
}
