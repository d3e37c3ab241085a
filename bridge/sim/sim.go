package sim

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"
)

// A Result is what one seed came to.
type Result struct {
	Options    Options
	Hash       uint64 // of the trace
	Violations string // one a line; "" if no promise was broken
}

// Run runs the world of a seed, and adds what happened in it to t. The trace
// goes to to, unless that is nil. Runs share nothing but what they are given, so
// several may go on at one time.
func Run(seed uint64, t *Tally, to io.Writer) (r Result) {
	o := Draw(seed)
	var plain map[string]outcome
	r = one(o, owned(o), t, to, func(c *checker) { plain = c.outcomes(ours...) })
	if r.Violations != "" || !o.Calm {
		return r
	}
	r.Violations = compare(o, plain, t)
	return r
}

// ours are those whose calls are compared.
var ours = []string{"agent-a", "agent-b"}

// owned is the policies as the seed has drawn them.
func owned(o Options) (books []*rulebook) {
	for i, n := range o.Policies {
		if i == 1 && o.tightens() {
			n = o.Policies[0]
		}
		b := rulebookOf(n)
		if o.Plans {
			b = b.wider()
		}
		if o.Passkeys {
			b = o.withPasskeys(b, i == 0 && o.tightens())
		}
		books = append(books, b)
	}
	return books
}

// withPasskeys is a policy of a world in which there are some; spared: it takes none yet.
func (o Options) withPasskeys(b *rulebook, spared bool) *rulebook {
	if o.Plans {
		b = b.near()
	}
	switch {
	case spared:
		return b
	case o.Plans && o.Seed%4 < 2:
		return b.sealing()
	}
	return b.confirming()
}

// one lets one world be. see gets its checker at the end.
func one(o Options, books []*rulebook, t *Tally, to io.Writer, see func(*checker)) (r Result) {
	r.Options = o
	w := newPlay(o, t)
	w.owner.books, w.trace.to = books, to
	defer func() {
		if cause := recover(); cause != nil {
			r.Violations = fmt.Sprintf("%v: panic: %v\n%s", w.now, cause, debug.Stack())
		}
	}()
	w.run()
	t.Worlds++
	t.Lives += uint64(w.started)
	t.Lived += w.now
	for _, c := range w.check.order {
		t.Calls++
		if c.line != nil && c.line.runs > 0 {
			t.Runs++
		}
		if c.question != "" {
			t.Asked++
		}
	}
	see(w.check)
	return Result{o, w.trace.sum.Sum64(), join(w.check.violations)}
}

// compare lets a calm world, in which calls had an outcome, be twice more: under a
// stricter policy, and with somebody else's calls beside.
func compare(o Options, plain map[string]outcome, t *Tally) string {
	var strict, noisy map[string]outcome
	book := rulebookOf(o.Policies[0]).stricter(newDice(o.Seed, "stricter"))
	if r := one(o, []*rulebook{book}, t, nil, func(c *checker) { strict = c.outcomes(ours...) }); r.Violations != "" {
		return r.Violations + "\nunder a stricter policy"
	}
	o.Noise = true
	if r := one(o, owned(o), t, nil, func(c *checker) { noisy = c.outcomes(ours...) }); r.Violations != "" {
		return r.Violations + "\nwhen somebody else called too"
	}
	for id, was := range plain {
		if strict[id].ran && !was.ran {
			return fmt.Sprintf("I14: %s ran under a stricter policy, and not under this", id)
		}
		if noisy[id] != was {
			return fmt.Sprintf("I15: %s came to %+v, and to %+v when somebody else called too", id, was, noisy[id])
		}
	}
	return ""
}

func join(v []violation) string {
	var all []string
	for _, one := range v {
		all = append(all, one.String())
	}
	return strings.Join(all, "\n")
}
