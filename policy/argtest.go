package policy

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// whereItTightens is what a test that looks for nothing of a kind does to a value that is
// not there (DESIGN 6).
func whereItTightens(s side) bool { return bool(s) }

// literalTest looks for one of the literals in a value, by find; not: it holds where there
// is none of them.
func literalTest(find func(*judgement, []literal, *value) (Match, error), not bool, literals []literal) test {
	t := test{of: func(j *judgement, v *value, _ side) (Match, error) {
		m, err := find(j, literals, v)
		if not {
			m = [...]Match{No: Yes, Yes: No, Unclear: Unclear}[m]
		}
		return m, err
	}}
	if not {
		t.absent = whereItTightens
	}
	return t
}

// A pattern is something that a text may fit.
type pattern interface {
	holds(j *judgement, v *value, s side) (Match, error)
}

// textTest is a test of strings of up to so many bytes, which holds when one of the
// patterns does.
func textTest[P pattern](longest int, patterns []P) test {
	under, _ := any(patterns).([]directory)
	return test{under: under, of: func(j *judgement, v *value, s side) (Match, error) {
		if v.kind != isString {
			return Unclear, wrongKind(v)
		}
		if len(v.text) > longest {
			return Unclear, errTooLong
		}
		best, problem := No, error(nil)
		for _, p := range patterns {
			switch m, err := p.holds(j, v, s); m {
			case Yes:
				return Yes, nil
			case Unclear:
				best, problem = Unclear, err
			}
		}
		return best, problem
	}}
}

// expressions are one regular expression compiled for both sides. It is matched
// against the whole value. A dot stands for a line break only where it
// tightens, so that no break hides what a deny is after, nor smuggles a second
// line past an allow.
type expressions struct {
	loose, tight *regexp.Regexp
	perByte      int // work for each byte of a text
}

func newExpressions(pattern string) (*expressions, error) {
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, err
	}
	loose, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		return nil, errOpenQuote // all else that would swallow what is put behind it is an error by itself
	}
	tight := regexp.MustCompile(`(?s)\A(?:` + pattern + `)\z`)
	return &expressions{loose, tight, MatchWork(tight.String())}, nil
}

var errOpenQuote = errors.New(`what follows \Q has no end: write \E behind it`)

func (e *expressions) holds(j *judgement, v *value, s side) (Match, error) {
	if !j.spend(e.perByte * len(v.text)) {
		return Unclear, errTooMuch
	}
	if s == tightens {
		return matchIf(e.tight.MatchString(v.text)), nil
	}
	return matchIf(e.loose.MatchString(v.text)), nil
}

// MatchWork is about how many nanoseconds a pattern takes at most for each byte of a
// text: as many of its places can be open at a time as there are instructions that
// read one. One that does not compile takes as long as anything could.
func MatchWork(pattern string) int {
	work := 20
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return maxText
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return maxText
	}
	for _, i := range program.Inst {
		switch i.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			work += 5
		}
	}
	return work
}

// boundTest is max and min: the order of value and bound must not be the
// forbidden one.
func boundTest(bound literal, forbidden int) test {
	return test{of: func(j *judgement, v *value, _ side) (Match, error) {
		order, err := compare(j, v, bound.number)
		if err != nil {
			return Unclear, err
		}
		return matchIf(order != forbidden), nil
	}}
}

func maxlenTest(longest int) test {
	return test{of: func(j *judgement, v *value, _ side) (Match, error) {
		over, err := longer(j, v, longest)
		if err != nil {
			return Unclear, err
		}
		return matchIf(!over), nil
	}}
}

var (
	errNested = errors.New("it holds lists or objects, which are not looked into")
	errNoText = errors.New("only a string can stand in it")
)

// holdsOne looks for one of the literals in a list, an object's keys or a text.
func holdsOne(j *judgement, literals []literal, v *value) (Match, error) {
	if !j.spend(len(literals) * (len(v.text) + len(v.keys))) {
		return Unclear, errTooMuch
	}
	if v.kind == isArray {
		return elementOf(j, literals, v)
	}
	inside := func(s string) bool { return strings.Contains(v.text, s) }
	switch {
	case v.kind == isObject:
		inside = func(s string) bool { return slices.Contains(v.keys, s) }
	case v.kind != isString:
		return Unclear, wrongKind(v)
	}
	result, problem := No, error(nil)
	for _, l := range literals {
		switch {
		case l.kind != isString:
			result, problem = Unclear, errNoText
		case inside(l.text):
			return Yes, nil
		case v.kind == isObject:
			if err := j.alike(v, l.text); err != nil {
				result, problem = Unclear, err
			}
		}
	}
	return result, problem
}

func elementOf(j *judgement, literals []literal, v *value) (Match, error) {
	result, problem := No, error(nil)
	for i := range v.items {
		if !j.spend(10) {
			return Unclear, errTooMuch
		}
		element := &v.items[i]
		if element.kind == isArray || element.kind == isObject {
			result, problem = Unclear, errNested
			continue
		}
		switch m, err := oneOf(j, literals, element); {
		case m == Yes:
			return Yes, nil
		case errors.Is(err, errTooMuch):
			return Unclear, err
		case errors.Is(err, errHugeNumber):
			result, problem = Unclear, err
		}
	}
	return result, problem
}

// typeTest knows every type, and absence.
func typeTest(types []string) test {
	return test{
		ofType: true,
		absent: func(side) bool { return slices.Contains(types, "absent") },
		of: func(j *judgement, v *value, _ side) (Match, error) {
			if slices.Contains(types, v.kind.String()) {
				return Yes, nil
			}
			if v.kind != isNumber || !slices.Contains(types, "integer") {
				return No, nil
			}
			r, err := j.decimal(v.text)
			if err != nil {
				return Unclear, err
			}
			return matchIf(r.IsInt()), nil
		},
	}
}
