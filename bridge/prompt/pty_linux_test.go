package prompt_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
)

// openPTY returns both ends of a terminal.
func openPTY(t *testing.T, columns, lines int) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	raw, err := master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n uint32
	raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetUint32(int(fd), unix.TIOCGPTN)
		}
		unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(lines)})
	})
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(n)), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// A glass is what a terminal would show, lines that have scrolled away too.
type glass struct {
	mu      sync.Mutex
	changed chan struct{}
	columns int
	lines   [][]rune
	r, c    int
	rest    []byte
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
	case 0x1b:
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
		g.r = max(g.r-max(n, 1), 0)
	case 'C':
		g.c += max(n, 1)
	case 'J':
		g.lines = g.lines[:g.r+1]
		g.lines[g.r] = g.lines[g.r][:min(g.c, len(g.lines[g.r]))]
	case 'm', 'h', 'l':
	default:
		panic(fmt.Sprintf("a sequence that no terminal was asked to know: %q", text[:end+1]))
	}
	return end + 1
}

func (g *glass) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var b strings.Builder
	for _, l := range g.lines {
		b.WriteString(strings.TrimRight(string(l), " ") + "\n")
	}
	return b.String()
}

// A person sits at a terminal.
type person struct {
	*testing.T
	*glass
	p             *prompt.Prompt
	master, slave *os.File
	done          chan error
}

// sit sits somebody down before a Prompt.
func sit(t *testing.T, o prompt.Options, columns, lines int) *person {
	t.Helper()
	master, slave := openPTY(t, columns, lines)
	if o.Guard == 0 {
		o.Guard = time.Nanosecond
	}
	o.In, o.Out = slave, slave
	s := &person{T: t, glass: newGlass(columns), p: prompt.New(o), master: master, slave: slave, done: make(chan error, 1)}
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
	go func() { s.done <- s.p.Run(t.Context()) }()
	t.Cleanup(func() {
		s.leaves()
		slave.Close()
		master.Close()
		<-read
	})
	return s
}

// leaves waits until the Prompt has ended; the test's context is over.
func (s *person) leaves() {
	select {
	case err := <-s.done:
		if err != nil {
			s.Error(err)
		}
		s.done <- nil
	case <-time.After(20 * time.Second):
		s.Error("the prompt does not end")
	}
}

func (s *person) types(text string) {
	s.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.Fatal(err)
	}
}

// sees waits until the terminal shows something.
func (s *person) sees(what string) {
	s.Helper()
	late := time.After(20 * time.Second)
	for !strings.Contains(s.glass.String(), what) {
		select {
		case <-s.changed:
		case <-late:
			s.Fatalf("%q is not to be seen:\n%s", what, s.glass)
		}
	}
}

// misses waits until the terminal shows something no more.
func (s *person) misses(what string) {
	s.Helper()
	late := time.After(20 * time.Second)
	for strings.Contains(s.glass.String(), what) {
		select {
		case <-s.changed:
		case <-late:
			s.Fatalf("%q is still to be seen:\n%s", what, s.glass)
		}
	}
}

func (s *person) canonical() bool {
	s.Helper()
	m, err := unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS)
	if err != nil {
		s.Fatal(err)
	}
	return m.Lflag&unix.ICANON != 0 && m.Lflag&unix.ECHO != 0
}
