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

// fault is what is wrong with where the log comes from, once all of it was read.
func (o *origin) fault(c Checks) *Fault {
	switch {
	case o.late != nil && !c.Partial:
		return o.late
	case c.Bridge != "" && o.bridge != "" && o.bridge != c.Bridge:
		return &Fault{Line: 1, Why: fmt.Sprintf("it is the record of the bridge %q, and not of %q", o.bridge, c.Bridge), Kind: WrongLog}
	}
	return nil
}

// isFull reports whether path names a full file of a log, and not a log.
func isFull(path string) bool {
	ext := filepath.Ext(path)
	return ext != "" && firstOf(path[:len(path)-len(ext)], filepath.Base(path)) > 0
}
