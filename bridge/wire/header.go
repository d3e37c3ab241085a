package wire

import (
	"bytes"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

const maxTS = 64 // bytes of a time stamp

// header reads the members that are strings or lists of them, and the context.
// All their text is copied at once, so that an id which is remembered does not
// keep a whole frame in memory.
func (r *reading) header() (Envelope, error) {
	var room [384]byte
	var ends [16]int
	t := texts{buf: room[:0], ends: ends[:0]}
	for _, m := range [...]struct {
		place, most int
		name        string
	}{{atID, maxID, "id"}, {atTS, maxTS, "ts"}, {atFrom, maxID, "from"}, {atKind, maxKind, "kind"}} {
		raw := r.raw(m.place)
		switch {
		case t.add(raw, m.most):
		case raw[0] != '"':
			return Envelope{}, refuse(EnvelopeInvalid, "%s is not a string", m.name)
		case m.most == maxID:
			return Envelope{}, refuse(IDCharset, "%s is longer than %d bytes", m.name, m.most)
		default:
			return Envelope{}, refuse(EnvelopeInvalid, "%s is longer than %d bytes", m.name, m.most)
		}
	}
	to, err := r.list(&t, atTo, "to")
	if err != nil {
		return Envelope{}, err
	}
	links, err := r.list(&t, atLink, "correlation_id")
	if err != nil {
		return Envelope{}, err
	}
	s := t.strings(to + links)
	e := Envelope{ID: s.next(), TS: s.next(), From: s.next(), Spelled: s.next()}
	e.To, e.Corr = s.list(to), s.list(links)
	if r.context {
		e.Context = r.raw(atContext)
	}
	if e.Spelled == "" {
		return e, refuse(EnvelopeInvalid, "kind is missing")
	}
	if !envelopeIDs(e.To) || !envelopeIDs(e.Corr) {
		return e, refuse(IDCharset, "an id in to or correlation_id is not 1 to %d printable characters", maxID)
	}
	return e, nil
}

// list reads a list of strings, or one string where a link is meant: some
// dialects write one and some a list, and senders mix them up (WIRE 5.1). A
// null in it is skipped and noted: gateways that refuse somebody before he has
// joined send one.
func (r *reading) list(t *texts, place int, name string) (n int, err error) {
	raw := r.raw(place)
	if raw == nil {
		return 0, nil
	}
	if raw[0] == '"' && place != atTo {
		if !t.add(raw, maxID) {
			return 0, refuse(IDCharset, "%s is longer than %d bytes", name, maxID)
		}
		return 1, nil
	}
	if raw[0] != '[' {
		return 0, refuse(EnvelopeInvalid, "%s is not a list of strings", name)
	}
	for rest := raw[1:]; ; {
		rest = bytes.TrimLeft(rest, " \t\r\n,")
		switch {
		case rest[0] == ']':
			return n, nil
		case n == maxNamed:
			return 0, refuse(EnvelopeInvalid, "%s holds more than %d", name, maxNamed)
		case bytes.HasPrefix(rest, []byte("null")):
			rest, r.nulls = rest[len("null"):], true
			continue
		case rest[0] != '"':
			return 0, refuse(EnvelopeInvalid, "%s is not a list of strings", name)
		}
		end := stringEnd(rest)
		if !t.add(rest[:end], maxID) {
			return 0, refuse(IDCharset, "an id in %s is longer than %d bytes", name, maxID)
		}
		rest = rest[end:]
		n++
	}
}

// stringEnd returns where the JSON string that raw begins with ends. raw has
// been scanned.
func stringEnd(raw []byte) int {
	for i := 1; ; i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// texts gathers decoded strings, so that one allocation holds them all.
type texts struct {
	buf  []byte
	ends []int
}

// add takes a JSON string of at most a number of bytes; nil counts as an empty
// one. It reports false if raw is no string or too long.
func (t *texts) add(raw []byte, most int) bool {
	switch {
	case raw == nil:
	case raw[0] != '"' || len(raw) > 6*most+2:
		return false
	case bytes.IndexByte(raw, '\\') < 0:
		if len(raw)-2 > most {
			return false
		}
		t.buf = append(t.buf, raw[1:len(raw)-1]...)
	default:
		text, _ := jsonrpc.Unquote(raw)
		if len(text) > most {
			return false
		}
		t.buf = append(t.buf, text...)
	}
	t.ends = append(t.ends, len(t.buf))
	return true
}

// strings returns what was gathered, with room for lists of so many.
func (t *texts) strings(listed int) gathered {
	g := gathered{text: string(t.buf), ends: t.ends}
	if listed > 0 {
		g.lists = make([]string, 0, listed)
	}
	return g
}

// gathered hands out the texts in the order in which they were added.
type gathered struct {
	text  string
	ends  []int
	start int
	lists []string
}

func (g *gathered) next() string {
	end := g.ends[0]
	s := g.text[g.start:end]
	g.start, g.ends = end, g.ends[1:]
	return s
}

func (g *gathered) list(n int) []string {
	if n == 0 {
		return nil
	}
	from := len(g.lists)
	for range n {
		g.lists = append(g.lists, g.next())
	}
	return g.lists[from:len(g.lists):len(g.lists)]
}
