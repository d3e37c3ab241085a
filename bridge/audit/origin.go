package audit

import (
	"fmt"
	"path/filepath"
)

// An origin is what a log says of whose it is, and of what was before its first file.
type origin struct {
	bridge string
	born   bool // record 1 names the id

	late   *Fault // it begins with a later record; nil: with the first
	before Head   // the record before the first, as that names it
}

// begins notes that the log begins late. That is no fault if its files before were
// removed as somebody told us to, which a later record says.
func (o *origin) begins(line Line, h header) {
	o.late = faultAt(line, "the log begins with record %d: those before are missing", h.seq).as(BeginsLate)
	head, err := ParseHead(fmt.Sprintf("%d:%s", h.seq-1, h.prev))
	if err == nil {
		o.before = head
	}
}

// ofItself reads a record of the log's own.
func (v *verifier) ofItself(line Line, h header, d details) *Fault {
	o := &v.origin
	switch string(h.event) {
	case "removed":
		if told := fmt.Sprintf("%d:%s", d.LastSeq, d.Head); o.late != nil && told == o.before.String() {
			v.report.Removed, o.late = o.before.Seq, nil
		}
	case "opened":
		v.calls.blind = false // whoever wrote before has ended
	case "file_lost":
		if d.Reason == noteGone {
			return faultAt(line, "%s", noteGone)
		}
	}
	if d.Log == "" {
		return nil
	}
	if v.log != "" && d.Log != v.log {
		return faultAt(line, "it is a record of another log: those before are of %s, and it is of %s", v.log, d.Log).as(WrongLog)
	}
	v.log, o.born = d.Log, o.born || h.seq == 1
	if d.Bridge != "" {
		o.bridge = d.Bridge
	}
	v.report.Log, v.report.Bridge = v.log, o.bridge
	return nil
}

// fault is what is wrong with where the log comes from, once all of it was read.
func (o *origin) fault(r *Report, c Checks) *Fault {
	switch {
	case o.late != nil && !c.Partial:
		return o.late
	case c.Bridge != "" && o.bridge != "" && o.bridge != c.Bridge:
		return &Fault{Line: 1, Why: fmt.Sprintf("it is the record of the bridge %q, and not of %q", o.bridge, c.Bridge), Kind: WrongLog}
	}
	return nil
}

// beside compares a log that is whole with the note that is beside it at path: both
// are there, or neither (FINDINGS L1). A full file that is verified by its own
// name has none.
func (v *verifier) beside(path string, noted Note) {
	r, kind, why := &v.report, WrongLog, ""
	name := filepath.Base(path) + ".head"
	switch {
	case !noted.There && (r.Records == 0 || isFull(path)):
		return
	case !noted.There:
		kind, why = NoteMissing, fmt.Sprintf("%s is gone, or cannot be read: nothing shows whether records after record %d were cut off", name, r.Last)
	case noted.Log != "" && r.Records > 0 && noted.Log != v.log:
		why = fmt.Sprintf("%s is about another log: about %s, and this one is %s", name, noted.Log, orNone(v.log))
	case noted.Log == "" && v.born:
		why = fmt.Sprintf("%s is about another log: it names none, and this one is %s", name, v.log)
	default:
		r.Noted = true
		return
	}
	r.OK = false
	r.Fault = &Fault{v.chain.last.File, v.chain.last.Number + 1, why, kind}
}

func orNone(id string) string {
	if id == "" {
		return "of a build that gave none an id"
	}
	return id
}

// isFull reports whether path names a full file of a log, and not a log.
func isFull(path string) bool {
	name := filepath.Base(path)
	ext := filepath.Ext(name)
	return ext != "" && firstOf(name[:len(name)-len(ext)], name) > 0
}
