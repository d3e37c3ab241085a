package policy

import (
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// A place is a path taken apart. Only places with the same root can be
// compared: what a relative path or ~ stands for is known to the server alone.
type place struct {
	root     string   // "/", "" when relative, "~", "c:"; "?" where nobody can say
	segments []string // cleaned
}

const nowhere = "?"

var (
	drive     = lazily(`^[A-Za-z]:`)
	shortName = lazily(`~[0-9]`)
)

// placeOf cleans a path written with slashes, or with a drive letter.
func placeOf(s string) place {
	switch {
	case strings.HasPrefix(s, "//?/"), strings.HasPrefix(s, "//./"):
		return place{nowhere, segments(s)}
	case drive().MatchString(s):
		return driveOf(s)
	case strings.HasPrefix(s, "/"):
		return place{"/", segments(path.Clean(s))}
	}
	return homeOf(s)
}

// driveOf takes a Windows path with a drive letter. There a backslash is a
// separator, and names that fold alike are one.
func driveOf(s string) place {
	s = strings.ReplaceAll(s, `\`, "/")
	p := place{strings.ToLower(s[:2]), segments(path.Clean("/" + s[2:]))}.fold()
	if !strings.HasPrefix(s[2:], "/") || shortName().MatchString(s) {
		p.root = nowhere
	}
	return p
}

// homeOf takes a path that is not absolute. What climbs out of where it begins
// could be anywhere.
func homeOf(s string) place {
	root, rest := "", s
	if strings.HasPrefix(s, "~") {
		root, rest, _ = strings.Cut(s, "/")
	}
	p := place{root, segments(path.Clean(rest))}
	if len(p.segments) > 0 && (p.segments[0] == ".." || strings.HasPrefix(p.segments[0], "~")) {
		p.root = nowhere
	}
	return p
}

var schemeForm = lazily(`^[a-z][a-z0-9+.-]+$`)

// special are the schemes that browsers know: they need no slash, and there is a host behind any number of them.
var special = []string{"file", "ftp", "http", "https", "ws", "wss"}

// schemeOf is the scheme that s begins with, in small letters: at least 2 characters (one letter is a
// drive) and a colon. It leads somewhere if a slash follows, or if it is special. Otherwise it is
// the server's own, unless a blank follows, as in text.
func schemeOf(s string) (scheme string, leads bool) {
	head, rest, has := strings.Cut(s, ":")
	if !has {
		return "", false
	}
	scheme = strings.ToLower(unbroken(strings.TrimLeftFunc(head, isBlank)))
	rest = strings.TrimLeft(rest, breaks)
	leads = strings.HasPrefix(rest, "/") || slices.Contains(special, scheme)
	text := !leads && strings.HasPrefix(rest, " ")
	if text || len(scheme) > 32 || !schemeForm().MatchString(scheme) {
		return "", false
	}
	return scheme, leads
}

func isBlank(r rune) bool { return r <= ' ' || unicode.IsSpace(r) }

// unwrapped is s without the <> around it and the URL: before it, which some programs take off a URL
// (Python's urllib, Java).
func unwrapped(s string) string {
	s = strings.TrimFunc(s, isBlank)
	if len(s) > 1 && s[0] == '<' && s[len(s)-1] == '>' {
		s = strings.TrimFunc(s[1:len(s)-1], isBlank)
	}
	if len(s) > 4 && strings.EqualFold(s[:4], "url:") {
		s = strings.TrimFunc(s[4:], isBlank)
	}
	return s
}

const breaks = "\t\r\n"

// unbroken is a part of a URL without the breaks in it, which count for nothing.
func unbroken(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(breaks, r) {
			return -1
		}
		return r
	}, s)
}

// urlsOf is a URL as those who follow it may read it, written as paths that begin with its scheme: it
// ends at ? and #, its .. do not climb over the host, and a user is no part of the host. The host of
// a file: is ignored by many; and where no name is between slashes, only browsers look for one.
func urlsOf(scheme, s string) (all []place) {
	_, rest, _ := strings.Cut(unbroken(strings.TrimRightFunc(s, isBlank)), ":")
	if end := strings.IndexAny(rest, "?#"); end >= 0 {
		rest = rest[:end]
	}
	authority, behind := "", rest
	if after, has := strings.CutPrefix(rest, "//"); has {
		authority, behind, _ = strings.Cut(after, "/")
	}
	if scheme == "file" || authority == "" && !slices.Contains(special, scheme) {
		all = append(all, urlAt(scheme, "", behind))
	}
	if scheme != "file" || authority != "" {
		authority, behind, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
		all = append(all, urlAt(scheme, authority, behind))
	}
	return all
}

func urlAt(scheme, authority, behind string) place {
	names := []string{scheme + ":"}
	if host := authority[strings.LastIndexByte(authority, '@')+1:]; host != "" {
		names = append(names, host)
	}
	return place{"", append(names, segments(path.Clean("/"+behind))...)}
}

// climbsBehind reports whether a .. stands behind ? or #: who stops there, before decoding or after,
// and who does not, are in different places.
func climbsBehind(s string) bool {
	end := strings.IndexAny(s, "?#")
	return end >= 0 && slices.Contains(separated(s[end:]), "..")
}

// schemed reports whether what looks like a relative path begins with the scheme of a URL.
func (p place) schemed() bool {
	return p.root == "" && len(p.segments) > 0 && strings.HasSuffix(p.segments[0], ":")
}

// beginsWith reports whether two places begin at the same one, so that they can be compared.
func (p place) beginsWith(other place) bool {
	return p.root == other.root && p.schemed() == other.schemed()
}

func segments(s string) []string {
	return slices.DeleteFunc(strings.Split(s, "/"), func(name string) bool { return name == "" || name == "." })
}

// foldFile makes names equal that some file system takes for the same: those of
// Windows and macOS ignore case, how Unicode spells a character, zero-width
// characters, dots and spaces at the end, and what follows a colon.
func foldFile(name string) string {
	if simple(name) {
		return strings.TrimRight(strings.ToLower(name), ". ")
	}
	if i := strings.IndexByte(name, ':'); i > 0 {
		name = name[:i]
	}
	name = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r))
	}, name)
	if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
		name = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(name)))
	}
	return strings.TrimRight(name, ". ")
}

// simple reports whether a name is ASCII and has no stream behind a colon.
func simple(name string) bool {
	for i := 0; i < len(name); i++ {
		if name[i] >= utf8.RuneSelf || name[i] == ':' {
			return false
		}
	}
	return true
}

func (p place) fold() place {
	names := make([]string, len(p.segments))
	for i, name := range p.segments {
		names[i] = foldFile(name)
	}
	return place{p.root, names}
}

// spellings are the paths that a server could make of s: it may cut white space
// off, before it decodes % escapes, between two times and after, and take a
// backslash for a separator. They are not complete when s is escaped too many
// times over.
func spellings(s string) (all []string, complete bool) {
	all = []string{s, strings.TrimSpace(s)}
	if all[0] == all[1] && !strings.ContainsAny(s, `%\`) {
		return all[:1], true
	}
	// decoded[0] is never cut, each of the others was, once. That is enough: no escape has white
	// space in it, so cutting later takes away what cutting earlier would have.
	decoded := slices.Clone(all)
	for range 3 {
		for i, r := range decoded {
			decoded[i] = unescape(r)
		}
		decoded = slices.Compact(append(decoded, strings.TrimSpace(decoded[0])))
		all = append(all, decoded...)
	}
	for _, r := range all {
		all = append(all, strings.ReplaceAll(r, `\`, "/"))
	}
	slices.Sort(all)
	return slices.Compact(all), unescape(decoded[0]) == decoded[0]
}

// unescape decodes %2e and the like, once.
func unescape(s string) string {
	at := strings.IndexByte(s, '%')
	if at < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for from := 0; ; {
		b = append(b, s[from:at]...)
		if c, err := hex.DecodeString(s[min(at+1, len(s)):min(at+3, len(s))]); err == nil && len(c) == 1 {
			b, from = append(b, c[0]), at+3
		} else {
			b, from = append(b, '%'), at+1
		}
		next := strings.IndexByte(s[from:], '%')
		if next < 0 {
			return string(append(b, s[from:]...))
		}
		at = from + next
	}
}

// matchSegments is match with whole names for characters and ** for the star.
func matchSegments(pattern, names []string) bool {
	star, from := -1, 0
	p, n := 0, 0
	for n < len(names) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, from = p, n
			p++
		case p < len(pattern) && match(pattern[p], names[n]):
			p++
			n++
		case star >= 0:
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

// Readings are what a text could be as a path, taken apart once for all tests that
// look at it.
type readings struct {
	exact, folded []place
	bytes         int // of all of them
	url           bool
	unsure        bool
}

func (r *readings) add(p place, bytes int) {
	r.exact, r.folded = append(r.exact, p), append(r.folded, p.fold())
	r.bytes += bytes
}

// pathWork is what it takes to take a path apart and to fold its names.
func pathWork(s string) int {
	names := 1 + strings.Count(s, "/") + strings.Count(s, `\`)
	if simple(s) {
		return 500 + 20*len(s) + 80*names
	}
	return 500 + 300*len(s) + 3000*names
}

// usualForm is s with its characters in their usual form, and without those that are not seen.
func usualForm(s string) string {
	return norm.NFKC.String(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, s))
}

// leadsElsewhere reports whether a path is another one to who brings characters into
// their usual form first: two full-width dots, or a slash of full width (FINDINGS L5).
func leadsElsewhere(s, usual string) bool {
	was, is := separated(s), separated(usual)
	if len(was) != len(is) || drive().MatchString(s) != drive().MatchString(usual) ||
		strings.HasPrefix(s, "~") != strings.HasPrefix(usual, "~") || unescape(s) == s && unescape(usual) != usual {
		return true
	}
	for i, name := range is {
		if name = strings.TrimSpace(name); name != was[i] && (name == "." || name == "..") {
			return true
		}
	}
	return false
}

// separated are the names between slashes and backslashes.
func separated(s string) []string { return strings.Split(strings.ReplaceAll(s, `\`, "/"), "/") }

// holds reports whether another place is this one or in it.
func (p place) holds(other place) bool {
	n := len(p.segments)
	return p.root == other.root && len(other.segments) >= n && slices.Equal(other.segments[:n], p.segments)
}

// spelled is the one way in which a place is written.
func (p place) spelled() string {
	var s strings.Builder
	s.WriteString(p.root)
	for i, name := range p.segments {
		if i > 0 || p.root != "/" {
			s.WriteString("/")
		}
		s.WriteString(name)
	}
	return s.String()
}
