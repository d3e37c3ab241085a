package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A race is a proposal that alice is asked about, and everything that may come
// at once, in every order. After each event:
//
//   - the server was given the call once at most;
//   - there is one end at most: fulfilled, withdrawn or expired; and one reject
//     at most, none after the start;
//   - once withdrawn before the start, nothing starts any more, nobody is asked
//     any more, and bob hears nothing;
//   - whoever requested it here has one answer at most; and one in the end.
type race struct {
	*stage
	question ask
	late     bool // it was withdrawn, or expired, and had not started
	heard    int  // what bob had been told by then
	asked44  bool // carol requested it
	moves    []string
}

// raceRules: what others request may run at once, or is asked too.
const raceRules = `
version: 1
default: deny
asks: {default: {of: [alice], within: 1h}}
rules:
  - {name: reads, allow: ["read_*"]}
  - {name: writes, ask: ["write_*"]}
proposals: {fulfil: ask}
`

var raceMoves = map[string]func(r *race){
	"alice agrees":  func(r *race) { r.answers("alice", r.question, true, yes) },
	"alice refuses": func(r *race) { r.answers("alice", r.question, true, `{"action":"decline"}`) },
	"the disk is slow": func(r *race) { // until now
		for _, ticket := range slices.Clone(r.tickets) {
			r.tickets = r.tickets[1:]
			r.do(Synced{Ticket: ticket})
		}
	},
	"bob withdraws": func(r *race) {
		r.ends()
		r.says("bob", "w1", wire.Withdraw, "", "", "p1", `{"reason":"no_longer_needed"}`)
	},
	"its time is over": func(r *race) {
		r.ends()
		r.pass(time.Minute)
	},
	"bob leaves": func(r *race) {
		r.do(Arrived{&wire.Envelope{Kind: wire.Presence, From: "system:gateway", Payload: []byte(`{"event":"leave","participant":{"id":"bob"}}`)}})
		r.pass(leaveGrace)
	},
	"carol requests it here": func(r *race) {
		r.asked44 = true
		r.requests("carol", "fs", "r1")
	},
	"carol requests it elsewhere": func(r *race) { r.requests("carol", "mallory", "r2") },
	"elsewhere it is answered": func(r *race) {
		r.frame("mallory", "carol", "a2", wire.Response, "r2", `{"jsonrpc":"2.0","id":44,"result":{"content":[]}}`)
	},
	"the server answers": func(r *race) {
		for _, c := range r.engine.calls.InOrder() {
			r.said(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, c.Number))
		}
	},
}

func (r *race) requests(from, to, env string) {
	r.frame(from, to, env, wire.Request, "p1", `{"jsonrpc":"2.0","id":44,"method":"tools/call","params":{"name":"`+r.tool()+`","arguments":{"path":"/a"}}}`)
}

func (r *race) tool() string {
	if strings.Contains(r.t.Name(), "asked") {
		return "write_file"
	}
	return "read_file"
}

// frame puts a frame of anybody to anybody on the stage.
func (r *race) frame(from, to, env string, kind wire.Kind, corr, payload string) {
	r.t.Helper()
	e := &wire.Envelope{ID: env, TS: "2026-01-01T00:00:00Z", From: from, Kind: kind, Method: "tools/call", Key: r.tool(), Corr: []string{corr}, Payload: []byte(payload)}
	if to != "" {
		e.To = []string{to}
	}
	if kind == wire.Proposal {
		e.Corr = nil
	}
	frame, err := r.dialect.Append(nil, e, wire.Caps{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.arrive(string(frame))
}

func (r *race) ended(event record.Event) bool {
	return slices.ContainsFunc(r.notes, func(n record.Record) bool { return n.Event == event && n.Proposal == "p1" && n.Call == "" })
}

// ends: from now on nothing may happen any more, unless somebody serves it.
func (r *race) ends() {
	if !r.late && r.stage.asked() == 0 && !r.ended(record.Fulfilled) && !r.isTaken() {
		r.late, r.heard = true, r.toldBob()
	}
}

func (r *race) toldBob() int {
	return r.told(func(e *wire.Envelope) bool { return e.Kind == wire.Reject || slices.Contains(e.To, "bob") })
}

// told counts the answers and rejects among the frames so far.
func (r *race) told(counts func(*wire.Envelope) bool) (n int) {
	r.t.Helper()
	for _, f := range r.frames {
		env, err := r.dialect.Decode([]byte(f))
		if err != nil {
			r.t.Fatal(err)
		}
		if (env.Kind == wire.Response || env.Kind == wire.Reject) && counts(&env) {
			n++
		}
	}
	return n
}

// isTaken reports whether somebody is serving it elsewhere, which is as good as
// a start.
func (r *race) isTaken() bool {
	return slices.ContainsFunc(r.notes, func(n record.Record) bool {
		return n.Event == record.Taken && n.Proposal == "p1" && n.State == "running"
	})
}

func newRace(t *testing.T, d wire.Dialect, ttl bool) *race {
	s := askingStage(t, d, raceRules)
	r := &race{stage: s}
	more := ""
	if ttl {
		more = `,"ttl":30000`
	}
	s.synced = false
	r.frame("bob", "fs", "p1", wire.Proposal, "", `{"method":"tools/call","params":{"name":"`+r.tool()+`","arguments":{"path":"/a"}}`+more+`}`)
	r.question = s.question()
	return r
}

// check holds what was done so far against what must never be.
func (r *race) check() {
	r.t.Helper()
	wrong := func(format string, a ...any) {
		r.t.Helper()
		r.t.Fatalf("%s\nafter %s\nframes %q\nlines %q\nnotes %+v", fmt.Sprintf(format, a...), strings.Join(r.moves, ", "), r.frames, r.lines, r.notes)
	}
	runs := r.stage.asked()
	if runs > 1 || r.late && runs > 0 {
		wrong("the server was given it %d times", runs)
	}
	ends, rejects := 0, 0
	for _, n := range r.notes {
		if n.Proposal != "p1" || n.Call != "" && n.Event != record.Rejected {
			continue
		}
		switch n.Event {
		case record.Fulfilled, record.Withdrawn, record.Expired:
			ends++
		case record.Rejected:
			if rejects++; ends > 0 || runs > 0 && n.From == "bob" && r.rejectedAfterStart() {
				wrong("rejected after its end")
			}
		}
	}
	if ends > 1 || rejects > 1 {
		wrong("%d ends, %d rejects", ends, rejects)
	}
	bob, carol := r.toldBob(), r.told(func(e *wire.Envelope) bool { return slices.Contains(e.Corr, "r1") })
	if open := r.engine.Pending(0, 0); r.late && len(open) > 0 {
		wrong("somebody is still asked: %+v", open)
	}
	if bob > 2 || carol > 1 || r.late && bob > r.heard { // a reject, and the answer to carol
		wrong("bob has %d answers, carol %d", bob, carol)
	}
	if last := r.moves[len(r.moves)-1]; last == "the end" && r.asked44 && carol != 1 {
		wrong("carol has no answer")
	}
}

// rejectedAfterStart reports whether a reject is on record later than a start.
func (r *race) rejectedAfterStart() bool {
	started := false
	for _, n := range r.notes {
		started = started || n.Event == record.Started && n.Proposal == "p1"
		if started && n.Event == record.Rejected && n.Via == "proposal" {
			return true
		}
	}
	return false
}

func (r *race) move(name string) {
	r.t.Helper()
	r.moves = append(r.moves, name)
	if f := raceMoves[name]; f != nil {
		f(r)
	}
	r.check()
}

// settle lets all that is under way come to its end: alice refuses what she is
// still asked, the disk and the server answer.
func (r *race) settle() {
	r.t.Helper()
	r.synced = true
	for _, name := range []string{"the disk is slow", "the server answers"} {
		r.move(name)
	}
	for {
		q, more := r.maybeQuestion()
		if !more {
			break
		}
		r.answers("alice", q, true, `{"action":"decline"}`)
	}
	r.pass(2 * time.Hour)
	r.move("the end")
}

func TestRacesOfAProposalHaveOneOutcome(t *testing.T) {
	for name, moves := range map[string][]string{
		"withdrawn while agreed to":      {"alice agrees", "the disk is slow", "bob withdraws", "the server answers"},
		"withdrawn while refused":        {"alice refuses", "bob withdraws", "bob leaves"},
		"expired while agreed to":        {"alice agrees", "the disk is slow", "its time is over", "the server answers", "bob withdraws"},
		"taken by others":                {"alice agrees", "the disk is slow", "carol requests it here", "bob withdraws", "the server answers"},
		"taken by others, who are asked": {"alice agrees", "the disk is slow", "carol requests it here", "bob withdraws", "the server answers"},
		"taken elsewhere":                {"alice agrees", "the disk is slow", "carol requests it elsewhere", "elsewhere it is answered", "bob withdraws", "the server answers"},
		"everything at once":             {"alice agrees", "the disk is slow", "carol requests it here", "carol requests it elsewhere", "elsewhere it is answered", "bob withdraws"},
		"refused, then taken":            {"alice refuses", "carol requests it here", "bob withdraws", "the server answers"},
	} {
		for _, protocol := range []string{"mcpx/v0.1", "mew/v0.4"} {
			t.Run(name+"/"+strings.ReplaceAll(protocol, "/", "_"), func(t *testing.T) {
				d, _ := wire.Lookup(protocol)
				permutations(moves, func(order []string) {
					r := newRace(t, d, slices.Contains(moves, "its time is over"))
					for _, m := range order {
						r.move(m)
					}
					r.settle()
				})
			})
		}
	}
}

// permutations calls f with each order of all.
func permutations(all []string, f func([]string)) {
	var place func(k int)
	order := slices.Clone(all)
	place = func(k int) {
		if k == len(order) {
			f(order)
			return
		}
		for i := k; i < len(order); i++ {
			order[k], order[i] = order[i], order[k]
			place(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	place(0)
}
