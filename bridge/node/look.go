package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	plans "github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// maxLooks bounds what waits for a file system that is slow, or hangs.
const maxLooks = 64

// A looker follows links, for one call after another: a file system that hangs holds up one
// goroutine, and what waits behind it is told in time that nobody knows (see [engine.Look]).
type looker struct {
	done func(engine.Looked) // gets what was found

	mu   sync.Mutex
	todo []engine.Look
	busy bool
}

// look has links followed, and reports whether it will.
func (l *looker) look(next engine.Look) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.todo) == maxLooks {
		return false
	}
	l.todo = append(l.todo, next)
	if !l.busy {
		l.busy = true
		go l.lookAll()
	}
	return true
}

// lookAll follows links until there is nothing more to look at.
func (l *looker) lookAll() {
	for next, ok := l.next(); ok; next, ok = l.next() {
		l.done(engine.Looked{Ticket: next.Ticket, Inside: slices.DeleteFunc(next.Places, leadsOut)})
	}
}

func (l *looker) next() (next engine.Look, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy = len(l.todo) > 0; l.busy {
		next = l.todo[0]
		l.todo = slices.Delete(l.todo, 0, 1)
	}
	return next, l.busy
}

// leadsOut reports whether a link leads a path out of its folder as this machine has both, or
// nobody here can tell: the folder is not here, a link leads to nothing, or the path has more
// spellings than one.
func leadsOut(p plans.Place) bool {
	folder, err := filepath.EvalSymlinks(p.Folder)
	if err != nil || policy.Folder(filepath.ToSlash(p.Path)) != "" {
		return true
	}
	at := p.Path
	for {
		_, err := os.Lstat(at)
		if err == nil {
			break
		}
		if up := filepath.Dir(at); errors.Is(err, fs.ErrNotExist) && up != at {
			at = up // what is not there yet is no link
			continue
		}
		return true
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return true
	}
	way, err := filepath.Rel(folder, real)
	return err != nil || !filepath.IsLocal(way)
}
