package sim

import (
	"fmt"
	"strings"
	"time"
)

// Options are all that a seed decides beforehand.
type Options struct {
	Seed     uint64
	Calm     bool // no faults, and nothing that depends on when something else happens
	Protocol string
	Trusted  bool // what is said in others' names counts, where the gateway does not see to it
	Local    bool // somebody is at this machine
	Policies []int
	Span     time.Duration // of the first phase
	Calls    int           // about how many are made
	MaxCalls int
	Notes    bool // and nearly all are one of two
	Noise    bool // of a calm world: mallory is there too
	Offers   bool // proposals are made too
	Share    int  // of each participant in what is known again; 0: large
	Modern   bool // the server is one of 2026-07-28
	Plans    bool // callers plan
	Passkeys bool // a yes takes one, where one person is enough
	Faults   [faults]bool
}

// Draw is what a seed decides.
func Draw(seed uint64) Options {
	d := newDice(seed, "options")
	o := Options{Seed: seed, Calm: d.chance(.08), Protocol: pick(d, "mcpx/v0.1", "mcpx/v0.1", "mcpx/v0.1", "mcp-x/v0", "mew/v0.4"),
		Trusted: d.chance(.7), Local: d.chance(.6), Span: d.between(time.Minute, 4*time.Minute), Calls: 8 + d.IntN(20),
		MaxCalls: pick(d, 2, 4, 64, 64)}
	for range 4 {
		o.Policies = append(o.Policies, d.IntN(policies))
	}
	o.Notes = d.chance(.2)
	few := d.chance(.3)
	for f := range powerCut {
		o.Faults[f] = d.chance(.3) && (!few || d.chance(.3))
	}
	o.Offers = !o.Calm && d.chance(.4)
	o.Faults[powerCut] = newDice(seed, "power").chance(.2) // dice of its own: the other faults stay where they are
	o.Faults[neverUp] = newDice(seed, "never up").chance(.2)
	o.Faults[halts] = newDice(seed, "halt").chance(.15)
	for f := doubled; f < faults; f++ {
		o.Faults[f] = o.Local && newDice(seed, f.String()).chance(.2)
	}
	o.Faults[onCard] = newDice(seed, onCard.String()).chance(.2)
	o.Faults[lure] = o.Offers && newDice(seed, "lure").chance(.5)
	if d := newDice(seed, "share"); d.chance(.12) {
		o.Share = 4 + d.IntN(8)
	}
	o.Faults[flood] = o.Share > 0 || newDice(seed, "flood").chance(.1)
	o.Modern = newDice(seed, "modern").chance(.2)
	o.Faults[revoke] = o.Faults[revoke] || o.Notes && d.chance(.5) // that is where a yes lasts
	if o.Offers && newDice(seed, "window").chance(.3) {
		// There the time of a claim is over late, and its proposal is taken back.
		o.Faults[lateTick], o.Faults[withdraw] = true, true
	}
	if o.Calm {
		o.Faults, o.MaxCalls, o.Trusted, o.Notes, o.Protocol = [faults]bool{}, 64, true, false, pick(d, "mcpx/v0.1", "mew/v0.4")
		o.Share, o.Modern = 0, false
	}
	o.planWorlds()
	often := .25
	if o.Plans {
		often = .5
	}
	o.Passkeys = !o.Calm && o.Local && newDice(seed, "passkeys").chance(often)
	o.Faults[reload] = o.Faults[reload] || o.tightens() && newDice(seed, "tightens").chance(.5)
	return o
}

// tightens: the first policy takes no passkeys, and the second is the same with them, so that
// questions come to take one.
func (o Options) tightens() bool { return o.Passkeys && len(o.Policies) > 1 && o.Seed%2 == 1 }

// planWorlds draws whether callers of a world plan: then nearly all that they call is a note,
// so that what they plan is what they call.
func (o *Options) planWorlds() {
	d := newDice(o.Seed, "plans")
	o.Plans = !o.Calm && !o.unverified() && d.chance(.15)
	if o.Plans {
		o.Notes = true
		o.Faults[changeTools] = true                        // a plan ends with its tool,
		o.Faults[reload] = o.Faults[reload] || d.chance(.5) // with a stricter policy,
		o.Faults[revoke] = o.Faults[revoke] || d.chance(.5) // and when it is taken back
	}
}

// unverified: nobody makes sure who speaks, and what is said in others' names counts for
// nothing.
func (o Options) unverified() bool { return o.Protocol == "mew/v0.4" && !o.Trusted }

// String is everything there is to know about a world.
func (o Options) String() string {
	var on []string
	for f := range faults {
		if o.Faults[f] {
			on = append(on, f.String())
		}
	}
	return fmt.Sprintf("seed=%d calm=%t protocol=%s trusted=%t local=%t policies=%v span=%v calls=%d max_calls=%d notes=%t noise=%t offers=%t share=%d modern=%t plans=%t passkeys=%t faults=%s",
		o.Seed, o.Calm, o.Protocol, o.Trusted, o.Local, o.Policies, o.Span, o.Calls, o.MaxCalls, o.Notes, o.Noise, o.Offers, o.Share, o.Modern, o.Plans, o.Passkeys, strings.Join(on, ","))
}
