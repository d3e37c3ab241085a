package replay

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// A flood of 66 000 pings by somebody else, and the same frame ran again
// (FINDINGS M2).
func TestNobodyMakesUsForgetWhatAnotherSent(t *testing.T) {
	c := New([32]byte{}, 100)
	c.Take(start, "alice", "e1", []byte("pay"))
	full := 0
	for i := range 66_000 {
		if c.Take(start.Add(time.Duration(i)*time.Millisecond), "mallory", fmt.Sprint(i), []byte("ping")) == Full {
			full++
		}
	}
	if full != 66_000-100 {
		t.Errorf("%d were told that the share is full", full)
	}
	if got := c.Take(start.Add(Keep-time.Second), "alice", "e1", []byte("pay")); got != Repeated {
		t.Errorf("alice's frame is %v", got)
	}
	if got := c.Take(start.Add(Keep-time.Second), "alice", "e2", nil); got != Fresh {
		t.Errorf("alice's next frame is %v", got)
	}
}

// Nor does one's own flood: what was taken stays known, and what cannot be
// remembered is not taken.
func TestAFullShareForgetsNothing(t *testing.T) {
	c := New([32]byte{}, 3)
	for i := range 3 {
		c.Take(start, "alice", fmt.Sprint(i), nil)
	}
	if got := c.Take(start, "alice", "new", nil); got != Full {
		t.Errorf("one too many is %v", got)
	}
	for i := range 3 {
		if got := c.Take(start, "alice", fmt.Sprint(i), nil); got != Repeated {
			t.Errorf("%d is %v", i, got)
		}
	}
	if got := c.Take(start.Add(Keep+span), "alice", "new", nil); got != Fresh {
		t.Errorf("when the others have had their time, it is %v", got)
	}
}

// Against a list of everything that ever came: nothing that was taken is fresh
// again within Keep, and nothing is known beyond Keep and a span.
func TestEverythingIsKnownForAsLongAsIsSaid(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		c, now, taken := New([32]byte{1}, 0), start, map[string]time.Time{}
		for range r.IntN(5) {
			env, age := fmt.Sprint(r.IntN(40)), time.Duration(r.Int64N(int64(20*time.Minute)))
			c.Inherit(Request{From: "a", Env: env, At: start.Add(-age)})
			if at := start.Add(-age); at.After(taken[env]) {
				taken[env] = at
			}
		}
		for range 400 {
			now = now.Add(time.Duration(r.Int64N(int64(2 * time.Minute))))
			env := fmt.Sprint(r.IntN(40))
			at, known := taken[env]
			if r.IntN(4) == 0 && known && now.Sub(at) < Keep {
				c.Renew(now, "a", env)
				taken[env] = now
				continue
			}
			switch got := c.Take(now, "a", env, nil); {
			case got == Fresh && known && now.Sub(at) < Keep:
				t.Fatalf("seed %d: %s is fresh after %v", seed, env, now.Sub(at))
			case got != Fresh && (!known || now.Sub(at) >= Keep+span):
				t.Fatalf("seed %d: %s is %v after %v", seed, env, got, now.Sub(at))
			case got == Fresh:
				taken[env] = now
			}
		}
	}
}

// A proposal and its call are two on record, and the clock may have been set back between
// them (seed 40049886).
func TestARequestThatIsInheritedTwiceTakesOnePlace(t *testing.T) {
	c := New([32]byte{}, 2)
	c.Inherit(Request{From: "bob", Env: "p", At: start, Body: c.Digest([]byte("x")).String()})
	c.Inherit(Request{From: "bob", Env: "p", At: start.Add(-span - time.Minute)})
	if got := c.Take(start, "bob", "q", nil); got != Fresh {
		t.Errorf("a second request of two is %v", got)
	}
	if got := c.Take(start.Add(Keep-1), "bob", "p", []byte("y")); got != Altered {
		t.Errorf("with another body it is %v", got)
	}
}

func TestABodyThatIsAnotherIsToldApart(t *testing.T) {
	c := New([32]byte{}, 0)
	c.Inherit(Request{From: "bob", Env: "old", At: start})
	c.Inherit(Request{From: "bob", Env: "kept", At: start, Body: c.Digest([]byte("x")).String()})
	c.Take(start, "bob", "e", []byte("x"))
	for _, one := range []struct {
		env, body string
		want      Verdict
	}{{"e", "x", Repeated}, {"e", "y", Altered}, {"old", "y", Repeated}, {"kept", "x", Repeated}, {"kept", "y", Altered}} {
		if got := c.Take(start, "bob", one.env, []byte(one.body)); got != one.want {
			t.Errorf("%s with %s is %v", one.env, one.body, got)
		}
	}
	if got := c.Take(start, "eve", "e", []byte("x")); got != Fresh {
		t.Errorf("somebody else's of the same id is %v", got)
	}
}

func TestADigestOnRecordIsNobodyElses(t *testing.T) {
	if New([32]byte{1}, 0).Digest([]byte("hush")) == New([32]byte{2}, 0).Digest([]byte("hush")) {
		t.Error("whoever guesses the body can find out without the key")
	}
}

// What a participant sent is let go when its time is over, and so is the
// participant.
func TestWhoHasLongBeenSilentTakesNoRoom(t *testing.T) {
	c := New([32]byte{}, 0)
	for i := range 1000 {
		c.Take(start, fmt.Sprint("p", i), "e", nil)
	}
	c.Take(start.Add(Keep+span), "late", "e", nil)
	if len(c.senders) != 1 {
		t.Errorf("%d participants are remembered", len(c.senders))
	}
}

// One that takes long counted twice in its sender's share, in the generation in which
// it came and in that in which it was renewed, so that others found it full too soon.
func TestARequestThatTookLongFillsOnePlace(t *testing.T) {
	c := New([32]byte{}, 2)
	c.Take(start, "alice", "e1", []byte("pay"))
	c.Renew(start.Add(span), "alice", "e1")
	if got := c.Take(start.Add(span), "alice", "e2", nil); got != Fresh {
		t.Errorf("the second of two is %v", got)
	}
	if got := c.Take(start.Add(span+Keep-time.Second), "alice", "e1", []byte("pay")); got != Repeated {
		t.Errorf("the first is %v", got)
	}
	if got := c.Take(start.Add(span+Keep-time.Second), "alice", "e1", []byte("pay more")); got != Altered {
		t.Errorf("with another body it is %v", got)
	}
}

// Where all have one share, it is full for everybody, whatever name is written; nothing that
// was taken is fresh again for it, be it that it was taken by an earlier run, in a share of
// one's own before, or in the common one.
func TestOneShareForAllForgetsNothingEither(t *testing.T) {
	c := New([32]byte{}, 10)
	c.Inherit(Request{From: "earlier", Env: "e", At: start.Add(-time.Minute)})
	c.Take(start, "own", "e", nil)
	c.Together(true)
	fresh := 0
	for i := range 100 {
		if c.Take(start, fmt.Sprint("name", i), "e", nil) == Fresh {
			fresh++
		}
	}
	if fresh != 10 {
		t.Errorf("%d names were taken", fresh)
	}
	c.Renew(start.Add(Keep/2), "name0", "e")
	for _, one := range []bool{true, false} {
		c.Together(one)
		for _, name := range []string{"earlier", "own", "name0", "name9"} {
			if got := c.Take(start, name, "e", nil); got != Repeated {
				t.Errorf("together %v: %s's request is %v", one, name, got)
			}
			if !c.Knows(start, name, "e") {
				t.Errorf("together %v: %s's request is not known", one, name)
			}
		}
	}
	if got := c.Take(start, "name0", "new", nil); got != Fresh {
		t.Errorf("with shares of their own again, one more of name0 is %v", got)
	}
	if got := c.Take(start.Add(Keep+span), "name0", "e", nil); got != Repeated {
		t.Errorf("what was renewed is %v", got)
	}
	if got := c.Take(start.Add(Keep+span), "name9", "e", nil); got != Fresh {
		t.Errorf("what has had its time is %v", got)
	}
}
