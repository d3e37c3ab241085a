package serve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
)

// ErrHungUp says that the client ended its input, which is how it says goodbye.
var ErrHungUp = errors.New("the client hung up")

// lastWords is how long the client and the gateway have for what is said last.
const lastWords = 2 * time.Second

// New makes one that takes its seat by a way, which it closes when Run ends. It does nothing
// yet.
func New(way *localgateway.Connector, o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, way: way, asked: &client.ApprovalInbox{}, envs: map[uint64]sent{}}
	s.asked.Opened, s.asked.Closed = s.open, s.settled
	s.Client = client.New(way, client.Options{Approvals: s.asked, Also: s, Version: o.Shown.Version, Log: o.Log})
	s.proxy = desktop.NewServer(o.Shown, s, desktop.Options{Out: o.Out, Log: o.Log, Note: o.Note, Ready: o.Ready, Trace: o.Trace})
	return s
}

// Start begins to take the seat, which need not be had when it returns. It is called once,
// before Run; its error says that there is no way to try, and then nothing runs.
func (s *Server) Start(ctx context.Context) error { return s.Client.Start(ctx) }

// Run serves the client until it hangs up, the seat cannot be had, or ctx ends, and says
// which of them it was: [ErrHungUp] or what reading in came to, a [*fault.Error], or the cause
// of ctx. It is called once, after Start. When it returns, the client and the gateway had two
// seconds for what was said last, and nothing that was started runs any more, save a Read of
// in that nothing can interrupt.
func (s *Server) Run(ctx context.Context, in io.Reader) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	for _, part := range []func(context.Context) error{func(ctx context.Context) error { return s.listen(ctx, in) }, s.keepSeat, s.keepInbox} {
		running.Go(func() { stop(part(ctx)) })
	}
	running.Wait()
	s.close()
	return context.Cause(ctx)
}

// listen hears the client to the end. A Read that nothing interrupts is left
// behind: we are about to end then.
func (s *Server) listen(ctx context.Context, in io.Reader) error {
	heard := make(chan error, 1)
	go func() { heard <- s.proxy.Read(ctx, in) }()
	select {
	case err := <-heard:
		return cmp.Or(err, ErrHungUp)
	case <-ctx.Done():
		if f, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && f.SetReadDeadline(time.Unix(1, 0)) == nil {
			<-heard
		}
		return context.Cause(ctx)
	}
}

// keepSeat ends when the seat can not be had.
func (s *Server) keepSeat(ctx context.Context) error {
	select {
	case <-s.Client.Done():
		return s.Client.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Server) close() {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := s.proxy.Close(ctx); err != nil {
		s.o.Log.Debug("the client did not read everything", "error", err)
	}
	s.Client.Close()
	if s.socket != nil {
		s.socket.Close()
	}
	s.asked.Close()
	s.way.Close()
}
