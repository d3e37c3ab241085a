package gateway

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/loopback"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// door checks what a request says about where it is going and where it comes
// from: first the host, against DNS rebinding, where Origin and Host agree;
// then the origin, against pages of other sites. A status of 0 lets it in.
func (g *Gateway) door(r *http.Request) (status int, why string) {
	if !g.knows(r.Host) {
		return http.StatusMisdirectedRequest, "this gateway does not go by that host name"
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return 0, ""
	}
	if u, err := url.Parse(origins[0]); len(origins) > 1 || err != nil || !g.knows(u.Host) {
		return http.StatusForbidden, "pages of that origin may not speak to this gateway"
	}
	return 0, ""
}

// knows reports whether host, with or without a port, is a name of loopback or
// one the gateway was told.
func (g *Gateway) knows(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.Trim(name, "[]"), ".")
	return loopback.Is(name) || name != "" && slices.ContainsFunc(g.opt.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// bearer reads and verifies the token of a request. A status of 0 means that
// it is good. Tokens in the address are refused: addresses are logged.
func (g *Gateway) bearer(r *http.Request) (p pass, status int, why string) {
	q := r.URL.Query()
	if q.Has("token") || q.Has("access_token") {
		return pass{}, http.StatusUnauthorized, "a token in the address is refused: send Authorization: Bearer TOKEN"
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return pass{}, http.StatusUnauthorized, "no token: send Authorization: Bearer TOKEN"
	}
	p, err := g.verify(strings.TrimSpace(token))
	if err != nil {
		return pass{}, http.StatusUnauthorized, err.Error()
	}
	return p, 0, ""
}

// enter is bearer for one topic.
func (g *Gateway) enter(r *http.Request, topic string) (p pass, status int, why string) {
	p, status, why = g.bearer(r)
	switch {
	case status != 0:
		return pass{}, status, why
	case !wire.ValidTopic(topic):
		return pass{}, http.StatusBadRequest, "the topic is missing or no name for one: " + wire.TopicGrammar
	case !p.admits(topic):
		return pass{}, http.StatusForbidden, p.elsewhere(topic)
	}
	return p, 0, ""
}

// refuse answers a request with an error, as JSON.
func refuse(w http.ResponseWriter, status int, why string) {
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	reply(w, status, map[string]string{"error": why})
}

// reply answers a request with v as JSON.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}
