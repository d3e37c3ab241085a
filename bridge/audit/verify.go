package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// VerifyLog verifies the log at path with all its files, and against the
// newest record that is noted beside it. A process may be writing to it, and may
// begin new files and remove old ones meanwhile; [ErrRestless] if it does that all
// the time.
func VerifyLog(path string, c Checks) (Report, error) { return verifyLog(path, c, openFile) }

func verifyLog(path string, c Checks, open opener) (Report, error) {
	s := newSnapshot(path, open)
	defer s.close()
	for range maxTries {
		noted, err := ReadHeadFile(path) // before the log, which may grow
		if err != nil {
			return Report{}, err
		}
		settled, err := s.settle()
		if err == nil && settled && len(s.names) == 0 && noted.Head.Seq == 0 {
			_, err = os.Stat(path)
		}
		if err != nil {
			return Report{}, err
		}
		if !settled {
			continue
		}
		r, err := s.verifyBeside(noted, c)
		if !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
		s.close() // more were removed than were held
	}
	return Report{}, s.restless()
}

func (s *snapshot) verifyBeside(noted Note, c Checks) (Report, error) {
	c.Witnesses = append(slices.Clip(c.Witnesses), Witness{noted.Head, filepath.Base(s.path) + ".head"})
	v, err := s.verify(c)
	if err == nil && v.report.OK {
		v.beside(s.path, noted)
	}
	if f := v.report.Fault; f != nil && len(s.names) > 0 {
		f.File = s.called(f.File)
	} else if f != nil {
		f.File = s.path // where it was
	}
	return v.report, err
}

func (s *snapshot) verify(c Checks) (*verifier, error) {
	v := newVerifier(c)
	for _, name := range s.names {
		if err := s.readBy(v, name); err != nil {
			return v, err
		}
		if v.report.Fault != nil && !v.seeking() {
			break
		}
	}
	v.ended()
	return v, nil
}

func (s *snapshot) readBy(v *verifier, name string) error {
	f, err := s.file(name)
	if err != nil {
		return err
	}
	defer f.Close()
	v.report.Files++
	return v.read(name, &patient{f: f})
}

// Verify reads a log and checks the chain, the form of each line, the order of
// the records of each call (decided, started, ended; none without the one before, and no
// start while the bridge is halted), that no envelope of a participant was started twice
// within 15 minutes, that no plan was used without or beyond what was agreed to,
// checkpoints and witnesses, and what passkeys signed. What is wrong with the log is in the Report; the
// error is that of r.
func Verify(r io.Reader, c Checks) (Report, error) {
	v := newVerifier(c)
	v.report.Files = 1
	if err := v.read("", r); err != nil {
		return v.report, err
	}
	return v.ended(), nil
}

// A verifier takes one line after the other. It stops at the first fault.
type verifier struct {
	replay
	origin
	c       Checks
	report  Report
	started envelopes
	plans   plans
	signed  passkeys
	known   map[uint64][]Witness
	recent  hashes
	newest  Head // that counts
}

func newVerifier(c Checks) *verifier {
	v := &verifier{replay: newReplay(), c: c, known: map[uint64][]Witness{}, started: newEnvelopes(), plans: plans{}, signed: newPasskeys()}
	for _, w := range c.Witnesses {
		if w.Head.Seq > 0 {
			v.known[w.Head.Seq] = append(v.known[w.Head.Seq], w)
		}
	}
	return v
}

func (v *verifier) read(name string, r io.Reader) error {
	lines := newLineReader(name, r)
	for v.report.Fault == nil || v.seeking() {
		line, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if v.report.Fault != nil {
			v.seek(line)
			continue
		}
		v.report.Fault = v.line(line)
	}
	return nil
}

// ended returns the report. All is read that matters.
func (v *verifier) ended() Report {
	if v.newest.Seq > 0 {
		v.report.Head = v.newest.String()
	}
	switch {
	case v.report.Fault == nil:
		return v.finish()
	case v.seeking():
		v.report.Fault = v.late
	}
	return v.report
}

// seeking reports whether the log begins late and has another fault. Then it is read to
// the end: which of the two is reported depends on whether a record says that the
// beginning was removed.
func (v *verifier) seeking() bool { return v.report.Fault != nil && v.late != nil && !v.c.Partial }

func (v *verifier) seek(line Line) {
	if h, err := readHeader(line.Text); err == nil && string(h.event) == "removed" {
		if d, err := readDetails(line.Text); err == nil {
			v.ofItself(line, h, d)
		}
	}
}

func (v *verifier) line(line Line) *Fault {
	if line.Torn && v.chain.suspect == nil {
		return faultAt(line, "the line is torn: its end was never written, or was cut off").as(TornLine)
	}
	first := !v.chain.begun
	h, fault := v.add(line)
	if fault != nil || v.chain.suspect != nil {
		return fault
	}
	if first {
		if fault := v.beginning(line, h); fault != nil {
			return fault
		}
	}
	d, wrong, valid := detailsOf(h, line.Text)
	if !valid {
		return faultAt(line, "it is not valid JSON")
	}
	v.count(h)
	v.recent.add(v.chain.head)
	if fault := v.witnessed(line); fault != nil {
		return fault
	}
	if wrong != nil {
		return faultAt(line, "a member has a value of the wrong kind: %v", wrong)
	}
	if why := v.signed.add(string(h.event), line.Text, v.report.First > 1 || v.report.Losses > 0); why != "" {
		return faultAt(line, "%s", why)
	}
	return v.meaning(line, h, d)
}

// detailsOf reads a record of which verifying asks more than whether it is valid.
func detailsOf(h header, text []byte) (d details, wrong error, valid bool) {
	switch string(h.event) {
	case "decided", "started", "ended", "rejected", "withdrawn", "revoked", "checkpoint", "opened", "recovered", "rotated", "file_lost", "removed":
		if d, wrong = readDetails(text); wrong == nil {
			return d, nil, true
		}
	}
	return d, wrong, jsontext.Value(text).IsValid()
}

func (v *verifier) beginning(line Line, h header) *Fault {
	v.report.First = h.seq
	if h.seq == 1 && string(h.prev) != fmt.Sprintf("%x", Head{}.Hash) {
		return faultAt(line, "the first record names one before it")
	}
	if h.seq == 1 {
		return nil
	}
	v.begins(line, h)
	d, err := readDetails(line.Text)
	v.calls.carry(d)
	v.calls.blind = err != nil || d.Allowed == nil
	return nil
}

func (v *verifier) count(h header) {
	r := &v.report
	r.Records++
	r.Last, v.newest = h.seq, v.chain.head
	r.To = h.at
	if r.From.IsZero() {
		r.From = r.To
	}
	r.Closed = false
	switch string(h.event) {
	case "closed":
		r.Closed = true
	case "recovered":
		r.Recoveries++
	case "file_lost":
		r.Losses++
	case "clock_jump":
		r.Jumps++
	case "started":
		r.Starts++
	case "halted":
		r.Halts++
	}
}

// witnessed compares the newest line with what others say of it.
func (v *verifier) witnessed(line Line) *Fault {
	for _, w := range v.known[v.chain.head.Seq] {
		if w.Head != v.chain.head {
			return faultAt(line, "it is not the record %d that %s knows: it, or a record before it, was rewritten", w.Head.Seq, w.Of)
		}
		v.report.Checked++
	}
	return nil
}

// meaning checks what the record says.
func (v *verifier) meaning(line Line, h header, d details) *Fault {
	switch string(h.event) {
	case "decided", "started", "ended", "rejected", "withdrawn", "halted", "resumed":
	case "opened", "recovered", "rotated", "file_lost", "removed":
		return v.ofItself(line, h, d)
	case "checkpoint":
		return v.checkpoint(line, d)
	case "revoked":
		v.plans.revoked(d)
		return nil
	default:
		return nil
	}
	why := v.move(h, d)
	switch {
	case why != "":
	case string(h.event) == "started":
		why = v.started.start(d, h.at)
	case string(h.event) == "decided":
		why = v.plans.decided(h.call, d, v.report.First > 1 || v.report.Losses > 0)
	}
	if why != "" {
		return faultAt(line, "%s", why)
	}
	return nil
}

func (v *verifier) checkpoint(line Line, d details) *Fault {
	told, err := ParseHead(fmt.Sprintf("%d:%s", d.HeadSeq, d.Head))
	switch {
	case err != nil:
		return faultAt(line, "the checkpoint cannot be read: %v", err)
	case told.Seq >= v.chain.head.Seq:
		return faultAt(line, "the checkpoint is of record %d, which comes later", told.Seq)
	}
	had, ok := v.recent.of(told.Seq)
	switch {
	case !ok:
		v.report.Unchecked++
	case had != told:
		return faultAt(line, "the checkpoint does not agree with record %d", told.Seq)
	default:
		v.report.Checked++
	}
	return nil
}

// finish is for the end of the log, where a missing tail shows.
func (v *verifier) finish() Report {
	r := &v.report
	if s := v.chain.suspect; s != nil {
		r.Fault = &Fault{File: s.File, Line: s.Line, Why: "this record was changed, or the next one, which is the last"}
		if len(v.known[v.chain.head.Seq]) > 0 {
			r.Fault = v.chain.resolve(!v.lastForged())
		}
		return *r
	}
	for _, seq := range slices.Sorted(maps.Keys(v.known)) {
		w := v.known[seq][0]
		switch {
		case seq > r.Last:
			r.Fault = &Fault{v.chain.last.File, v.chain.last.Number + 1,
				fmt.Sprintf("the end was cut off: the log ends with record %d, but %s knows record %d", r.Last, w.Of, seq), EndMissing}
			return *r
		case seq < r.First:
			r.Unchecked++
		}
	}
	if r.Fault = v.origin.fault(v.c); r.Fault != nil {
		return *r
	}
	r.Signed, r.Unenrolled = v.signed.Signed, v.signed.Unenrolled
	r.Unfinished, r.Halted = v.calls.in(running), v.calls.halted
	r.OK = true
	return *r
}

// lastForged reports whether a witness knows the last line with another hash.
func (v *verifier) lastForged() bool {
	return slices.ContainsFunc(v.known[v.chain.head.Seq], func(w Witness) bool { return w.Head != v.chain.head })
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
		why = fmt.Sprintf("%s belongs to another log, %s, and this log is %s", name, noted.Log, cmp.Or(v.log, "of an earlier build, which gave it no id"))
	case noted.Log == "" && v.born:
		why = fmt.Sprintf("%s belongs to another log: it names none, and this log is %s", name, v.log)
	default:
		r.Noted = true
		return
	}
	r.OK = false
	r.Fault = &Fault{v.chain.last.File, v.chain.last.Number + 1, why, kind}
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
		return faultAt(line, "the record belongs to another log, %s: the records before it belong to %s", v.log, d.Log).as(WrongLog)
	}
	v.log, o.born = d.Log, o.born || h.seq == 1
	if d.Bridge != "" {
		o.bridge = d.Bridge
	}
	v.report.Log, v.report.Bridge = v.log, o.bridge
	return nil
}
