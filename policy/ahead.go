package policy

import (
	"errors"
	"slices"

	shown "github.com/mcpx-protocol/mcpx-bridge/bridge/text" // text is a type here
)

// An Open is an argument that calls to come will have and that is not known yet.
type Open struct {
	At    string // a JSON pointer into the arguments, which have nothing there
	Under string // the folder in which it will be, see [Within]; "": it may be anything
}

var errAhead = errors.New("it is not known before the call")

// Foresee decides about calls to come as one: what a rule may deny of any of them is
// denied, and whoever any of them may be asked of is asked, by the strictest terms of all.
// That they are all allowed is an ask all the same, in the terms of the default. There must
// be at least one call. Each is still to be decided about when it is made: what is left of a
// limit by then is not foreseen.
func (p *Policy) Foresee(calls []Call, used Usage) Decision {
	var all Decision
	var asks []*Terms
	for _, c := range calls {
		c.Ahead = true
		all = p.Decide(c, used)
		switch {
		case all.Verdict == Deny:
			return all
		case all.Ask != nil:
			asks = append(asks, all.Ask)
		}
	}
	if asks == nil {
		asks = []*Terms{p.defaultTerms().without(calls[0].From)}
	}
	all.Verdict, all.Ask, all.Limits, all.Say = Ask, mergeTerms(asks), nil, ""
	return all
}

// Why is what decided, in words that show no hidden value; "" where no rule did.
func (d Decision) Why() string {
	i := slices.IndexFunc(d.Reasons, func(r Reason) bool { return r.Applies && r.Effect == d.Verdict })
	if i < 0 {
		return ""
	}
	return d.Reasons[i].Why
}

// putOpen gives the arguments a place for each of those that are not known.
func (j *judgement) putOpen(args *value) error {
	for _, o := range j.Open {
		steps, err := pointer(o.At)
		if err != nil || !args.put(steps, o) {
			return errAddress
		}
	}
	j.unknown = map[*value]Open{}
	for _, o := range j.Open { // only now does each stay where it is
		steps, _ := pointer(o.At)
		at := args
		for _, step := range steps {
			at = at.member(step)
		}
		j.unknown[at] = o
	}
	return nil
}

// put makes room for what is not known, and reports whether there is any.
func (v *value) put(steps []string, o Open) bool {
	member := v.member(steps[0])
	switch {
	case v.kind != isObject, len(steps) == 1 && member != nil:
		return false
	case member == nil:
		v.keys, v.items = append(slices.Clip(v.keys), steps[0]), append(slices.Clip(v.items), value{kind: isObject})
		member = &v.items[len(v.items)-1]
	}
	if len(steps) > 1 {
		return member.put(steps[1:], o)
	}
	member.kind = isNull
	if o.Under != "" {
		member.kind, member.text = isString, o.Under
	}
	return true
}

// open reports whether a value is not known, and what is known of it.
func (j *judgement) open(v *value) (Open, bool) {
	if j.unknown == nil {
		return Open{}, false
	}
	o, is := j.unknown[v]
	return o, is
}

// ahead is the test of a value that is not known. Of all in a folder only that can be told
// whether it is in another.
func (t test) ahead(j *judgement, v *value, o Open) (Match, error) {
	if o.Under == "" || t.under == nil {
		return Unclear, errAhead
	}
	result, problem := No, error(nil)
	for _, d := range t.under {
		m, err := d.holds(j, v, tightens)
		switch {
		case m == Yes:
			return Yes, nil
		case m == Unclear:
			result, problem = Unclear, err
		case newDirectory(o.Under).folded.holds(d.folded):
			result, problem = Unclear, errAhead
		}
	}
	return result, problem
}

// holds reports whether another place is this one or in it.
func (p place) holds(other place) bool {
	n := len(p.segments)
	return p.root == other.root && len(other.segments) >= n && slices.Equal(other.segments[:n], p.segments)
}

// Folder says why a path names no folder that something could be held to be in, "" if it
// does: it must be absolute, clean, and not all there is.
func Folder(path string) string {
	p := placeOf(path)
	switch {
	case len(path) > maxPath:
		return "it is too long"
	case p.root == "" || p.root == nowhere || p.root[0] == '~':
		return "it does not begin with / or a drive"
	case len(p.segments) == 0:
		return "it is all there is"
	case !Within(path, path):
		return "not every system takes it for the same path"
	case path != p.spelled():
		return "it is not clean: write " + shown.Quote(p.spelled(), maxQuoted)
	}
	return ""
}

// spelled is the one way in which a place is written.
func (p place) spelled() string {
	s := p.root
	for i, name := range p.segments {
		if i > 0 || p.root != "/" {
			s += "/"
		}
		s += name
	}
	return s
}

// Within reports whether a path is surely in a folder, or the folder itself, whichever
// system reads it: what .. or an escape leads out of it is not, nor is what is in it only
// where the case of letters does not matter. Where links lead is known to the server alone.
func Within(folder, path string) bool {
	if len(path) > maxPath {
		return false
	}
	j := &judgement{Call: &Call{}, left: maxWork}
	m, _ := newDirectory(folder).holds(j, &value{kind: isString, text: path}, loosens)
	return m == Yes
}
