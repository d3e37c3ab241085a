package stdio

import (
	"bytes"
	"context"
	"errors"
	"math"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

const (
	hostBacklog = 4 << 20  // bytes that may wait for the host before the server has to
	backlog     = 64 << 10 // the same for the server, before the host has to
)

// A hostWriter writes lines of ours to the host, never into the middle of a line of the
// server's.
type hostWriter struct {
	mu      sync.Mutex
	mid     bool     // the server is in the middle of a line
	waiting [][]byte // lines of ours for when it is not
}

func (t *hostWriter) put(r *relay, line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mid {
		t.waiting = append(t.waiting, line)
		return
	}
	r.out.Put(line, newline)
	r.out.Flush()
}

// setMidLine notes whether the server is in the middle of a line. When it no longer is,
// the lines that wait are written.
func (t *hostWriter) setMidLine(r *relay, mid bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mid = mid
	if !mid {
		for _, line := range t.waiting {
			r.out.Put(line, newline)
		}
		t.waiting = nil
	}
}

// A relay passes on what a host and a process say to each other. One goroutine
// reads the host, and one, that of Run, the server.
type relay struct {
	reporter
	host     *Host
	idPrefix []byte
	out      *outbox.Outbox // to the host
	observer handshakeObserver
	ctx      context.Context // that of Run

	toHost   hostWriter
	hostRead chan struct{} // closed when nothing more is read from the host

	downMu sync.Mutex
	down   bool // the server is gone: the handler is not called for the handshake any more

	// The server's reader's alone.
	inLong   bool // inside an over-long line
	withheld bool // the host does not get that line
	longLine skim // what is known of that line
}

func (s *Server) newRelay(ctx context.Context, c *child, h Handler) *relay {
	r := &relay{reporter: newReporter(c, h), host: s.o.Host, idPrefix: []byte(s.o.Host.IDPrefix), ctx: ctx, hostRead: make(chan struct{})}
	r.out = outbox.New(r.host.Out, outbox.Options{MaxItems: math.MaxInt, MaxBytes: math.MaxInt, Deadline: never, OnFail: r.hostGone})
	s.relay.Store(r)
	r.observer = handshakeObserver{version: s.o.Version, discoverID: []byte(`"` + s.o.Host.IDPrefix + `0"`)}
	return r
}

// hostGone ends the server, because nothing can be written to the host any more.
func (r *relay) hostGone(err error) {
	r.c.fail(failure{cause: CauseHostLeft, detail: err.Error()})
}

func (r *relay) idle() {
	r.out.Flush()
	r.reporter.idle()
}

// send writes to the host, and waits while more than hostBacklog waits for it.
func (r *relay) send(parts ...[]byte) {
	r.out.Put(parts...) // it fails only when the host has gone
	if _, waiting := r.out.Queued(); waiting > hostBacklog {
		r.idle() // before we wait here
		r.out.Wait(r.c.life, hostBacklog)
	}
}

// hasOurPrefix reports whether a raw id or token is one of ours.
func (r *relay) hasOurPrefix(id []byte) bool {
	return len(id) > 0 && id[0] == '"' && bytes.HasPrefix(id[1:], r.idPrefix)
}

// parse reads a line of the server's. Bytes that are no UTF-8 are read as U+FFFD.
func (r *relay) parse(line []byte) (jsonrpc.Message, error) {
	m, mended, err := jsonrpc.ParseMended(bytes.TrimSpace(line), r.rules)
	if mended {
		r.mended(line, 0)
	}
	return m, err
}

// notice does what the observer of the handshake found to be due. Both goroutines call it,
// so ServerUp may come from the one that reads the host (see [Handler]). No answer to us
// can come before ServerUp, because nothing was put yet.
func (r *relay) notice(s observation) {
	switch s {
	case askDiscover:
		if r.c.put(discoverRequest(r.observer.version, r.observer.discoverID)) != nil {
			r.notice(r.observer.discovered(nil)) // the host is in the middle of a line, or too much waits
		}
		r.c.out.Flush()
	case handshakeDone:
		r.downMu.Lock()
		defer r.downMu.Unlock()
		if r.down {
			return // ServerDown comes, without a ServerUp
		}
		hello := r.observer.hello
		hello.PID = r.c.pid
		r.c.s.child.Store(r.c)
		r.c.s.log.Info("server up", "pid", r.c.pid, "revision", hello.Revision)
		r.h.ServerUp(hello)
		r.h.ServerIdle()
	}
}

// takeOurs takes a line that holds our prefix if it is meant for us: an answer to us, the
// progress of something we asked for, or a line that cannot be read and might be either. A
// line that holds the prefix elsewhere goes to the host, as any other.
func (r *relay) takeOurs(line []byte) bool {
	m, err := r.parse(line)
	if err != nil || m.Class() == jsonrpc.Malformed {
		n := noteAnswer(Noise{Reason: CauseGarbage, Detail: "meant for us", Head: head(line)}, skimmed(line))
		if n.ID != nil && !r.hasOurPrefix(n.ID) {
			return false
		}
		r.noise(n)
		return true
	}
	about := m.Get(jsonrpc.ID)
	switch {
	case m.Class() == jsonrpc.Request:
		return false
	case m.Class() == jsonrpc.Notification && m.Text(jsonrpc.Method) == "notifications/progress":
		about = m.Get(jsonrpc.Token)
	case m.Class() == jsonrpc.Notification:
		about = m.Subscription() // our subscriptions are not the host's
	}
	if !r.hasOurPrefix(about) {
		return false
	}
	switch {
	case bytes.Equal(m.Get(jsonrpc.ID), r.observer.discoverID):
		r.notice(r.observer.discovered(&m))
	case r.observer.up():
		r.message(&m)
	}
	return true
}

// relay passes on a line of the host's, or a part of one, and waits for room. more says
// that the line goes on; until it ends, put fails.
func (c *child) relay(more bool, parts ...[]byte) {
	for {
		c.putMu.Lock()
		err := c.out.Put(parts...)
		if err == nil {
			c.mid = more
		}
		c.putMu.Unlock()
		if !errors.Is(err, outbox.ErrFull) || c.out.Wait(c.life, 0) != nil {
			return // written, or the server has gone
		}
	}
}

// Tell lets the Host hear one line, without its newline. It never waits, and
// what a host that is gone is told, nobody hears. Any goroutine may call it.
func (s *Server) Tell(line []byte) {
	if r := s.relay.Load(); r != nil {
		r.toHost.put(r, line)
	}
}
