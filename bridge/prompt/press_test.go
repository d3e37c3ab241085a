package prompt

import (
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// Whoever types on for another window is not heard in the middle of it: each key makes the
// silence begin anew (FINDINGS U1).
func TestEachKeyMakesTheLockLonger(t *testing.T) {
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	m := newModel(time.Millisecond, time.Second, true)
	m.view, m.since = &approval.View{}, start.Add(-time.Minute)
	for _, k := range []struct {
		r     rune
		after time.Duration
		heard bool
	}{
		{'z', 0, false}, {'a', 600 * time.Millisecond, false}, {'d', 1200 * time.Millisecond, false}, {'j', 1800 * time.Millisecond, false},
		{'a', 2799 * time.Millisecond, false}, {'a', 3799 * time.Millisecond, true},
	} {
		m.press(key{k.r, start.Add(k.after)})
		if heard := m.hint != ""; heard != k.heard { // that it is not for us to decide is an answer to an answer
			t.Errorf("%c after %v is heard: %v, %q", k.r, k.after, heard, m.hint)
		}
	}
}

// The rules may become narrower while somebody chooses among what they offered: the third of what
// may be remembered was asked of two, and what was chosen as the second was another then.
func TestWhatIsOfferedNoMoreIsNotChosen(t *testing.T) {
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	was := approval.View{Summary: approval.Summary{Short: "9c01d2ee"}, Digest: "9c01d2ee", Me: "local", People: []approval.Person{{Who: "local", State: "asked"}},
		Remember: []string{"once", "session", "always"}, Edits: []approval.Field{{Field: "a", Type: "string"}, {Field: "b", Type: "string"}}}
	for name, c := range map[string]struct {
		typed string
		now   approval.View
	}{
		"the last is gone":           {"rr", approval.View{Remember: []string{"once", "session"}, Edits: was.Edits}},
		"one before it is gone":      {"ra", approval.View{Remember: []string{"once", "always"}, Edits: was.Edits}},
		"a field is gone":            {"e\r", approval.View{Remember: was.Remember, Edits: was.Edits[:1]}},
		"another field has its name": {"e", approval.View{Remember: was.Remember, Edits: was.Edits[1:]}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(time.Millisecond, time.Second, true)
			m.shown(ref{}, was, nil)
			m.since, m.ended = start, true
			at := start.Add(time.Minute)
			for _, r := range c.typed {
				m.press(key{r, at})
			}
			c.now.Summary, c.now.Digest, c.now.Me, c.now.People = was.Summary, was.Digest, was.Me, was.People
			m.shown(ref{}, c.now, nil)
			if m.mode != reading || m.keep() != "once" {
				t.Errorf("mode %d, %q is kept", m.mode, m.keep())
			}
			for _, r := range "9c\r" {
				if w, reply := m.press(key{r, at.Add(time.Minute)}); w == send {
					t.Errorf("sent %+v", reply)
				}
			}
		})
	}
}

// Whoever knows how types it faster than one can read. So does whoever begins a command in the
// wrong window, as "adb devices", and goes on.
func TestTheDigestMayBeTypedFastIfNothingFollows(t *testing.T) {
	const ms = time.Millisecond
	start := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		typed string
		after []time.Duration // the a
		sent  time.Duration   // 0: not at all
		says  string
	}{
		"slowly":               {"9c", []time.Duration{400 * ms, 410 * ms}, 410 * ms, ""},
		"fast":                 {"9c", []time.Duration{100 * ms, 250 * ms}, 650 * ms, ""},
		"the first of it fast": {"9c", []time.Duration{399 * ms, 900 * ms}, 1300 * ms, ""},
		"with Enter behind it": {"9c\r", []time.Duration{100 * ms, 250 * ms, 649 * ms}, 0, wrongWindow},
		"as part of a word":    {"9c9", []time.Duration{100 * ms, 250 * ms, 400 * ms}, 0, wrongWindow},
		"taken back":           {"9c\x1b", []time.Duration{100 * ms, 250 * ms, 400 * ms}, 0, ""},
		"wrong":                {"9d", []time.Duration{500 * ms, 600 * ms}, 0, "that is not 9c…: type a, then the first two characters of the digest; "},
		"no digit":             {"9z", []time.Duration{500 * ms, 600 * ms}, 0, wrongWindow},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModel(400*ms, time.Second, true)
			m.view, m.since, m.ended = &approval.View{Summary: approval.Summary{Short: "9c01d2ee"}, Me: "local", People: []approval.Person{{Who: "local", State: "asked"}}}, start, true
			begun := start.Add(time.Minute)
			m.press(key{'a', begun})
			var sent time.Duration
			for i, r := range c.typed {
				if w, _ := m.press(key{r, begun.Add(c.after[i])}); w == send {
					sent = c.after[i]
				}
			}
			for after := c.after[len(c.after)-1]; sent == 0 && after < 3*time.Second; after += ms {
				if w, r := m.wait(begun.Add(after)); w == send && r.Allow {
					sent = after
				}
			}
			if sent != c.sent || c.says != "" && m.lockedBy != c.says+untilSilence || c.says == "" && m.lockedBy != "" {
				t.Errorf("sent after %v; %q", sent, m.lockedBy)
			}
		})
	}
}
