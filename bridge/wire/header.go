package wire

import (
	"bytes"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

const maxTS = 64 // bytes of a time stamp

// header reads the members that are strings or lists of them, and the context.
// All their text is copied at once, so that an id which is remembered does not
// keep a whole frame in memory.
func (r *reading) header(e *Envelope) error {
	var room [384]byte
	var ends [16]int
	t := texts{buf: room[:0], ends: ends[:1]}
	for _, m := range [...]struct {
		place, most int
		name        string
	}{{atID, maxID, "id"}, {atTS, maxTS, "ts"}, {atFrom, maxID, "from"}, {atKind, maxKind, "kind"}} {
		raw := r.raw(m.place)
		var ok bool
		t, ok = t.add(raw, m.most)
		switch {
		case ok:
		case raw[0] != '"':
			return refuse(EnvelopeInvalid, "%s is not a string", m.name)
		case m.most == maxID:
			return refuse(IDCharset, "%s is longer than %d bytes", m.name, m.most)
		default:
			return refuse(EnvelopeInvalid, "%s is longer than %d bytes", m.name, m.most)
		}
	}
	named := len(t.ends)
	t, err := r.list(t, atTo, "to")
	if err != nil {
		return err
	}
	to := len(t.ends) - named
	if t, err = r.list(t, atLink, "correlation_id"); err != nil {
		return err
	}
	s := string(t.buf)
	e.ID, e.TS, e.From, e.Spelled = t.nth(s, 0), t.nth(s, 1), t.nth(s, 2), t.nth(s, 3)
	lists := t.from(s, 4)
	if to > 0 {
		e.To = lists[:to:to]
	}
	if len(lists) > to {
		e.Corr = lists[to:]
	}
	if r.context {
		e.Context = r.raw(atContext)
	}
	if e.Spelled == "" {
		return refuse(EnvelopeInvalid, "kind is missing")
	}
	if !envelopeIDs(e.To) || !envelopeIDs(e.Corr) {
		return refuse(IDCharset, "an id in to or correlation_id is not 1 to %d printable characters", maxID)
	}
	return nil
}

// list reads a list of strings, or one string where a link is meant: some
// dialects write one and some a list, and senders mix them up (WIRE 5.1). A
// null in it is skipped and noted: gateways that refuse somebody before he has
// joined send one.
func (r *reading) list(t texts, place int, name string) (texts, error) {
	raw := r.raw(place)
	if raw == nil {
		return t, nil
	}
	before, ok := len(t.ends), false
	if raw[0] == '"' && place != atTo {
		if t, ok = t.add(raw, maxID); !ok {
			return t, refuse(IDCharset, "%s is longer than %d bytes", name, maxID)
		}
		return t, nil
	}
	if raw[0] != '[' {
		return t, refuse(EnvelopeInvalid, "%s is not a list of strings", name)
	}
	for rest := raw[1:]; ; {
		for bytes.IndexByte([]byte(" \t\r\n,"), rest[0]) >= 0 {
			rest = rest[1:]
		}
		switch {
		case rest[0] == ']':
			return t, nil
		case len(t.ends)-before == maxNamed:
			return t, refuse(EnvelopeInvalid, "%s holds more than %d", name, maxNamed)
		case rest[0] == 'n':
			rest, r.hadNull = rest[len("null"):], true
			continue
		case rest[0] != '"':
			return t, refuse(EnvelopeInvalid, "%s is not a list of strings", name)
		}
		end := jsonrpc.StringEnd(rest, 0)
		if t, ok = t.add(rest[:end], maxID); !ok {
			return t, refuse(IDCharset, "an id in %s is longer than %d bytes", name, maxID)
		}
		rest = rest[end:]
	}
}

// texts gathers decoded strings, so that one allocation holds them all. It is
// passed by value for its buffers to stay on the stack.
type texts struct {
	buf  []byte
	ends []int // of each, behind a 0
}

// add takes a JSON string of at most a number of bytes; nil counts as an empty
// one. It reports false if raw is no string or too long.
func (t texts) add(raw []byte, most int) (texts, bool) {
	switch {
	case raw == nil:
	case raw[0] != '"' || len(raw) > 6*most+2:
		return t, false
	case bytes.IndexByte(raw, '\\') < 0:
		if len(raw)-2 > most {
			return t, false
		}
		t.buf = append(t.buf, raw[1:len(raw)-1]...)
	default:
		text, _ := jsonrpc.Unquote(raw)
		if len(text) > most {
			return t, false
		}
		t.buf = append(t.buf, text...)
	}
	t.ends = append(t.ends, len(t.buf))
	return t, true
}

// nth returns one of the strings that were gathered, of text, which is what buf holds.
func (t texts) nth(text string, i int) string { return text[t.ends[i]:t.ends[i+1]] }

// from returns those from the ith on, nil if there are none.
func (t texts) from(text string, i int) []string {
	n := len(t.ends) - 1 - i
	if n == 0 {
		return nil
	}
	all := make([]string, n)
	for j := range all {
		all[j] = t.nth(text, i+j)
	}
	return all
}
