package policy_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// Paths are compared cleaned, and only where both begin at the same place. What
// a server could read in two ways is unclear.
func TestUnder(t *testing.T) {
	for _, c := range []struct{ base, path, want string }{
		{"/srv/docs", "/srv/docs/a.txt", "yes"},
		{"/srv/docs", "/srv/docs", "yes"},
		{"/srv/docs", "/srv/docs/", "yes"},
		{"/srv/docs/", "/srv/docs/a", "yes"},
		{"/srv/docs", "/srv//docs///a", "yes"},
		{"/srv/docs", "//srv/docs/a", "yes"},
		{"/srv/docs", "/srv/./docs/./a", "yes"},
		{"/srv/docs", "/srv/docs/sub/../a", "yes"},
		{"/srv/docs", "/srv/other/../docs/a", "yes"},
		{"/srv/docs", "/srv/docs-evil/a", "no"},
		{"/srv/docs", "/srv/doc", "no"},
		{"/srv/docs", "/srv/docs/../x", "no"},
		{"/srv/docs", "/srv/docs/../../etc/passwd", "no"},
		{"/srv/docs", "/../srv/docs/a", "yes"},
		{"/", "/etc", "yes"},
		{"/", "etc", "unclear"},

		{"/srv/docs", "srv/docs/a", "unclear"},
		{"/srv/docs", "a.txt", "unclear"},
		{"/srv/docs", "../a", "unclear"},
		{"/srv/docs", ".", "unclear"},
		{"/srv/docs", "", "unclear"},
		{"/srv/docs", "~/docs", "unclear"},
		{"/srv/docs", "~root/x", "unclear"},
		{"/srv/docs", "file:///srv/docs/a", "unclear"},

		// Names that some file systems take for one.
		{"/srv/docs", "/srv/DOCS/a", "unclear"},
		{"/srv/docs", "/SRV/docs", "unclear"},
		{"/srv/docs", "/srv/docs./a", "unclear"},
		{"/srv/docs", "/srv/docs /a", "unclear"},
		{"/srv/docs", "/srv/docs::$DATA", "unclear"},
		{"/srv/docs", "/srv/do\u200bcs/a", "unclear"},
		{"/srv/docs", "/srv/docſ/a", "unclear"},
		{"/srv/docs", "/srv/docs/A.", "yes"},

		// Separators and escapes that only some servers understand.
		{"/srv/docs", `/srv/docs\..\..\etc`, "no"},
		{"/srv/docs", `/srv/docs/a\b`, "yes"},
		{"/srv/docs", `/srv/docs/..\x`, "unclear"},
		{"/etc", `/srv\..\etc`, "unclear"},
		{"/etc", `\etc\passwd`, "unclear"},
		{"/srv/docs", `/srv/docs/%2e%2e/%2e%2e/etc`, "unclear"},
		{"/srv/docs", `/srv/docs/%252e%252e/x`, "unclear"},
		{"/srv/docs", `/srv/docs/%25252525252e`, "unclear"},
		{"/srv/docs", `/srv/docs/..%2f..%2fetc`, "unclear"},
		{"/srv/docs", `/srv/docs/100%25`, "yes"},
		{"/srv/docs", `/srv/docs/a%20b`, "yes"},
		{"/srv/docs", `/srv/docs/50% off`, "yes"},
		{"/srv/docs", `/srv/docs/%5c..%5c..`, "unclear"},
		{"/srv/docs", "/srv/docs/a\x00/../../../etc", "unclear"},
		{"/srv/docs", "/srv/docs/%00", "unclear"},
		{"/srv/docs", " /srv/docs/a", "unclear"},
		{"/srv/docs", "/srv/docs/a ", "yes"},
		{"/srv/docs", "/srv/docs/a%20", "yes"},

		// White space that only an escape makes, before and after another one.
		{"/srv/docs", "/srv/docs/..%20", "unclear"},
		{"/srv/docs", "/srv/docs/%2e%2e ", "unclear"},
		{"/srv/docs", "/srv/docs/..%250a", "unclear"},
		{".", "%20/etc/passwd", "unclear"},
		{".", "%09~/x", "unclear"},

		{"docs", "docs/a", "yes"},
		{"docs", "./docs/a", "yes"},
		{"docs", "docs/../x", "no"},
		{"docs", "other", "no"},
		{"docs", "../docs/a", "unclear"},
		{"docs", "docs/../../docs/a", "unclear"},
		{"docs", "/docs/a", "unclear"},
		{"docs", "./~/docs", "unclear"},
		{".", "a/b", "yes"},
		{".", "a/../..", "unclear"},

		{"~/docs", "~/docs/a", "yes"},
		{"~/docs", "~/x", "no"},
		{"~/docs", "~/../bob/docs", "unclear"},
		{"~/docs", "/home/me/docs/a", "unclear"},
		{"~bob", "~bob/x", "yes"},
		{"~bob", "~eve/x", "unclear"},
		{"~", "~", "yes"},

		// A URL is no path: nothing climbs over its host, and programs differ about the rest.
		{"https://example.com/docs", "https://example.com/docs/a", "yes"},
		{"https://example.com/docs", "https://example.com/docs/../x", "no"},
		{"https://example.com/docs", "https://evil.com/../example.com/docs/x", "unclear"},
		{"https://example.com/docs", "https:///evil.com/../example.com/docs/x", "unclear"},
		{"https://example.com/docs", "https://evil.com\\..\\example.com/docs/x", "unclear"},
		{"https://example.com/docs", "https:example.com/docs/x", "unclear"},
		{"https://example.com/docs", "https://me@example.com/docs/x", "unclear"},
		{"https://example.com/docs", "https://EXAMPLE.com/docs/x", "unclear"},
		{"https://example.com/docs", "https://example.com@evil.com/docs/x", "no"},
		{"file:///srv/docs", "file:///srv/docs/a", "yes"},
		{"file:///srv/docs", "file:/srv/docs/a", "yes"},
		{".", "file:///etc/passwd", "unclear"},
		{".", "https://evil.com/x", "unclear"},
		{".", "note:today.md", "yes"},

		// Behind ? and # programs stop, before or after decoding; a .. there tells them apart.
		{"file:///srv/docs", "file:///srv/docs/%3f%2f..%2f..%2f..%2fetc%2fssh%2fsshd_config?/../../../srv/docs/z", "unclear"},
		{"file:///etc", "file:///srv/docs/%3f%2f..%2f..%2f..%2fetc%2fssh%2fsshd_config?/../../../srv/docs/z", "unclear"},
		{"file:///srv/docs", "file:///srv/docs/x?/../../../etc/passwd#/../../srv/docs/z", "unclear"},
		{"https://a.example/docs", "https://a.example/docs/%3f%2f..%2f..%2fadmin%2fx?/../../docs/z", "unclear"},
		{"notes:///public", "notes:///public/../private/x#/../../public/y", "unclear"},
		{"notes:///private", "notes:///public/../private/x#/../../public/y", "unclear"},
		{"notes:///public", "notes:/public/../private/x#/../../public/y", "unclear"},
		{"notes:public", "notes:private/x#/../../notes:public/y", "unclear"},
		{"notes:public", "notes:\nprivate/x#/../../notes:public/y", "unclear"},
		{"notes:public", "<notes:private/x#/../../notes:public/y>", "unclear"},
		{"notes:///public", "notes:///public/x?y=../z#a", "yes"},
		{"notes:///public", "notes:///public/../private/x", "unclear"},

		// The host of a file: is left out, or it is where the file is; and an empty host is none.
		{"file:///srv/docs", "file://evil/../srv/docs/x", "unclear"},
		{"file:///srv/docs", "file://evil/srv/docs/x", "unclear"},
		{"notes:///private", "notes://@/private/x", "unclear"},
		{"notes:///private", "notes://u@/private/x", "unclear"},

		// Some programs take a URL out of <> and of URL: first.
		{"file:///etc", "URL:file:///etc/passwd", "unclear"},
		{"https://evil.com", "<https://evil.com/x>", "unclear"},
		{".", "<https:evil.com>", "unclear"},

		{`C:\Users\me`, `C:\Users\me\a`, "yes"},
		{`C:\Users\me`, `c:/users/ME/a`, "yes"},
		{`C:\Users\me`, `C:\Users\me.\a`, "yes"},
		{`C:/Users/me`, `C:\Users\you`, "no"},
		{`C:/Users/me`, `C:\Users\me\..\you`, "no"},
		{`C:/Users/me`, `C:\USERS~1\me`, "unclear"},
		{`C:/Users/me`, `D:\Users\me`, "unclear"},
		{`C:/Users/me`, `C:Users\me`, "unclear"},
		{`C:/Users/me`, `\\?\C:\Users\me`, "unclear"},
		{`C:/Users/me`, `\\server\share`, "unclear"},
		{`C:/Users/me`, `/Users/me`, "unclear"},
		{`C:/Users/me`, `C:`, "unclear"},
		{`/srv/docs`, `C:\srv\docs`, "unclear"},
	} {
		t.Run(c.base+" "+c.path, func(t *testing.T) {
			expect(t, "args: {p: {under: '"+c.base+"'}}", call(`{"p":`+quoted(c.path)+`}`), c.want)
		})
	}
	expect(t, "args: {p: {under: [/a, /b]}}", call(`{"p":"/b/x"}`), "yes")
	expect(t, "args: {p: {under: [/a, b]}}", call(`{"p":"/c"}`), "unclear")
	expect(t, "args: {p: {under: /a}}", call(`{"p":["/a"]}`), "unclear")
	expect(t, "args: {p: {under: /a}}", call(`{"p":5}`), "unclear")
	expect(t, "args: {p: {under: /a}}", call(`{}`), "no")
}

func TestGlob(t *testing.T) {
	for _, c := range []struct{ pattern, path, want string }{
		{"**/.ssh/**", "/home/a/.ssh/id", "yes"},
		{"**/.ssh/**", "/home/a/.ssh", "yes"},
		{"**/.ssh/**", "~/.ssh/id", "yes"},
		{"**/.ssh/**", ".ssh/id", "yes"},
		{"**/.ssh/**", "../.ssh/id", "yes"},
		{"**/.ssh/**", `C:\Users\a\.ssh\id`, "yes"},
		{"**/.ssh/**", `/home/a\.ssh\id`, "unclear"},
		{"**/.ssh/**", "file:///home/a/.ssh/id", "yes"},
		{"**/.ssh/**", "/home/a/.SSH/id", "unclear"},
		{"**/.ssh/**", "/home/a/%2essh/id", "unclear"},
		{"**/.ssh/**", "/home/a/.s\u200csh/id", "unclear"},
		{"**/.ssh/**", "/home/a/x/../.ssh/id", "yes"},
		{"**/.ssh/**", "/home/a/.ssh/../x", "no"},
		{"**/.ssh/**", "/home/a/assh/id", "no"},
		{"**/.ssh/**", "/home/a/.ssh\x00", "unclear"},
		{"**/*.pem", "/srv/key.pem%0a", "unclear"},
		{"**/*.pem", "/srv/key%2epem\n", "unclear"},
		{"**/.env", "%20.env", "unclear"},
		{" key", "%20%2520key", "unclear"},
		{"**/.env*", "/srv/.env.local", "yes"},
		{"**/.env*", "/srv/env", "no"},
		{"/srv/*.md", "/srv/a.md", "yes"},
		{"/srv/*.md", "/srv/x/a.md", "no"},
		{"/srv/**/*.md", "/srv/x/y/a.md", "yes"},
		{"/srv/**/*.md", "/srv/a.md", "yes"},
		{"/srv/**/x/**/*.md", "/srv/x/y/x/a.md", "yes"},
		{"/srv/**/x/**/*.md", "/srv/y/a.md", "no"},
		{"/srv/?.md", "/srv/ä.md", "yes"},
		{"/srv/?.md", "/srv/ab.md", "no"},
		{"/srv/*", "a.md", "unclear"},
		{"*.md", "a.md", "yes"},
		{"*.md", "x/a.md", "no"},
		{"*.md", "/a.md", "unclear"},
		{"release/*", "release/1.0", "yes"},
		{"release/*", "main", "no"},
		{"~/x/*", "~/x/a", "yes"},
		{"C:/Users/*/docs/**", `c:\users\me\DOCS\a`, "yes"},
		{"**", "/anything", "yes"},
		{"**", "", "yes"},
		{"*.md", "note:today.md", "yes"},

		// What a URL leads to ends at ? and #, and has no line breaks and tabs in it.
		{"file:///srv/docs/**", "file:///srv/docs/a", "yes"},
		{"file:///srv/docs/**", "file:///etc/passwd?/../../srv/docs/x", "unclear"},
		{"file:///srv/docs/**", "file:///etc/passwd#/../../srv/docs/x", "unclear"},
		{"file:///srv/docs/**", "file:/etc/passwd?/../../srv/docs/x", "unclear"},
		{"file:///srv/docs/**", "file:///etc/passwd%3f/../../srv/docs/x", "unclear"},
		{"file:///etc/**", "file://localhost/etc/passwd", "unclear"},
		{"file:///etc/**", "file://elsewhere/etc/passwd", "unclear"},
		{"file:///etc/**", "file:etc/passwd", "unclear"},
		{"file:///etc/**", "FILE:///etc/passwd", "unclear"},
		{"file:///etc/**", "\x01file:///etc/passwd", "unclear"},
		{"**/*.pem", "file:///srv/key.pem?x", "unclear"},
		{"**/*.pem", "file:///srv/key.pem#x", "unclear"},
		{"**/.env", "file:///srv/.e\tnv", "unclear"},
		{"**/.env", "https://x.example/?q=1", "no"},
		{"https://example.com/docs/**", "https://evil.com/../example.com/docs/x", "unclear"},
		{"https://example.com/docs/**", "https://example.com/docs/a?b=1", "yes"},
		{"https://evil.com/**", "https://me@evil.com/x", "unclear"},
		{"https://evil.com/**", "https:evil.com/x", "unclear"},
		{"file:///srv/docs/**", "file:///srv/docs/%3f%2f..%2f..%2f..%2fetc%2fssh%2fsshd_config?/../../../srv/docs/z", "unclear"},
		{"https://a.example/docs/**", "https://a.example/docs/%3f%2f..%2f..%2fadmin%2fx?/../../docs/z", "unclear"},
		{"notes:///public/**", "notes:///public/../private/x#/../../public/y", "unclear"},
		{"notes:///private/**", "notes:///public/../private/x#/../../public/y", "unclear"},
		{"notes:public/**", "notes:private/x#/../../notes:public/y", "unclear"},
		{"notes:///private/*.md", "notes:///a/../private/x.md?q", "unclear"},
		{"**/.env", "# Notes\nSee [that](../../b).", "no"},
		{"**/.env", "// Is it?\nimport '../../b'", "no"},
		{"**/.env", "name: ci # as in ../../b", "no"},
		{"**/.env", "jobs:\n  build: # as in ../../b", "no"},

		// Some programs take a URL out of <> and of URL: first.
		{"file:///etc/**", "URL:file:///etc/passwd", "unclear"},
		{"file:///etc/**", "url: file:///etc/passwd", "unclear"},
		{"file:///etc/**", "<file:///etc/passwd>", "unclear"},
		{"file:///etc/**", " < url:file:///etc/passwd > ", "unclear"},
		{"https://evil.com/**", "<https://evil.com/x>", "unclear"},
		{"**/*.md", "URL:file:///etc/passwd#/x.md", "unclear"},
		{"**/.env", "<b>file:///etc/passwd</b>", "no"},

		// To who brings characters into their usual form first, some end or part a URL.
		{"https://*.example.com/**", "https://evil.com＃.example.com/x", "unclear"},
		{"https://*.example.com/**", "https://evil.com？.example.com/x", "unclear"},
		{"https://evil.com/**", "https://me＠evil.com/x", "unclear"},
		{"https://*.com/**", "https://me＠evil.com/x", "yes"}, // as with the usual @: it holds for either host
		{"https://evil.com/**", "<https://me＠evil.com/x>", "unclear"},
		{"https://*.com/**", "https://me@evil.com/x", "yes"},
		{"**/.env", "https://example.com/x これは？", "no"},
		{"**/.env", "https://example.com/x\u3000これは？", "no"},
		{"**/.env", "https://example.com/x\nこれは何ですか？", "no"},
		{"**/.env", "https://example.com/x\u3000参照: a", "no"},
		{"**/.env", "https://exemple.fr/x\u00a0: voir", "no"},
		{"https://ja.example.org/**", "https://ja.example.org/wiki/%E3%81%AF%EF%BC%9F", "yes"},
		{"https://ja.example.org/**", "https://ja.example.org/wiki/は：", "yes"},
		{"https://evil.com/**", "＜https://evil.com/x＞", "unclear"},
	} {
		t.Run(c.pattern+" "+c.path, func(t *testing.T) {
			expect(t, "args: {p: {glob: '"+c.pattern+"'}}", call(`{"p":`+quoted(c.path)+`}`), c.want)
		})
	}
	expect(t, `args: {p: {glob: ["**/a", "**/b"]}}`, call(`{"p":"/x/b"}`), "yes")
	expect(t, `args: {p: {glob: "**/a"}}`, call(`{"p":null}`), "unclear")
	letter := "Grüße: " + strings.Repeat("ä", 14_000) + "\n" // which is no URL, and as long to look at as without a colon
	expect(t, `args: {p: {glob: "**/a"}}`, call(`{"p":`+quoted(letter)+`}`), "no")
}

// Programs read odd URLs differently, so they are unclear.
func TestHost(t *testing.T) {
	for _, c := range []struct{ pattern, url, want string }{
		{"good.com", "https://good.com", "yes"},
		{"good.com", "https://good.com/x?y#z", "yes"},
		{"good.com", "HTTPS://GOOD.com:8443/x", "yes"},
		{"GOOD.com", "http://good.com?x", "yes"},
		{"good.com", "good.com", "yes"},
		{"good.com", "good.com:80", "yes"},
		{"good.com", "https://good.com./x", "yes"},
		{"good.com", "https://good.com../x", "unclear"},
		{"good.com", "https://evil.com", "no"},
		{"good.com", "https://good.com.evil.com/", "no"},
		{"good.com", "https://evilgood.com/", "no"},
		{"good.com", "https://x.good.com/", "no"},
		{"good.com", "https://evil.com/good.com", "no"},
		{"good.com", "https://evil.com?good.com", "no"},
		{"good.com", "https://evil.com#@good.com", "no"},
		{"good.com", "https://good.com@evil.com/", "unclear"},
		{"good.com", "https://user:pw@good.com/", "unclear"},
		{"good.com", `https://good.com\@evil.com/`, "unclear"},
		{"good.com", `https://good.com\.evil.com/`, "unclear"},
		{"good.com", "https://good.com%2eevil.com/", "unclear"},
		{"good.com", "https://good.com:/", "unclear"},
		{"good.com", "https://good.com:80@evil.com/", "unclear"},
		{"good.com", "https:good.com", "unclear"},
		{"good.com", "https:/good.com", "unclear"},
		{"good.com", "https:///good.com", "unclear"},
		{"good.com", "//good.com/", "unclear"},
		{"good.com", "/good.com", "unclear"},
		{"good.com", " https://good.com", "unclear"},
		{"good.com", "https://good.com\t", "unclear"},
		{"good.com", "ht\ntps://good.com", "unclear"},
		{"good.com", "https://gооd.com/", "unclear"}, // Cyrillic
		{"good.com", "https://good。com/", "unclear"},
		{"good.com", "https://good.com\u200b/", "unclear"},
		{"good.com", "javascript:alert(1)", "unclear"},
		{"good.com", "git@good.com:a/b", "unclear"},
		{"good.com", "", "unclear"},
		{"xn--bcher-kva.de", "https://xn--bcher-kva.de/", "yes"},
		{"xn--bcher-kva.de", "https://bücher.de/", "unclear"},

		{"*.good.com", "https://a.good.com", "yes"},
		{"*.good.com", "https://a.b.good.com", "yes"},
		{"*.good.com", "https://good.com", "no"},
		{"*.good.com", "https://agood.com", "no"},
		{"*.good.com", "https://10.0.0.1", "no"},

		{"good.com:443", "https://good.com/", "yes"},
		{"good.com:443", "http://good.com/", "no"},
		{"good.com:443", "good.com", "unclear"},
		{"good.com:443", "foo://good.com/", "unclear"},
		{"good.com:8080", "http://good.com:8080/", "yes"},
		{"good.com:8080", "http://good.com:8081/", "no"},
		{"good.com:80", "http://good.com:080/", "unclear"}, // 80 to most, and so is 65616 to some
		{"good.com:80", "http://good.com:00080/", "unclear"},
		{"good.com", "http://good.com:080/", "unclear"},
		{"good.com:80", "http://good.com:65616/", "unclear"},
		{"good.com:65535", "http://good.com:65535/", "yes"},
		{"good.com:65535", "http://good.com:65534/", "no"},
		{"good.com", "http://good.com:65536/", "unclear"},
		{"good.com", "http://good.com:165535/", "unclear"},
		{"good.com:1", "http://good.com:1/", "yes"},
		{"good.com:1", "http://good.com:0/", "unclear"}, // which leads nowhere, or to the scheme's own
		{"127.0.0.1:80", "http://127.0.0.1:080/", "unclear"},

		{"127.0.0.1", "http://127.0.0.1:9/", "yes"},
		{"127.0.0.1", "http://127.1/", "unclear"},
		{"127.0.0.1", "http://0x7f.0.0.1/", "unclear"},
		{"127.0.0.1", "http://0x7f000001/", "unclear"},
		{"127.0.0.1", "http://2130706433/", "unclear"},
		{"127.0.0.1", "http://0177.0.0.1/", "unclear"},
		{"127.0.0.1", "http://127.0.0.1./", "yes"},
		{"127.0.0.1", "http://[::ffff:127.0.0.1]/", "yes"},
		{"[::1]", "http://[::1]:80/", "yes"},
		{"[::1]", "http://[0:0::1]/", "yes"},
		{"[::1]", "http://[::2]/", "no"},
		{"[::1]", "http://[::1%25eth0]/", "unclear"},
		{"[::1]", "http://[zz]/", "unclear"},
		{"10.0.0.0/8", "http://10.9.8.7/", "yes"},
		{"10.0.0.0/8", "http://11.9.8.7/", "no"},
		{"10.0.0.0/8", "http://10.0.0.0/", "yes"},
		{"10.0.0.0/8", "http://10.255.255.255/", "yes"},
		{"10.0.0.0/8", "http://9.255.255.255/", "no"},
		{"10.0.0.0/8", "http://11.0.0.0/", "no"},
		{"10.1.2.3/8", "http://10.9.8.7/", "yes"},
		{"10.0.0.1/32", "http://10.0.0.1/", "yes"},
		{"10.0.0.1/32", "http://10.0.0.2/", "no"},
		{"0.0.0.0/0", "http://255.255.255.255/", "yes"},
		{"0.0.0.0/0", "http://256.255.255.255/", "unclear"},
		{"fe80::/10", "http://[febf:ffff::1]/", "yes"},
		{"fe80::/10", "http://[fec0::1]/", "no"},
		{"10.0.0.0/8", "http://ten.example/", "no"},
		{"fe80::/10", "http://[fe80::1]/", "yes"},
		{"[::ffff:10.0.0.1]", "http://10.0.0.1/", "yes"},
	} {
		t.Run(c.pattern+" "+c.url, func(t *testing.T) {
			expect(t, "args: {u: {host: '"+c.pattern+"'}}", call(`{"u":`+quoted(c.url)+`}`), c.want)
		})
	}
	expect(t, "args: {u: {host: [a.com, b.com]}}", call(`{"u":"https://b.com"}`), "yes")
	expect(t, "args: {u: {host: a.com}}", call(`{"u":["https://a.com"]}`), "unclear")
}
