package prompttest

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// A glass is what a terminal would show, lines that have scrolled away too.
type glass struct {
	mu      sync.Mutex
	changed chan struct{}
	columns int
	lines   [][]rune
	r, c    int
	rest    []byte
	bells   int
	title   string
	kept    []string // titles that are to come back
	still   *string  // what is shown until all of the next picture is there; nil: what there is
}

func newGlass(columns int) *glass {
	return &glass{changed: make(chan struct{}, 1), columns: columns, lines: make([][]rune, 1)}
}

func (g *glass) feed(text []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	text = append(g.rest, text...)
	g.rest = nil
	for len(text) > 0 {
		n := g.one(text)
		if n == 0 {
			g.rest = append([]byte(nil), text...)
			break
		}
		text = text[n:]
	}
	select {
	case g.changed <- struct{}{}:
	default:
	}
}

func (g *glass) one(text []byte) int {
	switch text[0] {
	case '\r':
		g.c = 0
		return 1
	case '\n':
		g.down()
		return 1
	case '\a':
		g.bells++
		return 1
	case 0x1b:
		if len(text) > 1 && text[1] == ']' {
			return g.named(text)
		}
		return g.sequence(text)
	}
	if !utf8.FullRune(text) {
		return 0
	}
	r, n := utf8.DecodeRune(text)
	if g.c >= g.columns {
		g.c = 0
		g.down()
	}
	for len(g.lines[g.r]) <= g.c {
		g.lines[g.r] = append(g.lines[g.r], ' ')
	}
	g.lines[g.r][g.c] = r
	g.c++
	return n
}

// named takes the title of the window.
func (g *glass) named(text []byte) int {
	end := bytes.IndexByte(text, '\a')
	if end < 0 {
		return 0
	}
	title, ok := strings.CutPrefix(string(text[:end]), "\x1b]2;")
	if !ok {
		panic(fmt.Sprintf("a command that no terminal was asked to know: %q", text[:end]))
	}
	g.title = title
	return end + 1
}

// keep keeps the title of the window, or brings back what was kept.
func (g *glass) keep(how string) {
	switch last := len(g.kept) - 1; {
	case how == "22;2":
		g.kept = append(g.kept, g.title)
	case how == "23;2" && last >= 0:
		g.title, g.kept = g.kept[last], g.kept[:last]
	}
}

// Bells is how often the bell has sounded.
func (g *glass) Bells() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.bells
}

// Title is what stands above the window.
func (g *glass) Title() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.title
}

func (g *glass) down() {
	if g.r++; g.r == len(g.lines) {
		g.lines = append(g.lines, nil)
	}
}

func (g *glass) sequence(text []byte) int {
	end := 2
	for end < len(text) && (text[end] < '@' || text[end] > '~') {
		end++
	}
	if end >= len(text) {
		return 0
	}
	n, _ := strconv.Atoi(string(text[2:end]))
	switch text[end] {
	case 'A':
		if g.still == nil {
			panic("half a picture was to be seen")
		}
		g.r = max(g.r-max(n, 1), 0)
	case 'C':
		g.c += max(n, 1)
	case 'J':
		g.lines = g.lines[:g.r+1]
		g.lines[g.r] = g.lines[g.r][:min(g.c, len(g.lines[g.r]))]
	case 't':
		g.keep(string(text[2:end]))
	case 'h', 'l':
		if string(text[2:end]) == "?2026" { // synchronized output
			g.still = nil
			if text[end] == 'h' {
				g.still = new(g.text())
			}
		}
	case 'm':
	default:
		panic(fmt.Sprintf("a sequence that no terminal was asked to know: %q", text[:end+1]))
	}
	return end + 1
}

func (g *glass) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.still != nil {
		return *g.still
	}
	return g.text()
}

func (g *glass) text() string {
	var b strings.Builder
	for _, l := range g.lines {
		b.WriteString(strings.TrimRight(string(l), " ") + "\n")
	}
	return b.String()
}

// A Terminal is a pseudo-terminal, and what is to be seen on it.
type Terminal struct {
	*glass
	Slave *os.File // the end for programs

	t      testing.TB
	master *os.File
}

// Open opens a terminal for the length of a test, which it skips if there are
// none.
func Open(t testing.TB, columns, lines int) *Terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	if err := pty.Setsize(master, &pty.Winsize{Cols: uint16(columns), Rows: uint16(lines)}); err != nil {
		t.Fatal(err)
	}
	s := &Terminal{glass: newGlass(columns), Slave: slave, t: t, master: master}
	read := make(chan struct{})
	go func() {
		defer close(read)
		text := make([]byte, 4096)
		for {
			n, err := master.Read(text)
			if err != nil {
				return
			}
			s.feed(text[:n])
		}
	}()
	t.Cleanup(func() {
		slave.Close()
		master.Close()
		<-read
	})
	return s
}

// Types presses keys.
func (s *Terminal) Types(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// Closes is what a person does to the window: what runs there is hung up.
func (s *Terminal) Closes() {
	s.t.Helper()
	if err := s.master.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.Slave.WriteString("\n") // who reads holds it open until something comes
}

// Changed is told when there is something new to be seen.
func (s *Terminal) Changed() <-chan struct{} { return s.changed }

// Sees waits until the terminal shows all of these at one time.
func (s *Terminal) Sees(what ...string) {
	s.t.Helper()
	late := time.After(20 * time.Second)
	for !s.shows(what) {
		select {
		case <-s.changed:
		case <-late:
			s.t.Fatalf("%q is not to be seen:\n%s", what, s)
		}
	}
}

func (s *Terminal) shows(all []string) bool {
	text := s.String()
	return !slices.ContainsFunc(all, func(what string) bool { return !strings.Contains(text, what) })
}

// Misses waits until the terminal shows something no more.
func (s *Terminal) Misses(what string) {
	s.t.Helper()
	late := time.After(20 * time.Second)
	for strings.Contains(s.String(), what) {
		select {
		case <-s.changed:
		case <-late:
			s.t.Fatalf("%q is still to be seen:\n%s", what, s)
		}
	}
}

// Titled waits until the window has a title.
func (s *Terminal) Titled(title string) {
	s.t.Helper()
	late := time.After(20 * time.Second)
	for s.Title() != title {
		select {
		case <-s.changed:
		case <-late:
			s.t.Fatalf("the title is %q, not %q", s.Title(), title)
		}
	}
}

// Canonical reports whether the terminal gives whole lines and shows what is
// typed, as shells like it.
func (s *Terminal) Canonical() bool {
	s.t.Helper()
	m, err := unix.IoctlGetTermios(int(s.Slave.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return m.Lflag&unix.ICANON != 0 && m.Lflag&unix.ECHO != 0
}
