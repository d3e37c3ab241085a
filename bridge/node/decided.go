package node

import (
	"strings"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// maxDecided is how many decided questions are remembered.
const maxDecided = 1000

// decided remembers who decided questions, for those who come too late. The
// zero value is ready.
type decided struct {
	mu    sync.Mutex
	by    map[string]string // by question; "" for nobody
	order []string          // oldest first
}

func (e *decided) add(s approval.Settled) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.by == nil {
		e.by = map[string]string{}
	}
	if len(e.order) == maxDecided {
		delete(e.by, e.order[0])
		e.order = e.order[1:]
	}
	e.by[s.ID] = inbox.Names(s.By)
	e.order = append(e.order, s.ID)
}

// refusal says why an answer does not count: of a question that has ended, who
// was first; else the reason, and detail on it in words.
func (e *decided) refusal(id, reason, detail string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if by, ended := e.by[id]; ended {
		return &inbox.Refusal{Reason: inbox.AlreadyDecided, By: by}
	}
	return &inbox.Refusal{Reason: reason, Detail: detail}
}

// ending says how a question ended, fit to be shown.
func ending(s approval.Settled) string {
	all, by := s.Outcome.String(), inbox.Names(s.By)
	switch {
	case s.Used != nil:
		all += " by what was remembered (" + s.Used.ID + ")"
	case by != "":
		all += " by " + by
	case s.Reason != "" && s.Reason != all:
		all += ": " + strings.ReplaceAll(s.Reason, "_", " ")
	}
	if s.Said != "" {
		all += ", who said: " + s.Said
	}
	return text.Line(all)
}
