package policy_test

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// What a rule lets through as being under a directory is there, to whoever
// cleans a path or takes its escapes and backslashes for what they may mean.
func FuzzUnder(f *testing.F) {
	p := load(f, `{default: deny, rules: [{allow: read, args: {path: {under: /srv/docs}}}]}`)
	for _, s := range []string{"/srv/docs/a", "/srv/docs/../x", "/srv/docs/%2e%2e/x", `/srv/docs\..\..\x`, "/srv/docs/..%2fx", "/srv/docs/a\x00/../..", "/srv/docs/\u2025/x", "/srv/docs/。。/x", "/srv/docs/.. /x", "//srv/docs", "/srv/docs/~/x", "/srv/docs/%252e%252e/%252e%252e/x",
		"/srv/docs/%2E%2E%2Fx", "/srv/docs/%2g%/0%:0%@0%G0%`0%2", "/srv/docs/%", "/srv/docs/%2e%2", "/srv/docs/a\x7f\u0080", "/srv/docs/%25252525252e%2e", "/srv/docs/..%20", "/srv/docs/%2e%2e ", "/srv/docs/..%250a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := call(`{"path":` + quoted(s) + `}`)
		c.Tool = "read"
		if d := p.Decide(c, nil); d.Verdict != policy.Allow {
			return
		}
		s = strings.ToValidUTF8(s, "\ufffd")
		for _, reading := range []string{s, strings.ReplaceAll(s, `\`, "/"), unescaped(s), strings.ReplaceAll(unescaped(s), `\`, "/"), unescaped(unescaped(s)),
			strings.TrimSpace(unescaped(s)), strings.TrimSpace(unescaped(unescaped(s))), unescaped(strings.TrimSpace(s)), unescaped(strings.TrimSpace(unescaped(s)))} {
			if at := path.Clean(reading); at != "/srv/docs" && !strings.HasPrefix(at, "/srv/docs/") {
				t.Errorf("%q passes, and leads to %s", s, at)
			}
		}
	})
}

// What a rule lets through as a URL below another one is there, to whoever reads URLs.
func FuzzUnderURL(f *testing.F) {
	p := load(f, `{default: deny, rules: [{allow: read, args: {url: {under: ["file:///srv/docs", "https://a.example/docs", "notes:///public"]}}}]}`)
	for _, s := range []string{"file:///srv/docs/a", "file:/srv/docs/a", "file://h/srv/docs/../x", "file:///etc/x?/../../srv/docs/a", "file:///etc/x#/../../srv/docs/a", "FILE:srv/docs",
		"https://a.example/docs/a?b#c", "https://b.example/../a.example/docs/x", "https:///b.example/../a.example/docs", "https://u:p@a.example/docs", "https://a.example/%2e%2e/docs\t/..", "https:a.example/docs", `https:\\a.example\docs\..`,
		"file:///srv/docs/%3f%2f..%2f..%2f..%2fetc%2fssh%2fsshd_config?/../../../srv/docs/z", "https://a.example/docs/%3f%2f..%2f..%2fadmin%2fx?/../../docs/z",
		"notes:///public/a", "notes:///public/../private/x#/../../public/y", "notes:/public/../private/x#/../../public/y", "file://evil/../srv/docs/x", "notes://@/private/x", "notes://u@/public/x",
		"URL:file:///srv/docs/x", "<https://a.example/docs/x>", "https://a.example＃/docs/x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := call(`{"url":` + quoted(s) + `}`)
		c.Tool = "read"
		if d := p.Decide(c, nil); d.Verdict != policy.Allow {
			return
		}
		u, err := url.Parse(strings.ToValidUTF8(s, "\ufffd"))
		if err != nil || u.Host == "" && (u.Scheme == "http" || u.Scheme == "https") { // which leads nowhere
			return
		}
		at := u.Scheme + "://" + strings.ToLower(u.Host) + path.Clean("/"+u.Path)
		if u.Scheme == "notes" && u.Host != "" { // compared as a path, the host is a name like the others
			at = strings.Replace(at, "://", ":///", 1)
		}
		for _, base := range []string{"file:///srv/docs/", "https://a.example/docs/", "notes:///public/"} {
			if strings.HasPrefix(at+"/", base) {
				return
			}
		}
		t.Errorf("%q passes, and leads to %s", s, at)
	})
}

// unescaped is s with what percent signs may stand for.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if c, ok := hexPair(s[i:]); ok {
			b.WriteByte(c)
			i += 2
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func hexPair(s string) (c byte, ok bool) {
	if len(s) < 3 || s[0] != '%' {
		return 0, false
	}
	for _, d := range []byte(strings.ToLower(s[1:3])) {
		n := strings.IndexByte("0123456789abcdef", d)
		if n < 0 {
			return 0, false
		}
		c = c<<4 | byte(n)
	}
	return c, true
}
