package audit

import (
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Fault is the first thing that is wrong with a log.
type Fault struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line"` // in File, from 1
	Why  string `json:"why"`

	Kind FaultKind `json:"-"`
}

// A FaultKind is what somebody can do about a fault; for most there is nothing to say.
type FaultKind uint8

const (
	OtherFault  FaultKind = iota
	TornLine              // the last line has no end
	NoteMissing           // PATH.head is not there
	WrongLog              // it, or its note, is of another log or bridge
	BeginsLate            // what was before the first record is not there
	EndMissing            // somebody knows of records after the last
)

func (f *Fault) as(k FaultKind) *Fault {
	f.Kind = k
	return f
}

func (f *Fault) Error() string {
	if f.File == "" {
		return fmt.Sprintf("line %d: %s", f.Line, f.Why)
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Why)
}

func faultAt(l Line, format string, args ...any) *Fault {
	return &Fault{File: l.File, Line: l.Number, Why: fmt.Sprintf(format, args...)}
}

// A chain follows lines from hash to hash. When a line does not fit to the one
// before it, one of the two was changed; the line after them tells which.
type chain struct {
	head    Head
	begun   bool
	last    Line   // where head is; its text is not kept
	suspect *Fault // the line before last, if its hash is not what last says
}

// add takes the next line. The header is of use only without a fault.
func (c *chain) add(line Line) (header, *Fault) {
	h, err := readHeader(line.Text)
	if c.suspect != nil {
		return h, c.resolve(err == nil && c.fits(h))
	}
	if err != nil {
		return h, faultAt(line, "%s", err)
	}
	if f := c.inOrder(line, h); f != nil {
		return h, f
	}
	if c.begun && !c.fits(h) {
		c.suspect = faultAt(c.last, "the record was changed: the next one names another hash")
	}
	c.begun = true
	c.head.Seq = h.seq - 1
	c.head = c.head.next(line.Text)
	c.last = Line{File: line.File, Number: line.Number}
	return h, nil
}

func (c *chain) fits(h header) bool { return string(h.prev) == hex.EncodeToString(c.head.Hash[:]) }

func (c *chain) inOrder(line Line, h header) *Fault {
	want := c.head.Seq + 1
	switch {
	case h.seq == 0:
		return faultAt(line, "records count from 1")
	case !c.begun || h.seq == want:
		return nil
	case h.seq == want+1:
		return faultAt(line, "record %d is missing before it", want)
	case h.seq > want:
		return faultAt(line, "records %d to %d are missing before it", want, h.seq-1)
	}
	return faultAt(line, "record %d is out of place: record %d should be here", h.seq, want)
}

// resolve says which of the last two lines was changed. intact: a line after
// them, or a witness, vouches for the last.
func (c *chain) resolve(intact bool) *Fault {
	if intact {
		return c.suspect
	}
	return faultAt(c.last, "the record was changed: neither it nor the next one fits")
}

// goOn takes a line that does not fit as if it did.
func (c *chain) goOn(before Head, line Line, h header) {
	*c = chain{head: before.next(line.Text), begun: true, last: line}
	if h.seq > before.Seq {
		c.head.Seq = h.seq
	}
}

// details are the members that are read of records of this package's concern.
type details struct {
	Env     string           `json:"env"`
	From    string           `json:"from"`
	Method  string           `json:"method"`
	Tool    string           `json:"tool"`
	Via     string           `json:"via"`
	Verdict string           `json:"verdict"`
	Digest  string           `json:"digest"`
	Body    string           `json:"body"`
	HeadSeq uint64           `json:"head_seq"`
	Head    string           `json:"head"`
	Last    uint64           `json:"last_call"`
	Open    []jsontext.Value `json:"open"`
	Allowed []jsontext.Value `json:"allowed"`
	Asked   []jsontext.Value `json:"asked"`
	Halted  bool             `json:"halted"`
	Log     string           `json:"log"`
	Bridge  string           `json:"bridge"`
	Reason  string           `json:"reason"`
	Grant   string           `json:"grant"`
	Keep    string           `json:"keep"`
	Uses    []int            `json:"uses"`
	Item    int              `json:"item"`
	Use     int              `json:"use"`
	LastSeq uint64           `json:"last_seq"`
}

func readDetails(text []byte) (details, error) {
	var d details
	err := json.Unmarshal(text, &d)
	return d, err
}

// appendText writes s as a JSON string; what is not UTF-8 is replaced.
func appendText(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		out, _ = jsontext.AppendQuote(dst, fmt.Sprintf("%q", s))
	}
	return out
}
