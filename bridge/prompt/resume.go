package prompt

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// Some keys are about a bridge and no question. They are heard in the list too, and while nothing
// is asked, and the screen names them where they do something.

// halted is the bridge that a key would have go on, nil if there is none.
func (m *model) halted() *Found {
	return m.first(func(src *Found) bool {
		_, is := src.Inbox.(inbox.Halter)
		return is && src.status.Halted != nil && src.status.Elsewhere == ""
	})
}

// paged is the bridge to whose page a key would show a link, nil if there is none.
func (m *model) paged() *Found {
	return m.first(func(src *Found) bool { return src.Page != nil })
}

// first is a source that is so: that of the open question before others.
func (m *model) first(is func(*Found) bool) *Found {
	if it := m.current(); it != nil && is(it.src) {
		return it.src
	}
	for _, name := range slices.Sorted(maps.Keys(m.sources)) {
		if src := m.sources[name]; is(src) {
			return src
		}
	}
	return nil
}

// bridgeKeys names those keys.
func (m *model) bridgeKeys() (keys []string) {
	if src := m.halted(); src != nil {
		resume := "R resume"
		if it := m.current(); !m.resident && (it == nil || it.src != src) {
			resume += " " + text.Cell(src.Label)
		}
		keys = append(keys, resume)
	}
	if m.paged() != nil {
		keys = append(keys, "o new link to the page")
	}
	return keys
}

// beside is what stands on the screen while nothing is asked, in at most so many lines. The keys
// are there however long the reason of a halt is.
func (m *model) beside(now time.Time, columns, most int) (all []string) {
	keys := m.bridgeKeys()
	switch {
	case len(keys) == 0:
		return nil
	case m.locked(now):
		all = wrapWords(m.lockedBy, columns)
	case m.resident && m.halted() != nil:
		why := haltedWords(m.halted(), now)
		if all = wrapWords(strings.Join(slices.Insert(keys, 0, why), between), columns); len(all) > most {
			why, named := wrapProse(why, columns), wrapWords(strings.Join(keys, between), columns)
			all = slices.Concat(why[:min(len(why), max(most-len(named), 0))], named)
		}
	default:
		all = wrapWords(strings.Join(keys, between), columns)
	}
	return all[:min(len(all), most)]
}

// mostReason is how many characters of the reason of a halt are shown.
const mostReason = 100

func haltedWords(src *Found, now time.Time) string {
	h := *src.status.Halted
	h.Reason = text.Cut(h.Reason, mostReason)
	return text.Cell("halted " + h.Words(now))
}

// askWhetherToResume asks for what typing that is meant for another window does not hold: two
// characters that are made of the moment, so that nobody typed them before.
func (m *model) askWhetherToResume(at time.Time) {
	m.resumes = m.halted()
	moment := sha256.Sum256(fmt.Append(nil, at.UnixNano()))
	m.pass = fmt.Sprintf("%x", moment[:1])
	m.mode, m.line = resuming, newEditor("> ", "", nil)
	m.line.above = fmt.Sprintf("let calls start again on %s, and its questions go on? It is %s", text.Cell(m.resumes.Label), haltedWords(m.resumes, at))
	m.part = part{ended: true}
	m.confirmed, m.hasty, m.counts = at, false, time.Time{}
}
