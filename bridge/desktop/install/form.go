package install

import (
	"bytes"
	"slices"
	"strings"
)

// A form is a way of writing configuration down.
type form struct {
	// read finds the servers in a text that is valid UTF-8 without a byte order
	// mark.
	read func(text []byte, way keys) (page, error)
	// tree returns what the text says, for comparison.
	tree func(text []byte) (map[string]any, error)
	// assign is how a key is written before its value.
	assign func(key string) string
}

// keys lead from the top of a text to its servers: at each step the first of the names
// that is there, and the first of all where none is.
type keys [][]string

// exactly is a way without a choice.
func exactly(way []string) keys {
	var k keys
	for _, key := range way {
		k = append(k, []string{key})
	}
	return k
}

// A pair is a key and its value as it is written.
type pair struct{ key, value string }

// A page is a text in which the servers have been found.
type page interface {
	slots() []slot
	// way are the keys that lead to the servers, there or not.
	way() []string
	// add returns what makes a new entry, which stands behind all others.
	add(name string, marks []pair, e Entry) ([]edit, error)
}

// A slot is one server of a page. What is wrong with it is no error until
// somebody wants to change it.
type slot struct {
	name   string
	at     int  // where it begins
	remote bool // it has an address and no command

	entry   Entry
	command span          // the value
	args    *list         // nil if there is none
	lead    func() string // what stands between the command and a member behind it; to find it takes as long as the line before it is
	wrong   string        // why it cannot be edited; "" if it can
}

// A list is the arguments of a slot.
type list struct {
	span
	items []span
	block bool // YAML's, an item to a line behind a dash
	key   int  // with block: where the key's colon ends
}

// find returns the slot of a name, nil if there is none. A name that is there
// twice means something else to every reader, so it is wrong.
func find(p page, name string) *slot {
	var found *slot
	for _, s := range p.slots() {
		if s.name != name {
			continue
		}
		if found != nil {
			s.wrong = "the name is there twice"
		}
		found = &s
	}
	return found
}

// put returns the edits that make s start e. The first `front` arguments are
// replaced, those behind them must be those of e already.
func (s slot) put(f form, text []byte, e Entry, front int) []edit {
	var edits []edit
	if s.entry.Command != e.Command {
		edits = append(edits, edit{s.command, quoted(e.Command)})
	}
	if s.args == nil {
		if len(e.Args) == 0 {
			return edits
		}
		return append(edits, insert(s.command.to, s.lead()+f.assign("args")+bracketed(e.Args)))
	}
	if slices.Equal(s.entry.Args, e.Args) {
		return edits // however they are laid out
	}
	kept := len(s.args.items) - front
	return append(edits, s.args.put(text, front, e.Args[:len(e.Args)-kept])...)
}

// remarked reports whether there is anything but the items where put would
// replace the first n: somebody has written something beside them.
func (l *list) remarked(text []byte, n int, all bool) bool {
	if l == nil || n == 0 {
		return false
	}
	at, to := l.items[0].from, l.items[n-1].to
	switch {
	case n < len(l.items):
		to = l.items[n].from
	case all && l.block:
		at, to = l.key, l.to
	case all:
		at, to = l.from, l.to
	}
	for _, item := range append(l.items[:n:n], span{to, to}) {
		if len(bytes.Trim(text[at:max(at, item.from)], " \t\r\n,[]-")) > 0 {
			return true
		}
		at = item.to
	}
	return false
}

// put replaces the first n items.
func (l list) put(text []byte, n int, with []string) []edit {
	sep := l.separator(text)
	joined := strings.Join(allQuoted(with), sep)
	switch {
	case n == 0 && len(with) == 0:
		return nil
	case len(l.items) == 0:
		return []edit{insert(l.from+1, joined)}
	case n == 0:
		return []edit{insert(l.items[0].from, joined+sep)}
	case len(with) > 0:
		return []edit{{span{l.items[0].from, l.items[n-1].to}, joined}}
	case n < len(l.items):
		return []edit{{span{l.items[0].from, l.items[n].from}, ""}}
	case l.block:
		return []edit{{span{l.key, l.to}, " []"}}
	}
	return []edit{{l.span, "[]"}}
}

// separator is what stands between two items, as the first of them is laid out.
func (l list) separator(text []byte) string {
	if len(l.items) == 0 {
		return ", "
	}
	white, alone := indent(text, l.items[0].from)
	switch {
	case l.block:
		return newline(text) + strings.Repeat(" ", l.from-lineStart(text, l.from)) + string(text[l.from:l.items[0].from])
	case alone:
		return "," + newline(text) + white
	}
	return ", "
}

// stretch is from the beginning of the command or its arguments, whichever
// comes first, to the end of both.
func (s slot) stretch() span {
	if s.args == nil {
		return s.command
	}
	return span{min(s.command.from, s.args.from), max(s.command.to, s.args.to)}
}
