package policy

import (
	"path"
	"testing"
)

func TestWhatTheFlagsAllow(t *testing.T) {
	p, err := Flags([]string{"read_*", "delete_one"}, []string{"delete_*", "*secret*"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, tool string
		want         string
	}{
		{"tools/call", "read_file", "allow (--allow read_*)"},
		{"tools/call", "delete_one", "deny (--deny delete_*)"},
		{"tools/call", "read_secret", "deny (--deny *secret*)"},
		{"tools/call", "write_file", "ask (no rule matched)"},
		{"tools/call", "READ_FILE", "ask (no rule matched)"},
		{"tools/call", "", "ask (no rule matched)"},
		{"logging/setLevel", "read_file", "ask (no rule matched)"},
	} {
		if got := p.Decide(Call{Method: c.method, Tool: c.tool}, &Ledger{}).String(); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.method, c.tool, got, c.want)
		}
	}
}

func TestTheZeroPolicyDeniesEverything(t *testing.T) {
	if d := (&Policy{}).Decide(Call{Method: "tools/call", Tool: "x"}, &Ledger{}); d.Verdict != Deny {
		t.Error("the zero Policy allowed a call")
	}
	if (Decision{}).Verdict != Deny {
		t.Error("the zero Decision is not a denial")
	}
}

func TestFlagsRefusePatternsThatMatchNothing(t *testing.T) {
	for _, bad := range []string{"", " read_*", "read_* "} {
		if _, err := Flags([]string{bad}, nil); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
}

// A tool name may hold a slash; apart from that and from classes, which we do
// not have, patterns mean what path.Match makes of them.
func FuzzMatch(f *testing.F) {
	f.Add("read_*", "read_file")
	f.Add("*a*b*", "xaxxbx")
	f.Add("a?c", "abc")
	f.Add("?", "")
	f.Add("*", "")
	f.Add("a*", "a")
	f.Add("ab*ba", "aba")
	f.Add("*?*", "a")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		for _, s := range []string{pattern, name} {
			for _, r := range s {
				if r == '/' || r == '[' || r == '\\' || r == ']' || r >= 0x80 || r < 0x20 {
					t.Skip()
				}
			}
		}
		want, err := path.Match(pattern, name)
		if err != nil {
			t.Skip()
		}
		if got := match(pattern, name); got != want {
			t.Errorf("match(%q, %q) = %v", pattern, name, got)
		}
	})
}
