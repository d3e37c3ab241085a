package stdio

import (
	"cmp"
	"io"
	"log/slog"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Options say what to launch and how patient to be. Zero fields mean the
// default named beside them. They may not be changed after New.
type Options struct {
	// Args is the command and its arguments, passed on untouched and without a
	// shell. A command without a slash is looked up in our own PATH.
	Args []string
	// Endpoint is where a server is that somebody else runs. It takes the place
	// of Args, Dir and Env; there is no process to stop then, and no stderr.
	Endpoint Endpoint

	// Host is the client that the server belongs to; nil: nobody but us. It does
	// not go together with Endpoint.
	Host *Host

	// Sweep: what the server started and that has left its process group is ended
	// too when it ends. For that this process adopts it: Sweep is for processes
	// that run one Server at a time, and start whatever else they start with
	// [Beside]. Linux only.
	Sweep bool

	Dir string   // working directory of the server; default ours
	Env []string // the whole environment of the server; nil means ours

	StartTimeout time.Duration // from launch to the end of the handshake; 30 s
	ProbeAfter   time.Duration // silence after initialize before server/discover is tried too; 5 s
	Stop         StopTimes
	Restart      Budget

	MaxLine     int // longest line taken from the server, in bytes; 16 MiB
	QueuedLines int // lines waiting for a server that does not read; 1024
	QueuedBytes int // the same in bytes; 64 MiB

	// WriteDeadline is how long the server may take nothing from its stdin
	// while lines wait; then it is killed. 10 s.
	WriteDeadline time.Duration

	Version string       // told to the server as clientInfo.version; "dev"
	Log     *slog.Logger // nil discards

	// Launched is called from Run each time that a process was launched or an endpoint
	// opened, before anything is heard of it. nil: nobody wants to know.
	Launched func()

	// Trace sees every line in both directions, dir being "send" or "recv". It
	// is called from several goroutines and must neither keep nor change line.
	Trace func(dir string, line []byte)
}

// StopTimes are the waits of the stop ladder: stdin is closed, Input later the
// process group gets a TERM, Term later a KILL. A group whose leader has gone
// is killed at once, so no grandchild is left. One that is stopped because it
// does not listen (CauseStdinStuck, CauseInitTimeout, CauseGarbage,
// CauseLineTooLong) gets its TERM without the first wait.
type StopTimes struct {
	Input time.Duration // 2 s
	Term  time.Duration // 3 s

	// Drain bounds the reading of what the dead server left in its pipes. Only
	// a process that fled the group can make it last. 1 s.
	Drain time.Duration
}

// A Host is the client that a server belongs to. What the two say is passed on byte for
// byte; what Put writes and the Handler gets is additional (DESIGN 14, "Passthrough"). The
// host does the handshake: ServerUp comes when it is done. There is one process, which ends
// with the host.
//
// A slow host or server slows down the other one only. When 4 MiB wait for a host that does
// not read, the server has to wait, as at a pipe; when 64 KiB wait for a server that does
// not read, the host has to, and the server is never killed for it.
type Host struct {
	In  io.ReadCloser  // what it says. Close must end a Read that waits
	Out io.WriteCloser // what it hears. Package outbox says what makes it fast

	// Errors gets the server's stderr as it comes; it must not wait. nil: it is
	// logged.
	Errors io.Writer

	// IDPrefix begins every id and progress token, JSON strings, of whoever uses Put.
	// Letters and digits; the host must not be able to guess it. What answers
	// such an id is for the Handler alone.
	IDPrefix string

	// Occupied reports whether the server is at work for somebody else than the
	// host. While it is, a question it asks of its client (see personal) may be
	// about that work, so the host does not get it but the Handler, which must
	// answer it, or Tell the host of it when it can only be the host's own. One
	// that some reader finds in a line and another does not is refused, and told
	// as noise. nil: never.
	Occupied func() bool

	// Gate judges the host's calls; nil: they pass like everything else. HostIDPrefix
	// begins every id, a JSON string, of what the Gate asks the host. Letters and
	// digits; the server must not be able to guess it.
	Gate         Gate
	HostIDPrefix string

	// Launched is called from Run with the pid of the server, before anything passes.
	// It may be nil.
	Launched func(pid int)

	// Patience is how long the server may go on when the host has closed its end: it
	// may still be at work on a request. When Run's context ends, it is no longer than
	// Stop.Input. 10 s.
	Patience time.Duration

	// FinalRead is how long the host may read nothing of what a server that has ended
	// wrote last, before the rest is given up; half of it when Run's context ends. 10 s.
	FinalRead time.Duration
}

// A Gate judges what a host asks of its server. Of what the host says it gets
// every tools/call, and the server only what is Put for it; everything else
// passes. What cannot be read in one way only might be a tools/call to the
// server, so it does not pass: the host hears why.
//
// HostSaid, HostRefused and HostLeft are called from the goroutine that reads
// the host, ServerAnswered from the one in Run. None may wait.
type Gate interface {
	// HostSaid hands on a tools/call, read strictly and with an id, an answer to
	// an id with the HostIDPrefix, or a cancellation. line is all that the host wrote,
	// without its newline; both belong to the gate. Only a cancellation passes
	// if it is not taken.
	HostSaid(line []byte, m jsonrpc.Message) (taken bool)

	// HostRefused tells of a line that was neither passed on nor handed on. The host
	// has got an error in answer to it.
	HostRefused(reason, detail string)

	// ServerAnswered comes before the host hears the server's answer to its raw
	// id. m is nil if the answer cannot be read, or is too long, and id if it
	// depends on the reader which it is. The host does not hear it if pass is
	// false.
	ServerAnswered(id []byte, m *jsonrpc.Message) (pass bool)

	// HostLeft: the host has closed its end. Nothing is said to it or by it from
	// here on.
	HostLeft()
}

func (o Options) withDefaults() Options {
	o.StartTimeout = cmp.Or(o.StartTimeout, 30*time.Second)
	o.ProbeAfter = cmp.Or(o.ProbeAfter, 5*time.Second)
	o.MaxLine = cmp.Or(o.MaxLine, 16<<20)
	o.QueuedLines = cmp.Or(o.QueuedLines, 1024)
	o.QueuedBytes = cmp.Or(o.QueuedBytes, 64<<20)
	if o.Host != nil {
		host := *o.Host
		host.Patience = cmp.Or(host.Patience, 10*time.Second)
		host.FinalRead = cmp.Or(host.FinalRead, 10*time.Second)
		o.Host, o.WriteDeadline = &host, never
	}
	o.WriteDeadline = cmp.Or(o.WriteDeadline, 10*time.Second)
	o.Version = cmp.Or(o.Version, "dev")
	o.Stop = o.Stop.withDefaults()
	o.Restart = o.Restart.withDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Launched == nil {
		o.Launched = func() {}
	}
	if o.Trace == nil {
		o.Trace = func(string, []byte) {}
	}
	return o
}

func (t StopTimes) withDefaults() StopTimes {
	t.Input = cmp.Or(t.Input, 2*time.Second)
	t.Term = cmp.Or(t.Term, 3*time.Second)
	t.Drain = cmp.Or(t.Drain, time.Second)
	return t
}

// never is a limit that is never reached.
const never = 100 * 365 * 24 * time.Hour

// killWait is how long to wait for the end of a process after a KILL. Only the kernel can
// delay it longer.
const killWait = 10 * time.Second
