package stdio

import (
	"bytes"
	"context"
	"errors"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// run passes everything on until the server's output has ended. The host may not have read
// all of it by then; finish waits for that, so that ServerDown need not.
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

// finish waits until the host has read the rest, but no longer than FinalRead without progress.
func (r *relay) finish() {
	r.out.SetDeadline(r.host.FinalRead)
	defer context.AfterFunc(r.ctx, func() { r.out.SetDeadline(r.host.FinalRead / 2) })()
	err := r.out.Close(r.c.s.killed)
	if _, left := r.out.Queued(); errors.Is(err, outbox.ErrStuck) || r.c.s.killed.Err() != nil && left > 0 {
		r.c.s.log.Warn("the client does not read, so the last output of the server is lost", "event", "tail_lost", "bytes", left)
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
			return // it does not read, and what it says may need an answer of ours
		}
		switch {
		case errors.Is(err, errTooLong):
			r.refuse(nil, err)
		case err == nil && r.host.Gate != nil && r.screen(line):
		case err == nil:
			r.c.s.o.Trace("send", line)
			r.c.relay(false, line, newline)
			if !r.observer.over() {
				r.notice(r.observer.fromHost(line))
			}
		case errors.Is(err, errPart):
			r.c.relay(true, line)
		default:
			if errors.Is(err, errEndless) { // line is only its beginning
				r.refuse(nil, err)
				line = nil
			}
			r.unendedHostLine(line)
			r.c.out.Flush()
			r.c.out.Wait(r.c.life, 0)
			r.c.fail(failure{cause: CauseHostLeft, patient: true})
			return
		}
	}
}

// unendedHostLine takes what the host wrote last, without a newline. Some servers take that
// for a line too. From then on put fails: a line of ours would be glued to it.
func (r *relay) unendedHostLine(line []byte) {
	gate := r.host.Gate
	if gate == nil || !r.screen(line) {
		r.c.relay(r.c.mid || len(line) > 0, line)
	}
	if gate != nil {
		gate.HostLeft()
	}
}

// fromServer passes on what the server says, to its end.
func (r *relay) fromServer() {
	defer close(r.c.stdoutRead)
	in := newLines(r.c.ours.stdout, r.c.s.o.MaxLine, r.idle)
	in.parts = true
	for {
		line, err := in.next()
		switch {
		case err == nil:
			r.line(line)
		case errors.Is(err, errPart):
			r.longPart(line)
			continue
		default: // the end
			r.unendedLine(line)
			r.idle()
			r.c.fail(failure{cause: CauseStdoutEOF, soft: true})
			return
		}
		r.inLong, r.withheld = false, false
	}
}

// line takes one line of the server's, the last part of it at least.
func (r *relay) line(line []byte) {
	r.c.s.o.Trace("recv", line)
	if r.inLong {
		r.endOfLong(line)
		return
	}
	if bytes.Contains(line, r.idPrefix) && r.takeOurs(line) || r.withholdsQuestion(line) || !r.hostMayHear(line) {
		return
	}
	r.send(line, newline)
	switch {
	case !r.observer.over():
		r.out.Flush()
		r.notice(r.observer.fromServer(line, r.rules))
	case r.observer.up() && bytes.Contains(line, []byte("notifications")):
		if m, err := r.parse(line); err == nil && m.Class() == jsonrpc.Notification {
			r.message(&m)
		}
	}
}
