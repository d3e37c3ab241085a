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

// Some file systems take names for one that Unicode spells in two ways.
func TestPathsThatUnicodeSpellsInTwoWaysAreAlike(t *testing.T) {
	for pattern, path := range map[string]string{
		"/srv/priv\u00e9": "/srv/prive\u0301/x", "/srv/prive\u0301": "/srv/PRIV\u00c9/x",
		"/srv/Stra\u00dfe": "/srv/STRASSE/x", "/srv/\u1e9e": "/srv/ss", "/srv/file": "/srv/\ufb01le",
	} {
		for effect, want := range map[string]Verdict{"deny": Deny, "allow": Ask} {
			for _, test := range []string{"under", "glob"} {
				of := pattern + map[string]string{"glob": "/**"}[test]
				p, err := Load("p.yaml", []byte("version: 1\ndefault: "+map[string]string{"deny": "allow", "allow": "ask"}[effect]+
					"\nrules:\n  - "+effect+": [t]\n    args: {a: {"+test+": \""+of+"\"}}\n"))
				if err != nil {
					t.Fatal(err)
				}
				if d := p.Decide(Call{From: "bob", Via: "request", Method: toolsCall, Tool: "t", Args: []byte(`{"a":"` + path + `"}`)}, nil); d.Verdict != want {
					t.Errorf("%s %s %q, %q: %v", effect, test, pattern, path, d.Reasons)
				}
			}
		}
	}
}
