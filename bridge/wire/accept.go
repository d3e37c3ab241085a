package wire

import (
	"bytes"
	"errors"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Accept is [Dialect.Decode] for a gateway, which knows who has sent the frame, into an e
// that is zero. It returns the frame as it is to be passed on: whole is frame itself unless
// something is missing that the gateways of the dialect fill in (WIRE 5.1, FINDINGS D4, D8,
// D18), and then a copy with it. from is put in for a sender that is not named; one that is
// named stands, and is for the caller to hold against who has sent it. fresh makes the id and
// the time of a frame that has none; it is called for those alone.
//
// What is wrong with parameters, whoever they are for says (see [Refused] Asked).
//
// Nothing is filled in for a null, or for a member of the wrong type.
func (d Dialect) Accept(e *Envelope, frame []byte, from string, fresh func() (id, ts string)) (whole []byte, err error) {
	if d.grammar == nil || d.streams && bytes.HasPrefix(frame, []byte("#")) {
		return frame, d.decode(e, frame)
	}
	r := reading{grammar: d.grammar, frame: frame}
	whole, err = frame, r.envelope(d, e)
	if missing := r.missing(); missing != 0 {
		whole, *e = r.filled(d, missing, from, fresh), Envelope{}
		err = d.decode(e, whole)
	} else {
		err = r.outcome(e, err)
	}
	if refused, ok := errors.AsType[*Refused](err); ok && refused.Asked != nil {
		*e, err = *refused.Asked, nil
	}
	return whole, err
}

// missing returns what is to be filled in, nothing for what cannot be read or has no kind.
func (r *reading) missing() (m gaps) {
	if !r.scanned || !r.has(atKind) {
		return 0
	}
	for _, g := range [...]struct {
		place int
		gap   gaps
	}{{atProtocol, gapProtocol}, {atID, gapID}, {atTS, gapTS}, {atFrom, gapFrom}} {
		if !r.has(g.place) {
			m |= g.gap
		}
	}
	if link := r.raw(atLink); link != nil && link[0] == '"' {
		m |= gapList
	}
	return m & r.fills
}

// filled returns the frame with what is missing.
func (r *reading) filled(d Dialect, missing gaps, from string, fresh func() (id, ts string)) []byte {
	var id, ts string
	if missing&(gapID|gapTS) != 0 {
		id, ts = fresh()
	}
	start := bytes.IndexByte(r.frame, '{') + 1
	out := append(make([]byte, 0, len(r.frame)+256), r.frame[:start]...)
	for _, m := range [...]struct {
		gap         gaps
		name, value string
	}{{gapProtocol, "protocol", d.Protocol}, {gapID, "id", id}, {gapTS, "ts", ts}, {gapFrom, "from", from}} {
		if missing&m.gap != 0 {
			out = append(jsonrpc.AppendQuote(out, m.name), ':')
			out = append(jsonrpc.AppendQuote(out, m.value), ',')
		}
	}
	if missing&gapList == 0 {
		return append(out, r.frame[start:]...)
	}
	link := r.at[atLink]
	out = append(append(out, r.frame[start:link.Start]...), '[')
	out = append(append(out, r.frame[link.Start:link.End]...), ']')
	return append(out, r.frame[link.End:]...)
}
