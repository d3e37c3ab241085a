package approval

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

func readable(args string) bool {
	return jsonrpc.Scan([]byte(args), jsonrpc.Judged, nil, nil) == nil
}

func canonicalText(args string) []byte { return Canonical([]byte(args)) }

// fit reports the first character of a text that must not be put before a
// person: an oracle that shares nothing with the renderer but the standard.
func fit(text string, lines bool) (bad rune, ok bool) {
	stack := 9
	if !utf8.ValidString(text) {
		return utf8.RuneError, false
	}
	for _, r := range text {
		mark := unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r)
		switch {
		case r == '\n' && lines:
		case !unicode.IsPrint(r), // letters, marks, numbers, punctuation, symbols, and the plain space
			unicode.Is(unicode.Me, r),
			unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point),
			r == 0x2800:
			return r, false
		}
		if stack++; !mark {
			stack = 0
		}
		if stack > 4 {
			return r, false
		}
	}
	return 0, true
}

// AI-15, I16: whatever the arguments, everything that is shown is printable,
// and every value appears or is announced as cut.
func FuzzAI15Render(f *testing.F) {
	for _, seed := range renderSeeds {
		f.Add(seed, `{"a":"b"}`)
		f.Add("x", string(jsonrpc.AppendQuote([]byte(`{"content":`), seed))+"}")
	}
	f.Add("x", `{"a":{"b":[1,2.50,"x",null,true,{}, []]},"":"","long":"`+strings.Repeat("ab\u202e", 900)+`"}`)
	f.Fuzz(func(t *testing.T, said, args string) {
		if bad, ok := fit(text.Line(said), false); !ok {
			t.Errorf("text.Line(%q) shows %U", said, bad)
		}
		if !readable(args) {
			t.Skip()
		}
		s := newStage(t, Options{})
		q := writeFile("alice", "local")
		q.Args, q.Tool, q.Server, q.Terms.Rules = []byte(args), said, said, []string{said}
		s.open(q)
		if _, settled := last[Settled](s, nil); settled {
			t.Fatalf("%s", s.story())
		}
		form := s.form(s.shown("alice"))
		var shown strings.Builder
		shown.WriteString(form.Message + form.RequestedSchema.Properties["approve"]["description"].(string))
		for _, whole := range []bool{false, true} {
			v, _ := s.d.View(s.now, s.shown("local").ID, whole)
			shown.WriteString(v.Text() + strings.Join(v.Banner, ""))
			everyLeaf(t, &v, []byte(args), whole)
		}
		if bad, ok := fit(shown.String(), true); !ok {
			t.Errorf("shows %U for %q %q", bad, said, args)
		}
		if raw := s.shown("alice").Params; !utf8.Valid(raw) {
			t.Errorf("params are no UTF-8")
		}
	})
}

// everyLeaf checks that nothing among the arguments is passed over in silence.
func everyLeaf(t *testing.T, v *View, args []byte, whole bool) {
	t.Helper()
	n := 0
	var walk func(t []byte)
	walk = func(raw []byte) {
		for m := range rawjson.Parts(raw, 0) {
			inner := m.Of(raw)
			if c := inner[0]; (c == '{' || c == '[') && len(bytes.TrimSpace(inner[1:len(inner)-1])) > 0 {
				walk(inner)
				continue
			}
			if n++; n > len(v.Arguments) {
				continue
			}
			l := v.Arguments[n-1]
			if s, ok := jsonrpc.Unquote(inner); ok && !l.Cut && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) && l.Text != `"`+s+`"` {
				t.Errorf("%q is shown as %s", s, l.Text)
			}
			if l.Cut && (!strings.Contains(l.Text, "(cut: ") || whole && l.Whole == "") {
				t.Errorf("cut without a word: %+v", l)
			}
		}
	}
	walk(bytes.TrimSpace(args))
	if n != len(v.Arguments)+v.More || whole && v.More > 0 {
		t.Errorf("%d values, %d shown and %d announced", n, len(v.Arguments), v.More)
	}
}

// Whatever an answer holds, it is a yes only when it says so in plain words,
// and it never shakes the Desk.
func FuzzAI11Answer(f *testing.F) {
	for _, seed := range []string{approves, declines, agrees, passTo("carol"), `{"action":"accept","content":{"approve":true,"modifiedTarget":"staging","timeout":5}}`,
		`null`, `[]`, `{"action":"accept","content":{"approve":"true"}}`, `{"action":"accept","content":{"approve":true,"approve":false}}`} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, result []byte, delegating bool) {
		s := newStage(t, Options{})
		q := deploy("alice", "carol")
		if delegating {
			q = passable(q, "dave")
		}
		s.open(q)
		s.says("alice", string(result))
		e, settled := last[Settled](s, nil)
		if !settled || e.Outcome != Allowed {
			return
		}
		if !readable(string(result)) || !readable(string(e.Args)) {
			t.Fatalf("allowed by %q with %s", result, e.Args)
		}
		content := rawjson.At(result, "/content")
		approve, action := rawjson.At(content, "/approve"), rawjson.At(content, "/action")
		word, _ := jsonrpc.Unquote(action)
		outer, _ := jsonrpc.Unquote(rawjson.At(result, "/action"))
		if outer != "accept" || string(approve) != "true" && !(delegating && word == "approve") {
			t.Fatalf("allowed by %q", result)
		}
		target, _ := jsonrpc.Unquote(rawjson.At(e.Args, "/target"))
		if target != "production" && target != "staging" && target != "development" || len(e.Modified) == 0 && e.Digest != e.Ran {
			t.Fatalf("%q makes %s", result, e.Args)
		}
	})
}
