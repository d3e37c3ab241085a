package policy

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// What the tests do to a value that is not there (DESIGN 6).
func never(side) bool             { return false }
func whereItTightens(s side) bool { return bool(s) }

func isTest(literals []literal) test {
	return test{of: func(v *value, _ side) (Match, error) { return oneOf(literals, v) }, absent: never}
}

func notTest(literals []literal) test {
	return test{absent: whereItTightens, of: func(v *value, _ side) (Match, error) {
		m, err := oneOf(literals, v)
		return not(m), err
	}}
}

func not(m Match) Match {
	return [...]Match{No: Yes, Yes: No, Unclear: Unclear}[m]
}

// textTest is a test of strings, which holds when it does for one of n
// patterns.
func textTest(n int, one func(i int, text string, s side) (Match, error)) test {
	return test{absent: never, of: func(v *value, s side) (Match, error) {
		if v.kind != isString {
			return Unclear, wrongKind(v)
		}
		best, problem := No, error(nil)
		for i := range n {
			switch m, err := one(i, v.text, s); m {
			case Yes:
				return Yes, nil
			case Unclear:
				best, problem = Unclear, err
			}
		}
		return best, problem
	}}
}

var errNoPort = errors.New("its port is not known")

func underTest(directories []directory) test {
	return textTest(len(directories), func(i int, text string, _ side) (Match, error) {
		return directories[i].holds(text)
	})
}

func globTest(globs []glob) test {
	return textTest(len(globs), func(i int, text string, _ side) (Match, error) {
		return globs[i].holds(text)
	})
}

// expressions are one regular expression compiled for both sides. It is matched
// against the whole value. A dot stands for a line break only where it
// tightens, so that no break hides what a deny is after, nor smuggles a second
// line past an allow.
type expressions map[side]*regexp.Regexp

func newExpressions(pattern string) (expressions, error) {
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, err
	}
	loose, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		return nil, errOpenQuote // all else that would swallow what is put behind it is an error by itself
	}
	return expressions{
		loosens:  loose,
		tightens: regexp.MustCompile(`(?s)\A(?:` + pattern + `)\z`),
	}, nil
}

var errOpenQuote = errors.New(`what follows \Q has no end: write \E behind it`)

func regexTest(patterns []expressions) test {
	return textTest(len(patterns), func(i int, text string, s side) (Match, error) {
		return matchIf(patterns[i][s].MatchString(text)), nil
	})
}

func hostTest(patterns []hostPattern) test {
	return textTest(len(patterns), func(i int, text string, _ side) (Match, error) {
		e, err := endpointOf(text)
		if err != nil {
			return Unclear, err
		}
		return patterns[i].holds(e), errNoPort
	})
}

// boundTest is max and min: the order of value and bound must not be the
// forbidden one.
func boundTest(bound literal, forbidden int) test {
	return test{absent: never, of: func(v *value, _ side) (Match, error) {
		order, err := compare(v, bound.number)
		if err != nil {
			return Unclear, err
		}
		return matchIf(order != forbidden), nil
	}}
}

func maxlenTest(longest int) test {
	return test{absent: never, of: func(v *value, _ side) (Match, error) {
		n, err := size(v)
		if err != nil {
			return Unclear, err
		}
		return matchIf(n <= longest), nil
	}}
}

func hasTest(literals []literal) test {
	return test{absent: never, of: func(v *value, _ side) (Match, error) { return holdsOne(literals, v) }}
}

func lacksTest(literals []literal) test {
	return test{absent: whereItTightens, of: func(v *value, _ side) (Match, error) {
		m, err := holdsOne(literals, v)
		return not(m), err
	}}
}

var (
	errNested = errors.New("it holds lists or objects, which are not looked into")
	errNoText = errors.New("only a string can stand in it")
)

// holdsOne looks for one of the literals in a list, an object's keys or a text.
func holdsOne(literals []literal, v *value) (Match, error) {
	if v.kind == isArray {
		return elementOf(literals, v)
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
		}
	}
	return result, problem
}

func elementOf(literals []literal, v *value) (Match, error) {
	result, problem := No, error(nil)
	for i := range v.items {
		element := &v.items[i]
		if element.kind == isArray || element.kind == isObject {
			result, problem = Unclear, errNested
			continue
		}
		switch m, err := oneOf(literals, element); {
		case m == Yes:
			return Yes, nil
		case errors.Is(err, errHugeNumber):
			result, problem = Unclear, err
		}
	}
	return result, problem
}

// typeTest knows every type, and absence.
func typeTest(types []string) test {
	return test{
		absent: func(side) bool { return slices.Contains(types, "absent") },
		of: func(v *value, _ side) (Match, error) {
			if slices.Contains(types, v.kind.String()) {
				return Yes, nil
			}
			if v.kind != isNumber || !slices.Contains(types, "integer") {
				return No, nil
			}
			r, err := decimal(v.text)
			if err != nil {
				return Unclear, err
			}
			return matchIf(r.IsInt()), nil
		},
	}
}
