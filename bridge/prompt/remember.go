package prompt

import (
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// keep is what to remember, "" for nothing.
func (m *model) keep() string {
	if all := m.memories(); len(all) > 0 {
		return all[m.remember]
	}
	return ""
}

// memories are the words of which one may be chosen: what reaches further than the call is not
// where nobody says in words what it covers.
func (m *model) memories() []string {
	if m.view == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.view.Remember), func(word string) bool {
		return !slices.Contains([]string{"once", "session", "always"}, word) && len(m.view.RememberMeans) != len(m.view.Remember)
	})
}

// keeps reports whether anything of an answer that is given now is remembered.
func (m *model) keeps() bool { return m.keep() != "" && m.keep() != "once" }

// remembered says what of an answer that is given now is remembered, "no" for nothing.
func (m *model) remembered(now time.Time) string {
	word := m.keep()
	switch {
	case !m.keeps():
		return "no"
	case word != "session" && word != "always": // it is for more than this call, and the bridge says for what
		return m.view.RememberMeans[m.remember]
	}
	return "this very call of " + text.Line(m.view.From) + ", " + m.until(word, now)
}

func (m *model) until(word string, now time.Time) string {
	end := ""
	if m.remember < len(m.view.RememberFor) {
		end = text.Moment(now.Add(time.Duration(m.view.RememberFor[m.remember])*time.Second), now)
	}
	switch {
	case word == "session" && end == "":
		return "until the caller leaves or the bridge stops"
	case word == "session":
		return "until " + end + ", or until the caller leaves or the bridge stops"
	case end == "":
		return "also when the bridge starts anew"
	}
	return "until " + end + ", also when the bridge starts anew"
}
