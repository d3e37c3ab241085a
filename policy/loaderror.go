package policy

import "fmt"

// A LoadError says why a file was refused.
type LoadError struct {
	File         string
	Line, Column int // counted from 1; 0 when the file as a whole is meant
	Message      string
	Suggestion   string       // what to write instead, "" if there is nothing to say
	More         []*LoadError // what else is wrong, in the order of the file
}

func (e *LoadError) Error() string {
	place := e.File
	if e.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
	}
	if e.Suggestion == "" {
		return place + ": " + e.Message
	}
	return place + ": " + e.Message + " (" + e.Suggestion + ")"
}
