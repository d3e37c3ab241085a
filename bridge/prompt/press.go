package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A wish is what a key makes the program do.
type wish uint8

const (
	nothing wish = iota
	quit
	send   // the answer that press returns with it
	link   // a new link to the page of model.paged, on the screen
	resume // that model.resumes goes on
)

// press takes one key. What was typed before the question was before the
// person's eyes, or in the moment after, decides nothing.
func (m *model) press(k key) (wish, approval.Reply) {
	m.hint = ""
	m.listen(k.at)
	if k.r == tooMany {
		m.dropLine(k.at)
		return nothing, approval.Reply{}
	}
	if w, done := m.pressForBridge(k); done {
		return w, approval.Reply{}
	}
	switch m.mode {
	case listing:
		return m.pressInList(k), approval.Reply{}
	case confirming, resuming:
		return m.pressInConfirmation(k)
	case refusing, passing, filling, sweeping:
		return m.pressInLine(k)
	case sending:
		return nothing, approval.Reply{}
	}
	if w, done := m.move(k.r); done {
		return w, approval.Reply{}
	}
	if len(m.items) == 0 && len(m.bridgeKeys()) > 0 {
		m.lock(k.at, wrongWindow)
	}
	if m.view == nil || m.since.IsZero() || k.at.Sub(m.since) < m.guard {
		return nothing, approval.Reply{} // typed ahead
	}
	m.choose(k)
	return nothing, approval.Reply{}
}

// pressForBridge takes the keys that are about a bridge and no question.
func (m *model) pressForBridge(k key) (w wish, done bool) {
	if m.mode != reading && m.mode != listing {
		return nothing, false
	}
	switch halted := m.halted(); {
	case k.r == 'R' && halted != nil:
		if !m.locked(k.at) && m.named == halted && k.at.Sub(m.namedAt) >= m.guard { // else it was typed ahead
			m.askWhetherToResume(k.at)
		}
	case k.r == 'o' && m.paged() != nil:
		if !m.locked(k.at) {
			return link, true
		}
	default:
		return nothing, false
	}
	return nothing, true
}

// dropLine ends what is being typed, for some of it is lost.
func (m *model) dropLine(at time.Time) {
	m.lock(at, "too much was typed at once, and none of it counts; ")
	switch m.mode {
	case sweeping:
		m.mode, m.swept = listing, nil
	case confirming, refusing, passing, filling, resuming:
		m.mode, m.entries = reading, nil
	}
}

// move takes the keys that decide nothing.
func (m *model) move(r rune) (w wish, done bool) {
	switch r {
	case 'q', endOfText:
		return quit, !m.resident
	case 'n', right:
		return nothing, m.step(1)
	case 'p', left:
		return nothing, m.step(-1)
	case 'l', escape:
		if len(m.items) < 2 {
			return nothing, r == escape
		}
		m.mode = listing
	default:
		return nothing, m.scroll(r)
	}
	return nothing, true
}

func (m *model) step(by int) (moved bool) {
	n := len(m.items)
	if n > 1 {
		m.open(((m.place()+by)%n + n) % n)
	}
	return n > 1
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

func (m *model) pressInList(k key) wish {
	switch k.r {
	case 'q', endOfText:
		if !m.resident {
			return quit
		}
		m.lock(k.at, wrongWindow)
	case 'j', 'n', down:
		m.step(1)
	case 'k', 'p', up:
		m.step(-1)
	case enter, 'l', escape, ' ':
		m.open(m.place())
		m.mode = reading
	case 'D':
		if !m.locked(k.at) {
			m.sweep()
		}
	default:
		m.lock(k.at, wrongWindow)
	}
	return nothing
}

// choose begins an answer.
func (m *model) choose(k key) {
	r := k.r
	if !slices.Contains([]rune("adegr"), r) {
		m.lock(k.at, wrongWindow)
		return
	}
	if m.locked(k.at) {
		return // the help says why
	}
	if us, others := m.asked(); !us {
		m.hint = "this is not for you to decide now"
		switch {
		case m.view.Elsewhere != "":
			m.hint = "it is " + text.Line(m.view.Elsewhere)
		case others != "":
			m.hint += "; asked: " + others
		}
		return
	}
	switch {
	case r == 'd':
		m.mode, m.line = refusing, newEditor("deny, because (may be empty): ", "", nil)
	case r == 'g' && len(m.view.DelegateTo) == 0:
		m.hint = "this question cannot be passed on"
	case r == 'g' && len(passable(m.view)) == 0:
		m.hint = "everybody is asked already whom it could be passed on to"
	case r == 'g':
		m.beginPassing()
	case r == 'r':
		m.nextRemember()
	case !m.ended:
		m.hint = "read it to the end first: Space goes on, x goes to the end"
	case m.view.Confirm != "":
		m.hint = approval.TakesPasskey
		if m.paged() != nil {
			m.hint += "; o shows a new link to it"
		}
	case r == 'e' && len(m.view.Edits) == 0:
		m.hint = "nothing of this can be changed"
	case r == 'e':
		m.entries = nil
		m.fill(0, k.at)
	default:
		m.confirm(k.at)
	}
}

// beginPassing offers those first who are here.
func (m *model) beginPassing() {
	isAway := func(name string) bool { return slices.Contains(m.view.Away, name) }
	names := passable(m.view)
	slices.SortStableFunc(names, func(a, b string) int { return inLine(isAway(a), isAway(b)) })
	m.mode, m.line = passing, newEditor("pass on to (Tab): ", names[0], names)
}

func (m *model) nextRemember() {
	if len(m.memories()) == 0 {
		m.hint = "this answer cannot be remembered"
		return
	}
	m.remember = (m.remember + 1) % len(m.memories())
}

// confirm asks for what typing that is meant for another window does not hold:
// the beginning of the digest. Who asks for what is on the screen meanwhile.
func (m *model) confirm(at time.Time) {
	what := "allow this call"
	if m.view.AboutPolicy {
		what = "let the changed file count"
	}
	keeps := m.keeps()
	switch {
	case len(m.entries) > 0:
		what += " with " + strings.Join(changesOf(m.entries), ", ")
		if keeps {
			what += " (what is changed is allowed once, and not remembered)"
		}
	case keeps:
		what += ", and remember " + m.remembered(at)
	}
	m.mode, m.line = confirming, newEditor("> ", "", nil)
	m.line.above = what
	m.part = part{ended: len(m.entries) == 0}
	m.confirmed, m.hasty, m.counts = at, false, time.Time{}
	m.was, m.top = m.top, 0
}

func changesOf(entries []approval.Entry) (changes []string) {
	for _, e := range entries {
		changes = append(changes, text.Line(e.Field+" = "+string(e.Raw)))
	}
	return changes
}

// confirmedBy is how many characters of the digest a yes takes.
const confirmedBy = 2

// wanted is what has to be typed for a yes, or for a bridge to go on.
func (m *model) wanted() string {
	if m.mode == resuming {
		return m.pass
	}
	return m.view.Short[:confirmedBy]
}

// pressInConfirmation takes what is wanted and nothing else. What is typed faster
// than one can read may be for another window, as "adb devices": it counts when nothing more
// has come for m.guard.
func (m *model) pressInConfirmation(k key) (wish, approval.Reply) {
	typed, want := m.line.String()+string(k.r), m.wanted()
	if typed == string(k.r) && m.part.turn(k.r) {
		m.confirmed = k.at
		return nothing, approval.Reply{}
	}
	if !m.part.ended && strings.ContainsRune(want, k.r) {
		m.hint = "read the change to its end first: Space goes on"
		return nothing, approval.Reply{}
	}
	if !strings.HasPrefix(want, typed) {
		m.takeBack(k)
		return nothing, approval.Reply{}
	}
	m.line.key(k.r)
	m.hasty = m.hasty || k.at.Sub(m.confirmed) < m.guard
	switch {
	case typed != want:
	case m.hasty:
		m.counts = k.at.Add(m.guard)
	default:
		return m.whole()
	}
	return nothing, approval.Reply{}
}

// takeBack ends a confirmation with a key that is not the next of the digest.
func (m *model) takeBack(k key) {
	switch {
	case (k.r == escape || k.r == endOfText) && m.mode == resuming: // the question may be another by now
	case k.r == escape || k.r == endOfText:
		m.top = m.was
	case strings.ContainsRune("0123456789abcdef", k.r) && m.counts.IsZero() && m.mode == resuming:
		m.lock(k.at, "that is not "+m.pass+": type R, then the two characters that it asks for; ")
	case strings.ContainsRune("0123456789abcdef", k.r) && m.counts.IsZero():
		m.lock(k.at, "that is not "+m.view.Short[:confirmedBy]+"…: type a, then the first two characters of the digest; ")
	default:
		m.lock(k.at, wrongWindow)
	}
	m.mode, m.entries = reading, nil
}

// whole is what comes of a confirmation that was typed whole.
func (m *model) whole() (wish, approval.Reply) {
	if m.mode == resuming {
		m.mode = reading
		return resume, approval.Reply{}
	}
	return m.answer(approval.Reply{Allow: true, Remember: m.keep(), Fields: m.entries})
}

// countsAt is when a yes counts that was typed faster than one can read; the zero time: there is
// none.
func (m *model) countsAt() time.Time {
	if m.mode != confirming && m.mode != resuming {
		return time.Time{}
	}
	return m.counts
}

// wait is what comes of a yes that was typed so fast, once nothing has followed it.
func (m *model) wait(now time.Time) (wish, approval.Reply) {
	if at := m.countsAt(); at.IsZero() || now.Before(at) {
		return nothing, approval.Reply{}
	}
	return m.whole()
}

// fill begins to type into a field, or into the next that can be typed; behind the last it asks
// whether the changes are to be allowed.
func (m *model) fill(i int, at time.Time) {
	for ; i < len(m.view.Edits); i++ {
		problem := tooLong(&m.view.Edits[i])
		if problem == "" {
			m.typeInto(i)
			return
		}
		m.hint = problem
	}
	if len(m.entries) > 0 || m.mode == filling {
		m.confirm(at)
	}
}

// tooLong says why a field cannot be typed; "" if it can.
func tooLong(f *approval.Field) string {
	n := utf8.RuneCountInString(text.Line(f.Typed()))
	if n <= maxTyped || len(f.Choices()) > 0 {
		return ""
	}
	return fmt.Sprintf("%s: this value is too long to be changed here (%d characters, %d at most)", text.Line(f.Title), n, maxTyped)
}

func (m *model) typeInto(i int) {
	f := &m.view.Edits[i]
	ask := f.Title
	switch choices := f.Choices(); {
	case len(choices) > 0:
		ask += " (Tab)"
	case f.Min != "" || f.Max != "":
		ask += " (" + f.Min + " to " + f.Max + ")"
	}
	m.mode, m.field, m.line = filling, i, newEditor(text.Line(ask)+": ", text.Line(f.Typed()), f.Choices())
}

// pressInLine takes the keys of the line at the bottom.
func (m *model) pressInLine(k key) (wish, approval.Reply) {
	switch {
	case (k.r == escape || k.r == endOfText) && m.mode == sweeping:
		m.mode, m.swept = listing, nil
		return nothing, approval.Reply{}
	case k.r == escape || k.r == endOfText:
		m.mode, m.entries = reading, nil
		return nothing, approval.Reply{}
	case m.line.full(k.r):
		m.hint = fmt.Sprintf("there is no room for more than %d characters", maxTyped)
		return nothing, approval.Reply{}
	case k.r != enter:
		m.line.key(k.r)
		return nothing, approval.Reply{}
	}
	typed := m.line.String()
	if m.mode == sweeping {
		return m.answerAll(approval.Reply{Reason: typed})
	}
	if m.mode == refusing {
		return m.answer(approval.Reply{Reason: typed})
	}
	if m.mode == passing {
		switch {
		case !slices.Contains(passable(m.view), typed):
			m.hint = "it can be passed on to: " + cmp.Or(strings.Join(passable(m.view), ", "), "nobody any more")
			return nothing, approval.Reply{}
		case slices.Contains(m.view.Away, typed):
			m.hint, m.stale = typed+" is not here now, so nothing was sent", true // look again who is
			return nothing, approval.Reply{}
		}
		return m.answer(approval.Reply{To: typed})
	}
	m.filled(typed, k.at)
	return nothing, approval.Reply{}
}

// filled takes what was typed into a field, and goes on to the next. A value
// that is left as it is is not sent.
func (m *model) filled(typed string, at time.Time) {
	f := &m.view.Edits[m.field]
	if typed != text.Line(f.Typed()) {
		raw, problem := f.Value(typed)
		if problem != "" {
			m.hint = text.Line(f.Title) + " " + problem
			return
		}
		m.entries = append(m.entries, approval.Entry{Field: f.Field, Raw: raw})
	}
	m.fill(m.field+1, at)
}

// answerAll answers all that are being denied together.
func (m *model) answerAll(r approval.Reply) (wish, approval.Reply) {
	m.mode = listing
	for _, it := range m.swept {
		m.mine[it.ref()] = sentWords(nil, r)
	}
	return send, r
}

func (m *model) answer(r approval.Reply) (wish, approval.Reply) {
	m.mode = sending
	m.mine[m.at] = sentWords(m.view, r)
	return send, r
}

// seen notes that the question is before the person's eyes now, and which bridge is halted.
func (m *model) seen(now time.Time) {
	if m.view != nil && m.since.IsZero() {
		m.since = now
	}
	if halted := m.halted(); halted != m.named {
		m.named, m.namedAt = halted, now
	}
}

// unseen notes that nothing of that is.
func (m *model) unseen() { m.since, m.named = time.Time{}, nil }
