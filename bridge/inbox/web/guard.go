package web

import (
	"net"
	"net/http"
	"strings"
)

// contentPolicy is what a browser lets a page do.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var headers = map[string]string{
	"Content-Security-Policy":      contentPolicy,
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Cache-Control":                "no-store",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
}

// A guard says who may ask for what, before anything else is looked at.
type guard struct {
	hosts []string // HOST:PORT by which this Server is called
	cross *http.CrossOriginProtection
	*sessions
}

func newGuard(at net.Addr) *guard {
	_, port, _ := net.SplitHostPort(at.String())
	g := &guard{sessions: newSessions(), cross: http.NewCrossOriginProtection()}
	for _, host := range []string{"127.0.0.1", "localhost", "::1"} {
		g.hosts = append(g.hosts, net.JoinHostPort(host, port))
	}
	if own := at.String(); own != g.hosts[0] {
		g.hosts = append(g.hosts, own)
	}
	return g
}

// called reports whether a request names this Server as its host: a page of another name that
// was made to resolve to this machine speaks to that name.
func (g *guard) called(r *http.Request) bool {
	for _, host := range g.hosts {
		if strings.EqualFold(r.Host, host) {
			return true
		}
	}
	return false
}

// reads reports whether a request changes nothing.
func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// ownPage reports whether a request comes from a page of this Server, or from what a person
// typed: another page has its browser say so. What changes something comes from a page, and the
// browser must say that it is ours.
func (g *guard) ownPage(r *http.Request) bool {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	if origin != "" && origin != "null" && origin != "http://"+r.Host {
		return false
	}
	if reads(r) {
		return site == "" || site == "same-origin" || site == "none"
	}
	return g.cross.Check(r) == nil && (site == "same-origin" || site == "" && origin == "http://"+r.Host)
}
