package install

import "fmt"

// An Error says what is wrong with a file or a wish. Nothing was written.
type Error struct {
	File         string
	Line, Column int // from 1, columns in characters; 0 if it is about the whole file
	Msg          string
	Hint         string // what to do about it; may be "". It is one, whatever names of the file stand in it
	Absent       bool   // what is meant is not there, and may be elsewhere
}

func (e *Error) Error() string {
	switch {
	case e.File == "":
		return e.Msg
	case e.Line == 0:
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// wrongAt is an Error about a place in a text that cannot be edited as it is.
func wrongAt(text []byte, at int, format string, args ...any) *Error {
	e := wrong(format, args...)
	e.Line, e.Column = lineColumn(text, at)
	return e
}

// wrong is an Error about the whole of such a text.
func wrong(format string, args ...any) *Error {
	return &Error{Msg: fmt.Sprintf(format, args...), Hint: "mend the file first; it was left as it is"}
}

// A ChangedError is about a file that is not what it was left as.
type ChangedError struct {
	File string
	Diff []byte // from what it was left as to what it is
	Less string // what to do instead of bringing back the whole file
}

func (e *ChangedError) Error() string { return e.File + " was changed since" }
