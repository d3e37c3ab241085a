package gateway_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// rawJoin does the upgrade by hand and returns the bare connection.
func (h *house) rawJoin(id string) (net.Conn, *bufio.Reader) {
	h.t.Helper()
	addr := strings.TrimPrefix(h.http, "http://")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /ws?topic=t HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer %s\r\n\r\n", addr, h.mint(id, "t"))
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		h.t.Fatalf("upgrade: %v %v", resp, err)
	}
	conn.SetReadDeadline(time.Now().Add(patience))
	return conn, r
}

// readFrame reads one frame from a server.
func readFrame(r io.Reader) (op byte, payload []byte, err error) {
	var head [2]byte
	if _, err = io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1])
	switch {
	case head[1]&0x80 != 0:
		return 0, nil, fmt.Errorf("the server masks")
	case n == 126:
		var b [2]byte
		_, err = io.ReadFull(r, b[:])
		n = uint64(binary.BigEndian.Uint16(b[:]))
	case n == 127:
		var b [8]byte
		_, err = io.ReadFull(r, b[:])
		n = binary.BigEndian.Uint64(b[:])
	}
	if err != nil {
		return 0, nil, err
	}
	if head[1] == 126 && n < 126 || head[1] == 127 && n < 1<<16 {
		return 0, nil, fmt.Errorf("the length %d takes more bytes than it needs (RFC 6455 5.2)", n)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(r, payload)
	return head[0], payload, err
}

// closesOn sends raw bytes and expects a close frame with code, then the end
// of the connection.
func closesOn(t *testing.T, raw string, code int) {
	h := open(t, gateway.Options{})
	conn, r := h.rawJoin("mallory")
	conn.Write([]byte(raw)) // it may be cut short
	for {
		op, payload, err := readFrame(r)
		if err != nil {
			t.Fatalf("%v before a close frame", err)
		}
		if op != 0x88 {
			continue
		}
		if len(payload) < 2 || int(binary.BigEndian.Uint16(payload)) != code {
			t.Errorf("closed with %q, want %d", payload, code)
		}
		break
	}
	if n, err := r.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("after the close: %d bytes, %v", n, err)
	}
}

// masked returns a frame as a client sends it, with a mask of zeros.
func masked(op byte, payload string) string {
	if len(payload) > 125 {
		return string([]byte{op, 0xfe}) + string(binary.BigEndian.AppendUint16(nil, uint16(len(payload)))) + "\x00\x00\x00\x00" + payload
	}
	return string([]byte{op, 0x80 | byte(len(payload))}) + "\x00\x00\x00\x00" + payload
}

func TestBrokenFraming(t *testing.T) {
	const text, cont, bin, clos, ping = 0x81, 0x80, 0x82, 0x88, 0x89
	long := strings.Repeat("x", 126)
	for _, c := range []struct {
		name string
		raw  string
		code int
	}{
		{"RSV1", masked(text|0x40, "x"), 1002},
		{"RSV2", masked(text|0x20, "x"), 1002},
		{"RSV3", masked(text|0x10, "x"), 1002},
		{"opcode 3", masked(0x83, "x"), 1002},
		{"opcode 7", masked(0x87, "x"), 1002},
		{"opcode 11", masked(0x8b, "x"), 1002},
		{"opcode 15", masked(0x8f, "x"), 1002},
		{"fragmented ping", masked(0x09, "x"), 1002},
		{"fragmented close", masked(0x08, ""), 1002},
		{"ping over 125 bytes", string([]byte{ping, 0xfe, 0, 126}) + "\x00\x00\x00\x00" + long, 1002},
		{"close over 125 bytes", string([]byte{clos, 0xfe, 0, 126}) + "\x00\x00\x00\x00" + long, 1002},
		{"text inside a fragmented text", masked(0x01, "{") + masked(text, "}"), 1002},
		{"continuation after a whole text", masked(text, "{}") + masked(cont, "x"), 1002},
		{"unmasked ping", "\x89\x00", 1002},
		{"close code 1005", masked(clos, "\x03\xed"), 1002},
		{"close code 999", masked(clos, "\x03\xe7"), 1002},
		{"close reason not UTF-8", masked(clos, "\x03\xe8\xff"), 1002},
		{"length 2^64-1", "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", 1009},
		{"length 16 MiB + 1", "\x81\xff\x00\x00\x00\x00\x01\x00\x00\x01\x00\x00\x00\x00", 1009},
		{"binary", masked(bin, "{}"), 1003},
		{"text not UTF-8", masked(text, "{\"a\":\"\xff\"}"), 1007},
		{"text with a surrogate in UTF-8", masked(text, "{\"a\":\"\xed\xa0\x80\"}"), 1007},
		{"unread bytes behind a broken frame", "\x81\x01x" + strings.Repeat("x", 100<<10), 1002},
		{"close is answered in kind", masked(clos, "\x03\xe8bye"), 1000},
		{"close without a code", masked(clos, "\x03\xe9"), 1001},
	} {
		t.Run(c.name, func(t *testing.T) { closesOn(t, c.raw, c.code) })
	}
}

// Pings are answered in order with everything else, also in the middle of a
// fragmented text, and what the fragments make up is one frame.
func TestFragmentsAndPings(t *testing.T) {
	h := open(t, gateway.Options{})
	bob := h.join("mcpx/v0.1", "bob")
	conn, r := h.rawJoin("ann")
	frame := say("mcpx/v0.1", "f1", "ann", "", "chat", `{"text":"in parts"}`)
	raw := masked(0x01, frame[:10]) + masked(0x89, "alive?") + masked(0x00, frame[10:40]) + masked(0x00, "") + masked(0x80, frame[40:])
	for i := range len(raw) { // byte by byte
		if _, err := conn.Write([]byte(raw[i : i+1])); err != nil {
			t.Fatal(err)
		}
	}
	for {
		op, payload, err := readFrame(r)
		if err != nil {
			t.Fatal(err)
		}
		if op == 0x8a {
			if string(payload) != "alive?" {
				t.Errorf("pong %q", payload)
			}
			break
		}
	}
	if got := bob.until(`"f1"`); got != frame {
		t.Errorf("bob got %s, want %s", got, frame)
	}
}

// What a client sends along with its upgrade request is no frame yet.
func TestUpgradeNeedsTheHandshake(t *testing.T) {
	h := open(t, gateway.Options{})
	for name, header := range map[string]http.Header{
		"no upgrade":  {},
		"old version": {"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"8"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}},
		"no key":      {"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}},
	} {
		if status, body := h.get("GET", "/ws?topic=t", h.mint("ann", "t"), header, ""); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if _, resp, err := websocket.DefaultDialer.Dial(h.ws("/elsewhere"), nil); err == nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("elsewhere: %v %v", resp, err)
	}
}
