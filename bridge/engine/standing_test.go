package engine

import (
	"strings"
	"testing"
)

// Whoever asks is told what the rules say of their own calls, of tools that there are, in a
// bounded answer; nothing reaches the server, and nothing is on record.
func TestACallerLearnsItsStandingWithoutCalling(t *testing.T) {
	const rules = `
version: 1
default: ask
asks: {default: {of: [alice]}}
rules:
  - {name: bobs, allow: ["read_*"], from: bob}
  - {name: some, deny: [write_file], args: {path: {is: /etc}}}
`
	none := `"result":{"standing":{}}`
	everyDialect(t, rules, func(s *stage) {
		for i, c := range []struct{ params, want string }{
			{`{"tools":["read_file","write_file","nothing","read_file"]}`, `"result":{"standing":{"read_file":"allow","write_file":"depends"},"otherwise":{"write_file":"ask"}}`},
			{`{"tools":[]}`, none}, {`{}`, none}, {`{"tools":"read_file"}`, none}, {`[1]`, none},
			{`{"tools":["read_file","` + strings.Repeat("x", standingBytes) + `"]}`, none},
		} {
			s.frames, s.lines, s.notes = nil, nil, nil
			s.sends1("e"+string(rune('a'+i)), StandingMethod, "", c.params)
			if len(s.lines) > 0 || len(s.frames) != 1 || len(s.notes) > 0 {
				t.Fatalf("the server got %q, the topic %q, the record %v", s.lines, s.frames, s.notes)
			}
			s.has(s.frames[0], c.want)
		}
	})
}

// What one request may cost is bounded; who asks again hears of the rest.
func TestAStandingIsToldInPiecesWhereRulesAreMany(t *testing.T) {
	many := "version: 1\ndefault: deny\nrules:\n - {name: many, deny: [" + strings.Repeat("x,", standingWork*3/5) + "x]}\n"
	everyDialect(t, many, func(s *stage) {
		s.frames = nil
		s.sends1("e", StandingMethod, "", `{"tools":["read_file","write_file"]}`)
		s.has(s.frames[0], `"result":{"standing":{"read_file":"deny"}}`)
	})
}
