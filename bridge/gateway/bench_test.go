package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func (h *house) bench(b *testing.B, id string) *websocket.Conn {
	ws, _, err := websocket.DefaultDialer.Dial(h.ws("/ws?topic=t"), http.Header{"Authorization": {"Bearer " + h.mint(id, "t")}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { ws.Close() })
	return ws
}

// One participant speaks, a hundred hear; at most a few frames are under way.
func BenchmarkFanOut(b *testing.B) {
	h := open(b, gateway.Options{Log: nil, HistoryLimit: -1})
	const ears = 100
	heard := make(chan struct{}, 4*ears)
	for i := range ears {
		ws := h.bench(b, fmt.Sprint("e", i))
		go func() {
			for {
				_, frame, err := ws.ReadMessage()
				if err != nil {
					return
				}
				if strings.Contains(string(frame[:min(len(frame), 100)]), `"id":"n"`) {
					heard <- struct{}{}
				}
			}
		}()
	}
	mouth := h.bench(b, "mouth")
	frame := []byte(say("mcpx/v0.1", "n", "mouth", "", "mcp/request:notifications/x", `{"jsonrpc":"2.0","method":"notifications/x","params":{"blob":"`+strings.Repeat("x", 900)+`"}}`))
	b.SetBytes(int64(len(frame)) * ears)
	for n := 0; b.Loop(); n++ {
		mouth.WriteMessage(websocket.TextMessage, frame)
		if n >= 3 {
			for range ears {
				<-heard
			}
		}
	}
	for range 3 * ears {
		<-heard
	}
	b.ReportMetric(float64(b.N*ears)/b.Elapsed().Seconds(), "deliveries/s")
}

// One asks over a socket, one answers: from a socket too, or from inside.
func BenchmarkRelay(b *testing.B) {
	for _, size := range []int{1 << 10, 96 << 10} {
		b.Run(fmt.Sprintf("socket/%dKiB", size>>10), func(b *testing.B) {
			h := open(b, gateway.Options{})
			server := h.bench(b, "server")
			relay(b, h, size, func(answer []byte) {
				for {
					_, frame, err := server.ReadMessage()
					if err != nil {
						return
					}
					if strings.Contains(string(frame[:100]), `"q"`) {
						server.WriteMessage(websocket.TextMessage, answer)
					}
				}
			})
		})
		b.Run(fmt.Sprintf("inside/%dKiB", size>>10), func(b *testing.B) {
			h := open(b, gateway.Options{})
			server, err := h.Attach("t", "server", wire.Caps{}, wire.Dialects[1])
			if err != nil {
				b.Fatal(err)
			}
			relay(b, h, size, func(answer []byte) {
				for {
					frame, err := server.Read()
					if err != nil {
						return
					}
					if strings.Contains(string(frame[:100]), `"q"`) {
						server.Put(answer)
						server.Flush()
					}
				}
			})
		})
	}
}

func relay(b *testing.B, h *house, size int, serve func(answer []byte)) {
	blob := strings.Repeat("x", size)
	asker := h.bench(b, "asker")
	asker.ReadMessage() // the welcome
	question := []byte(say("mcpx/v0.1", "q", "asker", `["server"]`, "mcp/request:tools/call:echo", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"blob":"`+blob+`"}}}`))
	answer := []byte(say("mcpx/v0.1", "a", "server", `["asker"]`, "mcp/response:tools/call:echo", `{"jsonrpc":"2.0","id":1,"result":{"blob":"`+blob+`"}}`, `"correlation_id":"q"`))
	go serve(answer)
	b.SetBytes(int64(len(question) + len(answer)))
	b.ReportAllocs()
	for b.Loop() {
		asker.WriteMessage(websocket.TextMessage, question)
		if _, _, err := asker.ReadMessage(); err != nil {
			b.Fatal(err)
		}
	}
}
