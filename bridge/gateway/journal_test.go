package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// quiet is a log as an operator has it by default, without the details.
func quiet() (*logbook, *slog.Logger) {
	l := &logbook{}
	return l, slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

var counted = regexp.MustCompile(`not listed one by one.* count=(\d+)`)

// lines returns how many lines of the log hold text, and how many others its sums count.
func (l *logbook) lines(text string) (listed, summed int) {
	for line := range strings.Lines(l.String()) {
		if n := counted.FindStringSubmatch(line); n != nil {
			if strings.Contains(line, text) {
				more, _ := strconv.Atoi(n[1])
				summed += more
			}
		} else if strings.Contains(line, text) {
			listed++
		}
	}
	return listed, summed
}

// Seen before the mend: two lines for each time, for as long as somebody has a token.
func TestWhoJoinsAgainAndAgainDoesNotFillTheLog(t *testing.T) {
	const times = 300
	log, to := quiet()
	h := open(t, gateway.Options{Log: to})
	for range times {
		h.join("mcpx/v0.1", "mallory").ws.Close()
	}
	h.join("mcpx/v0.1", "ann")
	h.Close()
	listed, summed := log.lines("id=mallory")
	if listed > 100 || listed+summed != 2*times {
		t.Errorf("%d comings and goings are %d lines, and %d more are summed up", 2*times, listed, summed)
	}
	if listed, _ := log.lines("id=ann"); listed != 2 {
		t.Errorf("ann, who came once, has %d lines:\n%.2000s", listed, log.String())
	}
}

// A refusal is worth a line once in a session: so sessions must not be worth any number.
func TestWhoIsRefusedOnceInEachSessionDoesNotFillTheLog(t *testing.T) {
	log, to := quiet()
	h := open(t, gateway.Options{Log: to})
	for range 150 {
		g := h.join("mcpx/v0.1", "mallory")
		g.send(`{}`)
		g.until(`"system/error"`)
		g.ws.Close()
	}
	h.Close()
	if listed, summed := log.lines("id=mallory"); listed > 100 || listed+summed != 3*150 {
		t.Errorf("%d lines, and %d more are summed up", listed, summed)
	}
}

// Seen before the mend: a warning for each who comes to the door of mew and brings no token,
// whom nobody knows.
func TestWhoGetsNoSeatDoesNotFillTheLog(t *testing.T) {
	const times = 300
	log, to := quiet()
	h := open(t, gateway.Options{Log: to})
	for range times {
		g := h.dial("/?space=t", nil)
		g.send(`{"kind":"system/join","payload":{"token":"no"}}`)
		g.closed()
		g.ws.Close()
	}
	h.join("mcpx/v0.1", "ann")
	h.Close()
	if listed, summed := log.lines("address=127.0.0.1"); listed > 100 || listed+summed != times {
		t.Errorf("%d strangers are %d lines, and %d more are summed up", times, listed, summed)
	}
	if listed, _ := log.lines("id=ann"); listed != 2 {
		t.Errorf("ann has %d lines:\n%.2000s", listed, log.String())
	}
}

// Where anybody can make tokens, names cost nothing: all together have a share too, and a
// sum names no more than a few of them.
func TestManyNamesDoNotFillTheLogEither(t *testing.T) {
	for names, times := range map[int]int{6000: 1, 900: 6} {
		log, to := quiet()
		h := open(t, gateway.Options{Log: to})
		for i := range names * times {
			l, err := h.Attach("t", fmt.Sprint("name", i%names), wire.Caps{}, dialect(t, "mcpx/v0.1"))
			if err != nil {
				t.Fatal(err)
			}
			l.Close(1000, "")
		}
		h.Close()
		lines := strings.Count(log.String(), "\n")
		listed, summed := log.lines("")
		if lines > 1500 || listed+summed != names*times {
			t.Errorf("%d names, %d times each, are %d lines, %d of them single ones, and %d more are summed up", names, times, lines, listed, summed)
		}
	}
}

// Who asks for details gets each of them.
func TestTheDetailsListEveryJoin(t *testing.T) {
	h := open(t, gateway.Options{})
	for range 200 {
		h.join("mcpx/v0.1", "ann").ws.Close()
	}
	h.Close()
	if listed, _ := h.log.lines("id=ann"); listed != 400 {
		t.Errorf("%d lines, want 400", listed)
	}
}

// Two connections that put each other out for ever are heard of for ever, as sums.
func TestAFightForASeatIsSummedUp(t *testing.T) {
	log, to := quiet()
	h := open(t, gateway.Options{Log: to})
	header := http.Header{"Authorization": {"Bearer " + h.mint("bob", "t")}}
	var last *websocket.Conn
	for range 200 {
		ws, _, err := websocket.DefaultDialer.DialContext(context.Background(), h.ws("/ws?topic=t"), header)
		if err != nil {
			t.Fatal(err)
		}
		if last != nil {
			last.Close()
		}
		last = ws
	}
	last.Close()
	h.Close()
	if listed, summed := log.lines("id=bob"); listed > 100 || summed == 0 {
		t.Errorf("%d lines, and %d more are summed up", listed, summed)
	}
}
