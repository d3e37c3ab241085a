package stdio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// A Host is the client that a server belongs to. The two talk as if nothing
// stood between them, byte for byte; what Put and the Handler see goes on beside
// that (DESIGN 14, "Passthrough"). The handshake is theirs: ServerUp comes when
// they are done with it. There is one process, which ends with the host.
//
// Who is slow only slows down those it talks with. A host that does not read
// makes the server wait, as a pipe does, when [hostBacklog] bytes wait for it; a
// server that does not read makes the host wait, and is never killed for it.
type Host struct {
	In  io.ReadCloser  // what it says. Close must end a Read that waits
	Out io.WriteCloser // what it hears. Package outbox says what makes it fast

	// Errors gets the server's stderr as it comes; it must not wait. nil: it is
	// logged.
	Errors io.Writer

	// Mark begins every id and progress token, JSON strings, of whoever uses Put.
	// Letters and digits; the host must not be able to guess it. What answers
	// such an id is for the Handler alone.
	Mark string

	// Occupied reports whether the server is at work for somebody else than the
	// host. While it is, a question it asks of its client (see personal) may be
	// about that work, so the host does not get it but the Handler, which must
	// answer it, or Tell the host of it when it can only be the host's own. One
	// that some reader finds in a line and another does not is refused, and told
	// as noise. nil: never.
	Occupied func() bool

	// Gate judges the host's calls; nil: they pass like everything else. Seal
	// begins every id, a JSON string, of what it asks the host. Letters and
	// digits; the server must not be able to guess it.
	Gate Gate
	Seal string

	// Launched hears, from Run, which process it is, before anything passes. nil:
	// nobody wants to know.
	Launched func(pid int)

	// Patience is how long the server may go on when the host has closed its end:
	// it may have only begun with what it was told. 10 s.
	Patience time.Duration

	// LastWords is how long the host may read nothing of what a server that has ended
	// wrote last, before the rest is given up; half of it when we are told to stop. 10 s.
	LastWords time.Duration
}

const (
	hostBacklog = 4 << 20  // bytes that may wait for the host before the server has to
	backlog     = 64 << 10 // the same for the server, before the host has to
)

// A relay passes on what a host and a process say to each other. One goroutine
// reads the host, and one, that of Run, the server.
type relay struct {
	c     *child
	h     Handler
	host  *Host
	mark  []byte
	rules jsonrpc.Rules
	out   *outbox.Outbox // to the host
	heard overheard
	ctx   context.Context // that of Run

	tongue   tongue
	hostRead chan struct{} // closed when nothing more is read from the host

	downMu sync.Mutex
	down   bool // the server is gone: the handler hears of no handshake any more

	// The server's reader's alone.
	mid  bool // inside an over-long line
	mine bool // which is not for the host
	over skim // of that line
	told bool // the handler has heard something since it was last idle

	mended bool // bytes were replaced, which has been said
}

func (s *Server) newRelay(ctx context.Context, c *child, h Handler) *relay {
	r := &relay{c: c, h: h, host: s.o.Host, mark: []byte(s.o.Host.Mark), ctx: ctx, hostRead: make(chan struct{}),
		rules: jsonrpc.Rules{Depth: jsonrpc.Passed.Depth, Size: s.o.MaxLine, Halves: true}}
	r.out = outbox.New(r.host.Out, outbox.Options{MaxItems: math.MaxInt, MaxBytes: math.MaxInt, Deadline: never, OnFail: r.unheard})
	s.relay.Store(r)
	r.heard = overheard{version: s.o.Version, discoverID: []byte(`"` + s.o.Host.Mark + `0"`)}
	return r
}

// never is a deadline that nobody lives to see.
const never = 100 * 365 * 24 * time.Hour

// unheard: the host does not listen any more.
func (r *relay) unheard(err error) {
	r.c.fail(failure{cause: CauseHostLeft, detail: err.Error()})
}

// run passes everything on until the server has said its last. What the host has not
// read of that yet is for finish, of which others need not wait for the end.
func (r *relay) run() {
	if r.host.Launched != nil {
		r.host.Launched(r.c.pid)
	}
	go func() {
		defer close(r.hostRead)
		r.fromHost()
	}()
	r.fromServer()
	<-r.c.gone
	r.downMu.Lock()
	r.down = true
	r.downMu.Unlock()
}

// finish has the host read the last of it, for as long as it reads.
func (r *relay) finish() {
	r.out.Hasten(r.host.LastWords)
	defer context.AfterFunc(r.ctx, func() { r.out.Hasten(r.host.LastWords / 2) })()
	err := r.out.Close(r.c.s.killed)
	if _, left := r.out.Queued(); errors.Is(err, outbox.ErrStuck) || r.c.s.killed.Err() != nil && left > 0 {
		r.c.s.log.Warn("the client does not read what the server wrote last, so that is lost", "event", "tail_lost", "bytes", left)
	}
	r.host.Out.Close()
	r.host.In.Close()
	<-r.hostRead
}

// fromHost passes on what the host says.
func (r *relay) fromHost() {
	in := newLines(r.host.In, r.c.s.o.MaxLine, r.c.out.Flush)
	in.parts = r.host.Gate == nil // what is not whole cannot be judged
	for {
		line, err := in.next()
		if r.c.out.Wait(r.c.life, backlog) != nil {
			return
		}
		if r.host.Gate != nil && r.out.Wait(r.c.life, hostBacklog) != nil {
			return // it gets answers of ours, and does not read
		}
		switch {
		case errors.Is(err, errTooLong):
			r.refuse(nil, err)
		case err == nil && r.host.Gate != nil && r.sift(line):
		case err == nil:
			r.c.s.o.Trace("send", line)
			r.c.relay(false, line, newline)
			if !r.heard.over.Load() && len(line) < chunk {
				r.notice(r.heard.host(line))
			}
		case errors.Is(err, errPart):
			r.c.relay(true, line)
		default:
			if errors.Is(err, errEndless) { // of which this is but the beginning
				r.refuse(nil, err)
				line = nil
			}
			r.lastOfHost(line)
			r.c.out.Flush()
			r.c.out.Wait(r.c.life, 0)
			r.c.fail(failure{cause: CauseHostLeft, patient: true})
			return
		}
	}
}

// lastOfHost takes what stands before the end of what the host says, without a
// newline. To a server that may be a line too.
func (r *relay) lastOfHost(line []byte) {
	if r.host.Gate == nil {
		r.c.relay(false, line)
		return
	}
	if !r.sift(line) {
		r.c.relay(false, line)
	}
	r.host.Gate.HostLeft()
}

// notice acts on what was overheard. Whoever has the news tells it, be it the
// goroutine that hears the host (see [Handler]). No answer to us comes before
// that, for nothing was put.
func (r *relay) notice(s sign) {
	switch s {
	case askDiscover:
		if r.c.put(discoverRequest(r.heard.version, r.heard.discoverID)) != nil {
			r.notice(r.heard.undiscovered()) // the host's line, or what waits with it, goes first
		}
		r.c.out.Flush()
	case met:
		r.downMu.Lock()
		defer r.downMu.Unlock()
		if r.down {
			return // the handler hears no more of it
		}
		hello := r.heard.hello
		hello.PID = r.c.pid
		r.c.s.child.Store(r.c)
		r.c.s.log.Info("server up", "pid", r.c.pid, "revision", hello.Revision)
		r.h.ServerUp(hello)
		r.h.ServerIdle()
	}
}

// fromServer passes on what the server says, to its end.
func (r *relay) fromServer() {
	defer close(r.c.read)
	in := newLines(r.c.ours.stdout, r.c.s.o.MaxLine, r.idle)
	in.parts = true
	for {
		line, err := in.next()
		switch {
		case err == nil:
			r.line(line)
		case errors.Is(err, errPart):
			r.part(line)
			continue
		default: // the end
			r.last(line)
			r.idle()
			r.c.fail(failure{cause: CauseStdoutEOF, soft: true})
			return
		}
		r.mid, r.mine = false, false
	}
}

func (r *relay) idle() {
	r.out.Flush()
	if r.told {
		r.told = false
		r.h.ServerIdle()
	}
}

// say lets the host hear something, and waits while too much waits for it.
func (r *relay) say(parts ...[]byte) {
	r.out.Put(parts...) // what it does not take, nobody hears
	if _, waiting := r.out.Queued(); waiting > hostBacklog {
		r.idle() // the others need not wait with us
		r.out.Wait(r.c.life, hostBacklog)
	}
}

// marked reports whether an id or token is one of ours.
func (r *relay) marked(id []byte) bool {
	return len(id) > 0 && id[0] == '"' && bytes.HasPrefix(id[1:], r.mark)
}

// line takes one line of the server's, the last part of it at least.
func (r *relay) line(line []byte) {
	r.c.s.o.Trace("recv", line)
	if r.mid {
		r.endOfParts(line)
		return
	}
	if bytes.Contains(line, r.mark) && r.ours(line) || r.asksSomebodyElse(line) || !r.passes(line) {
		return
	}
	r.say(line, newline)
	switch {
	case !r.heard.over.Load():
		r.out.Flush()
		r.notice(r.heard.server(line, r.rules))
	case r.heard.up.Load() && bytes.Contains(line, []byte("notifications")):
		if m, err := r.parse(line); err == nil && m.Class() == jsonrpc.Notification {
			r.tell(m)
		}
	}
}

// parse reads a line of the server's. Bytes that are no UTF-8 are U+FFFD to us.
func (r *relay) parse(line []byte) (jsonrpc.Message, error) {
	m, mended, err := jsonrpc.ParseMended(bytes.TrimSpace(line), r.rules)
	if mended && !r.mended {
		r.mended, r.told = true, true
		r.h.ServerNoise(replaced(r.c.s.log, line, 0))
	}
	return m, err
}

func (r *relay) tell(m jsonrpc.Message) {
	r.told = true
	r.h.ServerMessage(m)
}

func (r *relay) noise(n Noise) {
	r.told = true
	r.c.s.log.Warn("server wrote a line that is no message", "event", n.Reason, "line", text.Line(string(n.Head)), "detail", n.Detail)
	r.h.ServerNoise(n)
}

// ours takes a line with the mark in it if it is meant for us: an answer to us,
// the progress of something we asked for, or what cannot be read and might be
// either. That the mark stands somewhere else in it is nobody's doing but that of
// who calls and of the server, and must cost the host nothing.
func (r *relay) ours(line []byte) bool {
	m, err := r.parse(line)
	if err != nil || m.Class() == jsonrpc.Malformed {
		n := lost(Noise{Reason: CauseGarbage, Detail: "meant for us", Head: head(line)}, skimmed(line))
		if n.ID != nil && !r.marked(n.ID) {
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
		about = m.Subscription() // what we listen to is not for the host
	}
	if !r.marked(about) {
		return false
	}
	switch {
	case bytes.Equal(m.Get(jsonrpc.ID), r.heard.discoverID):
		r.notice(r.heard.discovered(&m))
	case r.heard.up.Load():
		r.tell(m)
	}
	return true
}

// relay passes on a line of the host's, or a part of one, and waits for room.
// In the middle of a line nobody else gets a word in.
func (c *child) relay(more bool, parts ...[]byte) {
	for {
		c.turn.Lock()
		err := c.out.Put(parts...)
		if err == nil {
			c.mid = more
		}
		c.turn.Unlock()
		if !errors.Is(err, outbox.ErrFull) || c.out.Wait(c.life, 0) != nil {
			return // what a server that is gone is told, it need not be told
		}
	}
}
