package topic

import (
	"net/url"
	"testing"
)

// Whatever address is given, what is dialled is that host and no other, with no
// password in it, and in clear text only on this machine.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{"ws://localhost:7420", "wss://gateway.example/below/ws?topic=t1", "ws://127.0.0.1@evil.example", "ws://localhost.example.com", "ws://[::1%25eth0]:1", "WS://LOCALHOST", "ws://127.1", "ws:///x",
		"wss://a/%2e%2e/ws?space=%00", "ws://localhost/ws?topic=a&topic=b#x", "ws://localhost:7420\\@evil", "http://x", "wss://a/?%zz"} {
		f.Add(text, "t1")
		f.Add(text, "")
	}
	f.Fuzz(func(t *testing.T, text, topic string) {
		a, err := parseAddress(Options{URL: text, Topic: topic})
		if err != nil {
			if u, ok := err.(*UsageError); !ok || u.What == "" || u.Hint == "" {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		all := append(a.candidates("t1", ""), a.candidates("t1", "mew/v0.4")...)
		for _, to := range append(all, a.rest("/health", nil)) {
			u, err := url.Parse(to)
			if err != nil || u.Host != a.url.Host || u.User != nil {
				t.Fatalf("%q leads to %q (%v)", text, to, err)
			}
			if clear := u.Scheme == "ws" || u.Scheme == "http"; clear && !loopback(u.Hostname()) {
				t.Fatalf("%q leads to %q in clear text", text, to)
			}
		}
	})
}
