//go:build unix

package prompt

import (
	"context"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
)

// A terminal gives its keys one by one, without showing them. Ctrl-C and
// Ctrl-Z do what they always do. While another job has the terminal it is left
// alone: a program that runs in the background neither reads nor draws.
type terminal struct {
	fd int

	mu    sync.Mutex
	saved *unix.Termios // as it was; nil while it is not ours
	over  bool          // it is as it was, and stays so
}

// IsTerminal reports whether f is one that a Prompt can use.
func IsTerminal(f *os.File) bool {
	return f != nil && f.Fd() < unix.FD_SETSIZE && term.IsTerminal(int(f.Fd()))
}

// Columns is how wide a terminal is, 0 if that cannot be told.
func Columns(f *os.File) int {
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// InForeground reports whether no other job has the terminal f: a person can answer there
// without fetching us first.
func InForeground(f *os.File) bool { return (&terminal{fd: int(f.Fd())}).foreground() }

func openTerminal(f *os.File) (*terminal, error) {
	if _, err := unix.IoctlGetTermios(int(f.Fd()), getTermios); err != nil {
		return nil, err
	}
	return &terminal{fd: int(f.Fd())}, nil
}

func (t *terminal) size() (columns, lines int) {
	columns, lines, err := term.GetSize(t.fd)
	if err != nil || columns == 0 || lines == 0 {
		return 80, 24
	}
	return columns, lines
}

// foreground: no other job has the terminal. One that is not the controlling
// terminal of anybody has no jobs.
func (t *terminal) foreground() bool {
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// ours makes the terminal ours if it can be. fresh says that it was not just
// now: what had been typed is thrown away then, which x/term's MakeRaw does not do,
// and it would take Ctrl-C and Ctrl-Z away too.
func (t *terminal) ours() (ours, fresh bool) {
	if ours, fresh = t.take(); fresh {
		unix.Write(t.fd, []byte(pastesMarked))
	}
	return ours, fresh
}

// take is ours without a word to the terminal, which may take none: restore waits for nobody.
func (t *terminal) take() (ours, fresh bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return t.saved != nil, false // what is drawn now is wiped soon
	}
	if !t.foreground() {
		t.saved = nil // whoever has it set it as they want it
		return false, false
	}
	now, err := unix.IoctlGetTermios(t.fd, getTermios)
	if err != nil {
		return false, false
	}
	if t.saved != nil && now.Lflag&(unix.ICANON|unix.ECHO) == 0 {
		return true, false
	}
	saved := *now
	now.Lflag &^= unix.ICANON | unix.ECHO
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if t.set(now) != nil {
		return false, false
	}
	t.saved = &saved
	return true, true
}

// set sets the terminal, and throws away what was typed. It does not wait, as TCSETSF does,
// until what was written before is out.
func (t *terminal) set(to *unix.Termios) error {
	if err := unix.IoctlSetTermios(t.fd, setTermios, to); err != nil {
		return err
	}
	return forgetTyped(t.fd)
}

// restore gives the terminal back as it was, for good. It never waits for it.
func (t *terminal) restore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over && t.saved != nil && t.foreground() {
		t.set(t.saved)
	}
	t.over = true
}

// unmarkPastes has the terminal mark pastes no more. It comes after restore, as it may wait for a
// terminal that takes no output.
func (t *terminal) unmarkPastes() {
	if t.saved != nil && t.foreground() {
		unix.Write(t.fd, []byte(pastesUnmarked))
	}
}

// Terminals say where a paste begins and ends when they are asked to.
const (
	pastesMarked   = "\x1b[?2004h"
	pastesUnmarked = "\x1b[?2004l"
)

// read puts keys until ctx ends. Each bears the time when it was read.
func (t *terminal) read(ctx context.Context, keys *typed) {
	wake, waker, err := os.Pipe()
	if err != nil {
		return
	}
	defer wake.Close()
	defer context.AfterFunc(ctx, func() { waker.Close() })()
	var d decoder
	text := make([]byte, 1024)
	for ctx.Err() == nil {
		switch typed, ours := t.readable(int(wake.Fd())); {
		case !typed:
			continue
		case !ours: // it is meant for somebody else
			pause.For(ctx, 200*time.Millisecond)
			continue
		}
		n, err := unix.Read(t.fd, text)
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		if err != nil || n <= 0 {
			if !pause.For(ctx, 100*time.Millisecond) { // it hung up, or is not ours any more
				return
			}
			continue
		}
		keys.put(d.decode(text[:n], time.Now()))
	}
}

// readable waits, for a while, until something is typed, and says whether that
// is meant for us.
func (t *terminal) readable(wake int) (typed, ours bool) {
	var set unix.FdSet
	set.Zero()
	set.Set(t.fd)
	set.Set(wake)
	wait := unix.NsecToTimeval(int64(200 * time.Millisecond))
	n, err := unix.Select(max(t.fd, wake)+1, &set, nil, nil, &wait)
	if err != nil || n == 0 || !set.IsSet(t.fd) {
		return false, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return true, t.saved != nil && !t.over && t.foreground()
}
