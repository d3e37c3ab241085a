package stdio

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

const (
	chunk     = 64 << 10  // lines up to this cost one copy
	longRead  = 256 << 10 // most that is read at once into a longer line
	longFirst = 4 << 20   // most room made for a longer line before it is known how long it is
	headSize  = 200       // what is kept of a line that is thrown away
)

var (
	errTooLong = errors.New("line too long")
	errEndless = errors.New("line without end")
	errPart    = errors.New("part of a line")
)

// lines cuts a stream at its newlines. Memory is bounded by max, whatever
// comes; chunking makes no difference to the lines.
type lines struct {
	r    io.Reader
	max  int
	idle func() // called before every read

	// parts hands a line over max out piece by piece, with errPart but for the
	// last, instead of skipping it.
	parts bool
	mid   bool // the next piece goes on with a line

	buf     []byte
	at, end int // buf[at:end] is read and not yet handed out
	room    int // what the last long line needed

	over skim // of the last line that was too long
}

func newLines(r io.Reader, max int, idle func()) *lines {
	return &lines{r: r, max: max, idle: idle, buf: make([]byte, chunk)}
}

// next returns the next line without its newline, in a slice of its own.
// A line over max is skipped and reported with its head and errTooLong; over
// four times max without a newline it is errEndless and the end. What stands
// before the end of the stream is a line too, returned with the error.
func (l *lines) next() ([]byte, error) {
	seen := l.at
	for {
		if i := bytes.IndexByte(l.buf[seen:l.end], '\n'); i >= 0 {
			line := l.buf[l.at : seen+i]
			l.at, l.mid = seen+i+1, false
			if len(line) > l.max && !l.parts {
				return l.tooLong(line), errTooLong
			}
			return slices.Clone(line), nil
		}
		if l.end-l.at == len(l.buf) {
			if l.mid {
				return l.rest(), errPart
			}
			return l.readLong()
		}
		l.end = copy(l.buf, l.buf[l.at:l.end])
		l.at, seen = 0, l.end
		n, err := l.read(l.buf[l.end:])
		if l.end += n; err != nil {
			return l.rest(), err
		}
	}
}

// read waits for more. An error comes without bytes.
func (l *lines) read(into []byte) (int, error) {
	l.idle()
	for range 100 {
		if n, err := l.r.Read(into); n > 0 {
			return n, nil
		} else if err != nil {
			return 0, err
		}
	}
	return 0, io.ErrNoProgress
}

func (l *lines) rest() []byte {
	line := slices.Clone(l.buf[l.at:l.end])
	l.at, l.end = 0, 0
	return line
}

// readLong goes on with a line that fills the buffer, reading into the line itself
// so that its bytes are not copied again.
func (l *lines) readLong() ([]byte, error) {
	line := append(make([]byte, 0, max(l.room, 2*chunk)), l.buf[l.at:l.end]...)
	l.at, l.end = 0, 0
	for len(line) <= l.max {
		if len(line) == cap(line) {
			line = slices.Grow(line, min(len(line), l.max+1-len(line)))
		}
		have := len(line)
		n, err := l.read(line[have:min(cap(line), have+longRead)])
		if err != nil {
			return line, err
		}
		line = line[:have+n]
		if i := bytes.IndexByte(line[have:], '\n'); i >= 0 {
			l.keep(line[have+i+1:])
			return l.whole(line[: have+i : have+i])
		}
	}
	if l.parts {
		l.mid = true
		return line, errPart
	}
	return l.skip(line)
}

// keep puts what was read past a long line back into the buffer.
func (l *lines) keep(rest []byte) {
	if len(rest) > len(l.buf) {
		l.buf = make([]byte, longRead)
	}
	l.end = copy(l.buf, rest)
}

func (l *lines) whole(line []byte) ([]byte, error) {
	if len(line) > l.max && !l.parts {
		return l.tooLong(line), errTooLong
	}
	l.room = min(len(line)+len(line)/8+4<<10, longFirst)
	return line, nil
}

// tooLong looks at a line that is too long, or at the beginning of one, and
// returns its head.
func (l *lines) tooLong(line []byte) (head []byte) {
	l.over = skim{}
	l.over.add(line)
	return slices.Clone(line[:min(len(line), headSize)])
}

// skip reads to the newline of a line that is too long and forgets it.
func (l *lines) skip(line []byte) ([]byte, error) {
	head, size := l.tooLong(line), len(line)
	for size <= 4*l.max {
		n, err := l.read(l.buf)
		if err != nil {
			return head, errTooLong // the end of the stream comes with the next call
		}
		if i := bytes.IndexByte(l.buf[:n], '\n'); i >= 0 {
			l.over.add(l.buf[:i])
			l.at, l.end = i+1, n
			return head, errTooLong
		}
		l.over.add(l.buf[:n])
		size += n
	}
	return head, errEndless
}
