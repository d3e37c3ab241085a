package prompt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// A wish is what a key makes the program do.
type wish uint8

const (
	nothing wish = iota
	quit
	send // the answer that press returns with it
)

// press takes one key. What was typed before the question was before the
// person's eyes, or in the moment after, decides nothing.
func (m *model) press(k key) (wish, approval.Reply) {
	m.hint = ""
	switch m.mode {
	case listing:
		return m.pressInList(k.r), approval.Reply{}
	case confirming, refusing, passing, filling:
		return m.pressInLine(k.r)
	case sending:
		return nothing, approval.Reply{}
	}
	if w, done := m.move(k.r); done {
		return w, approval.Reply{}
	}
	if m.view == nil || m.since.IsZero() || k.at.Sub(m.since) < m.guard {
		return nothing, approval.Reply{} // typed ahead
	}
	m.choose(k.r)
	return nothing, approval.Reply{}
}

// move takes the keys that decide nothing.
func (m *model) move(r rune) (w wish, done bool) {
	switch r {
	case 'q', endOfText:
		if m.resident {
			return nothing, true
		}
		return quit, true
	case 'n', right:
		m.step(1)
	case 'p', left:
		m.step(-1)
	case 'l', escape:
		if len(m.items) > 1 {
			m.mode = listing
		}
	default:
		return nothing, m.scroll(r)
	}
	return nothing, true
}

func (m *model) step(by int) {
	if n := len(m.items); n > 1 {
		m.open(((m.place()+by)%n + n) % n)
	}
}

func (m *model) scroll(r rune) bool {
	switch r {
	case ' ', pageDown:
		m.top += max(m.height-1, 1)
	case 'b', pageUp:
		m.top -= max(m.height-1, 1)
	case 'j', down, enter:
		m.top++
	case 'k', up:
		m.top--
	case 'G', 'x', end:
		m.top = len(m.page)
	case home:
		m.top = 0
	default:
		return false
	}
	return true // draw keeps it within bounds
}

func (m *model) pressInList(r rune) wish {
	switch r {
	case 'q', endOfText:
		if !m.resident {
			return quit
		}
	case 'j', 'n', down:
		m.step(1)
	case 'k', 'p', up:
		m.step(-1)
	case enter, 'l', escape, ' ':
		m.open(m.place())
		m.mode = reading
	}
	return nothing
}

// choose begins an answer.
func (m *model) choose(r rune) {
	if !slices.Contains([]rune("adegr"), r) {
		return
	}
	if us, others := m.asked(); !us {
		m.hint = "this is not for you to decide now"
		if others != "" {
			m.hint += "; asked: " + others
		}
		return
	}
	switch {
	case r == 'd':
		m.mode, m.line = refusing, newEditor("deny, because (may be empty): ", "", nil)
	case r == 'g' && len(m.view.DelegateTo) == 0:
		m.hint = "this question cannot be passed on"
	case r == 'g':
		m.mode, m.line = passing, newEditor("pass on to (Tab): ", m.view.DelegateTo[0], m.view.DelegateTo)
	case r == 'r':
		m.nextRemember()
	case !m.ended:
		m.hint = "read it to the end first: Space goes on, x goes to the end"
	case r == 'e' && len(m.view.Edits) == 0:
		m.hint = "nothing of this can be changed"
	case r == 'e':
		m.entries = nil
		m.fill(0)
	default:
		m.confirm()
	}
}

func (m *model) nextRemember() {
	if len(m.view.Remember) == 0 {
		m.hint = "this answer cannot be remembered"
		return
	}
	m.remember = (m.remember + 1) % len(m.view.Remember)
}

// keep is what to remember, "" for nothing.
func (m *model) keep() string {
	if m.view == nil || len(m.view.Remember) == 0 {
		return ""
	}
	return m.view.Remember[m.remember]
}

func (m *model) confirm() {
	what := "allow this call"
	if len(m.entries) > 0 {
		var changes []string
		for _, e := range m.entries {
			changes = append(changes, approval.Text(e.Field+" = "+string(e.Raw)))
		}
		what += " with " + strings.Join(changes, ", ")
	}
	if k := m.keep(); k == "session" || k == "always" {
		what += ", and remember that (" + k + ")"
	}
	m.mode, m.line = confirming, newEditor(fmt.Sprintf("%s [%s]? Enter allows it, any other key does not ", what, m.view.Short), "", nil)
}

// fill begins to type into a field.
func (m *model) fill(i int) {
	f := &m.view.Edits[i]
	ask := f.Title
	switch choices := f.Choices(); {
	case len(choices) > 0:
		ask += " (Tab)"
	case f.Min != "" || f.Max != "":
		ask += " (" + f.Min + " to " + f.Max + ")"
	}
	m.mode, m.field, m.line = filling, i, newEditor(approval.Text(ask)+": ", approval.Text(f.Typed()), f.Choices())
}

// pressInLine takes the keys of the line at the bottom.
func (m *model) pressInLine(r rune) (wish, approval.Reply) {
	switch {
	case r == escape || r == endOfText || m.mode == confirming && r != enter:
		m.mode, m.entries = reading, nil
		return nothing, approval.Reply{}
	case r != enter:
		m.line.key(r)
		return nothing, approval.Reply{}
	}
	switch typed := m.line.String(); m.mode {
	case refusing:
		return m.answer(approval.Reply{Reason: typed})
	case passing:
		if !slices.Contains(m.view.DelegateTo, typed) {
			m.hint = "it can be passed on to: " + strings.Join(m.view.DelegateTo, ", ")
			return nothing, approval.Reply{}
		}
		return m.answer(approval.Reply{To: typed})
	case filling:
		m.filled(typed)
		return nothing, approval.Reply{}
	}
	return m.answer(approval.Reply{Allow: true, Remember: m.keep(), Fields: m.entries})
}

// filled takes what was typed into a field, and goes on to the next. A value
// that is left as it is is not sent.
func (m *model) filled(typed string) {
	f := &m.view.Edits[m.field]
	if typed != approval.Text(f.Typed()) {
		raw, problem := f.Value(typed)
		if problem != "" {
			m.hint = approval.Text(f.Title) + " " + problem
			return
		}
		m.entries = append(m.entries, approval.Entry{Field: f.Field, Raw: raw})
	}
	if m.field+1 < len(m.view.Edits) {
		m.fill(m.field + 1)
		return
	}
	m.confirm()
}

func (m *model) answer(r approval.Reply) (wish, approval.Reply) {
	m.mode = sending
	m.mine[m.at] = true
	return send, r
}

// seen notes that the question is before the person's eyes now.
func (m *model) seen(now time.Time) {
	if m.view != nil && m.since.IsZero() {
		m.since = now
	}
}
