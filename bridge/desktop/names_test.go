package desktop_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

func TestExportedNames(t *testing.T) { // O99 to O103
	uuid := "123e4567-e89b-12d3-a456-426614174000"
	for _, c := range []struct{ peer, tool, want string }{
		{"weather-agent", "getCurrentWeather", `weather-agent__getCurrentWeather`}, // O99
		{"a", "_x", `a___x`},                                     // O100
		{"a_", "x", `a__x_[0-9a-f]{8}`},                          // O100
		{"a__b", "c", `a_b__c_[0-9a-f]{8}`},                      // O101
		{"a", "b__c", `a__b__c`},                                 // O101
		{"fs", "files/read.v2", `fs__files_read_v2_[0-9a-f]{8}`}, // O102
		{uuid, strings.Repeat("t", 50), `123e4567-e89b-12d3-a456-4266141740__t{17}_[0-9a-f]{8}`},
		{"a.b", "c", `a_b__c_[0-9a-f]{8}`},
		{"", "c", `__c_[0-9a-f]{8}`},
		{"ü", "c", `__c_[0-9a-f]{8}`},
		{"a", "c_0123abcd", `a__c_0123abcd_[0-9a-f]{8}`}, // or it could be some lossy name
	} {
		got := desktop.Pair{Peer: c.peer, Name: c.tool}.Export(desktop.MaxName)
		if c.peer == uuid { // O103: exactly as long as it may be
			if len(got) != desktop.MaxName || !regexp.MustCompile(`__t+_[0-9a-f]{8}$`).MatchString(got) {
				t.Errorf("%q is %d long", got, len(got))
			}
			continue
		}
		if !regexp.MustCompile(`^` + c.want + `$`).MatchString(got) {
			t.Errorf("%s, %s: %q, want %s", c.peer, c.tool, got, c.want)
		}
	}
}

// hostilePairs are pairs whose names have much in common, some of them on
// purpose: the name of one with its digest is the name of the other's tool.
func hostilePairs() (all []desktop.Pair) {
	parts := []string{"a", "a_", "_a", "a__b", "b", "b__c", "a.b", "a/b", "a_b", strings.Repeat("x", 36), strings.Repeat("y", 70), "é"}
	for _, p := range parts {
		for _, q := range parts {
			all = append(all, desktop.Pair{Peer: p, Name: q})
		}
	}
	for _, p := range slices.Clone(all) {
		peer, name, _ := strings.Cut(p.Export(46), "__")
		all = append(all, desktop.Pair{Peer: peer, Name: name})
	}
	return all
}

func TestNamesAreValidDistinctAndTheSameInEveryOrder(t *testing.T) {
	for _, most := range []int{desktop.LeastName, 46, desktop.MaxName} {
		valid := regexp.MustCompile(fmt.Sprintf(`^[a-zA-Z0-9_-]{1,%d}$`, most))
		there, back := desktop.NewNames(most), desktop.NewNames(most)
		all := hostilePairs()
		for _, p := range all {
			name := there.Of(p)
			if !valid.MatchString(name) {
				t.Errorf("%v: %q", p, name)
			}
			if got, ok := there.Pair(name); !ok || got != p {
				t.Errorf("%q is %v and %v", name, p, got)
			}
		}
		slices.Reverse(all)
		for _, p := range all {
			if there.Of(p) != back.Of(p) {
				t.Errorf("%v is %q in one order and %q in the other", p, there.Of(p), back.Of(p))
			}
		}
	}
}

// A readable name as long as the limit stands as it is, and one byte more is shortened
// (FINDINGS T3).
func TestANameOfExactlyTheLimitStandsAsItIs(t *testing.T) {
	for _, most := range []int{desktop.LeastName, 46, desktop.MaxName} {
		for _, peer := range []string{"f", "fs-0123456789"} {
			for over := range 2 {
				p := desktop.Pair{Peer: peer, Name: strings.Repeat("t", most-len(peer)-2+over)}
				got := p.Export(most)
				if whole := got == p.Peer+"__"+p.Name; whole != (over == 0) || len(got) != most {
					t.Errorf("%d over %d: %q has %d bytes", over, most, got, len(got))
				}
			}
		}
	}
}
