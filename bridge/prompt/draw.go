package prompt

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A panel is what is to be seen at the bottom of the screen.
type panel struct {
	rows   []row
	cursor int // column in the last row; -1: none
}

// fewestLines is the least height in which anything sensible can be shown.
const fewestLines = 6

// draw sets out what is to be seen in columns and lines.
func (m *model) draw(now time.Time, columns, lines int) panel {
	columns, lines = max(columns-1, 20), max(lines-1, fewestLines)
	switch {
	case len(m.items) == 0:
		return m.drawIdle(now, columns, lines)
	case m.mode == listing || m.mode == sweeping:
		return m.drawList(now, columns, lines)
	}
	return m.drawQuestion(now, columns, lines)
}

// drawIdle is for while nothing is asked.
func (m *model) drawIdle(now time.Time, columns, lines int) (p panel) {
	if !m.resident {
		p.rows = rows(faint, text.Fit(m.waiting(), columns))
	}
	p.cursor = -1
	if m.mode == resuming {
		var bottom []row
		bottom, p.cursor = m.bottom("", columns, lines)
		p.rows = append(p.rows, bottom...)
	} else {
		p.rows = append(p.rows, rows(faint, m.beside(now, columns, max(lines/3, 1))...)...)
	}
	return p
}

func (m *model) waiting() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m.sources)) {
		label := text.Cell(m.sources[name].Label)
		if m.sources[name].status.Halted != nil {
			label += " (halted)"
		}
		names = append(names, label)
	}
	if len(names) == 0 {
		return "no bridge to watch is running on this machine; waiting for one (q quits)"
	}
	return "nothing to decide; watching " + strings.Join(names, ", ") + " (q quits)"
}

func (m *model) drawList(now time.Time, columns, lines int) panel {
	help := "Enter open   j k move"
	if it := m.current(); it != nil && it.q.Elsewhere == "" {
		help += between + "D deny all of " + text.Cell(it.q.From)
	}
	if keys := m.bridgeKeys(); len(keys) > 0 {
		help += between + strings.Join(keys, between)
	}
	if !m.resident {
		help += "   q quit"
	}
	if m.locked(now) {
		help = m.lockedBy
	}
	bottom, cursor := m.bottom(help, columns, lines)
	all, at, room := m.items, m.place(), max(lines-1-len(bottom), 1)
	if m.mode == sweeping {
		m.sweepOnly(room) // what is not on the screen is not denied
		bottom, cursor = m.bottom(help, columns, lines)
		all, at = m.swept, -1
	}
	from := min(max(at-room/2, 0), max(len(all)-room, 0))
	seen := all[from:min(from+room, len(all))]
	p := panel{rows: []row{{spread(" "+text.Counted(len(all), "question"), "", columns), bar}}, cursor: cursor}
	for i := range seen {
		mark, l := "  ", usual
		if from+i == at {
			mark, l = "> ", strong
		}
		p.rows = append(p.rows, row{spread(mark+seen[i].what(), leftOf(&seen[i].q, now), columns), l})
	}
	if m.mode == listing {
		m.listed = slices.Clone(seen)
	}
	p.rows = append(p.rows, bottom...)
	return p
}

func (m *model) drawQuestion(now time.Time, columns, lines int) panel {
	it := m.current()
	title := fmt.Sprintf(" %d of %d   %s", m.place()+1, len(m.items), text.Cell(it.src.Label))
	p := panel{rows: []row{{spread(title, leftOf(&it.q, now)+"   "+it.q.Short+" ", columns), bar}}}
	if m.view != nil {
		if m.columns != columns {
			m.page, m.columns = pageOf(m.view, columns), columns
		}
		bottom, _ := m.bottom(m.help(now), columns, lines)
		p.rows = append(p.rows, m.leaf(columns, lines-1-len(bottom))...)
	}
	bottom, cursor := m.bottom(m.help(now), columns, lines)
	p.rows, p.cursor = append(p.rows, bottom...), cursor
	return p
}

// leftOf says how much time there is to decide.
func leftOf(q *approval.Summary, now time.Time) string {
	left, frozen := q.Left(now)
	if frozen {
		return "halted, " + text.Left(left)
	}
	return text.Left(left)
}

// leaf is the part of the page that fits, and how much there is of it.
func (m *model) leaf(columns, room int) []row {
	all := len(m.page)
	fits := all <= room
	if !fits {
		room = max(room-1, 1) // for how much there is
	}
	m.height = min(all, room)
	m.top = min(max(m.top, 0), all-m.height)
	part, below := m.page[m.top:m.top+m.height], all-m.top-m.height
	m.ended = m.ended || below == 0
	if fits {
		return part
	}
	return append(part[:len(part):len(part)], row{text.Fit(fmt.Sprintf("-- line %d to %d of %d --", m.top+1, m.top+m.height, all), columns), faint})
}

// bottom is the last lines: what is being typed, what went wrong, or what the
// keys do; and where the cursor is in the very last, -1 for nowhere. Of many lines, a third
// is for what is no question.
func (m *model) bottom(help string, columns, lines int) (all []row, cursor int) {
	typing := m.mode == confirming || m.mode == refusing || m.mode == passing || m.mode == filling || m.mode == sweeping || m.mode == resuming
	switch {
	case m.hint != "":
		all = rows(alarm, wrapProse(m.hint, columns)...)
	case !typing:
		all = rows(faint, wrapWords(help, columns)...)
	}
	all = all[:min(len(all), max(lines/3, 1))]
	if !typing {
		return all, -1
	}
	e := m.line
	if e.above != "" {
		all = append(all, rows(strong, m.above(columns, lines/3)...)...)
	}
	if text.Width(e.ask) > columns/2 { // it gets lines of its own
		all = append(all, rows(strong, wrap(e.ask, columns)...)...)
		e.ask = "> "
	}
	line, cursor := e.line(columns)
	return append(all, row{line, strong}), cursor
}

// above is what stands above the line that is being typed.
func (m *model) above(columns, most int) []string {
	if m.mode == resuming {
		what := wrapProse(m.line.above, columns)
		return append(what[:min(len(what), max(most, 1))], wrapProse("type "+m.pass+" for that; any other key goes back", columns)...)
	}
	if m.mode != confirming {
		return wrapProse(m.line.above, columns)
	}
	typeIt := "? type " + m.view.Short[:confirmedBy] + "; any other key goes back"
	if len(m.entries) == 0 {
		return wrapProse(m.line.above+typeIt, columns)
	}
	if all := wrap(m.line.above+typeIt, columns); len(all) <= most {
		m.part = part{ended: true}
		return all
	}
	all := m.changed(columns)
	seen := m.part.of(all, columns, max(most-2, 1))
	where := fmt.Sprintf("-- line %d to %d of %d; Space goes on, Escape goes back --", m.part.top+1, m.part.top+len(seen), len(all))
	if m.part.ended {
		where = typeIt
	}
	return slices.Concat(seen, wrapProse(where, columns))
}

// changed is what is asked of a call that is changed, to the byte. Each change has lines of its
// own.
func (m *model) changed(columns int) []string {
	changes := changesOf(m.entries)
	before, behind, _ := strings.Cut(m.line.above, strings.Join(changes, ", "))
	all := wrapProse(before, columns)
	for _, change := range changes {
		all = append(all, wrap("  "+change, columns)...)
	}
	if behind != "" {
		all = append(all, wrapProse(behind, columns)...)
	}
	return all
}

// help names the keys that have a meaning now.
func (m *model) help(now time.Time) string {
	if m.view == nil || m.mode == sending {
		return "…"
	}
	if m.locked(now) {
		return m.lockedBy
	}
	var keys []string
	add := func(when bool, text string) {
		if when {
			keys = append(keys, text)
		}
	}
	us, others := m.asked()
	add(m.view.Elsewhere != "", text.Line(m.view.Elsewhere))
	add(!us && others != "", "asked: "+others)
	add(us && m.ended, "a allow")
	add(us && !m.ended, "Space more")
	add(us, "d deny")
	add(us && len(m.view.Edits) > 0, "e edit")
	add(us && len(passable(m.view)) > 0, "g pass on")
	add(us && len(m.view.Remember) > 0, "r remember: "+m.remembered(now))
	add(len(m.items) > 1, "n p l others")
	keys = append(keys, m.bridgeKeys()...)
	add(!m.resident, "q quit")
	return strings.Join(keys, between)
}
