package topic

import (
	"net/url"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/loopback"
)

// An address is where a gateway is, checked.
type address struct {
	url   *url.URL
	topic string // named in the URL itself, "" if it is not
}

// parseAddress accepts ws and wss alone, and clear text only where nobody can
// listen unless the owner said otherwise (DESIGN section 5).
func parseAddress(o Options) (address, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" {
		return address{}, badScheme(o.URL, u)
	}
	if _, err := url.Parse("https://" + u.Host); err != nil { // package url is stricter there, and its REST endpoints are dialled too
		return address{}, fault.New(fault.Misused, "an IPv6 address stands in brackets, as in wss://[::1]:7420", "the gateway URL has no host that can be dialled: %q", u.Host)
	}
	if u.User != nil {
		return address{}, fault.New(fault.Misused, "give the token in a file, by a command or in the environment", "the gateway URL must not hold a name or a password")
	}
	if u.Scheme == "ws" && !o.Insecure && !loopback.Is(u.Hostname()) {
		return address{}, fault.New(fault.Misused, "use wss://, or --insecure if the network between is yours", "ws://%s would carry the token and all calls in clear text", u.Host)
	}
	u.Fragment, u.RawFragment = "", ""
	at := address{url: u}
	for _, key := range []string{"topic", "space"} {
		named := u.Query().Get(key)
		if named != "" && o.Topic != "" && named != o.Topic {
			return address{}, fault.New(fault.Misused, "name it once", "the gateway URL names the topic %q, the settings name %q", named, o.Topic)
		}
		if at.topic == "" {
			at.topic = named
		}
	}
	return at, nil
}

func badScheme(given string, u *url.URL) error {
	hint := "for example ws://127.0.0.1:7420 or wss://gateway.example"
	switch {
	case u == nil || given == "":
	case u.Host != "" && u.Scheme == "http":
		hint = "try ws://" + u.Host + u.Path
	case u.Host != "" && u.Scheme == "https":
		hint = "try wss://" + u.Host + u.Path
	case u.Host == "" && !strings.Contains(given, "@") && strings.Contains(given, ":"):
		hint = "try ws://" + given
	}
	return fault.New(fault.Misused, hint, "the gateway URL must begin with ws:// or wss://")
}

// restPrefixes are the REST prefixes of the gateways that have them (WIRE 2.4, 3.4);
// the others have /participants?space= alone (WIRE 5.3).
var restPrefixes = map[string]string{"mcp-x/v0": "/v0", "mcpx/v0.1": "/v0.1"}

// candidates are the URLs to try in order (WIRE 1.4). Gateways that have one
// dialect refuse the others' paths or take any; ours has all of them, and
// /ws stands first because there it is the richest.
func (a address) candidates(topic, dialect string) []string {
	both := url.Values{"topic": {topic}, "space": {topic}}
	if p := a.url.Path; p != "" && p != "/" {
		return []string{a.with(p, both)}
	}
	ws, v0 := a.with("/ws", both), a.with("/v0/ws", url.Values{"topic": {topic}})
	root := a.with("/", url.Values{"space": {topic}})
	switch {
	case dialect == "mcp-x/v0":
		return []string{v0}
	case dialect == "mcpx/v0.1":
		return []string{ws}
	case dialect == "" || dialect == "auto":
		return []string{ws, v0, root}
	}
	return []string{root, a.with("/ws", url.Values{"space": {topic}})}
}

// with is the URL with another path, and with what the query still lacks.
func (a address) with(path string, query url.Values) string {
	u, q := *a.url, a.url.Query()
	for key, values := range query {
		if !q.Has(key) {
			q[key] = values
		}
	}
	if u.Path != path {
		u.Path, u.RawPath = path, ""
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// rest is the address of one of the gateway's REST endpoints. Where the
// gateway sits below a path of its own, so do they.
func (a address) rest(path string, query url.Values) string {
	scheme := "http"
	if a.url.Scheme == "wss" {
		scheme = "https"
	}
	below := strings.TrimSuffix(a.url.EscapedPath(), "/")
	for _, end := range []string{"/v0/ws", "/v0.1/ws", "/ws"} {
		if cut, ok := strings.CutSuffix(below, end); ok {
			below = cut
			break
		}
	}
	at := scheme + "://" + a.url.Host + below + path
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	return at
}
