package topic

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
)

// answering is a gateway that answers an upgrade with first and then with line, over and
// over, until somebody hangs up or has taken 16 MiB. It sends how much that was.
func answering(t *testing.T, first, line string) (addr string, took <-chan int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	n := make(chan int, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		all := 0
		for next := first; all < 16<<20; next = line {
			wrote, err := conn.Write([]byte(next))
			if all += wrote; err != nil {
				break
			}
		}
		n <- all
	}()
	return l.Addr().String(), n
}

// Seen before the mend: 2.1 GB of memory within the ten seconds of a handshake, at each try.
func TestAHeadWithoutEndIsReadToTheEndOfMemory(t *testing.T) {
	long := strings.Repeat("a", 60000)
	for name, c := range map[string]struct{ first, line string }{
		"many headers":      {"HTTP/1.1 101 Switching Protocols\r\n", "X-A: " + long + "\r\n"},
		"one header":        {"HTTP/1.1 101 Switching Protocols\r\nX-A: ", long},
		"one status":        {"HTTP/1.1 404 ", long},
		"of a refusal":      {"HTTP/1.1 403 Forbidden\r\n", "X-A: " + long + "\r\n"},
		"no HTTP":           {long, long},
		"a chunk's size":    {"HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n", strings.Repeat("0", 60000)},
		"a refusal's body":  {"HTTP/1.1 403 Forbidden\r\n\r\n", long},
		"a body in chunks":  {"HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"},
		"empty lines first": {"\r\n", strings.Repeat("\r\n", 30000)},
	} {
		addr, took := answering(t, c.first, c.line)
		d := dialer{}
		if _, err := d.upgrade(context.Background(), "ws://"+addr, "t"); err == nil {
			t.Errorf("%s: it was taken for an upgrade", name)
		} else if strings.HasSuffix(c.first, "101 Switching Protocols\r\n") && !errors.Is(err, errAnswer) {
			t.Errorf("%s: %v", name, err)
		}
		if n := <-took; n >= 16<<20 {
			t.Errorf("%s: %d bytes were taken, and more would be", name, n)
		}
	}
}

// The page of a web server was told five times, and in the end the gateway was said not to
// run.
func TestAWebServerIsNoGateway(t *testing.T) {
	page := httptest.NewServer(answers("<!DOCTYPE HTML>\n<title>hello</title>"))
	defer page.Close()
	s := sit(t, Options{URL: "ws" + strings.TrimPrefix(page.URL, "http"), Topic: "t", ID: "fs"})
	if err := s.fatal(fault.Gateway); !strings.Contains(err.Error(), "there is no topic to join at this address") || !strings.Contains(err.Error(), "it answers with a web page") {
		t.Errorf("it says: %v", err)
	}
}
