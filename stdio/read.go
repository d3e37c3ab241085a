package stdio

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// noBatches answers an array of messages (MCP.md 2.2): no revision that we ask
// for has them.
const noBatches = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not accepted: one message per line"}}`

// A reader takes what one process writes to its stdout to the handler.
type reader struct {
	reporter
	up    bool
	meter noiseMeter
	first bool // no line has been read yet
}

// run reads to the end of stdout. It returns when there is nothing more to
// come, be it because the pipe was closed.
func (r *reader) run() {
	c := r.c
	defer close(c.stdoutRead)
	in := newLines(c.ours.stdout, c.s.o.MaxLine, r.idle)
	for {
		line, err := in.next()
		switch {
		case err == nil:
			err = r.line(line)
		case errors.Is(err, errTooLong):
			err = r.noiseLine(noteAnswer(Noise{Reason: CauseLineTooLong, Head: line}, &in.over))
		case errors.Is(err, errEndless):
			r.noiseLine(noteAnswer(Noise{Reason: CauseLineTooLong, Head: line, Detail: err.Error()}, &in.over))
			err = &failure{cause: CauseLineTooLong, hard: true}
		default: // the end
			r.line(line)
			c.fail(failure{cause: CauseStdoutEOF, soft: true})
			return
		}
		if f, ok := errors.AsType[*failure](err); ok {
			c.fail(*f)
			c.discard()
			return
		}
	}
}

// line takes one line. Its error is a *failure: the process must be stopped.
func (r *reader) line(line []byte) error {
	if r.first {
		line, r.first = bytes.TrimPrefix(line, []byte("\ufeff")), false
	}
	if line = bytes.Trim(line, " \t\r"); len(line) == 0 {
		return nil
	}
	r.c.s.o.Trace("recv", line)
	if line[0] != '{' {
		return r.noiseLine(r.notAMessage(line))
	}
	m, mended, err := jsonrpc.ParseMended(line, r.rules)
	if mended {
		r.mended(line, r.meter.count)
	}
	if err != nil {
		return r.noiseLine(r.badMessage(line, err))
	}
	return r.take(&m)
}

// take takes one message.
func (r *reader) take(m *jsonrpc.Message) error {
	if m.Class() == jsonrpc.Malformed {
		return r.noiseLine(noteAnswer(Noise{Reason: CauseGarbage, Detail: "neither request, notification nor response", Head: head(m.Raw)}, skimmed(m.Raw)))
	}
	taken, up, err := r.c.talk.answer(m)
	switch {
	case err != nil:
		return &failure{cause: CauseHandshake, detail: err.Error()}
	case up:
		r.serverUp()
	case taken:
	case r.up:
		r.message(m)
	case r.c.s.attaches() && m.Class() == jsonrpc.Response:
		return &failure{cause: CauseInUse, detail: "it answered " + cut(m.Get(jsonrpc.ID)) + ", which we had not asked", hard: true}
	default:
		if err := r.c.talk.holdBack(*m); err != nil {
			return &failure{cause: CauseHandshake, detail: err.Error(), hard: true}
		}
	}
	return nil
}

// serverUp tells the handler that the server is up and hands on the messages so far.
func (r *reader) serverUp() {
	c := r.c
	r.up, r.idleDue = true, true
	close(c.up)
	c.s.child.Store(c)
	hello := c.talk.hello
	hello.PID = c.pid
	c.s.log.Info("server up", pidAttr(c.pid), "revision", hello.Revision)
	r.h.ServerUp(hello)
	for _, m := range c.talk.early {
		r.h.ServerMessage(m)
	}
	c.talk.early = nil
}

// noiseLine counts a line of noise and tells of it.
func (r *reader) noiseLine(n Noise) error {
	tooMany := r.meter.add(time.Now())
	if n.Count = r.meter.count; n.Count == 1 {
		r.c.noise = text.Line(string(n.Head))
	}
	r.noise(n, "count", n.Count)
	if tooMany {
		return &failure{cause: CauseGarbage, detail: "more than 100 lines in 10 s", hard: true}
	}
	return nil
}

// notAMessage describes a line that does not begin like a message. A batch is answered.
func (r *reader) notAMessage(line []byte) Noise {
	if line[0] != '[' || !bytes.HasPrefix(bytes.TrimLeft(line[1:], " \t"), []byte("{")) {
		return Noise{Reason: CauseGarbage, Head: head(line)}
	}
	if r.up {
		r.c.ownLines.Add(1)
	}
	r.c.sendOwn([]byte(noBatches))
	return Noise{Reason: string(jsonrpc.Batch), Head: head(line)}
}

// badMessage describes a line that begins like a message and is none. If it was to be an
// answer, its id can often still be told.
func (r *reader) badMessage(line []byte, err error) Noise {
	n := noteAnswer(Noise{Reason: CauseGarbage, Detail: err.Error(), Head: head(line)}, skimmed(line))
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Reason != jsonrpc.Syntax && e.Reason != jsonrpc.TrailingData {
		n.Reason = string(e.Reason)
	}
	return n
}

// noteAnswer notes in n whose answer a line would have been. If it has a method, the id
// would be one of the server's own, so it was no answer.
func noteAnswer(n Noise, k *skim) Noise {
	n.ID, n.Answer = k.answer()
	return n
}

// A reporter gives the handler what the reader of one process's stdout finds there. It is
// for that one's goroutine alone.
type reporter struct {
	c     *child
	h     Handler
	rules jsonrpc.Rules // by which lines are read

	idleDue    bool // the handler was called since the last ServerIdle
	mendedTold bool // the handler knows that bytes are replaced
}

func newReporter(c *child, h Handler) reporter {
	return reporter{c: c, h: h, rules: jsonrpc.Rules{Depth: jsonrpc.Passed.Depth, Size: c.s.o.MaxLine, Halves: true}}
}

func (r *reporter) idle() {
	if r.idleDue {
		r.idleDue = false
		r.h.ServerIdle()
	}
}

func (r *reporter) message(m *jsonrpc.Message) {
	r.idleDue = true
	r.h.ServerMessage(*m)
}

// noiseShown is how many lines of noise of one process the log has as warnings.
const noiseShown = 3

// noise tells the log and the handler of a line that is no message. The log gets more
// besides.
func (r *reporter) noise(n Noise, more ...any) {
	r.idleDue = true
	level := slog.LevelWarn
	if n.Count > noiseShown {
		level = slog.LevelDebug
	}
	about := []any{"event", n.Reason, "line", text.Line(string(n.Head)), "detail", n.Detail}
	r.c.s.log.Log(context.Background(), level, "server wrote a line that is no message", append(about, more...)...)
	if n.Count == noiseShown {
		r.c.s.log.Warn("its stdout is for MCP alone: more lines like these are logged with --log-level debug")
	}
	r.h.ServerNoise(n)
}

// mended tells the log and the handler, once for each process, that bytes are read
// differently from how they were written. count is how many lines of noise there were.
func (r *reporter) mended(line []byte, count int) {
	if r.mendedTold {
		return
	}
	r.mendedTold, r.idleDue = true, true
	n := Noise{Reason: string(jsonrpc.InvalidUTF8), Detail: "bytes that are no UTF-8 are read as U+FFFD, here and from now on", Head: head(line), Count: count}
	r.c.s.log.Warn("server wrote bytes that are no UTF-8", "event", n.Reason, "line", text.Line(string(n.Head)), "detail", n.Detail)
	r.h.ServerNoise(n)
}

// head is a copy of the beginning of a line, to be shown.
func head(line []byte) []byte { return bytes.Clone(line[:min(len(line), headSize)]) }
