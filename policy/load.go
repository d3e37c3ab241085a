package policy

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A LoadError says why a file was refused.
type LoadError struct {
	File         string
	Line, Column int // counted from 1; 0 when the file as a whole is meant
	Message      string
	Suggestion   string       // what to write instead, "" if there is nothing to say
	More         []*LoadError // what else is wrong, in the order of the file
}

func (e *LoadError) Error() string {
	place := e.File
	if e.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
	}
	if e.Suggestion == "" {
		return place + ": " + e.Message
	}
	return place + ": " + e.Message + " (" + e.Suggestion + ")"
}

// Load reads a policy file, YAML or JSON. It refuses everything that it does
// not know or that could be read in two ways: the error is a *LoadError. The
// name is for errors only.
func Load(name string, data []byte) (*Policy, error) {
	l := new(loader)
	root, refused := parse(data)
	var p *Policy
	if refused == nil {
		p = l.policy(root)
		p.source = slices.Clone(data)
		refused = l.first()
	}
	if refused == nil {
		return p, nil
	}
	refused.File = name
	for _, more := range refused.More {
		more.File = name
	}
	return nil, refused
}

// A loader turns items into a policy and gathers what is wrong with them.
type loader struct {
	problems []*LoadError
	p        *Policy
	groups   map[string][]string
	sums     map[string]string // of groups that rules name
	named    map[string]item   // asks not resolved yet
	terms    map[string]*Terms // asks resolved
	open     []string          // asks on the way, to see circles
	taken    taken             // by rules
}

func (l *loader) wrong(at item, suggestion, format string, a ...any) {
	l.problems = append(l.problems, &LoadError{Line: at.line, Column: at.column, Message: fmt.Sprintf(format, a...), Suggestion: suggestion})
}

func (l *loader) warn(at item, format string, a ...any) {
	l.p.warnings = append(l.p.warnings, fmt.Sprintf("line %d: ", at.line)+fmt.Sprintf(format, a...))
}

// first is the first problem of the file with the others behind it.
func (l *loader) first() *LoadError {
	if len(l.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(l.problems, func(a, b *LoadError) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column)
	})
	l.problems[0].More = l.problems[1:]
	return l.problems[0]
}

// fields hands each member of a mapping to the function for its key. It is
// false when at is no mapping.
func (l *loader) fields(at item, what string, known map[string]func(item)) bool {
	if at.form != mapping {
		l.wrong(at, "", "%s is a mapping of %s, not %s", what, keyList(known), at.form)
		return false
	}
	for i, key := range at.keys {
		read, ok := known[key.text]
		switch {
		case !ok || key.form != scalar:
			l.unknownKey(key, what, known)
		case at.values[i].form == nothing:
			l.wrong(key, "", "%s has no value", key.text)
		default:
			read(at.values[i])
		}
	}
	return true
}

func (l *loader) unknownKey(key item, what string, known map[string]func(item)) {
	l.wrong(key, meant(key.text, slices.Sorted(maps.Keys(known))), "%s has no key %q", what, key.text)
}

func keyList[V any](known map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}

// members calls each for the members of a mapping whose keys the author chose.
func (l *loader) members(at item, what string, each func(key, v item)) {
	if at.form != mapping || len(at.keys) == 0 {
		l.wrong(at, "", "%s is a mapping with something in it", what)
		return
	}
	for i, key := range at.keys {
		switch {
		case key.form != scalar || key.text == "":
			l.wrong(key, "", "%s has a key without a name", what)
		case at.values[i].form == nothing:
			l.wrong(key, "", "%s has no value", key.text)
		default:
			each(key, at.values[i])
		}
	}
}

// many calls each for the elements of a list, or for a single value.
func (l *loader) many(at item, what string, each func(item)) {
	switch {
	case at.form == scalar:
		each(at)
	case at.form != list || len(at.values) == 0:
		l.wrong(at, "", "%s is a value or a list with something in it, not %s", what, cmp.Or(map[form]string{list: "an empty list"}[at.form], at.form.String()))
	default:
		for _, v := range at.values {
			each(v)
		}
	}
}

// Words that are booleans or nothing to some readers of YAML and text to
// others, and numbers that come out differently.
var (
	trapWord   = lazily(`^(?i:yes|no|on|off|true|false|null|~|)$`)
	trapNumber = lazily(`^(?i:[-+]?0[0-9_]+|[-+]?0[xob][0-9a-f_]+|[-+]?[0-9]+_[0-9_.]*|\+[0-9].*|[-+]?\.[0-9]+|[-+]?[0-9]+\.|[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?|[-+]?\.(inf|nan)|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*)$`)
)

// text reads a scalar as a string.
func (l *loader) text(at item, what string) string {
	switch {
	case at.form != scalar:
		l.wrong(at, "", "%s is a text, not %s", what, at.form)
	case at.plain && trapWord().MatchString(at.text):
		l.wrong(at, fmt.Sprintf("put it in quotes: %q", at.text), "%s: to other readers of YAML the bare word %s is no text", what, at.text)
	case strings.TrimSpace(at.text) == "":
		l.wrong(at, "", "%s is empty", what)
	}
	return at.text
}

func (l *loader) texts(at item, what string) (all []item) {
	l.many(at, what, func(v item) {
		l.text(v, what)
		all = append(all, v)
	})
	return all
}

// word reads one of a few words.
func (l *loader) word(at item, what string, allowed ...string) string {
	if at.form == scalar && slices.Contains(allowed, at.text) {
		return at.text
	}
	got := at.form.String()
	if at.form == scalar {
		got = quote(at.text, 80)
	}
	if len(allowed) == 1 {
		l.wrong(at, "", "%s is %s, not %s", what, allowed[0], got)
		return ""
	}
	suggestion := ""
	if near := Nearest(at.text, allowed); near != "" {
		suggestion = "did you mean " + near + "?"
	}
	l.wrong(at, suggestion, "%s is one of %s, not %s", what, strings.Join(allowed, ", "), got)
	return ""
}

func (l *loader) boolean(at item, what string) bool {
	if at.form != scalar || !at.plain || at.text != "true" && at.text != "false" {
		l.wrong(at, "write true or false", "%s is true or false, not %s", what, quote(at.text, 80))
	}
	return at.text == "true"
}

// whole reads a whole number from low to high.
func (l *loader) whole(at item, what string, low, high int) int {
	n, err := strconv.Atoi(at.text)
	if at.form != scalar || !at.plain || err != nil || strconv.Itoa(n) != at.text || n < low || n > high {
		l.wrong(at, "", "%s is a whole number from %d to %d, not %q", what, low, high, at.text)
		return low
	}
	return n
}

// duration reads 30s, 5m, 1h30m or 2d, from just above nothing to longest.
func (l *loader) duration(at item, what string, longest time.Duration) time.Duration {
	text := at.text
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil {
			text = strconv.Itoa(min(n, 1000)*24) + "h"
		}
	}
	d, err := time.ParseDuration(text)
	switch {
	case at.form != scalar || err != nil:
		l.wrong(at, "with a unit, like 30s, 5m or 1h30m", "%s is a duration, not %q", what, at.text)
	case d <= 0:
		l.wrong(at, "", "%s is %s, so nobody could answer in time; a question always has an end, and no answer is a no", what, at.text)
	case d > longest:
		l.wrong(at, "", "%s is %s; the longest is %s", what, at.text, longest)
	}
	return d
}

// literal reads a scalar that values are compared with.
func (l *loader) literal(at item, what string) literal {
	lit := literal{kind: isString, text: at.text}
	switch {
	case at.form != scalar:
		l.wrong(at, "", "%s compares with a single value, not %s", what, at.form)
	case !at.plain:
	case at.text == "true" || at.text == "false":
		lit.kind = isBoolean
	case at.text == "null":
		lit.kind = isNull
	case numeral().MatchString(at.text):
		lit.kind = isNumber
		r, err := decimal(at.text)
		if err != nil {
			l.wrong(at, "", "%s: %s is too long a number", what, show(at.text))
			r = new(big.Rat)
		}
		lit.number = r
	case trapWord().MatchString(at.text):
		l.wrong(at, fmt.Sprintf("write true, false or null, or put it in quotes: %q", at.text), "%s: the bare word %s means different things to different readers of YAML", what, at.text)
	case trapNumber().MatchString(at.text):
		l.wrong(at, fmt.Sprintf("write it as a plain decimal, or put it in quotes: %q", at.text), "%s: different readers of YAML make different things of %s", what, at.text)
	}
	return lit
}

func (l *loader) literals(at item, what string) (all []literal) {
	l.many(at, what, func(v item) { all = append(all, l.literal(v, what)) })
	return all
}

// number reads a literal that has to be a number.
func (l *loader) number(at item, what string) literal {
	lit := l.literal(at, what)
	if lit.kind != isNumber {
		l.wrong(at, "", "%s is a number, not %s", what, quote(at.text, 80))
		lit.number = new(big.Rat)
	}
	return lit
}
