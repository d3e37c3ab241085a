package audit

import (
	"bytes"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Run is a call that ran, or may have run.
type Run struct {
	Call string // the value of "call", raw
	At   time.Time
	Took []byte // the value of "took" in its start, raw
}

// runs is what the lines of a log say of calls that ran since a moment.
type runs struct {
	since time.Time // zero: nobody wants to know
	began []Run
	never map[string]bool // those whose end says that they did not run
}

// further are the files before recent that may have runs too, at most until those have most
// bytes or more; from is since when the runs in all of them are all that there were.
func (r *runs) further(files, recent []string, most int64) (older []string, from time.Time, err error) {
	if r.since.IsZero() || len(recent) == 0 {
		return nil, r.since, nil
	}
	from = r.since
	older, err = tail(files[:len(files)-len(recent)+1], func(file string, first header, _ details) (bool, error) {
		info, err := os.Stat(file)
		if err != nil {
			return false, err
		}
		if file != recent[0] {
			most -= info.Size()
		}
		enough := !first.at.IsZero() && (first.at.Before(r.since) || most <= 0 && file != files[0])
		if enough && first.at.After(from) {
			from = first.at
		}
		return enough, nil
	})
	if err != nil {
		return nil, from, err
	}
	return older[:len(older)-1], from, nil
}

// take reads a line only if it can be one that matters; within strings the quotes are
// escaped.
func (r *runs) take(text []byte) {
	if r.since.IsZero() || !bytes.Contains(text, []byte(`"took":`)) && !bytes.Contains(text, []byte(`"executed":"no"`)) {
		return
	}
	var d struct {
		Executed string         `json:"executed"`
		Took     jsontext.Value `json:"took"`
	}
	h, err := readHeader(text)
	if err != nil || json.Unmarshal(text, &d) != nil {
		return
	}
	switch {
	case string(h.event) == "ended" && d.Executed == "no":
		r.never[string(h.call)] = true
	case string(h.event) == "started" && len(d.Took) > 0 && !h.at.Before(r.since):
		r.began = append(r.began, Run{string(h.call), h.at, d.Took})
	}
}

// ran are those that ran, or may have, oldest first.
func (r *runs) ran() []Run {
	return slices.DeleteFunc(r.began, func(run Run) bool { return r.never[run.Call] })
}
