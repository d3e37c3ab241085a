package stdio

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

const (
	tailSize   = 64 << 10 // bytes of stderr kept to be quoted
	shownLine  = 1 << 10  // bytes of one line that are shown
	linesInLog = 100      // lines a second that go to the log
)

// A stderrTail reads a server's stderr for as long as there is any, so that the
// server never blocks on it. It keeps the end and logs what is not too much.
type stderrTail struct {
	log  *slog.Logger
	said map[string]bool // lines that were logged before, as all returns them

	second     time.Time // the current one, of the limit
	logged     int       // lines in it
	suppressed int       // lines in it that were too many
	again      int       // lines that were logged before
	long       bool      // inside a line that was shown cut

	mu   sync.Mutex
	ring []byte // the last tailSize bytes, guarded by mu; grows to twice that before it is cut
}

// drain reads r to its end.
func (t *stderrTail) drain(r io.Reader) {
	buf := make([]byte, 32<<10)
	var part []byte // the beginning of a line that is not complete
	for {
		n, err := r.Read(buf)
		t.keep(buf[:n])
		part = t.each(append(part, buf[:n]...))
		if err != nil {
			break
		}
	}
	if len(part) > 0 {
		t.line(part)
	}
	t.newSecond(time.Time{})
	if t.again > 0 {
		t.log.Info("server stderr as before", "lines", t.again)
	}
}

func (t *stderrTail) keep(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ring = append(t.ring, p...); len(t.ring) > 2*tailSize {
		t.ring = append(t.ring[:0], t.ring[len(t.ring)-tailSize:]...)
	}
}

// each logs the complete lines in p and returns what is left of it.
func (t *stderrTail) each(p []byte) []byte {
	left := p
	for {
		i := bytes.IndexByte(left, '\n')
		if i < 0 {
			break
		}
		t.line(left[:i])
		left, t.long = left[i+1:], false
	}
	if len(left) > shownLine { // show what there is, and no more of this line
		t.line(left[:shownLine])
		left, t.long = nil, true
	}
	return append(p[:0], left...)
}

func (t *stderrTail) line(line []byte) {
	if line = bytes.TrimRight(line, "\r"); t.long || len(line) == 0 {
		return
	}
	if len(t.said) > 0 && t.said[text.Line(string(bytes.TrimSpace(line[:min(len(line), shownLine)])))] {
		t.again++
		return
	}
	if now := time.Now(); now.Sub(t.second) >= time.Second {
		t.newSecond(now)
	}
	if t.logged++; t.logged > linesInLog {
		t.suppressed++
		return
	}
	t.log.Info("server stderr", "line", text.Line(string(line[:min(len(line), shownLine)])))
}

// newSecond begins a new second.
func (t *stderrTail) newSecond(now time.Time) {
	if t.suppressed > 0 {
		t.log.Warn("server stderr suppressed", "event", "stderr_suppressed", "lines", t.suppressed)
	}
	t.second, t.logged, t.suppressed = now, 0, 0
}

// all returns the lines that are kept and not empty, made printable.
func (t *stderrTail) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for line := range strings.Lines(string(t.ring[max(0, len(t.ring)-tailSize):])) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, text.Line(line[:min(len(line), shownLine)]))
		}
	}
	return out
}
