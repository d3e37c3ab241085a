package jsonrpc

import "slices"

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
	var cuts [24]cut
	var gone [Fields]cut
	p := plan{m: m, edits: edits, cuts: cuts[:0], gone: gone[:0]}
	for i, e := range edits {
		if e.Field < Fields {
			p.last[e.Field] = i + 1
		}
	}
	p.object(0, inMessage)
	return oneLine(p.apply(dst), len(dst))
}

// A cut is a stretch of the message and what it is replaced with.
type cut struct {
	start, end int
	text       []byte
}

// A plan is the set of cuts that carries out some edits.
type plan struct {
	m     *Message
	edits []Edit
	last  [Fields]int // one more than the index of the edit that counts for a field
	cuts  []cut       // replaced and put in
	gone  []cut       // taken out
}

func (p *plan) edited(f Field) bool { return p.last[f] != 0 }

func (p *plan) value(f Field) []byte {
	if n := p.last[f]; n != 0 {
		return p.edits[n-1].Value
	}
	return nil
}

func (p *plan) put(at int, text []byte) { p.cuts = append(p.cuts, cut{at, at, text}) }

// object plans the edits in the object that opens at open and has fields.
func (p *plan) object(open int, fields []Field) {
	empty := p.m.Raw[p.m.space(open+1)] == '}' || p.takeOut(fields)
	if p.insert(open+1, fields) && !empty {
		p.put(open+1, comma)
	}
	for _, f := range fields {
		at := p.m.at[f]
		switch {
		case !p.m.Has(f):
		case len(p.value(f)) > 0:
			p.cuts = append(p.cuts, cut{at.Start, at.End, p.value(f)})
		case p.edited(f) || inside(f) == nil:
		case p.m.first(f) == '{':
			p.object(at.Start, inside(f))
		case p.m.first(f) == 'n' && p.wanted(inside(f)):
			p.cuts = append(p.cuts, cut{at.Start, at.End, nil})
			p.fresh(at.End, inside(f))
		}
	}
}

// insert plans what is put in at a place in an object, fields that are absent
// so far, and reports whether there is any.
func (p *plan) insert(at int, fields []Field) (any bool) {
	next := func() {
		if any {
			p.put(at, comma)
		}
		any = true
	}
	for _, f := range fields {
		switch {
		case p.m.Has(f):
		case len(p.value(f)) > 0:
			next()
			p.put(at, quoted[f])
			p.put(at, p.value(f))
		case !p.edited(f) && p.wanted(inside(f)):
			next()
			p.put(at, quoted[f])
			p.fresh(at, inside(f))
		}
	}
	if &fields[0] == &inMeta[0] {
		for _, e := range p.edits {
			if e.Field == metaMembers && len(e.Value) > 0 {
				next()
				p.put(at, e.Value)
			}
		}
	}
	return any
}

// fresh plans a new object with what is to be put into it.
func (p *plan) fresh(at int, fields []Field) {
	p.put(at, opening)
	p.insert(at, fields)
	p.put(at, closing)
}

// wanted reports whether any edit puts something into an object with fields.
func (p *plan) wanted(fields []Field) bool {
	for _, f := range fields {
		if len(p.value(f)) > 0 || !p.edited(f) && p.wanted(inside(f)) {
			return true
		}
	}
	return len(fields) > 0 && &fields[0] == &inMeta[0] && slices.ContainsFunc(p.edits, func(e Edit) bool {
		return e.Field == metaMembers && len(e.Value) > 0
	})
}

// takeOut plans the removals among fields, each run of neighbours with the
// comma that follows it or else the one before, and reports whether no member
// of the object is left.
func (p *plan) takeOut(fields []Field) (empty bool) {
	from := len(p.gone)
	for _, f := range fields {
		if p.m.Has(f) && p.edited(f) && len(p.value(f)) == 0 {
			p.gone = append(p.gone, cut{start: p.m.at[f].Key, end: p.m.at[f].End})
		}
	}
	slices.SortFunc(p.gone[from:], byStart)
	runs := p.gone[from:from]
	for _, c := range p.gone[from:] {
		c.end = p.m.space(c.end)
		if p.m.Raw[c.end] == ',' {
			c.end++
		}
		if n := len(runs); n > 0 && p.m.space(runs[n-1].end) == c.start {
			runs[n-1].end = c.end
		} else {
			runs = append(runs, c)
		}
	}
	p.gone = p.gone[:from+len(runs)]
	if len(runs) == 0 {
		return false
	}
	last := &runs[len(runs)-1]
	if p.m.Raw[last.end-1] == ',' {
		return false
	}
	before := p.m.spaceBefore(last.start)
	if p.m.Raw[before-1] != ',' {
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

// apply appends the message with all cuts made. At one place what is put in
// comes in the order in which it was planned, and before what is taken out.
func (p *plan) apply(dst []byte) []byte {
	p.cuts = append(p.cuts, p.gone...)
	slices.SortStableFunc(p.cuts, byStart)
	done := 0
	for _, c := range p.cuts {
		dst = append(dst, p.m.Raw[done:c.start]...)
		dst = append(dst, c.text...)
		done = c.end
	}
	return append(dst, p.m.Raw[done:]...)
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
