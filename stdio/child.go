package stdio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/linger"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// A child is one launched process and its pipes, or one connection to a server that
// somebody else runs. Of a connection, the end of its output counts as its exit. Our ends of
// the pipes are non-blocking and belong to the runtime's poller (MCP.md 2.3).
type child struct {
	s              *Server
	cmd            *exec.Cmd // nil if it is a connection
	group          group
	pid            int
	born           time.Time
	ours           ends
	out            *outbox.Outbox
	stderr         stderrTail
	talk           handshake
	putSinceLinger atomic.Bool    // something was put since the last Server.Linger
	linger         *linger.Linger // listens to ours.stdout
	ownLines       atomic.Int32   // lines since it is up that this package wrote of itself

	life context.Context // ends when the process does, or Run is to
	over context.CancelFunc

	putMu sync.Mutex // held while something is put into out
	mid   bool       // the host is in the middle of a line; set under putMu, by the goroutine that reads the host alone

	failing     chan failure  // the first reason to stop it
	up          chan struct{} // closed when the handshake is done
	stdoutRead  chan struct{} // closed when stdout was read to its end
	stderrRead  chan struct{} // the same for stderr
	exited      chan struct{} // closed when the leader is gone and the group killed
	stdinClosed chan struct{} // made by stop; closed when our end of its stdin is
	gone        chan struct{} // closed when nothing of it is left

	noise     string           // the first line that was no message; the reader's until stdoutRead is closed
	state     *os.ProcessState // set before exited is closed
	why       failure          // set before gone is closed, like the two below
	unsent    int
	survivors []int
	swept     []int
}

// pipes are one end of each of the three that a process has.
type pipes struct{ stdin, stdout, stderr *os.File }

func (p pipes) close() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			f.Close()
		}
	}
}

func makePipes() (ours, its pipes, err error) {
	defer func() {
		if err != nil {
			ours.close()
			its.close()
		}
	}()
	if its.stdin, ours.stdin, err = os.Pipe(); err != nil {
		return ours, its, err
	}
	if ours.stdout, its.stdout, err = os.Pipe(); err != nil {
		return ours, its, err
	}
	if ours.stderr, its.stderr, err = os.Pipe(); err != nil {
		return ours, its, err
	}
	widen(ours.stdin)
	widen(ours.stdout)
	return ours, its, nil
}

// launch starts the command, or connects to the endpoint. What was said on its stderr before
// is not logged again.
func (s *Server) launch(ctx context.Context, said map[string]bool) (*child, error) {
	c := &child{
		s: s, born: time.Now(), stderr: stderrTail{log: s.log, said: said},
		failing: make(chan failure, 1), up: make(chan struct{}), stdoutRead: make(chan struct{}),
		stderrRead: make(chan struct{}), exited: make(chan struct{}), gone: make(chan struct{}),
	}
	c.life, c.over = context.WithCancel(ctx)
	begin := c.start
	if s.attaches() {
		begin = c.connect
	}
	if err := begin(ctx); err != nil {
		c.over()
		return nil, err
	}
	c.out = outbox.New(c.ours.stdin, outbox.Options{
		MaxItems: s.o.QueuedLines, MaxBytes: s.o.QueuedBytes,
		Deadline: s.o.WriteDeadline, OnFail: c.stuck, Own: !s.attaches(),
	})
	c.talk.version, c.talk.put = s.o.Version, c.sendOwn
	c.linger = linger.On(c.ours.stdout)
	return c, nil
}

// start starts the command, and a goroutine each for its exit and its stderr.
func (c *child) start(context.Context) error {
	o := &c.s.o
	ours, its, err := makePipes()
	if err != nil {
		return err
	}
	defer its.close()
	c.cmd = exec.Command(o.Args[0], o.Args[1:]...)
	c.cmd.Dir, c.cmd.Env = o.Dir, o.Env
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = its.stdin, its.stdout, its.stderr
	started := make(chan error, 1)
	go c.superviseProcess(started)
	if err := <-started; err != nil {
		ours.close()
		return launchError(c.cmd.Path, o.Dir, err)
	}
	c.ours = ends{ours.stdin, ours.stdout, ours.stderr}
	var errs io.Reader = ours.stderr
	if h := o.Host; h != nil && h.Errors != nil {
		c.stderr.log = slog.New(slog.DiscardHandler)
		errs = io.TeeReader(errs, h.Errors)
	}
	go func() {
		defer close(c.stderrRead)
		c.stderr.drain(errs)
	}()
	return nil
}

// connect takes the ends of a server that runs already.
func (c *child) connect(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.s.o.StartTimeout, errors.New("waited "+c.s.o.StartTimeout.String()))
	defer cancel()
	if c.ours, err = c.s.o.Endpoint.open(ctx); err != nil {
		return err
	}
	close(c.stderrRead)
	go func() {
		<-c.stdoutRead
		close(c.exited)
	}()
	return nil
}

// superviseProcess starts the process and waits for its end, on one thread: Linux ties the
// process to the thread that started it (RELIABILITY finding 5), so this one has to live
// until the process has gone.
//
// Before the leader is reaped its pid still names the group, so that killing
// what it left behind cannot hit anybody else.
func (c *child) superviseProcess(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.group.prepare(c.cmd)
	start := c.cmd.Start
	if c.s.o.Sweep {
		start = func() error { return startChild(c.cmd) }
	}
	if err := start(); err != nil {
		c.group.close()
		started <- err
		return
	}
	c.pid = c.cmd.Process.Pid
	c.group.started(c.cmd.Process)
	started <- nil
	c.reap()
	c.over()
	close(c.exited)
}

// reap waits for the end of the leader and kills what is left of the group, which is asked
// first.
func (c *child) reap() {
	if awaitEnd(c.pid) {
		askGroup(c.pid, c.group.terminate, c.s.o.Stop.Term)
		c.group.kill()
		c.group.mu.Lock()
		c.cmd.Wait() // at once; the status is in ProcessState, the error says it again
	} else {
		c.cmd.Wait()
		c.group.kill()
		c.group.mu.Lock()
	}
	defer c.group.mu.Unlock()
	childReaped(c.pid)
	c.group.reaped = true
	c.group.close()
	c.state = c.cmd.ProcessState
}

var newline = []byte{'\n'}

func (c *child) put(line []byte) error {
	if bytes.IndexByte(line, '\n') >= 0 {
		return ErrNewline
	}
	c.putMu.Lock()
	defer c.putMu.Unlock()
	if c.mid {
		return outbox.ErrFull
	}
	c.s.o.Trace("send", line)
	c.putSinceLinger.Store(true)
	return c.out.Put(line, newline)
}

// sendOwn writes a line of ours. If that fails, the process is stopped.
func (c *child) sendOwn(line []byte) {
	if err := c.put(line); err != nil {
		c.stuck(err)
		return
	}
	c.out.Flush()
}

// stuck stops the process because nothing can be written to it any more.
func (c *child) stuck(err error) {
	f := failure{cause: CauseStdinClosed, detail: err.Error(), soft: true}
	if errors.Is(err, outbox.ErrStuck) || errors.Is(err, outbox.ErrFull) {
		f = failure{cause: CauseStdinStuck, detail: err.Error(), hard: true}
	}
	c.fail(f)
}

// fail gives a reason to stop the process. The first one counts.
func (c *child) fail(f failure) {
	select {
	case c.failing <- f:
	default:
	}
}

// watch waits for a reason to stop the process, and stops it.
func (c *child) watch(ctx context.Context) {
	defer close(c.gone)
	c.why = c.reason(ctx)
	c.s.child.CompareAndSwap(c, nil)
	c.linger.End()
	c.stop(ctx, c.why)
	if c.sweeps() {
		if c.swept = sweep(c.pid, c.s.o.Stop.Term, c.s.log); len(c.swept) > 0 {
			c.s.log.Warn("ended what the server had left running", "event", "swept", "pids", c.swept)
		}
	}
	c.drain()
}

// sweeps reports whether what the process leaves behind is ended.
func (c *child) sweeps() bool { return c.s.o.Sweep && c.cmd != nil && adopts() }

func (c *child) reason(ctx context.Context) failure {
	probe, limit := time.NewTimer(c.s.o.ProbeAfter), time.NewTimer(c.s.o.StartTimeout)
	defer probe.Stop()
	defer limit.Stop()
	up := c.up
	if c.s.o.Host != nil { // the handshake is theirs
		probe.Stop()
		limit.Stop()
	}
	for {
		select {
		case <-ctx.Done():
			return failure{cause: CauseStopped}
		case <-c.exited:
			return failure{cause: CauseExit}
		case f := <-c.failing:
			return c.awaitSoftExit(ctx, f)
		case <-probe.C:
			c.talk.silent()
		case <-limit.C:
			return failure{cause: CauseInitTimeout, hard: true}
		case <-up:
			up = nil
			probe.Stop()
			limit.Stop()
		}
	}
}

// awaitSoftExit gives a process with a soft failure Stop.Drain to exit by itself; then that
// is the reason.
func (c *child) awaitSoftExit(ctx context.Context, f failure) failure {
	if !f.soft {
		return f
	}
	select {
	case <-c.exited:
		return failure{cause: CauseExit}
	case <-ctx.Done():
		return failure{cause: CauseStopped}
	case <-time.After(c.s.o.Stop.Drain):
		return f
	}
}

// stop goes down the ladder of [StopTimes] until the process has exited. A connection is
// closed for writing first, and cut if the other end does not close too. When ctx, that of
// Run, ends, the first rung is no longer than Stop.Input, whatever the Patience of the host.
func (c *child) stop(ctx context.Context, f failure) {
	t := c.s.o.Stop
	switch {
	case f.hard:
		t.Input = 0
	case f.patient:
		t.Input = c.s.o.Host.Patience
	}
	began := time.Now()
	waits, cancel := context.WithDeadline(context.Background(), began.Add(t.Input))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(time.Until(began.Add(c.s.o.Stop.Input)), cancel) })()
	c.out.Close(waits)                                // what fits is written; the rest is lost with the process
	if left, _ := c.out.Queued(); c.s.o.Host == nil { // a host's lines wait among those that were put, and nobody counts which is which
		c.unsent = max(0, left-int(c.ownLines.Load()))
	}
	c.stdinClosed = closeAsync(c.ours.stdin)
	if !f.hard && c.endedBefore(waits) {
		return
	}
	if c.cmd == nil {
		c.ours.stdout.Close()
		c.ended(killWait)
		return
	}
	c.group.terminate()
	c.signalEscaped(syscall.SIGTERM)
	if c.ended(t.Term) {
		return
	}
	c.s.log.Warn("server killed", "event", "child_killed", "pid", c.pid)
	c.signalEscaped(syscall.SIGKILL)
	c.group.kill()
	if !c.ended(killWait) {
		c.s.log.Error("server cannot be killed", "pid", c.pid)
	}
}

// signalEscaped sends a signal to the descendants of the server that have left its group,
// if they are to be swept. Once it is reaped its pid may be anybody's, and what it left is
// being ended.
func (c *child) signalEscaped(s syscall.Signal) {
	c.group.mu.Lock()
	defer c.group.mu.Unlock()
	if c.s.o.Sweep && c.pid != 0 && !c.group.reaped {
		signalDescendants(c.pid, s)
	}
}

// kill ends the process without waiting for it.
func (c *child) kill() {
	if c.cmd == nil {
		c.linger.End()
		c.ours.stdout.Close()
		return
	}
	c.signalEscaped(syscall.SIGKILL)
	c.group.kill()
}

func (c *child) ended(within time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return c.endedBefore(ctx)
}

// endedBefore reports whether the process ends before ctx does, or had.
func (c *child) endedBefore(ctx context.Context) bool {
	select {
	case <-c.exited:
		return true
	default:
	}
	select {
	case <-c.exited:
		return true
	case <-ctx.Done():
		return false
	}
}

// drain waits, for Stop.Drain at most, until all that the dead process had written was read.
// A process that still holds the pipes then has left the group; its pid is logged.
func (c *child) drain() {
	late := time.After(c.s.o.Stop.Drain)
	for _, done := range []chan struct{}{c.stdinClosed, c.stdoutRead, c.stderrRead} {
		select {
		case <-done:
			continue
		case <-late:
		}
		c.survivors = holders(c.ours.stdout, c.ours.stderr)
		c.s.log.Warn("the server's output did not end with it: a process that fled its group may live on", "event", "survivors", "pids", c.survivors)
		break
	}
	select {
	case <-closeAsync(c.ours.stdout):
	case <-time.After(c.s.o.Stop.Drain):
	}
	if c.ours.stderr != nil {
		c.ours.stderr.Close()
	}
	<-c.stderrRead
}

// closeAsync closes an end of a pipe; done is closed when that is done. It has to wait for a
// read or a write that is under way, and the process at the other end can delay these for
// as long as it holds the pipe's lock (see package inbox).
func closeAsync(end io.Closer) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		end.Close()
		close(done)
	}()
	return done
}

// discard reads and drops what a process that is being stopped still writes, so that a full
// pipe does not keep it from ending.
func (c *child) discard() {
	io.Copy(io.Discard, c.ours.stdout)
}

func (f failure) exit(c *child) Exit {
	x := Exit{PID: c.pid, Code: -1, Status: -1, Cause: f.cause, Detail: f.detail, Unsent: c.unsent, Survivors: c.survivors, Swept: c.swept}
	if c.cmd == nil && (x.Cause == CauseExit || x.Cause == CauseStdoutEOF || x.Cause == CauseStdinClosed) {
		x.Cause = CauseHungUp
	}
	if c.state != nil {
		var number int
		x.Code = c.state.ExitCode()
		if x.Status = x.Code; x.Code < 0 {
			x.Signal, number = signalOf(c.state)
			x.Status = 128 + number
		}
	}
	all := c.stderr.all()
	x.Stderr, x.Why = all[max(0, len(all)-20):], whyOf(all)
	x.Stdout = c.noise
	return x
}
