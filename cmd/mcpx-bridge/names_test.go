package main

import (
	"regexp"
	"strings"
	"testing"
)

func TestToolNames(t *testing.T) {
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
	} {
		got := toolName(c.peer, c.tool, maxToolName)
		if c.peer == uuid { // O103: exactly as long as it may be
			if len(got) != maxToolName || !regexp.MustCompile(`__t+_[0-9a-f]{8}$`).MatchString(got) {
				t.Errorf("%q is %d long", got, len(got))
			}
			continue
		}
		if !regexp.MustCompile(`^` + c.want + `$`).MatchString(got) {
			t.Errorf("%s, %s: %q, want %s", c.peer, c.tool, got, c.want)
		}
	}
}

func TestToolNamesAreValidAndDistinct(t *testing.T) {
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	parts := []string{"a", "a_", "_a", "a__b", "b", "b__c", "a.b", "a/b", "a_b", strings.Repeat("x", 36), strings.Repeat("y", 70), "é"}
	var all []peerTool
	for _, p := range parts {
		for _, q := range parts {
			all = append(all, peerTool{p, q})
		}
	}
	seen := map[string]peerTool{}
	for pair, name := range toolNames(all, maxToolName) {
		if !valid.MatchString(name) {
			t.Errorf("%v: %q", pair, name)
		}
		if other, twice := seen[name]; twice {
			t.Errorf("%q is %v and %v", name, pair, other)
		}
		seen[name] = pair
	}
}
