package gateway_test

import (
	"bufio"
	"bytes"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// heap returns the bytes in use now.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// readToEnd reads all that a server still sends, and returns how much that was
// and the payload of the close frame.
func readToEnd(r *bufio.Reader) (total int, closing []byte) {
	for {
		op, payload, err := readFrame(r)
		if err != nil {
			return total, closing
		}
		total += len(payload)
		if op == 0x88 {
			closing = payload
		}
	}
}

// A participant that never reads is cut, and is the only one to notice: the
// others get every frame, and what waits for the slow one stays bounded.
func slowReaderIsCut(t *testing.T) {
	h := open(t, gateway.Options{Log: slog.New(slog.DiscardHandler)})
	speaker := h.join("mcpx/v0.1", "speaker")
	healthy := h.join("mcpx/v0.1", "healthy")
	_, r := h.rawJoin("slow")
	words := strings.Repeat("x", 1<<20)
	before, worst := heap(), 0
	total, closing, cut := 0, []byte(nil), false
	for i := range 200 {
		id := fmt.Sprintf(`"flood-%d"`, i)
		speaker.send(say("mcpx/v0.1", strings.Trim(id, `"`), "speaker", "", "chat", `{"text":"`+words+`"}`))
		for got := ""; !strings.Contains(got, id); {
			got = healthy.read()
			got = got[:min(len(got), 300)]
			if strings.Contains(got, `"leave"`) {
				cut = true
				total, closing = readToEnd(r) // at once: it has some seconds to take what there is
			}
		}
		healthy.seen = nil
		if i%20 == 0 {
			worst = max(worst, heap()-before)
		}
	}
	if !cut {
		t.Fatal("nobody was cut")
	}
	if worst > 100<<20 {
		t.Errorf("%d MiB in use more than before", worst>>20)
	}
	if total > 80<<20 {
		t.Errorf("the slow one was given %d MiB", total>>20)
	}
	if !bytes.Equal(closing, []byte("\x03\xf0slow consumer")) {
		t.Errorf("the slow one was closed with %q, want 1008 slow consumer", closing)
	}
}

// Small frames count too, and one that says much in one breath costs no
// healthy reader its seat.
func TestQueueLimits(t *testing.T) {
	t.Run("frames", func(t *testing.T) {
		h := open(t, gateway.Options{MaxQueue: 4, MaxQueueBytes: 4 << 20})
		speaker := h.join("mcpx/v0.1", "speaker")
		h.rawJoin("slow")
		words := strings.Repeat("x", 512<<10)
		for i := range 64 {
			speaker.send(say("mcpx/v0.1", fmt.Sprint("f", i), "speaker", `["speaker"]`, "chat", `{"text":"`+words+`"}`))
			if strings.Contains(speaker.read(), `"leave"`) {
				return
			}
		}
		t.Error("the slow one was not cut after 64 frames of 512 KiB")
	})
	t.Run("burst", func(t *testing.T) {
		h := open(t, gateway.Options{MaxQueue: 16})
		speaker := h.join("mcpx/v0.1", "speaker")
		healthy := h.join("mcpx/v0.1", "healthy")
		const frames = 300 // which the kernel's buffers hold, however late the healthy one gets to read
		var burst strings.Builder
		for i := range frames {
			burst.WriteString(masked(0x81, say("mcpx/v0.1", fmt.Sprint("b", i), "speaker", "", "chat", `{"text":"x"}`)))
		}
		if _, err := speaker.ws.NetConn().Write([]byte(burst.String())); err != nil {
			t.Fatal(err)
		}
		for i := range frames {
			if got := healthy.until(`"chat"`); !strings.Contains(got, fmt.Sprintf(`"b%d"`, i)) {
				t.Fatalf("frame %d is %s", i, got)
			}
		}
	})
}

// Who takes the same seat again and again and reads nothing has the gateway keep a welcome for each,
// with all the history, for as long as it waits for a goodbye to be read: but only so many.
func TestWhoCameAgainWithoutReadingFilledTheMemory(t *testing.T) {
	bubble(t, func(t *testing.T, dial func(path, token string) *websocket.Conn, h *house) {
		words := strings.Repeat("x", 4<<20-4<<10)
		speaker := &guest{t: t, ws: dial("/ws?topic=t", h.mint("speaker", "t"))}
		speaker.send(say("mcpx/v0.1", "long", "speaker", "", "chat", `{"text":"`+words+`"}`))
		synctest.Wait()
		before := heap()
		const times = 64
		for range times {
			ws := dial("/v0/ws?topic=t", h.mint("again", "t"))
			defer ws.Close()
			if _, _, err := ws.NextReader(); err != nil { // it has its seat, and reads no more than how long the welcome is
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if grown := heap() - before; grown < len(words) || grown > times/2*len(words) {
			t.Errorf("%d MiB are in use more than before, with %d welcomes of 4 MiB", grown>>20, times)
		}
		speaker.ws.Close()
	})
}
