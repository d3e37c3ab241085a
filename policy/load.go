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

	shown "github.com/mcpx-protocol/mcpx-bridge/bridge/text" // text is a function here
)

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
	suggestion := meant(key.text, slices.Sorted(maps.Keys(known)))
	if example := askedWith[key.text]; example != "" && known["as"] != nil {
		suggestion = fmt.Sprintf("%s belongs to an ask: as: %s", key.text, example)
	}
	l.wrong(key, suggestion, "%s has no key %q", what, key.text)
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
		got = quote(at.text)
	}
	if len(allowed) == 1 {
		l.wrong(at, "", "%s is %s, not %s", what, allowed[0], got)
		return ""
	}
	l.wrong(at, Meant(at.text, allowed), "%s is one of %s, not %s", what, strings.Join(allowed, ", "), got)
	return ""
}

func (l *loader) boolean(at item, what string) bool {
	if at.form != scalar || !at.plain || at.text != "true" && at.text != "false" {
		l.wrong(at, "write true or false", "%s is true or false, not %s", what, quote(at.text))
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
	d, err := shown.Duration(at.text)
	if days, ok := strings.CutSuffix(at.text, "d"); ok && err == nil {
		_, err = strconv.Atoi(days) // whole days alone
	}
	switch {
	case at.form != scalar || err != nil:
		l.wrong(at, "with a unit, like 30s, 5m or 1h30m", "%s is a duration, not %q", what, at.text)
	case d <= 0:
		l.wrong(at, "", "%s is %s, so nobody could answer in time; a question always has an end, and no answer is a no", what, at.text)
	case d > longest:
		l.wrong(at, "", "%s is %s; the longest is %s", what, at.text, shown.Span(longest))
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
		l.wrong(at, "", "%s is a number, not %s", what, quote(at.text))
		lit.number = new(big.Rat)
	}
	return lit
}

// taken are names of rules, each with the last number behind it that was tried, at least 1.
type taken map[string]int

// take notes a name.
func (t taken) take(name string) { t[name] = max(1, t[name]) }

// free is the name, with a number behind it if it is taken. Numbers that are taken are
// not tried again.
func (t taken) free(name string) string {
	numbered := name
	for n := max(2, t[name]); t[numbered] > 0; n++ {
		numbered = fmt.Sprintf("%s (%d)", name, n)
		t[name] = n
	}
	return numbered
}

// clauses are the conditions of a rule or an except while they are read.
type clauses struct {
	method methodClause
	rest   condition
}

func (c *clauses) add(more clause) { c.rest = append(c.rest, more) }

func (l *loader) verdict(at item, what string) (v Verdict) {
	if word := l.word(at, what, "allow", "ask", "deny"); word != "" {
		v = Verdict(slices.Index(verdicts, word))
	}
	return v
}

// participant checks one id, "local" or "host".
func (l *loader) participant(at item, what string) bool {
	switch id := l.text(at, what); {
	case strings.ContainsAny(id, "*?"):
		l.wrong(at, "name everyone who may decide", "%s: %q is a pattern; approvers are named one by one, or callers could decide for themselves", what, id)
	case !validID(id):
		l.wrong(at, "", "%s: %q is no participant id: 1 to 64 letters, digits, _, . and -, not beginning with system", what, id)
	default:
		return true
	}
	return false
}

// people resolves the names of of and to, each once.
func (l *loader) people(at item, what string) []string {
	var all []string
	add := func(ids ...string) {
		for _, id := range ids {
			if !slices.Contains(all, id) {
				all = append(all, id)
			}
		}
	}
	l.many(at, what, func(v item) {
		members, group := l.groups[v.text]
		switch {
		case group && v.form == scalar:
			add(members...)
		case l.participant(v, what) && !l.misspelt(v, what):
			add(v.text)
		}
	})
	return all
}

// misspelt refuses what looks like a group but is none: as an id it would wait
// for somebody who does not exist.
func (l *loader) misspelt(at item, what string) bool {
	near := l.nearGroup(at.text, doors...)
	if near == "" {
		return false
	}
	l.wrong(at, fmt.Sprintf("did you mean %s? If it is somebody's id, list it in a group too", near), "%s: %q is no group, and too like %s for an id", what, at.text, near)
	return true
}

// nearGroup is the group, or one of besides, that an id was probably meant to be; "" if none
// is near, or a group lists the id.
func (l *loader) nearGroup(id string, besides ...string) string {
	names := slices.Clone(besides)
	if slices.Contains(names, id) {
		return ""
	}
	for name, members := range l.groups {
		if slices.Contains(members, id) {
			return ""
		}
		names = append(names, name)
	}
	slices.Sort(names)
	// Ids of two letters are like too many others to be taken for them.
	names = slices.DeleteFunc(names, func(name string) bool { return max(len(name), len(id)) < 3 })
	return Nearest(id, names)
}

// each calls read for the elements of a list, which may be empty.
func (l *loader) each(at item, what string, read func(item)) {
	if at.form != list {
		l.wrong(at, "begin each with a dash", "%s is a list, not %s", what, at.form)
		return
	}
	for _, v := range at.values {
		read(v)
	}
}

// MaxQuestion is how long people may take to decide at most, whatever somebody says (RELIABILITY
// AI-10).
const MaxQuestion = 24 * time.Hour
