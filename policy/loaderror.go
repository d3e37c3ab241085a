package policy

import "fmt"

// A LoadError says why a file was refused. As JSON it is one reason, without the others.
type LoadError struct {
	File       string       `json:"-"`
	Line       int          `json:"line,omitempty"` // counted from 1, as Column; 0 when the file as a whole is meant
	Column     int          `json:"column,omitempty"`
	Message    string       `json:"message"`
	Suggestion string       `json:"suggestion,omitempty"` // what to write instead, "" if there is nothing to say
	More       []*LoadError `json:"-"`                    // what else is wrong, in the order of the file
}

// Where is the message behind its place, without the suggestion.
func (e *LoadError) Where() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

func (e *LoadError) Error() string {
	if e.Suggestion == "" {
		return e.Where()
	}
	return e.Where() + " (" + e.Suggestion + ")"
}
