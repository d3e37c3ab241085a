package wire

import (
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// open appends what every frame begins with.
func (d Dialect) open(dst []byte, e *Envelope) []byte {
	dst = append(dst, `{"protocol":`...)
	dst = jsonrpc.AppendQuote(dst, d.Protocol)
	dst = member(dst, `,"id":`, e.ID)
	dst = member(dst, `,"ts":`, e.TS)
	dst = member(dst, `,"from":`, e.From)
	if len(e.To) > 0 {
		dst = list(append(dst, `,"to":`...), e.To)
	}
	return dst
}

// close appends what follows the kind.
func (d Dialect) close(dst []byte, e *Envelope) []byte {
	dst = d.links(dst, e.Corr)
	if d.context && len(e.Context) > 0 {
		dst = append(append(dst, `,"context":`...), e.Context...)
	}
	dst = append(dst, `,"payload":`...)
	return append(d.payload(dst, e), '}')
}

func (d Dialect) links(dst []byte, ids []string) []byte {
	switch {
	case len(ids) == 0:
		return dst
	case d.manyLinks:
		return list(append(dst, `,"correlation_id":`...), ids)
	}
	return member(dst, `,"correlation_id":`, ids[0])
}

// Stamp spells a time as the ts of a frame: RFC 3339, in UTC, cut to milliseconds.
func Stamp(at time.Time) string {
	at = at.UTC()
	text := at.AppendFormat(make([]byte, 0, 32), time.RFC3339) // the form that package time writes fast
	ms := at.Nanosecond() / 1e6
	return string(append(text[:len(text)-1], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10), 'Z'))
}

func (d Dialect) payload(dst []byte, e *Envelope) []byte {
	if e.Edits != nil {
		return e.Message.Append(dst, e.Edits...)
	}
	body := e.Payload
	if len(body) == 0 {
		body = []byte("{}")
	}
	if d.byPayload && e.Kind == Chat {
		dst = append(dst, `{"jsonrpc":"2.0","method":"`+chatMethod+`","params":`...)
		return append(append(dst, body...), '}')
	}
	return append(dst, body...)
}
