package prompt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A mode is what the keys mean.
type mode uint8

const (
	reading mode = iota
	listing
	confirming // typing the beginning of the digest, which allows
	refusing   // typing why not
	passing    // typing to whom
	filling    // typing into a field
	sweeping   // typing why all of the list's questions of one caller are denied
	resuming   // typing what lets a halted bridge go on
	sending    // an answer is on its way
)

// apart reports whether what the keys mean is not about the open question, which may change or go
// meanwhile.
func (m mode) apart() bool { return m == listing || m == sweeping || m == resuming }

// A ref names a question.
type ref struct{ source, id string }

// An item is a question in the list.
type item struct {
	src *Found
	q   approval.Summary
}

func (it *item) ref() ref { return ref{it.src.Name, it.q.ID} }

// what says in a few words what an item is about.
func (it *item) what() string {
	if it.q.AboutPolicy {
		return fmt.Sprintf("the changed policy file on %s [%s]", text.Cell(it.src.Label), it.q.Short)
	}
	return fmt.Sprintf("%s for %s on %s [%s]", text.Cell(it.q.Tool), text.Cell(it.q.From), text.Cell(it.src.Label), it.q.Short)
}

// A model is what the person sees and is doing. It is used by one goroutine.
type model struct {
	guard    time.Duration
	silence  time.Duration
	resident bool // the prompt of a bridge of our own: it never quits

	sources map[string]*Found
	lists   map[string][]approval.Summary
	items   []item // of all sources, oldest first, those about policy files last: they have a day
	at      ref    // the one that is open, or would be

	view      *approval.View // of the one that is open; nil until it is here
	page      []row
	columns   int       // of page
	top       int       // first line of page that is seen
	was       int       // top before it was confirmed
	height    int       // lines of page that are seen
	ended     bool      // its end has been seen
	since     time.Time // when it came before the person's eyes; zero: not yet
	mode      mode
	remember  int // which of view.Remember
	line      editor
	field     int // which of view.Edits is being typed
	entries   []approval.Entry
	listed    []item    // that the list shows
	swept     []item    // that are being denied together
	hint      string    // a line for the person, until the next key
	confirmed time.Time // when confirming began
	part      part      // of the changes that are confirmed
	hasty     bool      // some of what confirms was typed faster than one can read
	counts    time.Time // when that is a yes, if nothing follows; zero: it is not whole
	lockedAt  time.Time // of the last key while answers are locked; zero: they are not
	lockedBy  string    // why they are, in words

	named   *Found    // the halted bridge that a key would resume, as the screen says
	namedAt time.Time // since when it does
	resumes *Found    // the one about which resuming is, or was last
	pass    string    // what has to be typed for it

	fetching ref  // of the one that is being fetched
	stale    bool // view is not how it is now

	left map[ref]item   // listed no more, and no news of why
	told map[ref]bool   // of these there was news, but they are still in the list
	mine map[ref]string // decided here, and what is said when that was sent: no news that they are closed
	sent map[ref]item   // answered here, where the asker may say later what came of it
	said []string       // to be put above
	ring bool           // a question has come since this was last looked at
}

func newModel(guard, silence time.Duration, resident bool) *model {
	return &model{guard: guard, silence: silence, resident: resident, sources: map[string]*Found{}, lists: map[string][]approval.Summary{}, left: map[ref]item{}, told: map[ref]bool{}, mine: map[ref]string{}, sent: map[ref]item{}}
}

func (m *model) say(format string, args ...any) {
	m.said = append(m.said, fmt.Sprintf(format, args...))
}

// take is how a source is now, with its list; gone, with no questions, is the
// end of the source.
func (m *model) take(src *Found, status inbox.Status, list []approval.Summary, news []inbox.Event) {
	if m.mode == resuming && m.resumes == src && !reflect.DeepEqual(status.Halted, src.status.Halted) {
		m.mode = reading
		m.say("%s is not halted any more as it was shown; nothing was sent", text.Cell(src.Label))
	}
	src.status = status
	for _, e := range news {
		m.haltedOrNot(src, e)
		switch {
		case e.Event == "closed":
			m.closed(src, e)
		case e.Event == "asked":
			m.ring = true
		case m.at == ref{src.Name, e.ID}, e.Event == "changed" && e.ID == "" && m.at.source == src.Name:
			m.stale = true
		}
	}
	m.depart(src, list)
	clear(m.told)
	m.lists[src.Name] = list
	m.arrange()
}

// haltedOrNot takes the news that a bridge is halted, or goes on. A bridge at this terminal has
// logged it.
func (m *model) haltedOrNot(src *Found, e inbox.Event) {
	words := map[string]string{inbox.WasHalted: "is halted: nothing starts until it is resumed", inbox.GoesOn: "goes on"}[e.Because]
	if e.ID != "" || words == "" {
		return
	}
	if !m.resident {
		m.say("%s %s", text.Cell(src.Label), words)
	}
}

// maxLeft bounds what is kept of questions of which no news came.
const maxLeft = 1000

// depart keeps what is listed no more: the news why may come later.
func (m *model) depart(src *Found, list []approval.Summary) {
	still := map[string]bool{}
	for _, q := range list {
		still[q.ID] = true
	}
	if len(m.left) > maxLeft {
		clear(m.left)
	}
	for _, q := range m.lists[src.Name] {
		if !still[q.ID] && !m.told[ref{src.Name, q.ID}] {
			m.left[ref{src.Name, q.ID}] = item{src, q}
		}
	}
}

func (m *model) arrange() {
	was := m.place()
	m.items = m.items[:0]
	for name, list := range m.lists {
		for _, q := range list {
			m.items = append(m.items, item{m.sources[name], q})
		}
	}
	slices.SortFunc(m.items, func(a, b item) int {
		return cmp.Or(inLine(a.q.AboutPolicy, b.q.AboutPolicy), a.q.Asked.Compare(b.q.Asked), cmp.Compare(a.q.ID, b.q.ID))
	})
	i := m.place()
	switch {
	case i >= 0 && m.view != nil && m.items[i].q.Short != m.view.Short:
		m.shut() // it is another question now
	case i < 0:
		m.open(min(max(was, 0), len(m.items)-1))
	}
	if m.mode == sweeping {
		m.sweepAsShown()
	}
	if m.mode == listing && len(m.items) < 2 {
		m.mode = reading // a list of one is a question
	}
}

// inLine puts first what is not last.
func inLine(lastA, lastB bool) int {
	switch {
	case lastA == lastB:
		return 0
	case lastA:
		return 1
	}
	return -1
}

// place is where the open question stands in the list; -1 if it is gone.
func (m *model) place() int {
	return slices.IndexFunc(m.items, func(it item) bool { return it.ref() == m.at })
}

func (m *model) current() *item {
	if i := m.place(); i >= 0 {
		return &m.items[i]
	}
	return nil
}

// sweepOnly keeps of them the first few, and says how many there are.
func (m *model) sweepOnly(most int) {
	m.swept = m.swept[:min(most, len(m.swept))]
	what := "this question"
	if n := len(m.swept); n > 1 {
		what = fmt.Sprintf("these %d questions", n)
	}
	m.line.above = fmt.Sprintf("deny %s of %s? Enter does, Escape does not", what, text.Line(m.swept[0].q.From))
}

// sweepAsShown keeps of them those that are as they were shown.
func (m *model) sweepAsShown() {
	m.swept = slices.DeleteFunc(m.swept, func(it item) bool {
		return !slices.ContainsFunc(m.items, func(now item) bool { return now.ref() == it.ref() && now.q.Short == it.q.Short })
	})
	if len(m.swept) == 0 {
		m.mode, m.hint = listing, nothingSent
		return
	}
	m.sweepOnly(len(m.swept))
}

// open turns to another question; shut forgets what was seen of this one.
func (m *model) open(i int) {
	m.at = ref{}
	if i >= 0 && i < len(m.items) {
		m.at = m.items[i].ref()
	}
	m.shut()
	if m.hint != nothingSent || m.at == (ref{}) { // there is no place for it, or it is about another question
		if m.hint == nothingSent {
			m.say("%s", nothingSent)
		}
		m.hint = ""
	}
}

const nothingSent = "the question has changed; nothing was sent"

func (m *model) shut() {
	switch m.mode {
	case confirming, refusing, passing, filling:
		m.hint = nothingSent
	}
	if !m.mode.apart() {
		m.mode = reading
	}
	m.view, m.page, m.columns, m.top, m.ended, m.since, m.entries, m.remember = nil, nil, 0, 0, false, time.Time{}, nil, 0
}

// closed says who answered, unless that was here. The news may come before the
// list is without the question, or after.
func (m *model) closed(src *Found, e inbox.Event) {
	r := ref{src.Name, e.ID}
	if it, sent := m.sent[r]; sent && m.mine[r] == "" {
		delete(m.sent, r)
		m.say("%s: %s", it.what(), text.Line(e.Because))
		return
	}
	it, found := m.left[r]
	if !found {
		i := slices.IndexFunc(m.lists[r.source], func(q approval.Summary) bool { return q.ID == e.ID })
		if i < 0 {
			return
		}
		it, m.told[r] = item{src, m.lists[r.source][i]}, true
	}
	delete(m.left, r)
	if says := m.mine[r]; says != "" {
		delete(m.mine, r)
		if e.Because == inbox.Answered {
			m.answerSent(it, says)
		}
		return
	}
	because := e.Because
	if it.q.AboutPolicy {
		because = endOfPolicyFile(because)
	}
	if e.By == "local" { // who reads this may be taken for that, and answered nothing
		because = "answered elsewhere: " + because
	}
	m.say("%s: %s", it.what(), text.Line(cmp.Or(because, "it is not open any more")))
}

// answerSent says that an answer is on its way to whoever asked, who may say later what came of it.
func (m *model) answerSent(it item, says string) {
	if len(m.sent) > maxLeft {
		clear(m.sent)
	}
	m.sent[it.ref()] = it
	m.say("%s: %s", it.what(), says)
}

// sentWords say of an answer that it was sent, and of a yes whether it is the last that was
// needed: where it is the only one, the asker says no more. Who changes something has the
// others asked anew.
func sentWords(v *approval.View, r approval.Reply) string {
	if r.Allow && v != nil && v.Need > 0 && v.Have+1 >= v.Need && len(r.Fields) == 0 {
		return "your yes was enough"
	}
	return "your answer was sent"
}

// lost: a source has gone away.
func (m *model) lost(src *Found) {
	if m.sources[src.Name] == nil {
		return
	}
	delete(m.sources, src.Name)
	delete(m.lists, src.Name)
	if m.mode == resuming && m.resumes == src {
		m.mode = reading
	}
	if !m.resident {
		m.say("%s is gone", text.Line(src.Label))
	}
	m.arrange()
}

// shown is the whole of the open question, as it came from its source.
func (m *model) shown(r ref, v approval.View, err error) {
	if r != m.at {
		return
	}
	if err != nil {
		if !gone(err) {
			m.hint = "it cannot be shown: " + text.Line(err.Error())
		}
		return
	}
	if m.view != nil && (m.view.Digest != v.Digest || !sameOffers(m.view, &v)) {
		m.shut()
	}
	m.view, m.columns = &v, 0
	if us, _ := m.asked(); !us && !m.mode.apart() && m.mode != sending {
		m.mode = reading
	}
}

// sameOffers reports whether two views of a question offer the same: rules may have become
// narrower, and what was chosen among other offers is another answer.
func sameOffers(a, b *approval.View) bool {
	return slices.Equal(a.Remember, b.Remember) && slices.Equal(a.RememberFor, b.RememberFor) && slices.Equal(a.RememberMeans, b.RememberMeans) && reflect.DeepEqual(a.Edits, b.Edits)
}

// asked reports whether the open question waits for us, here, and says for whom if
// not.
func (m *model) asked() (us bool, others string) {
	if m.view.Elsewhere != "" {
		return false, ""
	}
	var names []string
	for _, p := range m.view.People {
		if p.State != "asked" {
			continue
		}
		if p.Who == m.view.Me {
			return true, ""
		}
		names = append(names, p.Who)
	}
	return false, strings.Join(names, ", ")
}

// answered is what came of an answer.
func (m *model) answered(it item, r approval.Reply, o inbox.Outcome, err error) {
	if m.mode == sending && m.at == it.ref() {
		m.mode = reading
	}
	what := it.what()
	refusal, refused := errors.AsType[*inbox.Refusal](err)
	switch {
	case refused && refusal.Reason == inbox.AlreadyDecided:
		delete(m.mine, it.ref())
		m.say("%s: too late, %s", what, refusal)
	case refused:
		delete(m.mine, it.ref())
		m.say("%s: %s", what, refusal)
	case err != nil:
		delete(m.mine, it.ref())
		m.say("%s: it is not known whether your answer arrived: %s", what, text.Line(err.Error()))
	case o.Outcome == inbox.Sent: // closed says so: what the asker makes of it may be said at once
	case o.Outcome == inbox.Pending && r.To != "":
		delete(m.mine, it.ref())
		m.say("%s: passed on to %s", what, text.Line(r.To))
	case o.Outcome == inbox.Pending:
		delete(m.mine, it.ref())
		m.say("%s: you agreed; others must agree too", what)
	case r.Allow && o.Outcome != approval.Allowed.String():
		m.say("%s: %s, although you allowed it: %s", what, o.Outcome, text.Words(o.Reason))
	default:
		m.say("%s: %s by you", what, o.Outcome)
	}
}

// ask is the context of every question to a source.
func ask(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 15*time.Second)
}
