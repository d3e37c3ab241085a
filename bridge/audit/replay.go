package audit

import (
	"io"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// A replay takes the lines of a log one after the other, and knows after each how the log
// stands. What is to be told of a log is asked of one: [VerifyLog] asks whether it
// is whole, and [Open] where it ends, what it left open and what ran.
type replay struct {
	chain  chain
	calls  openCalls
	log    string // the id that records name; "" if none has
	closed bool   // the newest record is closed, or there is none
}

func newReplay() replay { return replay{calls: newOpenCalls(), closed: true} }

// add takes the next line. What the record says of a call, move takes.
func (r *replay) add(line Line) (header, *Fault) {
	h, fault := r.chain.add(line)
	if h.seq > 0 {
		r.closed = string(h.event) == "closed"
	}
	return h, fault
}

// move says what is wrong with the record of a call at this place; "" if nothing is.
func (r *replay) move(h header, d details) string {
	why := r.calls.wrong(h.event, h.call)
	r.calls.move(h.event, h.call, d.Verdict == "allow")
	return why
}

// tail are the last of files, from the newest one on of whose first record enough says so;
// all if it never does.
func tail(files []string, enough func(file string, first header, d details) (bool, error)) ([]string, error) {
	for i, file := range slices.Backward(files) {
		h, d, err := beginning(file)
		if err != nil {
			return nil, err
		}
		if is, err := enough(file, h, d); err != nil || is {
			return files[i:], err
		}
	}
	return files, nil
}

// beginning reads the first record of a file; the zero header if there is none.
func beginning(file string) (header, details, error) {
	f, err := private.OpenRegular(file)
	if err != nil {
		return header{}, details{}, err
	}
	defer f.Close()
	line, err := newLineReader(file, f).next()
	if err == io.EOF {
		return header{}, details{}, nil
	}
	if err != nil {
		return header{}, details{}, err
	}
	h, err := readHeader(line.Text)
	if err != nil {
		return header{}, details{}, nil
	}
	d, _ := readDetails(line.Text) // if it is broken, reading on will say so
	return h, d, nil
}
