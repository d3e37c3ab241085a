package policy

import (
	"fmt"
	"slices"
	"strings"
)

// arguments reads args: tests by name or JSON pointer.
func (l *loader) arguments(at item, c *clauses) {
	l.members(at, "args", func(key, v item) {
		a := argument{address: l.address(key)}
		what := a.label
		if v.form == scalar {
			l.wrong(v, fmt.Sprintf("write %s: {is: %s}", key.text, v.text), "%s is a mapping of tests, not a single value", what)
			return
		}
		known := map[string]func(item){}
		for name, read := range testReaders {
			known[name] = func(v item) {
				if a.deep && slices.Contains([]string{"max", "min", "type"}, name) {
					l.wrong(v, "", "%s: ** is every string of the arguments, which %s says nothing about", what, name)
				}
				t := read(l, v, what+" "+name)
				t.words = name + " " + words(v)
				a.tests = append(a.tests, t)
			}
		}
		if l.fields(v, what, known) && len(v.keys) == 0 {
			l.wrong(v, "", "%s has no test", what)
		}
		c.add(a)
	})
}

func (l *loader) address(at item) address {
	a, err := newAddress(l.text(at, "an argument"))
	if err != nil {
		l.wrong(at, "", "%q: %v", at.text, err)
	}
	if strings.Contains(at.text, ".") && !strings.Contains(at.text, "/") {
		l.warn(at, "%q is read as the name of one argument; what is nested is written /%s", at.text, strings.ReplaceAll(at.text, ".", "/"))
	}
	return a
}

// words are what a test compares with, for reasons.
func words(at item) string {
	if at.form == scalar {
		return show(at.text)
	}
	var all []string
	for _, v := range at.values {
		all = append(all, words(v))
	}
	return strings.Join(all, " or ")
}

// testReaders are the tests of args (DESIGN 6). A list means one of them; for
// not and lacks, none of them.
var testReaders = map[string]func(l *loader, at item, what string) test{
	"is": func(l *loader, at item, what string) test {
		return literalTest(oneOf, false, []literal{l.literal(at, what)})
	},
	"in":     func(l *loader, at item, what string) test { return literalTest(oneOf, false, l.literals(at, what)) },
	"not":    func(l *loader, at item, what string) test { return literalTest(oneOf, true, l.literals(at, what)) },
	"has":    func(l *loader, at item, what string) test { return literalTest(holdsOne, false, l.literals(at, what)) },
	"lacks":  func(l *loader, at item, what string) test { return literalTest(holdsOne, true, l.literals(at, what)) },
	"max":    func(l *loader, at item, what string) test { return boundTest(l.number(at, what), 1) },
	"min":    func(l *loader, at item, what string) test { return boundTest(l.number(at, what), -1) },
	"maxlen": func(l *loader, at item, what string) test { return maxlenTest(l.whole(at, what, 0, 1<<30)) },
	"under":  textsTest(maxPath, (*loader).directory),
	"glob":   textsTest(maxPath, (*loader).glob),
	"regex":  textsTest(maxText, (*loader).regex),
	"host":   textsTest(maxPath, (*loader).host),
	"type":   (*loader).typeTest,
}

// textsTest reads a test of texts of up to so many bytes, each of its patterns by one.
func textsTest[P pattern](longest int, one func(l *loader, v item, what string) P) func(l *loader, at item, what string) test {
	return func(l *loader, at item, what string) test {
		var all []P
		for _, v := range l.texts(at, what) {
			all = append(all, one(l, v, what))
		}
		return textTest(longest, all)
	}
}

// likeHost doubts a path that is the URL of a host.
func (l *loader) likeHost(v item, what string) {
	if scheme, _, is := strings.Cut(v.text, "://"); is && defaultPorts[strings.ToLower(scheme)] != "" {
		l.warn(v, "%s: %q is compared as paths are, letter by letter; host compares hosts, however they are written", what, v.text)
	}
}

func (l *loader) directory(v item, what string) directory {
	d := newDirectory(v.text)
	l.likeHost(v, what)
	switch {
	case strings.ContainsAny(v.text, "*?"):
		l.wrong(v, "patterns are for glob", "%s: %q is a directory by its plain name", what, v.text)
	case d.exact.root == nowhere || strings.Contains(v.text, `\`) && !drive().MatchString(v.text):
		l.wrong(v, "write /srv/docs, docs, ~/docs or C:/docs", "%s: %q is no path that can be compared", what, v.text)
	}
	return d
}

func (l *loader) glob(v item, what string) glob {
	g := newGlob(v.text)
	l.likeHost(v, what)
	odd := slices.ContainsFunc(strings.Split(v.text, "/"), func(name string) bool {
		return name == "." || name == ".." || name != "**" && strings.Contains(name, "**")
	})
	switch {
	case strings.ContainsAny(v.text, `[]{}\`):
		l.wrong(v, "? can stand for an odd character; write several patterns as a list", "%s: %q: a path pattern knows *, ? and **, and its separator is /", what, v.text)
	case odd || g.exact.root == nowhere:
		l.wrong(v, "", "%s: %q: ** stands alone between slashes, and . and .. have no place in a pattern", what, v.text)
	}
	return g
}

// regex also doubts expressions that were likely meant otherwise.
func (l *loader) regex(v item, what string) *expressions {
	e, err := newExpressions(v.text)
	if err != nil {
		l.wrong(v, "", "%s: %v", what, err)
	}
	switch {
	case strings.HasPrefix(strings.TrimPrefix(v.text, "^"), "/") && strings.HasSuffix(v.text, ".*"):
		l.warn(v, "%s: %q looks like a path prefix, which lets /dir-evil and /dir/../x through; under compares paths", what, v.text)
	case !strings.ContainsAny(v.text, `\^$*+?()[]{}|.`):
		l.warn(v, "%s: %q has to fit the whole value, so it fits only itself; write .*%s.* for a value that contains it", what, v.text, v.text)
	}
	return e
}

func (l *loader) host(v item, what string) hostPattern {
	h, err := newHostPattern(v.text)
	if err != nil {
		l.wrong(v, "", "%s: %q: %v", what, v.text, err)
	}
	return h
}

func (l *loader) typeTest(at item, what string) test {
	allowed := []string{"string", "number", "integer", "boolean", "array", "object", "null", "absent"}
	var types []string
	l.many(at, what, func(v item) { types = append(types, l.word(v, what, allowed...)) })
	return typeTest(types)
}
