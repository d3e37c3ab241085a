package prompt

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A screen is a terminal whose last lines are ours. What others write goes
// above them.
type screen struct {
	out   io.Writer
	plain bool // no colours

	mu      sync.Mutex
	panel   panel
	columns int  // when it was drawn
	off     bool // nothing is drawn: we are not in the foreground
	titled  int  // how many questions the title of the window counts; 0: it is not ours
	rest    []byte
}

var looks = map[look]string{strong: "\x1b[1m", alarm: "\x1b[1;33m", faint: "\x1b[2m", bar: "\x1b[7m"}

// A terminal that knows it shows what stands between these at once, and half a picture to
// nobody (synchronized output, DEC private mode 2026); others leave them unheeded.
const hold, release = "\x1b[?2026h", "\x1b[?2026l"

// show replaces the panel.
func (s *screen) show(p panel, columns int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off || slices.Equal(s.panel.rows, p.rows) && s.panel.cursor == p.cursor && s.columns == columns {
		return
	}
	var b bytes.Buffer
	b.WriteString(hold)
	s.wipe(&b, columns)
	s.panel, s.columns = p, columns
	s.paint(&b)
	b.WriteString(release)
	s.out.Write(b.Bytes())
}

// hide takes the panel away, unless others have the terminal: then it is only forgotten.
// show brings it back when on is called.
func (s *screen) hide(others bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.off && !others {
		var b bytes.Buffer
		b.WriteString(hold)
		s.wipe(&b, s.columns)
		s.title(&b, 0)
		b.WriteString(release)
		s.out.Write(b.Bytes())
	}
	s.panel, s.off = panel{cursor: -1}, true
}

// call draws attention: ring sounds the bell, and the title of the window counts the open
// questions. It does nothing while others have the terminal.
func (s *screen) call(ring bool, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off {
		return
	}
	var b bytes.Buffer
	if ring {
		b.WriteByte('\a')
	}
	s.title(&b, open)
	if b.Len() > 0 {
		s.out.Write(b.Bytes())
	}
}

// title has the window say how many questions are open. The title that was there comes back
// with none; a terminal that does not keep it has an empty one then. No word of others
// stands in it (RELIABILITY AI-15).
func (s *screen) title(b *bytes.Buffer, open int) {
	switch {
	case open == s.titled:
	case open == 0:
		b.WriteString("\x1b]2;\a\x1b[23;2t")
	default:
		if s.titled == 0 {
			b.WriteString("\x1b[22;2t")
		}
		fmt.Fprintf(b, "\x1b]2;%s to decide - mcpx-bridge\a", text.Counted(open, "question"))
	}
	s.titled = open
}

func (s *screen) on() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = false
}

// Write puts text above the panel, whole lines at a time.
func (s *screen) Write(lines []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.panel.rows) == 0 && len(s.rest) == 0 {
		return s.out.Write(lines)
	}
	s.rest = append(s.rest, lines...)
	whole := bytes.LastIndexByte(s.rest, '\n') + 1
	if whole == 0 {
		return len(lines), nil
	}
	var b bytes.Buffer
	b.WriteString(hold)
	s.wipe(&b, s.columns)
	b.Write(s.rest[:whole])
	s.rest = append(s.rest[:0], s.rest[whole:]...)
	s.paint(&b)
	b.WriteString(release)
	if _, err := s.out.Write(b.Bytes()); err != nil {
		return 0, err
	}
	return len(lines), nil
}

// wipe clears the panel. A terminal that has become narrower since has broken
// its lines.
func (s *screen) wipe(b *bytes.Buffer, columns int) {
	if len(s.panel.rows) == 0 {
		return
	}
	height := 0
	for _, r := range s.panel.rows {
		height += max((text.Width(r.text)+columns-1)/max(columns, 1), 1)
	}
	b.WriteByte('\r')
	if height > 1 {
		fmt.Fprintf(b, "\x1b[%dA", height-1)
	}
	b.WriteString("\x1b[J")
}

// paint draws the panel; the cursor is in its last line then.
func (s *screen) paint(b *bytes.Buffer) {
	for i, r := range s.panel.rows {
		if i > 0 {
			b.WriteString("\r\n")
		}
		if code := looks[r.look]; code != "" && !(s.plain && r.look != bar) {
			b.WriteString(code + r.text + "\x1b[0m")
		} else {
			b.WriteString(r.text)
		}
	}
	if s.panel.cursor >= 0 {
		fmt.Fprintf(b, "\r\x1b[%dC", s.panel.cursor)
		if s.panel.cursor == 0 {
			b.Truncate(b.Len() - len("\x1b[0C"))
		}
	}
}
