package node

import (
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

func (d *decided) add(s approval.Settled) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.by == nil {
		d.by = map[string]string{}
	}
	if len(d.order) == maxDecided {
		delete(d.by, d.order[0])
		d.order = d.order[1:]
	}
	d.by[s.ID] = inbox.Names(s.By)
	d.order = append(d.order, s.ID)
}

// refusal says why an answer does not count: of a question that has ended, who
// was first; else the reason, and detail on it in words.
func (d *decided) refusal(id, reason, detail string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if by, ended := d.by[id]; ended {
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
	case s.Outcome == approval.Withdrawn, s.Reason == approval.ShuttingDown:
		all = s.Sentence()
	case s.Reason != "" && s.Reason != all:
		all += ": " + text.Words(s.Reason)
	}
	if s.Said != "" {
		all += inbox.Said + s.Said
	}
	return text.Line(all)
}
