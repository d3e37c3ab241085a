package approval

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A world is a stage on which anything happens, and a record of who said yes to
// what: an oracle for the one property that matters.
type world struct {
	*stage
	r     *rand.Rand
	shows []Show
	open  map[string]Question
	ends  map[string]int

	yes map[string]map[Who][]Digest // by question: what each said yes to, as shown
}

var everybody = []string{"alice", "bob", "carol", "dave", "mallory", "fs", "local", "host"}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{stage: newStage(t, Options{PerCaller: 50, PerMinute: 1000, CoolDown: time.Second}), r: rand.New(rand.NewPCG(seed, 1)),
		open: map[string]Question{}, ends: map[string]int{}, yes: map[string]map[Who][]Digest{}}
	w.recheck = func(_ *Question, args []byte) string {
		if w.r.IntN(20) == 0 {
			return PolicyDenied
		}
		return ""
	}
	return w
}

func (w *world) some(n int) (names []string) {
	for range w.r.IntN(n + 1) {
		names = append(names, everybody[w.r.IntN(len(everybody))])
	}
	return names
}

func (w *world) question() Question {
	q := deploy(w.some(5)...)
	q.Caller, q.Proposer = everybody[w.r.IntN(5)], []string{"", everybody[w.r.IntN(5)]}[w.r.IntN(2)]
	q.Args = fmt.Appendf(nil, `{"target":"production","n":%d}`, w.r.IntN(5))
	q.Terms.Need = w.r.IntN(4)
	q.Terms.Mode = []string{"parallel", "sequential"}[w.r.IntN(2)]
	q.Terms.Remember = []string{"once", "session"}
	if w.r.IntN(2) == 0 {
		q.Terms.Delegate = &policy.Delegate{To: w.some(6), Depth: w.r.IntN(4)}
	}
	return q
}

// results are what people say; the first ones are ways to say yes.
var (
	results = []string{approves, approves, agrees, agrees,
		`{"action":"accept","content":{"approve":true,"modifiedTarget":"staging"}}`, `{"action":"accept","content":{"action":"approve","modifiedTarget":"development"}}`,
		`{"action":"accept","content":{"approve":true,"remember":"session"}}`,
		declines, `{"action":"cancel"}`, `null`, passTo("carol"), passTo("dave"), passTo("local")}
	yeses = 7
)

func (w *world) event() {
	switch n := w.r.IntN(100); {
	case n < 25:
		q := w.question()
		id, acts := w.d.Open(w.now, q)
		w.open[id] = q
		w.saw(acts)
	case n < 80 && len(w.shows) > 0:
		w.someAnswer()
	case n < 84:
		w.now = w.now.Add(time.Duration(w.r.IntN(20)) * time.Second)
		w.saw(w.d.Tick(w.now))
	case n < 87:
		who := named(everybody[w.r.IntN(len(everybody))])
		w.d.SetHere(who, false)
		w.saw(w.d.Left(w.now, who))
	case n < 92:
		who := named(everybody[w.r.IntN(len(everybody))])
		w.d.SetHere(who, true)
		w.saw(w.d.Joined(w.now, who))
	case n < 94:
		w.saw(w.d.Reask(w.now))
	case n < 95 && len(w.shows) > 0:
		w.saw(w.d.Unreachable(w.now, w.shows[w.r.IntN(len(w.shows))].Ask))
	case n < 97 && len(w.shows) > 0:
		w.saw(w.d.Withdraw(w.now, w.shows[w.r.IntN(len(w.shows))].ID, "cancelled"))
	case n < 98:
		fewer := w.some(6)
		w.saw(w.judged(func(q *Question, _ []byte) policy.Decision {
			terms := q.Terms
			terms.Of = fewer
			return policy.Decision{Verdict: policy.Ask, Ask: &terms}
		}))
	}
}

// someAnswer has somebody, mostly the right one, answer one of the last shows.
func (w *world) someAnswer() {
	recent := w.shows[max(0, len(w.shows)-12):]
	show := recent[w.r.IntN(len(recent))]
	said := w.r.IntN(len(results))
	a := w.to(show, results[said])
	switch w.r.IntN(12) {
	case 0:
		a.Who = named(everybody[w.r.IntN(len(everybody))])
	case 1:
		a.Failed = true
	}
	if a.Who == show.To && !a.Failed && said < yeses {
		if w.yes[show.ID] == nil {
			w.yes[show.ID] = map[Who][]Digest{}
		}
		w.yes[show.ID][a.Who] = append(w.yes[show.ID][a.Who], show.Digest)
	}
	w.saw(w.d.Answer(w.now, a))
}

// saw checks what an event brought about.
func (w *world) saw(acts []Act) {
	acts = w.verified(acts)
	for _, a := range acts {
		switch a := a.(type) {
		case Show:
			w.shows = append(w.shows, a)
		case Settled:
			if w.ends[a.ID]++; w.ends[a.ID] > 1 {
				w.t.Fatalf("%s is settled again: %+v", a.ID, a)
			}
			if a.Outcome == Allowed {
				w.allowed(a)
			}
		}
	}
	w.acts = append(w.acts, acts...)
}

// allowed: I7, and never without enough people who said yes to these bytes.
func (w *world) allowed(a Settled) {
	q := w.open[a.ID]
	people := slices.Clone(a.By)
	slices.SortFunc(people, cmpWho)
	editors, eligible := 0, 0
	for _, who := range slices.Compact(people) {
		listed := slices.Contains(q.Terms.Of, who.String()) || q.Terms.Delegate != nil && slices.Contains(q.Terms.Delegate.To, who.String())
		own := who.Door == Topic && (who.ID == q.Caller || who.ID == q.Proposer || who.ID == q.Bridge)
		if listed && !own {
			eligible++
		} else if a.Used == nil {
			w.t.Fatalf("%s decided on %+v", who, q)
		}
		if a.Used != nil {
			continue
		}
		digests := w.yes[a.ID][who]
		if !slices.Contains(digests, a.Ran) {
			editors++
		}
		if len(digests) == 0 || editors > min(len(a.Modified), 1) {
			w.t.Fatalf("%s said yes to %v, ran %s", who, digests, a.Ran)
		}
	}
	if eligible < max(q.Terms.Need, 1) {
		w.t.Fatalf("allowed by %v, need %d", a.By, q.Terms.Need)
	}
}

func cmpWho(a, b Who) int {
	if d := int(a.Door) - int(b.Door); d != 0 {
		return d
	}
	return slices.Compare([]string{a.ID}, []string{b.ID})
}

// Whatever happens in whatever order: never allowed without enough distinct
// eligible people who agreed to what runs, one end for every question, and
// nothing left over.
func TestAI12AnythingGoes(t *testing.T) {
	allowed := 0
	for seed := range uint64(400) {
		w := newWorld(t, seed)
		for range 120 {
			w.event()
		}
		w.now = w.now.Add(25 * time.Hour)
		w.saw(w.d.Tick(w.now))
		for id := range w.open {
			if w.ends[id] != 1 {
				t.Fatalf("seed %d: %s has %d ends", seed, id, w.ends[id])
			}
		}
		nothingLeft(t, w.d)
		for _, a := range w.acts {
			if e, ok := a.(Settled); ok && e.Outcome == Allowed {
				allowed++
			}
		}
	}
	if allowed < 500 {
		t.Errorf("only %d were allowed: this shows little", allowed)
	}
}

// The same events give the same acts.
func TestDeskIsPure(t *testing.T) {
	run := func(seed uint64) []Act {
		w := newWorld(t, seed)
		for range 200 {
			w.event()
		}
		return w.acts
	}
	for seed := range uint64(30) {
		if !reflect.DeepEqual(run(seed), run(seed)) {
			t.Fatalf("seed %d: two runs differ", seed)
		}
	}
}

// In every order of what may end a question, whatever comes first ends it.
func TestAI05PermutedOrders(t *testing.T) {
	type ending struct {
		name string
		do   func(s *stage, id string, alice, carol Show)
		how  Outcome
	}
	endings := []ending{
		{"yes", func(s *stage, _ string, alice, _ Show) { s.answer(s.to(alice, approves)) }, Allowed},
		{"no", func(s *stage, _ string, _, carol Show) { s.answer(s.to(carol, declines)) }, Denied},
		{"time", func(s *stage, _ string, _, _ Show) { s.pass(time.Minute) }, Expired},
		{"withdrawn", func(s *stage, id string, _, _ Show) { s.did(s.d.Withdraw(s.now, id, "")) }, Withdrawn},
		{"policy", func(s *stage, _ string, _, _ Show) { s.did(s.judged(verdict(policy.Deny))) }, Aborted},
		{"shutdown", func(s *stage, _ string, _, _ Show) { s.did(s.d.AbortAll(s.now, ShuttingDown)) }, Aborted},
	}
	var permute func(done, rest []ending)
	permute = func(done, rest []ending) {
		if len(rest) > 0 {
			for i := range rest {
				permute(append(slices.Clip(done), rest[i]), slices.Delete(slices.Clone(rest), i, i+1))
			}
			return
		}
		s := newStage(t, Options{})
		id := s.open(writeFile("alice", "carol"))
		alice, carol := s.shown("alice"), s.shown("carol")
		for _, e := range done {
			e.do(s, id, alice, carol)
		}
		if got := s.end().Outcome; got != done[0].how || count[Settled](s.acts) != 1 {
			t.Fatalf("%s first: %s", done[0].name, s.story())
		}
	}
	permute(nil, endings)
}
