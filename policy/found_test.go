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
