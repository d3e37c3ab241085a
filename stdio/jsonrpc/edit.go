package jsonrpc

import (
	"slices"
	"sync"
)

// An Edit changes one member of a message. Value is raw JSON that takes the
// place of the old value. If it is empty the member is taken out. A member that
// is absent is put in at the start of its object, and an object that is missing
// (params, params._meta) or null is made for it.
type Edit struct {
	Field Field
	Value []byte
}

const metaMembers = Fields + 1

// InsertMeta returns an Edit that puts members, written `"a":1,"b":2`, at the
// start of params._meta. They must not be there yet.
func InsertMeta(members []byte) Edit { return Edit{metaMembers, members} }

// Append appends the message with the edits made, on one line: line breaks
// between tokens become spaces. All else stays byte for byte as it is, white
// space, unknown members, order and the spelling of numbers included.
//
// Of two edits of one field the last counts. If a member is itself replaced or
// taken out, edits inside it do not apply. Nothing can be put into a params or
// _meta that is an array or a scalar; such an edit is left out. A member that
// stands twice in params, which [Passed] lets through, is edited where it
// stands last.
func (m *Message) Append(dst []byte, edits ...Edit) []byte {
	p := plans.Get().(*plan)
	p.take(edits)
	p.object(m, 0, inMessage)
	start := len(dst)
	dst = p.apply(dst, m.Raw, 0)
	p.release()
	return oneLine(dst, start)
}

// take notes edits that are to be planned.
func (p *plan) take(edits []Edit) {
	for _, e := range edits {
		p.touched |= 1 << e.Field
		switch {
		case e.Field < Fields:
			p.edited[e.Field], p.value[e.Field] = true, e.Value
		case len(e.Value) > 0:
			p.meta = append(p.meta, e.Value)
		}
	}
}

// A fieldSet has a bit for each field, and for metaMembers.
type fieldSet uint32

// within are the fields that stand in the value of each, at any depth.
var within = [Fields]fieldSet{
	Params: setOf(inParams) | setOf(inMeta) | 1<<metaMembers,
	Meta:   setOf(inMeta) | 1<<metaMembers,
	Result: setOf(inResult),
}

func setOf(fields []Field) (set fieldSet) {
	for _, f := range fields {
		set |= 1 << f
	}
	return set
}

// A cut is a stretch of the message and what it is replaced with.
type cut struct {
	start, end int
	text       []byte
}

// A plan is the set of cuts that carries out some edits. It holds nothing of
// the message, so that a Message may live on its user's stack.
type plan struct {
	touched fieldSet // by any edit
	edited  [Fields]bool
	value   [Fields][]byte
	meta    [][]byte // members for params._meta

	cuts []cut // replaced and put in
	gone []cut // taken out
}

var plans = sync.Pool{New: func() any { return new(plan) }}

// release returns the plan to the pool without what belongs to the caller.
func (p *plan) release() {
	clear(p.cuts)
	clear(p.meta)
	*p = plan{meta: p.meta[:0], cuts: p.cuts[:0], gone: p.gone[:0]}
	plans.Put(p)
}

func (p *plan) put(at int, text []byte) { p.cuts = append(p.cuts, cut{at, at, text}) }

// object plans the edits in the object that opens at open and has fields.
func (p *plan) object(m *Message, open int, fields []Field) {
	empty := m.Raw[m.space(open+1)] == '}' || p.takeOut(m, fields)
	if p.insert(m, open+1, fields) && !empty {
		p.put(open+1, comma)
	}
	for _, f := range fields {
		at := m.at[f]
		switch {
		case !m.Has(f):
		case len(p.value[f]) > 0:
			p.cuts = append(p.cuts, cut{at.Start, at.End, p.value[f]})
		case p.edited[f] || p.touched&within[f] == 0:
		case m.first(f) == '{':
			p.object(m, at.Start, inside(f))
		case m.first(f) == 'n' && p.wanted(inside(f)):
			p.cuts = append(p.cuts, cut{at.Start, at.End, nil})
			p.fresh(m, at.End, inside(f))
		}
	}
}

// insert plans what is put in at a place in an object, fields that are absent
// so far, and reports whether there is any.
func (p *plan) insert(m *Message, at int, fields []Field) (some bool) {
	for _, f := range fields {
		switch {
		case m.Has(f):
		case len(p.value[f]) > 0:
			some = p.next(at, some)
			p.put(at, quoted[f])
			p.put(at, p.value[f])
		case !p.edited[f] && p.touched&within[f] != 0 && p.wanted(inside(f)):
			some = p.next(at, some)
			p.put(at, quoted[f])
			p.fresh(m, at, inside(f))
		}
	}
	if isMeta(fields) {
		for _, members := range p.meta {
			some = p.next(at, some)
			p.put(at, members)
		}
	}
	return some
}

// next parts what is put in from what was put in before, if any.
func (p *plan) next(at int, some bool) bool {
	if some {
		p.put(at, comma)
	}
	return true
}

func isMeta(fields []Field) bool { return len(fields) > 0 && fields[0] == ProgressToken }

// fresh plans a new object with what is to be put into it.
func (p *plan) fresh(m *Message, at int, fields []Field) {
	p.put(at, opening)
	p.insert(m, at, fields)
	p.put(at, closing)
}

// wanted reports whether any edit puts something into an object with fields.
func (p *plan) wanted(fields []Field) bool {
	for _, f := range fields {
		if len(p.value[f]) > 0 || !p.edited[f] && p.wanted(inside(f)) {
			return true
		}
	}
	return isMeta(fields) && len(p.meta) > 0
}

// takeOut plans the removals among fields, each run of neighbours with the
// comma that follows it or else the one before, and reports whether no member
// of the object is left.
func (p *plan) takeOut(m *Message, fields []Field) (empty bool) {
	from := len(p.gone)
	for _, f := range fields {
		if m.Has(f) && p.edited[f] && len(p.value[f]) == 0 {
			p.gone = append(p.gone, cut{start: m.at[f].Key, end: m.at[f].End})
		}
	}
	if len(p.gone) == from {
		return false
	}
	slices.SortFunc(p.gone[from:], byStart)
	runs := p.gone[from:from]
	for _, c := range p.gone[from:] {
		if after := m.space(c.end); m.Raw[after] == ',' {
			c.end = after + 1
		}
		if n := len(runs); n > 0 && m.space(runs[n-1].end) == c.start {
			runs[n-1].end = c.end
		} else {
			runs = append(runs, c)
		}
	}
	p.gone = p.gone[:from+len(runs)]
	last := &runs[len(runs)-1]
	if m.Raw[last.end-1] == ',' {
		return false
	}
	before := m.spaceBefore(last.start)
	if m.Raw[before-1] != ',' {
		return true
	}
	last.start = before - 1
	return false
}

// space returns the offset of the first byte from i on that is not white space.
func (m *Message) space(i int) int {
	for isSpace(m.Raw[i]) {
		i++
	}
	return i
}

// spaceBefore returns where the white space that ends at i begins.
func (m *Message) spaceBefore(i int) int {
	for isSpace(m.Raw[i-1]) {
		i--
	}
	return i
}

// apply appends the message from an offset on with all cuts made. At one place what
// is put in comes in the order in which it was planned, and before what is taken out.
func (p *plan) apply(dst, raw []byte, done int) []byte {
	p.cuts = append(p.cuts, p.gone...)
	slices.SortStableFunc(p.cuts, byStart)
	for _, c := range p.cuts {
		dst = append(dst, raw[done:c.start]...)
		dst = append(dst, c.text...)
		done = c.end
	}
	return append(dst, raw[done:]...)
}

func byStart(a, b cut) int { return a.start - b.start }

var (
	comma   = []byte(",")
	opening = []byte("{")
	closing = []byte("}")
	quoted  = quoteKeys()
)

func quoteKeys() (q [Fields][]byte) {
	for f, key := range keys {
		q[f] = append(AppendQuote(nil, key), ':')
	}
	return q
}
