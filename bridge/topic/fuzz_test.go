package topic

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/loopback"
)

// Whatever address is given, what is dialled is that host and no other, with no
// password in it, and in clear text only on this machine.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{"ws://localhost:7420", "wss://gateway.example/below/ws?topic=t1", "ws://127.0.0.1@evil.example", "ws://localhost.example.com", "ws://[::1%25eth0]:1", "WS://LOCALHOST", "ws://127.1", "ws:///x",
		"wss://a/%2e%2e/ws?space=%00", "ws://localhost/ws?topic=a&topic=b#x", "ws://localhost:7420\\@evil", "http://x", "wss://a/?%zz",
		"ws://localhost:0", "ws://localhost:1", "ws://localhost:65535", "ws://localhost:65536", "wss://a:00443", "ws://126.255.255.255", "ws://127.0.0.0", "ws://127.255.255.255", "ws://128.0.0.0", "ws://[::]", "ws://[::2]", "ws://[::ffff:127.0.0.1]", "wss://a/%2", "wss://a/%", "wss://a/%/0%:0%G0"} {
		f.Add(text, "t1")
		f.Add(text, "")
	}
	f.Fuzz(func(t *testing.T, text, topic string) {
		a, err := parseAddress(Options{URL: text, Topic: topic})
		if err != nil {
			if u, ok := err.(*fault.Error); !ok || u.Exit != fault.Misused || u.Error() == "" || len(u.Hint) != 1 {
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
			if clear := u.Scheme == "ws" || u.Scheme == "http"; clear && !loopback.Is(u.Hostname()) {
				t.Fatalf("%q leads to %q in clear text", text, to)
			}
		}
	})
}

// Whatever a gateway sends behind its upgrade, reading comes to an end, and what
// was read until then is what was sent.
func FuzzLink(f *testing.F) {
	for _, raw := range []string{"\x81\x02hi\x88\x02\x03\xe8", "\x01\x01h\x89\x01p\x80\x01i", "\x80\x01x", "\x81\x81\x00\x00\x00\x00x", "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x88\x01\x03", "\xc1\x00", "\x81\x02\xff\xfe", "\x82\x01\x00", "HTTP/1.1 200 OK\r\n\r\n"} {
		f.Add([]byte(raw))
	}
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { at.Close() })
	f.Fuzz(func(t *testing.T, raw []byte) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			answerWith(t, at, raw)
		}()
		c, err := Dial(t.Context(), Options{URL: "ws://" + at.Addr().String(), Topic: "t1", ID: "fs"}, "")
		if err != nil {
			t.Fatal(err)
		}
		read := 0
		for err = nil; err == nil || err == ErrTooLarge; {
			var frame []byte
			frame, err = c.Read()
			read += len(frame)
		}
		c.Close(1000, "")
		if <-done; read > len(raw) {
			t.Errorf("%d bytes were read of %q", read, raw)
		}
	})
}

// answerWith upgrades the next connection, sends raw bytes and hangs up.
func answerWith(t *testing.T, at net.Listener, raw []byte) {
	conn, err := at.Accept()
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		t.Error(err)
		return
	}
	head := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + accepts(r.Header.Get("Sec-WebSocket-Key")) + "\r\n\r\n"
	conn.Write(append([]byte(head), raw...)) // it may be let go of in between
}

// accepts is the answer to a key (RFC 6455 section 4.2.2).
func accepts(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}
