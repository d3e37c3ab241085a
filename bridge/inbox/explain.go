package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// An Explainer is an Inbox of a bridge that says what its rules make of a call. Nobody but those
// at this machine hears that: what leaves it is no Explainer.
type Explainer interface {
	Inbox

	// Explain judges a call by the rules in force, those of flags too, and by what the server
	// says of the tool now; limits count as unused. It returns lines for people, in which
	// arguments are redacted.
	Explain(ctx context.Context, c Call) (string, error)
}

// A Call is one to be judged, as a record has it.
type Call struct {
	From   string          `json:"from"`
	Via    string          `json:"via"` // request or proposal
	Method string          `json:"method"`
	Tool   string          `json:"tool,omitempty"` // or the prompt that it gets
	Args   json.RawMessage `json:"args,omitempty"`
	Beside json.RawMessage `json:"beside,omitempty"`
	Why    string          `json:"why,omitempty"`
	At     time.Time       `json:"at"` // when it came
}

// ErrNoRules is the error of whoever is asked to explain and has no rules.
var ErrNoRules = errors.New("this inbox belongs to no bridge that has rules")
