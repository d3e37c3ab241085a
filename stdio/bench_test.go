package stdio

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

// A bounce puts the next request as soon as an answer is there.
type bounce struct {
	s    *Server
	line string
	left int
	up   chan struct{}
	done chan struct{}
}

func (b *bounce) ServerUp(Hello)    { close(b.up) }
func (b *bounce) ServerNoise(Noise) {}
func (b *bounce) ServerDown(Exit)   {}
func (b *bounce) ServerIdle()       { b.s.Flush() }
func (b *bounce) ServerMessage(jsonrpc.Message) {
	if b.left--; b.left == 0 {
		close(b.done)
		return
	}
	b.s.Put([]byte(b.line))
}

func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{100, 1 << 10, 96 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			s := New(Options{Args: stdiotest.Command(b, stdiotest.Script{})})
			h := &bounce{s: s, up: make(chan struct{}), done: make(chan struct{}), left: b.N,
				line: `{"jsonrpc":"2.0","id":1,"method":"test/echo","params":{"x":"` + strings.Repeat("y", size) + `"}}`}
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan error)
			go func() { ended <- s.Run(ctx, h) }()
			<-h.up
			b.ReportAllocs()
			b.ResetTimer()
			s.Put([]byte(h.line))
			s.Flush()
			<-h.done
			b.StopTimer()
			stop()
			<-ended
		})
	}
}
