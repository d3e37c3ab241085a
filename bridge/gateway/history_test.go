package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// envelopes reads the ids of the frames in a welcome or a REST answer.
func envelopes(t *testing.T, body string) (ids, protocols []string) {
	t.Helper()
	var got struct {
		Payload struct{ History []json.RawMessage }
		History []json.RawMessage
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatalf("%v: %.200s", err, body)
	}
	for _, raw := range append(got.Payload.History, got.History...) {
		var e struct{ ID, Protocol string }
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		ids, protocols = append(ids, e.ID), append(protocols, e.Protocol)
	}
	return ids, protocols
}

// The old gateway died of this: forty large frames to nobody, then one join.
func TestHistoryIsBoundedInBytes(t *testing.T) {
	h := open(t, gateway.Options{})
	ann := h.join("mcpx/v0.1", "ann")
	blob := strings.Repeat("x", 1<<20)
	for i := range 40 {
		ann.send(say("mcpx/v0.1", fmt.Sprint("n", i), "ann", `["nobody"]`, "mcp/request:notifications/x", `{"jsonrpc":"2.0","method":"notifications/x","params":{"blob":"`+blob+`"}}`))
	}
	ann.mark(h.join("mcpx/v0.1", "bob"))
	late := h.knock("mcp-x/v0", "late", h.mint("late", "t"))
	welcome := late.read()
	if len(welcome) > 5<<20 {
		t.Errorf("a welcome of %d MiB", len(welcome)>>20)
	}
	ids, _ := envelopes(t, welcome)
	if len(ids) < 2 || ids[len(ids)-2] != "n39" {
		t.Errorf("the welcome holds %v", ids)
	}
}

// The newest are kept, in order, in the reader's dialect.
func TestHistoryIsBoundedInNumber(t *testing.T) {
	h := open(t, gateway.Options{HistoryLimit: 3})
	ann := h.join("mew/v0.4", "ann")
	for i := range 10 {
		ann.send(say("mew/v0.4", fmt.Sprint("c", i), "ann", "", "chat", `{"text":"x"}`))
	}
	ann.send(say("mew/v0.4", "prop", "ann", "", "mcp/proposal", `{"method":"tools/call","params":{"name":"echo"}}`))
	bob := h.join("mcpx/v0.1", "bob")
	ann.mark(bob)
	ids, protocols := envelopes(t, h.knock("mcp-x/v0", "late", h.mint("late", "t")).read())
	if len(ids) != 2 || ids[0] != "c9" || !strings.HasPrefix(ids[1], "mark-") || protocols[0] != "mcp-x/v0" {
		t.Errorf("the welcome holds %v in %v", ids, protocols) // a proposal has no word there
	}
	mark, token := ids[1], h.mint("ann", "t")
	for query, want := range map[string]string{
		"":                             mark + " prop c9",
		"?limit=1":                     mark,
		"?before=" + mark + "&limit=1": "prop",
		"?before=prop":                 "c9",
		"?before=c9":                   "",
		"?before=unheard-of":           "",
		"?before=2000-01-01T00:00:00Z": "",
		"?before=2999-01-01T00:00:00Z": mark + " prop c9",
	} {
		status, body := h.get("GET", "/v0.1/topics/t/history"+query, token, nil, "")
		ids, protocols := envelopes(t, body)
		if status != 200 || strings.Join(ids, " ") != want {
			t.Errorf("%s: %d %v, want %s", query, status, ids, want)
		}
		for _, p := range protocols {
			if p != "mcpx/v0.1" {
				t.Errorf("%s: a frame in %s", query, p)
			}
		}
	}
}

// None means none; the old gateway took 0 for all.
func TestNoHistory(t *testing.T) {
	h := open(t, gateway.Options{HistoryLimit: -1})
	ann, bob := h.join("mcpx/v0.1", "ann"), h.join("mcpx/v0.1", "bob")
	for range 20 {
		ann.mark(bob)
	}
	if ids, _ := envelopes(t, h.knock("mcp-x/v0", "late", h.mint("late", "t")).read()); len(ids) != 0 {
		t.Errorf("the welcome holds %v", ids)
	}
}

// Who restarts alone finds what was said; refused frames were never said.
func TestHistoryOutlivesTheLastOne(t *testing.T) {
	h := open(t, gateway.Options{})
	ann := h.join("mcp-x/v0", "ann")
	ann.send(say("mcp-x/v0", "forged", "bob", "", "mcp", `{"jsonrpc":"2.0","method":"notifications/x"}`))
	ann.until(`"error"`)
	ann.send(say("mcp-x/v0", "kept", "ann", `["ann"]`, "mcp", `{"jsonrpc":"2.0","method":"notifications/x"}`))
	ann.until(`"kept"`)
	ann.ws.Close()
	again := h.knock("mcp-x/v0", "ann", h.mint("ann", "t"))
	if ids, _ := envelopes(t, again.read()); len(ids) != 1 || ids[0] != "kept" {
		t.Errorf("the welcome holds %v", ids)
	}
}

// Who asks for the history again and again and does not read it has the gateway keep one answer, and
// is told so; once he has read it, or left it, he gets the next one.
func TestEachHistoryThatNobodyReadWasKept(t *testing.T) {
	bubble(t, func(t *testing.T, dial func(path, token string) *websocket.Conn, h *house) {
		words := strings.Repeat("x", 4<<20-4<<10)
		speaker := &guest{t: t, ws: dial("/ws?topic=t", h.mint("speaker", "t"))}
		defer speaker.ws.Close()
		speaker.send(say("mcpx/v0.1", "long", "speaker", "", "chat", `{"text":"`+words+`"}`))
		synctest.Wait()
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		s, served := h.Server(), make(chan error)
		go func() { served <- s.Serve(l) }()
		defer func() {
			s.Close()
			<-served
		}()
		request := "GET /v0/topics/t/history HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + h.mint("reader", "t") + "\r\n\r\n"
		ask := func() net.Conn {
			conn, _ := l.dial(context.Background(), "", "")
			io.WriteString(conn, request)
			synctest.Wait()
			return conn
		}
		status := func(conn net.Conn) string {
			line, _ := bufio.NewReader(conn).ReadString('\n')
			return strings.TrimSpace(line)
		}
		first, before := ask(), heap()
		for range 31 {
			conn := ask()
			if got := status(conn); got != "HTTP/1.1 429 Too Many Requests" {
				t.Errorf("the next one is answered with %s", got)
			}
			defer conn.Close()
		}
		if grown := heap() - before; grown > 2*len(words) {
			t.Errorf("31 more answers take %d MiB", grown>>20)
		}
		first.Close()
		synctest.Wait()
		again := ask()
		defer again.Close()
		if got := status(again); got != "HTTP/1.1 200 OK" {
			t.Errorf("once that was left, the next one is answered with %s", got)
		}
	})
}
