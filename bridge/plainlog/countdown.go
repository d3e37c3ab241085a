package plainlog

import (
	"io"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A Countdown is a terminal with a line at its end that says what is waited for and how long
// it may take, and which the log goes above. Its methods may be called by several goroutines
// at a time.
type Countdown struct {
	w     io.Writer
	width func() int // of the terminal, in columns

	mu    sync.Mutex
	words string // "": there is no such line
	name  string // what they are about, to quote
	until time.Time
	timer *time.Timer
}

// NewCountdown is one at the terminal w.
func NewCountdown(w io.Writer, width func() int) *Countdown {
	return &Countdown{w: w, width: width}
}

const clearLine = "\r\x1b[J"

// Write writes lines of the log, whole ones.
func (c *Countdown) Write(lines []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.words == "" {
		return c.w.Write(lines)
	}
	io.WriteString(c.w, clearLine)
	n, err := c.w.Write(lines)
	c.draw()
	return n, err
}

// Show puts the line there, or another in its place, until Hide takes it away. words say what is
// waited for, name is what people quote of it. Both are made safe to show.
func (c *Countdown) Show(name, words string, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name, c.words, c.until = text.Line(name), text.Line(words), until
	c.draw()
	c.timer = restarted(c.timer, c.tick)
}

// Hide takes the line away.
func (c *Countdown) Hide() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.words == "" {
		return
	}
	c.words = ""
	c.timer.Stop()
	io.WriteString(c.w, clearLine)
}

func (c *Countdown) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.words == "" {
		return
	}
	c.draw()
	c.timer = restarted(c.timer, c.tick)
}

func restarted(t *time.Timer, tick func()) *time.Timer {
	if t != nil {
		t.Stop()
	}
	return time.AfterFunc(time.Second, tick)
}

// draw writes the line anew, with the time and the name first: what a narrow terminal has no
// room for is cut off. The caller holds mu.
func (c *Countdown) draw() {
	line := text.Left(time.Until(c.until).Round(time.Second)) + " [" + c.name + "], " + c.words
	if most := c.width() - 1; most > 0 {
		line = text.Fit(line, most)
	}
	io.WriteString(c.w, clearLine+line)
}
