package prompt

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
)

// Whoever floods a person with questions can be denied all of them at once: exactly those that
// stand in the list as it is shown then, each as it was there. What comes meanwhile is asked
// as always.

// sweep begins to deny what the list shows of the caller of the open question at its bridge.
func (m *model) sweep() {
	it := m.current()
	if it == nil || it.q.Elsewhere != "" {
		return
	}
	m.swept = nil
	for _, other := range m.listed {
		if other.q.From == it.q.From && other.src == it.src {
			m.swept = append(m.swept, other)
		}
	}
	if len(m.swept) == 0 {
		return // the list on the screen is an old one
	}
	m.mode, m.line = sweeping, newEditor("because (may be empty): ", "", nil)
	m.sweepOnly(len(m.swept))
}

// A letter is an answer on its way.
type letter struct {
	it item
	d  inbox.Decision
}

// letters are what an answer is sent as: one to the open question, or one to each of several.
func (m *model) letters(r *approval.Reply) (all []letter) {
	if len(m.swept) == 0 {
		return []letter{{*m.current(), inbox.Decide(m.view, r)}}
	}
	for _, it := range m.swept {
		all = append(all, letter{it, inbox.Decision{ID: it.q.ID, Digest: it.q.Short, Result: r.Result(false)}})
	}
	m.swept = nil
	return all
}
