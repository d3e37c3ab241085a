package stdio

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// ErrDown says that there is no server to write to at the moment.
var ErrDown = errors.New("the server is not running")

// ErrNewline says that a line was refused because it holds a line break: it
// would have been two messages.
var ErrNewline = errors.New("a message to the server may not hold a line break")

// Hello is what a server said of itself. The raw members are nil where absent
// and belong to the handler.
type Hello struct {
	PID      int
	Revision string // of MCP, as the server named it
	Modern   bool   // 2026-07-28 or later: every request needs Meta

	Result       []byte // InitializeResult, or DiscoverResult when Modern
	ServerInfo   []byte
	Capabilities []byte
	Instructions []byte // a JSON string

	// Elicits: the client that greeted it said that its person can be asked
	// something, in a form, at any time. Only with a Host.
	Elicits bool

	// Meta are the members that every request to a modern server must have in
	// params._meta, without braces; nil for a legacy one.
	Meta []byte
}

// Noise is a line on the server's stdout that is no message (MCP.md 2.2).
type Noise struct {
	// Reason is child_stdout_garbage, child_line_too_long, or why a line that
	// looks like a message was refused (a jsonrpc.Reason such as invalid_utf8
	// or batch).
	Reason string
	Detail string // for people; may be empty
	Head   []byte // at most the first 200 bytes, as they came: escape before showing
	Count  int    // lines of noise of this process so far, this one included

	// Answer: the line would have been a response. ID is its raw id, nil if that
	// cannot be told. Whoever waits for it need not wait any longer.
	Answer bool
	ID     []byte
}

// Causes of an Exit.
const (
	CauseExit        = "child_exit"           // it ended by itself
	CauseStart       = "child_start_failed"   // it could not be launched
	CauseInitTimeout = "child_init_timeout"   // no handshake within StartTimeout
	CauseHandshake   = "child_handshake"      // it answered, but not so that we can work
	CauseStdoutEOF   = "child_stdout_eof"     // stdout closed while it lives on
	CauseStdinClosed = "child_stdin_closed"   // stdin closed while it lives on
	CauseStdinStuck  = "child_stdin_blocked"  // does not read its stdin
	CauseGarbage     = "child_stdout_garbage" // more than 100 lines of noise in 10 s
	CauseLineTooLong = "child_line_too_long"  // over four times MaxLine without a line break
	CauseAsked       = "restart_asked"        // Restart was called
	CauseStopped     = "stopped"              // Run's context ended

	CauseHostLeft = "host_left" // the Host closed its end

	// Of a server at an Endpoint.
	CauseUnreached = "server_unreachable" // it could not be opened
	CauseHungUp    = "server_hung_up"     // it closed the connection
	CauseInUse     = "server_in_use"      // it answered what we had not asked: it serves somebody else
)

// An Exit tells how a process ended and what comes next.
type Exit struct {
	PID    int    // 0 if it could not be launched, or not by us
	Code   int    // exit status, -1 if there is none
	Signal string // the signal that ended it, or ""
	Status int    // Code, or 128 and the number of the signal, as a shell has it; -1 if there is none
	Cause  string // one of the Cause constants
	Detail string // for people; may be empty

	Stderr []string // its last lines, control characters escaped
	Why    []string // of all its lines, those that seem to tell why it ended; 3 at most
	Stdout string   // the first line there that was no message; "" if there was none

	// Unsent is how many of the lines that Put accepted had not wholly left
	// when the process ended, the last ones. It got none of them, save
	// perhaps a part of the first. 0 beside a Host, where that is not known.
	Unsent int

	// Survivors are processes that fled the group and still held the server's
	// pipes after it was gone. They are reported and not ended. Linux only.
	Survivors []int

	// Swept are processes that had left the group and were ended, where
	// Options.Sweep says so.
	Swept []int

	Restarting bool          // false: Run is about to return
	In         time.Duration // until the next launch
}

// Server keeps one MCP server alive. Make it with New; Run it once.
type Server struct {
	o     Options
	log   *slog.Logger
	child atomic.Pointer[child] // the process that is up, nil otherwise
	last  atomic.Pointer[child] // the one launched last, whatever became of it
	relay atomic.Pointer[relay] // to the Host, if there is one

	killed  context.Context // ends with Kill
	killNow context.CancelFunc

	unswept sync.Once // said that nothing can be swept
}

// New returns a server that is not running yet.
func New(o Options) *Server {
	o = o.withDefaults()
	s := &Server{o: o, log: o.Log}
	s.killed, s.killNow = context.WithCancel(context.Background())
	return s
}

// Put queues one line, without its newline, for the server. It never waits:
// the error is [ErrDown], [ErrNewline], outbox.ErrFull or what failed. Lines
// are written in the order they were put, at the latest after Flush. The bytes
// belong to the Server from here on. Any goroutine may call it.
func (s *Server) Put(line []byte) error {
	c := s.child.Load()
	if c == nil {
		return ErrDown
	}
	return c.put(line)
}

// Flush writes what was put, as far as the pipe takes it, without waiting.
// Any goroutine may call it.
func (s *Server) Flush() {
	if c := s.child.Load(); c != nil {
		c.out.Flush()
	}
}

// Linger stays awake until the server says something, for 60 µs at most: for
// whoever has flushed a request and has nothing else to do. It returns at once
// where no server is up, where nothing was put since it was last called, where the
// server has been too slow (see Wait in package linger), where its stdout is neither
// pipe nor socket, where there is one processor only, and on other systems than
// Linux. Any goroutine may call it.
func (s *Server) Linger() {
	if c := s.child.Load(); c != nil && c.putSinceLinger.Swap(false) {
		c.linger.Wait()
	}
}

func (s *Server) attaches() bool { return s.o.Endpoint != Endpoint{} }

// Restart asks Run to stop the process that is up and launch another, or to
// connect anew. It counts against the budget. Without a process that is up it
// does nothing.
func (s *Server) Restart(why string) {
	if c := s.child.Load(); c != nil && s.o.Host == nil {
		c.fail(failure{cause: CauseAsked, detail: why})
	}
}

// Kill ends the process there is, up or not, and all that it started, without
// waiting for anything, and so it does any that Run may still launch. It is for
// one who ends Run's context and does not want to wait for the stop ladder.
func (s *Server) Kill() {
	s.killNow()
	if c := s.last.Load(); c != nil {
		c.kill()
	}
}

// A Handler hears what happens to the server. Its methods must not wait for
// anything. They are called from the goroutine in Run, never two at a time; but
// with a Host, ServerUp and the ServerIdle after it may come from the one that
// hears the host, while ServerMessage brings a notification or the answer to what
// ServerUp has put.
type Handler interface {
	// ServerUp: the handshake is done. Put works from here on.
	ServerUp(h Hello)
	// ServerMessage hands on one message; its bytes belong to the handler.
	// What the server said before the handshake was done comes right after
	// ServerUp, in order.
	ServerMessage(m jsonrpc.Message)
	// ServerNoise tells of a line that is no message.
	ServerNoise(n Noise)
	// ServerDown comes once for every process that was launched, up or not,
	// when all of it is gone. Nothing put before it will be answered.
	ServerDown(x Exit)
	// ServerIdle: about to wait, so what has been gathered should be flushed.
	ServerIdle()
}

// A failure is a reason to stop a process.
type failure struct {
	cause, detail string

	// soft failures are often the first sign of an exit: the process gets a
	// moment to do so, and then that is what is told.
	soft bool
	hard bool // it would not listen: no waiting after stdin is closed

	// patient: it may have only begun with what it was told before its stdin
	// was closed.
	patient bool
}

// pidAttr names one in the log; a server that we did not launch has none.
func pidAttr(pid int) slog.Attr {
	if pid == 0 {
		return slog.Attr{}
	}
	return slog.Int("pid", pid)
}

func (f *failure) Error() string { return f.cause + ": " + f.detail }
