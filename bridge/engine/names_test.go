package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// freeNames is how many names one participant writes where nobody makes sure who speaks.
const freeNames = 300

// byName runs a test in each dialect: where the gateway verifies names each has a share of
// its own, elsewhere all have one, unless the owner trusts the names.
func byName(t *testing.T, c func(t *testing.T) Config, test func(s *stage, one bool)) {
	for _, d := range wire.Dialects {
		for _, trusted := range []bool{false, true} {
			t.Run(fmt.Sprint(d.Protocol, " trusted ", trusted), func(t *testing.T) {
				conf := c(t)
				conf.TrustUnverified = trusted
				s := stageWith(t, d, conf)
				s.seat()
				s.startServer()
				s.frames, s.lines, s.notes = nil, nil, nil
				test(s, !d.Verified() && !trusted)
			})
		}
	}
}

// callAs makes a call in the name of somebody, which the server answers if it gets it. It
// reports whether it did.
func (s *stage) callAs(i int, tool string) (ran bool) {
	before := len(s.lines)
	s.says(fmt.Sprint("name", i), fmt.Sprint("e", i), wire.Request, "tools/call", tool, "",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"path":"a"}}}`)
	if ran = len(s.lines) > before; ran {
		s.result(s.lastID())
	}
	return ran
}

// ran counts how many calls of the first n names run.
func (s *stage) ran(n int, tool string) (ran int) {
	for i := range n {
		if s.callAs(i, tool) {
			ran++
		}
	}
	return ran
}

// Where `from` is whatever the speaker writes, many names are no more on record than one.
func TestManyNamesThatNobodyVerifiesHaveOneShareOfTheRecord(t *testing.T) {
	byName(t, func(t *testing.T) Config { return Config{Policy: rules(t, allowsSome)} }, func(s *stage, one bool) {
		for i := range 4 * freeNames {
			s.callAs(i, "delete_file")
			if s.dialect.Protocol == "mcp-x/v0" {
				continue // it has no withdrawals
			}
			s.says(fmt.Sprint("other", i), fmt.Sprint("w", i), wire.Withdraw, "", "", "nobodys", `{"reason":"x"}`)
		}
		listed := len(s.notes)
		s.pass(time.Minute)
		sums, counted := 0, 0
		for _, r := range s.notes[listed:] {
			if r.Reason == "summed_up" {
				sums, counted = sums+1, counted+r.Count
			}
		}
		if bounded := listed < 600 && sums == 1 && counted > 500; bounded != one {
			t.Errorf("%s: %d records are listed, %d sums count %d more", s.dialect.Protocol, listed, sums, counted)
		}
	})
}

// Nor do they fill the memory of what ran: who writes a new name for each request finds
// what all have together full, and nobody's request is forgotten for it.
func TestManyNamesThatNobodyVerifiesHaveOneShareOfTheMemory(t *testing.T) {
	byName(t, func(t *testing.T) Config { return Config{Policy: rules(t, allowsSome), Share: 100} }, func(s *stage, one bool) {
		want := freeNames
		if one {
			want = 100
		}
		if n := s.ran(freeNames, "read_file"); n != want {
			t.Errorf("%s: %d calls ran, want %d", s.dialect.Protocol, n, want)
		}
		if n := s.ran(100, "read_file"); n != 0 {
			t.Errorf("%s: %d ran again", s.dialect.Protocol, n)
		}
	})
}

// Nor do they bother people more often than one would.
func TestManyNamesThatNobodyVerifiesAskNoMoreThanOne(t *testing.T) {
	const asks = "version: 1\ndefault: deny\nrules:\n - {name: asks, ask: ['write_*']}\nasks: {default: {of: [local]}}\n"
	byName(t, func(t *testing.T) Config { return Config{Policy: rules(t, asks), Local: true} }, func(s *stage, one bool) {
		for i := range 40 {
			s.callAs(i, "write_file")
		}
		asked := len(s.shown)
		want := 40
		if one {
			want = 8
		}
		if asked != want {
			t.Errorf("%s: %d questions were put, want %d", s.dialect.Protocol, asked, want)
		}
	})
}

// Nor get around a limit that each caller has.
func TestManyNamesThatNobodyVerifiesHaveOneLimit(t *testing.T) {
	const limited = "version: 1\ndefault: deny\nrules:\n - {name: some, allow: ['read_*'], limit: {count: 5/day, per: caller, over: deny}}\n"
	byName(t, func(t *testing.T) Config { return Config{Policy: rules(t, limited)} }, func(s *stage, one bool) {
		want := 20
		if one {
			want = 5
		}
		if n := s.ran(20, "read_file"); n != want {
			t.Errorf("%s: %d calls ran, want %d", s.dialect.Protocol, n, want)
		}
	})
}
