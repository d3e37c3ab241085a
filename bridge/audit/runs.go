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

// Runs are the calls since a moment whose start says what they took, oldest
// first; those whose end says that they did not run are left out. Of the log at
// path it reads the newest files, until they have most bytes or more. reached is
// the time of the first record that was read, or earlier: when it is after since,
// most was too little.
func Runs(path string, since time.Time, most int64) (runs []Run, reached time.Time, err error) {
	files, err := Files(path)
	if err != nil {
		return nil, since, err
	}
	reached = since
	files, err = tail(files, func(file string, first header, _ details) (bool, error) {
		info, err := os.Stat(file)
		if err != nil {
			return false, err
		}
		most -= info.Size()
		enough := !first.at.IsZero() && (first.at.Before(since) || most <= 0 && file != files[0])
		if enough {
			reached = first.at
		}
		return enough, nil
	})
	if err != nil {
		return nil, since, err
	}
	never := map[string]bool{}
	for line, err := range linesOf(files...) {
		if err != nil {
			return nil, since, err
		}
		switch h, d := aboutRun(line.Text); {
		case string(h.event) == "ended" && d.Executed == "no":
			never[string(h.call)] = true
		case string(h.event) == "started" && len(d.Took) > 0 && !h.at.Before(since):
			runs = append(runs, Run{string(h.call), h.at, d.Took})
		}
	}
	return slices.DeleteFunc(runs, func(r Run) bool { return never[r.Call] }), reached, nil
}

// runDetails are what a record says of whether, and for what, a call ran.
type runDetails struct {
	Executed string         `json:"executed"`
	Took     jsontext.Value `json:"took"`
}

// aboutRun reads a line only if it can be one that matters; within strings the
// quotes are escaped.
func aboutRun(text []byte) (header, runDetails) {
	if !bytes.Contains(text, []byte(`"took":`)) && !bytes.Contains(text, []byte(`"executed":"no"`)) {
		return header{}, runDetails{}
	}
	var d runDetails
	h, err := readHeader(text)
	if err != nil || json.Unmarshal(text, &d) != nil {
		return header{}, runDetails{}
	}
	return h, d
}
