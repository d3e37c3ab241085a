package policy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// rule reads one rule and adds it.
func (l *loader) rule(at item) {
	r := &rule{line: at.line}
	var parts clauses
	effects := 0
	effect := func(v Verdict) func(item) {
		return func(at item) {
			effects++
			r.effect, r.tools = v, l.globs(at, v.String())
		}
	}
	known := l.conditions(&parts, true)
	known["allow"], known["ask"], known["deny"] = effect(Allow), effect(Ask), effect(Deny)
	known["name"] = func(v item) { r.name = l.text(v, "name") }
	known["as"] = func(v item) { r.terms = l.as(v) }
	known["limit"] = func(v item) { r.limit = l.limit(v) }
	known["say"] = func(v item) { r.say = l.say(v) }
	known["justification"] = func(v item) { r.reason = l.word(v, "justification", "required") != "" }
	known["except"] = func(v item) { r.except, r.excepts = l.excepts(v) }
	if !l.fields(at, "a rule", known) {
		return
	}
	if effects != 1 {
		l.wrong(at, "", "a rule has exactly one of allow, ask and deny; this one has %d", effects)
		return
	}
	l.fitting(at, r)
	l.nameless(at, r.tools, parts.method)
	r.where = append(condition{parts.method, newToolClause(r.tools)}, parts.rest...)
	r.plain = len(parts.rest)+len(r.except) == 0 && parts.method.globs == nil && r.limit == nil
	r.said, r.core = l.saying(at), l.saying(at, "except")
	l.name(at, r)
	l.p.rules = append(l.p.rules, r)
}

// fitting refuses what would have no effect in this rule.
func (l *loader) fitting(at item, r *rule) {
	switch {
	case r.effect == Deny && r.limit != nil:
		l.wrong(at, "", "a deny has no use for a limit: it lets nothing through")
	case r.effect == Deny && r.reason:
		l.wrong(at, "", "a deny has no use for a justification: it lets nothing through")
	case r.effect == Ask && r.limit != nil && r.limit.over == Ask:
		l.wrong(at, "write over: deny, or leave it out", "an ask that is over its limit cannot ask: it asks already")
	case r.terms != nil && !r.mayAsk():
		l.wrong(at, "", "as says how to ask, but this rule never asks")
	}
}

// name gives every rule a name of its own, since limits, tests and the audit
// tell rules apart by it.
func (l *loader) name(at item, r *rule) {
	r.named = r.name != ""
	switch {
	case r.name == "":
		r.name = l.taken.free(r.effect.String() + " " + r.tools.String())
	case r.name == "default" || l.taken[r.name] > 0:
		l.wrong(at, "", "the name %q is taken", r.name)
	}
	l.taken.take(r.name)
}

// conditions are the keys that rules and excepts share.
func (l *loader) conditions(c *clauses, inRule bool) map[string]func(item) {
	known := map[string]func(item){
		"from":  func(v item) { c.add(l.from(v)) },
		"via":   func(v item) { c.add(l.via(v)) },
		"args":  func(v item) { l.arguments(v, c) },
		"when":  func(v item) { l.when(v, c) },
		"hints": func(v item) { c.add(l.hints(v)) },
		"hours": func(v item) { c.add(l.hours(v)) },
		"until": func(v item) { c.add(l.until(v)) },
	}
	known["methods"] = func(v item) {
		m := l.methods(v)
		if inRule {
			c.method = m
		} else {
			c.add(m)
		}
	}
	return known
}

// excepts reads one except or a list of them, and what each says.
func (l *loader) excepts(at item) (all []condition, said []string) {
	if at.form != list {
		at = item{form: list, values: []item{at}}
	}
	for _, v := range at.values {
		var c clauses
		known := l.conditions(&c, false)
		known["tools"] = func(v item) { c.add(newToolClause(l.globs(v, "tools"))) }
		if l.fields(v, "except", known) && len(v.keys) == 0 {
			l.wrong(v, "", "an empty except would take the whole rule away")
		}
		all, said = append(all, c.rest), append(said, l.saying(v))
	}
	if len(all) == 0 {
		l.wrong(at, "", "except is empty")
	}
	return all, said
}

// oddGlob finds what is a pattern elsewhere, but not here.
var oddGlob = lazily(`[\[\]{}()|^$\\!<>"'` + "`" + `\x00-\x20]|^re:`)

var errGlob = errors.New("a pattern of names knows * for any run of characters and ? for any one, and nothing else")

func checkGlob(s string) error {
	if s == "" || oddGlob().MatchString(s) {
		return errGlob
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || !strings.ContainsRune(nameBytes, r) }); i >= 0 {
		r, _ := utf8.DecodeRuneInString(s[i:])
		return fmt.Errorf("it fits nothing: %U stands in no name of a tool or method, which are made of letters A to Z, digits, _, ., / and -", r)
	}
	return nil
}

// nameBytes are what patterns of names are made of. Tools of other names are not
// offered, since they could be taken for others; so a deny that holds such a letter
// would stand there and deny nothing (FINDINGS L4).
const nameBytes = idBytes + "/*?"

func (l *loader) globs(at item, what string) (all globs) {
	for _, v := range l.texts(at, what) {
		if err := checkGlob(v.text); err != nil {
			l.wrong(v, "regular expressions are for args; ? can stand for an odd character", "%s: %+q: %v", what, v.text, err)
		}
		all = append(all, v.text)
	}
	return all
}

// methods doubts what is nearly a method of MCP: a server may have others.
func (l *loader) methods(at item) methodClause {
	all := l.globs(at, "methods")
	for _, method := range all {
		if strings.ContainsAny(method, "*?") || len(method) > 64 || slices.Contains(methodsOfMCP, method) {
			continue
		}
		if hint := Meant(method, methodsOfMCP); hint != "" {
			l.warn(at, "methods: %q is no method of MCP; %s", method, hint)
		}
	}
	return methodClause{all}
}

// nameless warns of methods whose calls have no name, in a rule about names.
func (l *loader) nameless(at item, tools globs, m methodClause) {
	if _, every := tools.match(""); every {
		return
	}
	for _, method := range m.globs {
		if !match(method, toolsCall) && !match(method, promptsGet) {
			l.warn(at, "a rule about %s never applies to %s: what is no tool or prompt has no name, and only * fits that", tools, method)
		}
	}
}

func (l *loader) from(at item) (c callerClause) {
	for _, v := range l.texts(at, "from") {
		members, group := l.groups[v.text]
		switch {
		case group:
			c.members = append(c.members, members...)
		case strings.Trim(v.text, idBytes+"*?") != "", len(strings.ReplaceAll(v.text, "*", "")) > 64, strings.HasPrefix(v.text, "system"):
			l.wrong(v, "", "from: %q fits no participant id: 1 to 64 letters, digits, _, . and -, not beginning with system, with * and ? as patterns", v.text)
		default:
			if near := l.nearGroup(v.text); near != "" && !strings.ContainsAny(v.text, "*?") {
				l.warn(v, "from: %q is no group, and is taken for a participant's id; did you mean %s? If it is somebody's id, list it in a group too", v.text, near)
			}
			c.globs = append(c.globs, v.text)
		}
	}
	return c
}

func (l *loader) via(at item) (c viaClause) {
	l.many(at, "via", func(v item) { c = append(c, l.word(v, "via", roads...)) })
	return c
}

func (l *loader) hints(at item) (c hintClause) {
	known := map[string]func(item){}
	for i, name := range hintNames {
		known[name] = func(v item) {
			want := l.boolean(v, name)
			c[i] = &want
		}
	}
	if l.fields(at, "hints", known) && len(at.keys) == 0 {
		l.wrong(at, "", "hints is empty")
	}
	return c
}

func (l *loader) hours(at item) (c hoursClause) {
	for _, v := range l.texts(at, "hours") {
		h, err := newHours(v.text)
		if err != nil {
			l.wrong(v, "", "hours: %v", err)
		}
		c = append(c, h)
	}
	return c
}

func (l *loader) until(at item) untilClause {
	text := l.text(at, "until")
	if end, err := time.Parse(time.RFC3339, text); err == nil {
		return untilClause{end}
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		l.wrong(at, "write 2026-12-31, which ends with that day in UTC, or 2026-12-31T18:00:00Z", "until: %q is no date", text)
	}
	return untilClause{day.AddDate(0, 0, 1)}
}

var pathPrefix = lazily(`startsWith\(['"][~/]`)

func (l *loader) when(at item, c *clauses) {
	e, err := newExpression(l.text(at, "when"))
	if pathPrefix().MatchString(at.text) {
		l.warn(at, "when: startsWith is no way to compare paths: /dir-evil and /dir/../x begin with /dir too; under in args compares paths")
	}
	if err == nil {
		c.add(e)
		return
	}
	if wrong, ok := errors.AsType[*expressionError](err); ok {
		at = at.within(wrong.line, wrong.column)
	}
	l.wrong(at, "", "when: %v", err)
}

// within is the place of a line and column of the text of at, as near as it can
// be told.
func (at item) within(line, column int) item {
	switch {
	case at.block:
		at.line += line
	case line == 1 && at.plain:
		at.column += column - 1
	case line == 1:
		at.column += column // behind the quote
	}
	return at
}

func (l *loader) say(at item) string {
	const longest = 500
	text := strings.TrimSpace(l.text(at, "say"))
	if len(text) > longest {
		l.wrong(at, "", "say has %d bytes; at most %d are passed on", len(text), longest)
	}
	return text
}

// as reads the name of an ask, or one written out in place. Such a one that does
// not say who is asked is the default ask, but for what it says.
func (l *loader) as(at item) *Terms {
	if at.form == scalar {
		return l.ask(at, at.text)
	}
	if at.form == mapping && len(at.keys) == 0 {
		l.wrong(at, "leave it out, and the default asks", "as says nothing")
	}
	if slices.ContainsFunc(at.keys, func(k item) bool { return k.text == "of" }) {
		return l.readTerms(at, "as", true, &builtin)
	}
	return l.readTerms(at, "as", true, l.ask(at, "default"))
}

func (l *loader) limit(at item) *limit {
	m := &limit{}
	l.fields(at, "limit", map[string]func(item){
		"count": func(v item) { m.count, m.countWindow = l.rate(v) },
		"sum":   func(v item) { l.sum(v, m) },
		"per":   func(v item) { m.shared = l.word(v, "per", "caller", "all") == "all" },
		"over":  func(v item) { m.over = l.verdict(v, "over") },
	})
	if m.over == Allow {
		l.wrong(at, "", "over says what becomes of a call over the limit: ask or deny")
	}
	if m.count == 0 && m.sum == nil {
		l.wrong(at, "write count: 10/day, or sum: {arg: /amount, max: 500, window: day}", "limit limits nothing")
	}
	if m.sum != nil && m.sumWindow == 0 {
		m.sumWindow = m.countWindow
	}
	if m.sum != nil && m.sumWindow == 0 {
		l.wrong(at, "write window: day beside max", "limit: the sum has no window")
	}
	return m
}

var rateForm = lazily(`^([1-9][0-9]{0,8})/([a-z0-9]+)$`)

// rate reads 10/day or 5/30m.
func (l *loader) rate(at item) (int, time.Duration) {
	m := rateForm().FindStringSubmatch(at.text)
	if at.form != scalar || m == nil {
		l.wrong(at, "write it like 10/day or 5/30m", "count is a number per time, not %q", at.text)
		return 1, time.Hour
	}
	at.text = m[2]
	return atoi(m[1]), l.window(at)
}

const maxWindow = 366 * 24 * time.Hour

func (l *loader) window(at item) time.Duration {
	if d, ok := windows[at.text]; ok {
		return d
	}
	return l.duration(at, "a window", maxWindow)
}

func (l *loader) sum(at item, m *limit) {
	m.sum = new(big.Rat)
	said := 0
	l.fields(at, "sum", map[string]func(item){
		"arg":    func(v item) { said |= 1; m.sumOf = l.address(v) },
		"max":    func(v item) { said |= 2; m.sum = l.number(v, "max").number },
		"window": func(v item) { m.sumWindow = l.window(v) },
	})
	if m.sumOf.deep {
		l.wrong(at, "", "sum adds up numbers, and ** is every string")
	}
	if said != 3 || m.sum.Sign() < 0 {
		l.wrong(at, "write sum: {arg: /amount, max: 500}", "sum adds up one argument to a max of at least 0")
	}
}

// saying is all of a rule, or of an except, that decides whether it applies, in one
// spelling: not its name, its words to the caller, the tools that it names, how it asks,
// whether it wants to know why, nor the keys of besides. The groups stand for their members.
func (l *loader) saying(at item, besides ...string) string {
	rest := item{form: mapping}
	silent := append(besides, "name", "say", "allow", "ask", "deny", "as", "justification")
	for i, key := range at.keys {
		if !slices.Contains(silent, key.text) {
			rest.keys, rest.values = append(rest.keys, key), append(rest.values, at.values[i])
		}
	}
	said := rest.spelling()
	var groups strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.groups)) {
		if strings.Contains(said, name) {
			fmt.Fprintf(&groups, " %s=%s", name, l.sumOfGroup(name))
		}
	}
	if said += groups.String(); len(said) > maxSaid {
		return fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(said))) // it is looked up for each tool, and kept by each rule
	}
	return said
}

// sumOfGroup stands for the members of a group, which many rules may name.
func (l *loader) sumOfGroup(name string) string {
	sum, known := l.sums[name]
	if !known {
		sum = fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%q", l.groups[name])))
		if l.sums == nil {
			l.sums = map[string]string{}
		}
		l.sums[name] = sum
	}
	return sum
}

// maxSaid is how many bytes of what rules say are compared as they are.
const maxSaid = 256
