package policy

import (
	"encoding/json"
	"errors"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// An address says where in the arguments a value stands: a name of the top
// level, or a JSON pointer in which * stands for every element or member. ** is
// every string, at any depth; names of members are none.
type address struct {
	label string // "args.path", "args/target/*"
	steps []string
	wild  bool
	deep  bool // **; there are no steps
}

const everyString = "**"

var errEveryString = errors.New("** stands alone: it is every string of the arguments")

var errAddress = errors.New("a JSON pointer is made of /step/step, with ~1 for / and ~0 for ~")

func newAddress(s string) (address, error) {
	if s == everyString {
		return address{label: "args." + s, deep: true}, nil
	}
	if !strings.HasPrefix(s, "/") {
		return address{label: "args." + show(s), steps: []string{s}}, nil
	}
	steps, err := pointer(s)
	if err == nil && slices.Contains(steps, everyString) {
		err = errEveryString
	}
	return address{label: "args" + s, steps: steps, wild: slices.Contains(steps, "*")}, err
}

// pointer takes a JSON pointer apart (RFC 6901).
func pointer(s string) ([]string, error) {
	p := jsontext.Pointer(s)
	steps := slices.Collect(p.Tokens())
	if !p.IsValid() || len(steps) == 0 || slices.Contains(steps, "") {
		return nil, errAddress
	}
	return steps, nil
}

// A finding is a value and the way to it; no value where there is none.
type finding struct {
	*value
	way []string
}

var errNoWay = errors.New("its parent has no members")

// lookup returns what stands at the steps: one finding, or with * any number of
// them, and one without a value where * has nothing to stand for.
func (j *judgement) lookup(v *value, steps, way []string) ([]finding, error) {
	switch {
	case !j.spend(50):
		return nil, errTooMuch
	case len(steps) == 0 || v == nil:
		return []finding{{v, way}}, nil
	case v.kind != isObject && v.kind != isArray:
		return nil, errNoWay
	case steps[0] == "*" && len(v.items) > 0:
		return j.findAll(v, steps, way)
	case v.kind == isObject && !j.spend(len(v.keys)):
		return nil, errTooMuch
	case v.kind == isObject:
		return j.findMember(v, steps, way)
	}
	i, err := strconv.ParseUint(steps[0], 10, 31)
	if err != nil && steps[0] != "*" {
		return nil, errNoWay
	}
	if err != nil || i >= uint64(len(v.items)) {
		return j.lookup(nil, nil, append(way, steps[0]))
	}
	return j.lookup(&v.items[i], steps[1:], append(way, steps[0]))
}

func (j *judgement) findMember(v *value, steps, way []string) ([]finding, error) {
	m := v.member(steps[0])
	if m == nil {
		if err := j.alike(v, steps[0]); err != nil {
			return nil, err
		}
	}
	return j.lookup(m, steps[1:], append(way, steps[0]))
}

func (j *judgement) findAll(v *value, steps, way []string) ([]finding, error) {
	var all []finding
	for i := range v.items {
		if !j.spend(250) {
			return nil, errTooMuch
		}
		found, err := j.lookup(&v.items[i], steps[1:], append(slices.Clip(way), v.step(i)))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// allStrings gives all strings of the arguments, or one finding without a value.
func (j *judgement) allStrings(args *value) ([]finding, error) {
	var all []finding
	var walk func(v *value, way []string) bool
	walk = func(v *value, way []string) bool {
		if _, open := j.open(v); open || v.kind == isString {
			all = append(all, finding{v, way})
		}
		for i := range v.items {
			if !j.spend(250) || !walk(&v.items[i], append(slices.Clip(way), v.step(i))) {
				return false
			}
		}
		return true
	}
	switch {
	case !walk(args, nil):
		return nil, errTooMuch
	case all == nil:
		return []finding{{}}, nil
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
	of func(j *judgement, v *value, s side) (Match, error)

	under  []directory // of the test under; nil for others
	ofType bool        // it is the test type, which may fit all that an argument can be

	// absent reports whether the test holds of a value that is not there (DESIGN 6);
	// nil: never.
	absent func(side) bool
}

func (a argument) holds(j *judgement, s side) (Match, string) {
	args, err := j.arguments()
	if err != nil {
		return Unclear, a.label + ": cannot be told, " + err.Error()
	}
	found, err := j.lookup(args, a.steps, nil)
	if a.deep {
		found, err = j.allStrings(args)
	}
	if err != nil {
		return Unclear, a.label + ": cannot be told, " + err.Error()
	}
	// Where it loosens every value has to pass, where it tightens one is enough.
	one, all := No, Yes
	if s == tightens {
		one, all = Yes, No
	}
	if len(found) == 1 {
		return a.reasons(j, found[0], s)
	}
	result, decided := all, found[0]
	for _, f := range found {
		m := a.passes(j, f, s)
		if m == one || m == Unclear && result == all {
			result, decided = m, f
		}
		if m == one {
			break
		}
	}
	_, why := a.reasons(j, decided, s)
	return result, why
}

// passes reports whether a value passes all tests.
func (a argument) passes(j *judgement, f finding, s side) Match {
	result := Yes
	for _, t := range a.tests {
		switch m, _ := t.result(j, f.value, s); {
		case m == No:
			return No
		case m == Unclear:
			result = Unclear
		}
	}
	return result
}

// reasons are what passes says, and how the tests come out as far as that decides.
func (a argument) reasons(j *judgement, f finding, s side) (Match, string) {
	label := a.label
	if a.deep && f.value != nil {
		label = "args " + show("/"+strings.Join(f.way, "/"))
	}
	shown := label + " " + f.show(j.redact.hides(f.way)) + " "
	if _, open := j.open(f.value); open {
		shown = label + " "
	}
	result, why := Yes, ""
	for _, t := range a.tests {
		m, problem := t.result(j, f.value, s)
		words := shown + t.words + ": " + m.String()
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

func (t test) holdsAbsent(s side) bool { return t.absent != nil && t.absent(s) }

func (t test) result(j *judgement, v *value, s side) (Match, error) {
	if v == nil {
		return matchIf(t.holdsAbsent(s)), nil
	}
	if !j.spend(200) {
		return Unclear, errTooMuch
	}
	if o, open := j.open(v); open {
		return t.ahead(j, v, o)
	}
	return t.of(j, v, s)
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

func (f finding) show(hidden bool) string {
	switch {
	case f.value == nil:
		return "(absent)"
	case hidden:
		return "[redacted]"
	}
	switch f.kind {
	case isString:
		return quote(f.text)
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

// oneOf reports whether v equals one of the literals. Values of different types cannot be
// compared: "5" is neither 5 nor different from 5. Only null differs from everything else.
func oneOf(j *judgement, literals []literal, v *value) (Match, error) {
	if !j.spend(2 * len(literals)) {
		return Unclear, errTooMuch
	}
	comparable := !slices.ContainsFunc(literals, func(l literal) bool { return l.kind != isNull })
	for _, l := range literals {
		if l.kind != v.kind {
			continue
		}
		comparable = true
		m, err := l.equals(j, v)
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
func (l literal) equals(j *judgement, v *value) (Match, error) {
	if l.kind != isNumber {
		return matchIf(l.text == v.text), nil
	}
	order, err := compare(j, v, l.number)
	if err != nil {
		return Unclear, err
	}
	return matchIf(order == 0), nil
}

// compare orders a value and a number.
func compare(j *judgement, v *value, with *big.Rat) (int, error) {
	if v.kind != isNumber {
		return 0, wrongKind(v)
	}
	r, err := j.decimal(v.text)
	if err != nil {
		return 0, err
	}
	return r.Cmp(with), nil
}

// longer reports whether v has more characters, elements or members than n.
func longer(j *judgement, v *value, n int) (bool, error) {
	switch {
	case v.kind == isArray, v.kind == isObject:
		return len(v.items) > n, nil
	case v.kind != isString:
		return false, wrongKind(v)
	case len(v.text) <= n:
		return false, nil
	case len(v.text)/utf8.UTFMax > n:
		return true, nil
	case !j.spend(len(v.text)):
		return false, errTooMuch
	}
	return utf8.RuneCountInString(v.text) > n, nil
}

// decimal is the function decimal, with its work charged.
func (j *judgement) decimal(text string) (*big.Rat, error) {
	if !j.spend(numberWork(text)) {
		return nil, errTooMuch
	}
	return decimal(text)
}
