package policy

import (
	"fmt"
	"slices"
	"strings"
)

// maxCompared bounds the work of comparing two policies, during which all calls wait: first
// for the rules that stand in for others, counted in patterns, approvers and other terms;
// then, counted in pairs of patterns, for whether people could have been asked before.
const maxCompared = 1 << 20

// reworded returns a sentence for each text of a rule in after that people or callers could
// take for one of the author of before. Approvers read the name of a rule that asks: a new
// name is reported if they could have been asked about such a call before. Callers, models
// among them, read what a rule says: that is reported if a rule of this name was there
// before. New words of a rule that only stops calls are not reported, nor the name of one
// that asks where nobody was asked before: otherwise no stricter file would count at once.
func reworded(before, after *Policy, told map[*rule]bool) (all []string) {
	was, is := before.byName(), after.byName()
	asked := map[bool][]*rule{} // by whether the rule that asks now has a name: those of which people may miss the name
	for _, o := range before.rules {
		if o.mayAsk() {
			asked[true] = append(asked[true], o)
			if o.named && is[o.name] == nil {
				asked[false] = append(asked[false], o)
			}
		}
	}
	left := budget(maxCompared)
	for _, r := range after.rules {
		o := was[r.name]
		switch {
		case told[r]:
		case o != nil && o.say != r.say:
			all = append(all, r.title()+r.otherWords(o))
		case r.mayAsk() && before.askedOtherwise(r, o, asked[r.named], &left):
			all = append(all, fmt.Sprintf("%s asks under a name that nobody has been asked under: %s %s%s", r.title(), r.effect, r.tools, r.words()))
		}
	}
	return all
}

// askedOtherwise reports whether p could have asked people, without the name of r, about
// calls that r asks about. o is the rule of p with that name, asked are the rules that may
// have asked.
func (p *Policy) askedOtherwise(r, o *rule, asked []*rule, left *budget) bool {
	tools := r.tools
	if o != nil && o.effect != Deny { // the name of a deny may be anybody's
		tools = beyond(tools, o.tools)
	}
	if len(tools) == 0 {
		return false
	}
	if r.named && p.Default == Ask {
		return true
	}
	return slices.ContainsFunc(asked, func(other *rule) bool { return mayMeet(tools, other.tools, left) })
}

func (p *Policy) byName() map[string]*rule {
	all := map[string]*rule{}
	for _, r := range p.rules {
		all[r.name] = r
	}
	return all
}

// words returns what a rule says to callers, to stand behind the rest of a sentence.
func (r *rule) words() string {
	if r.say == "" {
		return ""
	}
	return fmt.Sprintf(", and it says %q", r.say)
}

func (r *rule) otherWords(before *rule) string {
	switch {
	case r.say == "":
		return fmt.Sprintf(" says nothing any more, and said %q", before.say)
	case before.say == "":
		return fmt.Sprintf(" says other words: %q", r.say)
	}
	return fmt.Sprintf(" says other words: %q, and said %q", r.say, before.say)
}

// mayMeet reports whether one name may fit both. It compares only what stands before the
// first and behind the last * or ?, and returns true when left is spent.
func mayMeet(patterns, others globs, left *budget) bool {
	for _, a := range patterns {
		for _, b := range others {
			if !left.spend(1+len(a)*len(b)/4096) || alikeAtTheEnds(a, b) {
				return true
			}
		}
	}
	return false
}

func alikeAtTheEnds(a, b string) bool {
	const wild = "*?"
	i, j := strings.IndexAny(a, wild), strings.IndexAny(b, wild)
	switch {
	case i < 0:
		return match(b, a)
	case j < 0:
		return match(a, b)
	}
	head, other := a[:i], b[:j]
	if !strings.HasPrefix(head, other) && !strings.HasPrefix(other, head) {
		return false
	}
	tail, end := a[strings.LastIndexAny(a, wild)+1:], b[strings.LastIndexAny(b, wild)+1:]
	return strings.HasSuffix(tail, end) || strings.HasSuffix(end, tail)
}
