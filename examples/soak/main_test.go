//go:build linux

package main

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const played = "MCPX_SOAK_PLAYED"

func TestMain(m *testing.M) {
	if os.Getenv(played) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestSoak is a soak of half a minute, with faults in quick succession.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	cmd := exec.Command(os.Args[0], "-minutes", "0.1", "-every", "1s", "-seed", "5")
	cmd.Env = append(os.Environ(), played+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\n0 violations, seed 5\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"bridge killed", "gateway restarted", "link cut", "rules broken", "whole and closed: true", "goroutines"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the report has no %q:\n%s", want, out)
		}
	}
}

// A plan by which nothing would be broken, or nobody would call, is no plan.
func TestPlans(t *testing.T) {
	good := plan{takes: time.Minute, every: time.Second, rate: 1, only: "link cut"}
	if err := good.sound(); err != nil {
		t.Error(err)
	}
	for what, spoil := range map[string]func(*plan){
		"no time": func(p *plan) { p.takes = 0 }, "no pause": func(p *plan) { p.every = 0 },
		"no calls": func(p *plan) { p.rate = 0 }, "no such fault": func(p *plan) { p.only = "link cuts" },
	} {
		p := good
		spoil(&p)
		if err := p.sound(); err == nil {
			t.Errorf("%s: that is no error", what)
		}
	}
}

// What a call may have heard, how often it may have run, and what of that is
// a violation.
func TestJudge(t *testing.T) {
	now := time.Now()
	at := func(s float64) time.Time { return now.Add(time.Duration(s * float64(time.Second))) }
	w := &world{book: newBook()}
	w.book.troubles = []trouble{
		{kind: "link cut", loses: true, from: at(10), to: at(11)},
		{kind: "server killed", from: at(30), to: at(31)},
	}
	run, never, asked := &fates[0], &fates[1], &fates[3]
	for _, c := range []struct {
		what string
		call call
		ran  int
		bad  bool
	}{
		{"served", call{fate: run, sent: at(1), ended: at(1.1), answers: 1, results: 1}, 1, false},
		{"served twice", call{fate: run, sent: at(1), ended: at(1.1), answers: 2, results: 2}, 1, true},
		{"served without running", call{fate: run, sent: at(1), ended: at(1.1), answers: 1, results: 1}, 0, true},
		{"refused by the rules", call{fate: never, sent: at(1), ended: at(1.1), answers: 1, reasons: []string{"policy_denied"}, executed: []string{"no"}}, 0, false},
		{"refused and not on record", call{fate: never, sent: at(1), ended: at(1.1), answers: 1, reasons: []string{"policy_denied"}, executed: []string{"no"}}, 0, true},
		{"refused and run", call{fate: never, sent: at(1), ended: at(1.1), answers: 1, reasons: []string{"policy_denied"}, executed: []string{"no"}}, 1, true},
		{"served against the rules", call{fate: never, sent: at(1), ended: at(1.1), answers: 1, results: 1}, 1, true},
		{"refused with nothing broken", call{fate: run, sent: at(1), ended: at(1.1), answers: 1, reasons: []string{"server_unavailable"}, executed: []string{"no"}}, 0, true},
		{"refused with the server away", call{fate: run, sent: at(30.1), ended: at(30.2), answers: 1, reasons: []string{"server_unavailable"}, executed: []string{"no"}}, 0, false},
		{"unknown, and it ran", call{fate: run, sent: at(29.9), ended: at(30.2), answers: 1, reasons: []string{"outcome_unknown"}, executed: []string{"unknown"}}, 1, false},
		{"said to have run", call{fate: run, sent: at(29.9), ended: at(30.2), answers: 1, reasons: []string{"call_timeout"}, executed: []string{"yes"}}, 0, true},
		{"lost on the link", call{fate: run, sent: at(9.9), ended: at(30)}, 1, false},
		{"lost with nothing broken", call{fate: run, sent: at(1), ended: at(21)}, 0, true},
		{"lost by a server that died", call{fate: run, sent: at(29.9), ended: at(50)}, 0, true},
		{"nobody could be asked", call{fate: asked, sent: at(1), ended: at(2), answers: 1, reasons: []string{"no_approver"}, executed: []string{"no"}}, 0, false},
		{"sent twice, answered twice", call{fate: run, sent: at(9.9), ended: at(30), again: true, answers: 2, results: 1, reasons: []string{"busy"}, executed: []string{"unknown"}}, 1, false},
	} {
		a := &account{ran: map[string]int{"k": c.ran}, denied: map[string]bool{"k": c.what != "refused and not on record"}, outcomes: map[string]int{}, lost: map[string]int{}}
		c.call.key = "k"
		if why := w.judge(a, &c.call); (why != "") != c.bad {
			t.Errorf("%s: %q", c.what, why)
		}
	}
}

func TestSlope(t *testing.T) {
	if got := slope([]float64{0, 1, 2, 3}, []float64{5, 7, 9, 11}); got != 2 {
		t.Errorf("slope %v, want 2", got)
	}
}

func TestWhatGarbageCollectionLeftIsRead(t *testing.T) {
	const said = "gc 1 @0.01s 1%: 0.1+0.2+0.3 ms clock, 0.2+0.1/0.1/0+0.2 ms cpu, 4->5->3 MB, 6 MB goal, 0 MB stacks, 0 MB globals, 2 P\nmcpx-bridge: hello\n" +
		"gc 2 @0.02s 1%: 0.1+0.2+0.3 ms clock, 0.2+0.1/0.1/0+0.2 ms cpu, 6->7->5 MB, 10 MB goal, 0 MB stacks, 0 MB globals, 2 P\n"
	if got := aliveIn(said); got != 5<<20 {
		t.Errorf("%d bytes", got)
	}
}

func TestEachFaultHasItsTurnAndItsRest(t *testing.T) {
	now := time.Now()
	r := round{kinds: []fault{{kind: "a"}, {kind: "b", rest: time.Minute}, {kind: "c"}}, dice: rand.New(rand.NewPCG(1, 1)), last: map[string]time.Time{}}
	times := map[string]int{}
	for n := range 24 {
		f, ok := r.next(now.Add(time.Duration(n) * 5 * time.Second))
		if !ok {
			t.Fatal("nobody's turn")
		}
		times[f.kind]++
		if n == 2 && (!r.once() || len(times) != 3) {
			t.Errorf("after three turns: %v", times)
		}
	}
	if times["b"] != 2 || times["a"]+times["c"] != 22 {
		t.Errorf("%v", times)
	}
	lone := round{kinds: []fault{{kind: "b", rest: time.Minute}}, dice: r.dice, last: map[string]time.Time{}}
	_, first := lone.next(now)
	if _, second := lone.next(now.Add(time.Second)); !first || second {
		t.Errorf("alone: %v, then %v", first, second)
	}
	none := round{}
	if _, ok := none.next(now); ok || !none.once() {
		t.Error("no kinds, and a fault")
	}
}
