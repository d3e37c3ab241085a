package policy

import (
	"encoding/json"
	"errors"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An address says where in the arguments a value stands: a name of the top
// level, or a JSON pointer in which * stands for every element or member.
type address struct {
	label string // "args.path", "args/target/*"
	steps []string
	wild  bool
}

var errAddress = errors.New("a JSON pointer is made of /step/step, with ~1 for / and ~0 for ~")

func newAddress(s string) (address, error) {
	if !strings.HasPrefix(s, "/") {
		return address{label: "args." + show(s), steps: []string{s}}, nil
	}
	steps, err := pointer(s)
	return address{label: "args" + s, steps: steps, wild: slices.Contains(steps, "*")}, err
}

var tilde = regexp.MustCompile(`~([^01]|$)`)

// pointer takes a JSON pointer apart (RFC 6901).
func pointer(s string) ([]string, error) {
	steps := strings.Split(s, "/")
	if tilde.MatchString(s) || steps[0] != "" || len(steps) < 2 || slices.Contains(steps[1:], "") {
		return nil, errAddress
	}
	for i, step := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
	}
	return steps[1:], nil
}

// A finding is a value and the way to it; no value where there is none.
type finding struct {
	*value
	way []string
}

var errNoWay = errors.New("its parent has no members")

// find gives what stands at the steps: one finding, or with * any number of
// them, and one without a value where * has nothing to stand for.
func find(v *value, steps, way []string) ([]finding, error) {
	switch {
	case len(steps) == 0 || v == nil:
		return []finding{{v, way}}, nil
	case v.kind != isObject && v.kind != isArray:
		return nil, errNoWay
	case steps[0] == "*" && len(v.items) > 0:
		return findAll(v, steps, way)
	case v.kind == isObject:
		return find(v.member(steps[0]), steps[1:], append(way, steps[0]))
	}
	i, err := strconv.ParseUint(steps[0], 10, 31)
	if err != nil && steps[0] != "*" {
		return nil, errNoWay
	}
	if err != nil || i >= uint64(len(v.items)) {
		return find(nil, nil, append(way, steps[0]))
	}
	return find(&v.items[i], steps[1:], append(way, steps[0]))
}

func findAll(v *value, steps, way []string) ([]finding, error) {
	var all []finding
	for i := range v.items {
		step := strconv.Itoa(i)
		if v.kind == isObject {
			step = v.keys[i]
		}
		found, err := find(&v.items[i], steps[1:], append(slices.Clip(way), step))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// An argument is an address and the tests that its value has to pass, all of
// them.
type argument struct {
	address
	tests []test
}

// A test is one of the named tests with what it compares to.
type test struct {
	words string // "under /srv/docs"

	// of reads a value that is there. An error says why it cannot.
	of func(v *value, s side) (Match, error)

	// On an absent value a test holds never, always, or only where it tightens
	// (DESIGN 6).
	absent func(side) bool
}

func (a argument) holds(j *judgement, s side) (Match, string) {
	args, err := j.arguments()
	if err != nil {
		return Unclear, a.label + ": cannot be told, " + err.Error()
	}
	found, err := find(args, a.steps, nil)
	if err != nil {
		return Unclear, a.label + ": cannot be told, " + err.Error()
	}
	// Where it loosens every value has to pass, where it tightens one is enough.
	answers := [Unclear + 1]string{}
	for _, f := range found {
		m, why := a.passes(f, j.p.redact.hides(f.way), s)
		answers[m] = why
	}
	one, all := No, Yes
	if s == tightens {
		one, all = Yes, No
	}
	for _, m := range []Match{one, Unclear} {
		if answers[m] != "" {
			return m, answers[m]
		}
	}
	return all, answers[all]
}

func (a argument) passes(f finding, hidden bool, s side) (Match, string) {
	result, why := Yes, ""
	for _, t := range a.tests {
		m, problem := t.result(f.value, s)
		words := a.label + " " + f.show(hidden) + " " + t.words + ": " + m.String()
		if problem != nil {
			words += ", " + problem.Error()
		}
		switch {
		case m == No:
			return No, words
		case m == Unclear && result == Yes:
			result, why = Unclear, words
		case result == Yes && why != "":
			why += "; " + words
		case result == Yes:
			why = words
		}
	}
	return result, why
}

func (t test) result(v *value, s side) (Match, error) {
	if v == nil {
		return matchIf(t.absent(s)), nil
	}
	return t.of(v, s)
}

func (f finding) show(hidden bool) string {
	switch {
	case f.value == nil:
		return "(absent)"
	case hidden:
		return "[redacted]"
	}
	switch f.kind {
	case isString:
		return quote(f.text, 80)
	case isArray:
		return "(a list of " + strconv.Itoa(len(f.items)) + ")"
	case isObject:
		return "(an object of " + strconv.Itoa(len(f.items)) + ")"
	}
	return f.text[:min(len(f.text), 80)]
}

// A literal is a scalar of the file that values are compared with.
type literal struct {
	kind   kind
	text   string
	number *big.Rat
}

func (l literal) show() string {
	if l.kind == isString {
		return show(l.text)
	}
	return l.text
}

// wrongKind is the error of a test that cannot read a value of this type.
func wrongKind(v *value) error { return unreadable[v.kind] }

var unreadable = [...]error{
	isNull:    errors.New("it is null"),
	isBoolean: errors.New("it is a boolean"),
	isNumber:  errors.New("it is a number"),
	isString:  errors.New("it is a string"),
	isArray:   errors.New("it is an array"),
	isObject:  errors.New("it is an object"),
}

// json is the literal as JSON text.
func (l literal) json() string {
	if l.kind != isString {
		return l.text
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(l.text) // a string always has a JSON form
	return strings.TrimSuffix(b.String(), "\n")
}

// oneOf compares with values of the same type only: "5" is neither 5 nor
// something else than 5. Null can be told from everything.
func oneOf(literals []literal, v *value) (Match, error) {
	comparable := !slices.ContainsFunc(literals, func(l literal) bool { return l.kind != isNull })
	for _, l := range literals {
		if l.kind != v.kind {
			continue
		}
		comparable = true
		m, err := l.equals(v)
		if m != No {
			return m, err
		}
	}
	if !comparable {
		return Unclear, wrongKind(v)
	}
	return No, nil
}

// equals compares with a value of the literal's own type.
func (l literal) equals(v *value) (Match, error) {
	if l.kind != isNumber {
		return matchIf(l.text == v.text), nil
	}
	order, err := compare(v, l.number)
	if err != nil {
		return Unclear, err
	}
	return matchIf(order == 0), nil
}

// compare orders a value and a number.
func compare(v *value, with *big.Rat) (int, error) {
	if v.kind != isNumber {
		return 0, wrongKind(v)
	}
	r, err := decimal(v.text)
	if err != nil {
		return 0, err
	}
	return r.Cmp(with), nil
}

// size is what maxlen measures: characters, elements or members.
func size(v *value) (int, error) {
	switch v.kind {
	case isString:
		return utf8.RuneCountInString(v.text), nil
	case isArray, isObject:
		return len(v.items), nil
	}
	return 0, wrongKind(v)
}
