package audit

import (
	"fmt"
	"strings"
)

// carried is a record of the log's own with what a reader of this file alone
// must know of those before.
// With an id it says of which log, too.
func (l *Log) carried(event, reason string) []byte {
	rec := fmt.Appendf(nil, `{"event":"%s"`, event)
	if reason != "" {
		rec = append(rec, `,"reason":`...)
		rec = appendText(rec, reason)
	}
	rec = fmt.Appendf(rec, `,"last_call":%d,"open":[`, l.calls.last)
	rec = append(rec, strings.Join(l.calls.in(running), ",")...)
	rec = append(rec, `],"allowed":[`...)
	rec = append(rec, strings.Join(l.calls.in(allowed), ",")...)
	if asked := l.calls.in(beingAsked); len(asked) > 0 {
		rec = append(rec, `],"asked":[`...)
		rec = append(rec, strings.Join(asked, ",")...)
	}
	rec = append(rec, ']')
	if l.calls.halted {
		rec = append(rec, `,"halted":true`...)
	}
	if l.id != "" {
		rec = l.ownedBy(rec)
	}
	return append(rec, '}')
}

// carries reports whether a batch begins with such a record.
func carries(recs [][]byte) bool {
	if len(recs) == 0 {
		return false
	}
	switch s, _ := subjectOf(recs[0]); string(s.event) {
	case "rotated", "recovered", "file_lost":
		return true
	}
	return false
}

// ownedBy adds which log it is, and whose, to a record without its closing brace.
func (l *Log) ownedBy(rec []byte) []byte {
	rec = fmt.Appendf(rec, `,"log":"%s"`, l.id)
	if l.o.Bridge != "" {
		rec = appendText(append(rec, `,"bridge":`...), l.o.Bridge)
	}
	return rec
}
