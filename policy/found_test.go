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

// "block" left the words and the terms of the rule that had asked on a decision that
// denies, and neither it nor "ask" said why.
func TestADecisionByThePinSaysWhyAndNothingOfTheRuleThatAsked(t *testing.T) {
	for pin, want := range map[string]Verdict{"block": Deny, "ask": Ask} {
		p, err := Load("p.yaml", []byte("version: 1\ndefault: deny\nserver: {pin: "+pin+"}\nasks: {one: {of: [ann]}}\nrules:\n- {name: w, ask: [write], as: one, say: Use draft.}\n- {name: r, allow: [read], say: Fine.}\n- {name: n, deny: [never], say: No.}\n"))
		if err != nil {
			t.Fatal(err)
		}
		d := p.Pinned(p.Decide(Call{From: "bob", Method: "tools/call", Tool: "read"}, nil))
		if n := len(d.Reasons); d.Verdict != want || d.Rule != "server.pin" || d.Say != "" || n == 0 || !strings.Contains(d.Reasons[n-1].Why, "changed the definition") {
			t.Errorf("%s: %+v", pin, d)
		}
		d = p.Pinned(p.Decide(Call{From: "bob", Method: "tools/call", Tool: "write"}, nil))
		if pin == "block" && (d.Verdict != Deny || d.Say != "" || d.Ask != nil) || pin == "ask" && (d.Rule != "w" || d.Say != "Use draft.") {
			t.Errorf("%s: %+v", pin, d)
		}
		if d = p.Pinned(p.Decide(Call{From: "bob", Method: "tools/call", Tool: "never"}, nil)); d.Verdict != Deny || d.Rule != "n" || d.Say != "No." {
			t.Errorf("%s: %+v", pin, d)
		}
	}
}
