package prompt

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// keep is what to remember, "" for nothing.
func (m *model) keep() string {
	if m.view == nil || len(m.view.Remember) == 0 {
		return ""
	}
	return m.view.Remember[m.remember]
}

// remembered says what of an answer that is given now is remembered, "no" for nothing.
func (m *model) remembered(now time.Time) string {
	word := m.keep()
	if word != "session" && word != "always" {
		return "no"
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
