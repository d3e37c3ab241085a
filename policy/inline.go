package policy

import (
	"slices"
	"strings"
	"time"
)

// A TestResult is what became of one of the file's own tests.
type TestResult struct {
	Name     string // as the owner wrote it, else the call in words
	Line     int
	Want     Verdict
	By       string // the rule that was to decide; "default" for none, "" for any
	Decision Decision
	Passed   bool
}

// Test runs the tests of the file. Nothing counts as used of any limit.
func (p *Policy) Test() []TestResult {
	results := make([]TestResult, len(p.tests))
	for i, t := range p.tests {
		d := p.Decide(t.call, nil)
		results[i] = TestResult{Name: t.name, Line: t.line, Want: t.want, By: t.by, Decision: d,
			Passed: d.Verdict == t.want && d.decidedThrough(t.by)}
	}
	return results
}

// decidedThrough reports whether the named rule is one of those that decided.
func (d Decision) decidedThrough(rule string) bool {
	switch rule {
	case "":
		return true
	case "default":
		return d.Rule == ""
	}
	for _, r := range d.Reasons {
		if r.Rule == rule {
			return r.Applies && r.Effect == d.Verdict
		}
	}
	return false
}

// test reads one inline test.
func (l *loader) test(at item) {
	t := inlineTest{line: at.line, call: Call{From: "someone", Via: "request", Method: toolsCall}}
	var call, want, by item
	ok := l.fields(at, "a test", map[string]func(item){
		"name": func(v item) { t.name = l.text(v, "name") },
		"call": func(v item) { call = v; l.call(v, &t.call) },
		"want": func(v item) { want = v; t.want = l.verdict(v, "want") },
		"by":   func(v item) { by = v; t.by = l.text(v, "by") },
	})
	if ok && (call.line == 0 || want.line == 0) {
		l.wrong(at, "", "a test has a call and what it wants: allow, ask or deny")
	}
	if by.line > 0 {
		l.tested(by)
	}
	if t.name == "" {
		t.name = t.call.Words()
	}
	l.p.tests = append(l.p.tests, t)
}

// tested checks that a test waits for a rule that exists.
func (l *loader) tested(by item) {
	known := []string{"default", "proposals.fulfil", passRule}
	for _, r := range l.p.rules {
		known = append(known, r.name)
	}
	if slices.Contains(known, by.text) {
		return
	}
	l.wrong(by, meant(by.text, known), "by: there is no rule %q", by.text)
}

func (l *loader) call(at item, c *Call) {
	l.fields(at, "call", map[string]func(item){
		"tool":   func(v item) { c.Tool = l.text(v, "tool") },
		"from":   func(v item) { c.From = l.text(v, "from") },
		"via":    func(v item) { c.Via = l.word(v, "via", roads...) },
		"method": func(v item) { c.Method = l.text(v, "method") },
		"args":   func(v item) { c.Args = l.json(v) },
		"beside": func(v item) { c.Beside = l.json(v) },
		"why":    func(v item) { c.Why = l.text(v, "why") },
		"hints":  func(v item) { c.Hints = l.annotations(v) },
		"now":    func(v item) { c.Now = l.instant(v) },
	})
}

// annotations are what the server of an inline test says of its tool.
func (l *loader) annotations(at item) Hints {
	c := l.hints(at)
	return Hints{ReadOnly: c[0], Destructive: c[1], Idempotent: c[2], OpenWorld: c[3]}
}

func (l *loader) instant(at item) time.Time {
	now, err := time.Parse(time.RFC3339, l.text(at, "now"))
	if err != nil {
		l.wrong(at, "write it like 2026-03-02T14:00:00+01:00", "now: %q is no time", at.text)
	}
	return now
}

// json writes an item as JSON: the arguments of a test, numbers as spelled.
func (l *loader) json(at item) []byte {
	switch at.form {
	case nothing:
		l.wrong(at, "write null", "args: a key has no value")
	case scalar:
		return []byte(l.literal(at, "args").json())
	}
	parts := make([]string, len(at.values))
	for i, v := range at.values {
		parts[i] = string(l.json(v))
		if at.form == mapping {
			parts[i] = literal{kind: isString, text: at.keys[i].text}.json() + ":" + parts[i]
		}
	}
	if at.form == list {
		return []byte("[" + strings.Join(parts, ",") + "]")
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}
