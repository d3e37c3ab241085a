package channel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify/channel"
)

// A parrot answers the first bytes of each connection by what answer makes of them, and hangs up.
func parrot(t *testing.T, greeting string, answer func(said string) string) (at string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go repeat(conn, greeting, answer)
		}
	}()
	return l.Addr().String()
}

func repeat(conn net.Conn, greeting string, answer func(said string) string) {
	defer conn.Close()
	conn.Write([]byte(greeting))
	buffer := make([]byte, 1<<16)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return
		}
		if _, err := conn.Write([]byte(answer(string(buffer[:n])))); err != nil || greeting == "" {
			return
		}
	}
}

// answers are by which a server may repeat what it was asked.
var repeated = map[string]func(said string) string{
	"as a page": func(said string) string {
		return fmt.Sprintf("HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\nCannot %s", len(said)+7, said)
	},
	"as no HTTP": func(said string) string { return said },
	"as where to go": func(said string) string {
		line, _, _ := strings.Cut(said, "\r\n")
		return "HTTP/1.1 302 Found\r\nLocation: ://" + strings.Fields(line)[1] + "%zz\r\nContent-Length: 0\r\n\r\n"
	},
	"as a head that is none": func(said string) string {
		head, _, _ := strings.Cut(said, "\r\n\r\n")
		return "HTTP/1.1 200 OK\r\n" + strings.ReplaceAll(head, ":", "") + "\r\n\r\n"
	},
	"as its own words": func(said string) string {
		body := fmt.Sprintf(`{"ok":false,"error_code":400,"description":%q,"error":%q}`, said, said)
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	},
	"at its cut": func(said string) string { // so that a part of it is all that is shown
		i := strings.Index(said, secret)
		body := strings.Repeat("x", max(0, 290-len(secret))) + said[max(i, 0):]
		return fmt.Sprintf("HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	},
}

// Whatever a server repeats of a request, its secret is in no error: that would be in a log.
func TestWhatASecretIsInIsNotRepeated(t *testing.T) {
	for how, answer := range repeated {
		at := parrot(t, "", answer)
		for kind, of := range map[string]string{
			"ntfy":         "ntfy: 'http://%s/alerts', token: '${SECRET}'",
			"ntfy by name": "ntfy: 'http://%s/" + secret + "'",
			"webhook":      "webhook: 'http://%s/services/" + secret + "?key=" + secret + "', secret: '${SECRET}'",
			"telegram":     "telegram: 7, token: '${SECRET}', api: 'http://%s', trust: answers, people: {7: ann}",
			"slack":        "slack: C01, token: '${SECRET}', app_token: '${SECRET}', api: 'http://%s/api', trust: answers, people: {U1: ann}",
		} {
			c := open(t, of, at)
			_, err := c.Send(t.Context(), asked(t))
			silent(t, kind+" "+how, err, how == "as a page" || how == "as no HTTP" || how == "at its cut")
			if l, can := c.(channel.Listener); can {
				silent(t, kind+" "+how, l.Listen(t.Context(), nil), how == "as a page" || how == "as no HTTP" || how == "at its cut")
			}
		}
	}
}

// silent looks for the secret in an error, and at its size. fails: there must be one.
func silent(t *testing.T, what string, err error, fails bool) {
	t.Helper()
	if err == nil && fails {
		t.Errorf("%s: no error", what)
	}
	if err == nil {
		return
	}
	if e, is := errors.AsType[*channel.Error](err); !is || strings.ContainsAny(err.Error(), "\r\n\x00") || len(err.Error()) > 2000 {
		t.Errorf("%s: %T %v", what, e, err)
	}
	for part := range len(secret) - 7 {
		if strings.Contains(err.Error(), secret[part:part+8]) {
			t.Errorf("%s: it says %v", what, err)
			return
		}
	}
}

// A mail server sees a password in a form of its own.
func TestAMailServerThatRepeatsThePassword(t *testing.T) {
	at := parrot(t, "220 hello\r\n", func(said string) string {
		switch {
		case strings.HasPrefix(said, "EHLO"):
			return "250-parrot\r\n250 AUTH PLAIN\r\n"
		}
		return "535 no such user: " + strings.TrimSpace(said) + "\r\n"
	})
	_, err := open(t, "mail: [ann@example.com], from: b@example.com, server: '%s', user: bridge, password: '${SECRET}'", at).Send(t.Context(), asked(t))
	silent(t, "mail", err, true)
	if !strings.Contains(err.Error(), "the mail server said 535 no such user: AUTH PLAIN [hidden]") {
		t.Errorf("%v", err)
	}
}

// endless is what a server answers that does not stop, and how much of it was taken.
type endless struct {
	at    string
	taken chan int // of each connection
}

// pours begins an answer in some way and goes on with one letter.
func pours(t *testing.T, begin string) endless {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	e := endless{l.Addr().String(), make(chan int, 16)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				conn.Write([]byte(begin))
				lot, n := bytes.Repeat([]byte("x"), 1<<16), 0
				for n < 1<<30 && err == nil {
					_, err = conn.Write(lot)
					n += len(lot)
				}
				e.taken <- n
			}()
		}
	}()
	return e
}

// A server that says without end what it has to say is heard no longer than is sensible.
func TestAnAnswerWithoutEnd(t *testing.T) {
	const ends = 16 << 20 // what a machine may hold on the way of 1 GiB
	body, head := "HTTP/1.1 200 OK\r\n\r\n{\"ok\":true,\"description\":\"", "HTTP/1.1 200 OK\r\nX-Long: "
	for kind, of := range map[string][]string{
		"ntfy: 'http://%s/alerts'":                                 {body, head, ""},
		"webhook: 'http://%s/hook', secret: '${SECRET}'":           {body, head, ""},
		"telegram: 7, token: '${SECRET}', api: 'http://%s'":        {body, head, ""},
		"slack: C01, token: '${SECRET}', api: 'http://%s/api'":     {body, head, ""},
		"mail: [a@example.com], from: b@example.com, server: '%s'": {"220 ", "220-\r\n220-"},
	} {
		for _, begin := range of {
			e := pours(t, begin)
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			open(t, kind, e.at).Send(ctx, asked(t)) // of which it may even be that it was taken
			if taken := <-e.taken; taken > ends || ctx.Err() != nil {
				t.Errorf("%s: %q: %d bytes were taken, %v", kind, begin, taken, ctx.Err())
			}
			cancel()
		}
	}
}

// So is one that opens a socket so.
func TestASocketThatOpensWithoutEnd(t *testing.T) {
	e := pours(t, "HTTP/1.1 101 Switching Protocols\r\nX-Long: ")
	url, _ := serves(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"ok":true,"url":"ws://%s/link?ticket=%s"}`, e.at, secret)
	})
	err := open(t, "slack: C01, token: '${SECRET}', app_token: '${SECRET}', api: '%s/api', trust: answers, people: {U1: ann}", url).(channel.Listener).Listen(t.Context(), nil)
	silent(t, "slack", err, true)
	if taken := <-e.taken; taken > 16<<20 {
		t.Errorf("%d bytes were taken", taken)
	}
}
