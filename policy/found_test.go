package policy

import (
	"strings"
	"testing"
)

// What an attack on the policy showed.

// A regular expression that only looks whole because nothing stands behind it
// is an error of the file, not of the program.
func TestAQuoteWithoutEndInARegexIsALoadError(t *testing.T) {
	for _, pattern := range []string{`\Qabc`, `abc\Q`, `\Q`} {
		_, err := Load("p.yaml", []byte("version: 1\ndefault: ask\nrules:\n  - deny: [t]\n    args: {a: {regex: '"+pattern+"'}}\n"))
		if err == nil || !strings.Contains(err.Error(), "p.yaml:5:") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	p, err := Load("p.yaml", []byte("version: 1\ndefault: ask\nrules:\n  - deny: [t]\n    args: {a: {regex: '\\Qa.c\\E'}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Decide(Call{From: "bob", Via: "request", Method: toolsCall, Tool: "t", Args: []byte(`{"a":"a.c"}`)}, nil).Verdict; v != Deny {
		t.Error(v)
	}
}

// A JSON pointer reaches an element by its number too, as it does in args.
func TestRedactReachesElementsByNumber(t *testing.T) {
	p, err := Load("p.yaml", []byte("version: 1\ndefault: ask\nredact: [/list/0, /list/1/pin, /all/*]\n"))
	if err != nil {
		t.Fatal(err)
	}
	const args = `{"list":["a secret",{"pin":"1234","0":"x"},"*"],"all":["b",{"c":1}],"0":"y"}`
	const want = `{"list":["[redacted]",{"pin":"[redacted]","0":"x"},"*"],"all":["[redacted]","[redacted]"],"0":"y"}`
	if got := string(p.Redact([]byte(args))); got != want {
		t.Error(got)
	}
}
