package control

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A Bridge is what a Door opens to. Its methods are called from many
// goroutines at a time.
type Bridge interface {
	Status() Status

	// Questions lists those that a person at this machine may see, oldest
	// first.
	Questions() []approval.Summary

	// Question shows the whole of one, by any prefix that no other id has.
	Question(prefix string) (approval.View, bool)

	// Decide takes the answer of the person at this machine. The error says
	// why it does not count; it is a [*Refusal] where the question is why.
	Decide(a approval.Answer) (Outcome, error)

	// Watch tells from now on what happens to questions, until cancel is
	// called. The channel is closed when the watcher was too slow; what it
	// missed is in Questions.
	Watch() (events <-chan Event, cancel func())

	Grants() []approval.Grant

	// Revoke reports whether there was one of that id. After an error it may be
	// in force still, or again after a restart.
	Revoke(id string) (bool, error)
}

// Status is how a bridge is.
type Status struct {
	ID         string `json:"id"`
	Topic      string `json:"topic"`
	Gateway    string `json:"gateway"`
	Dialect    string `json:"dialect"`
	Seated     bool   `json:"seated"`           // has its seat at the topic
	Server     string `json:"server,omitempty"` // the command, in words
	ServerUp   bool   `json:"server_up"`
	Pending    int    `json:"pending"`
	Policy     string `json:"policy,omitempty"` // the file; "" if there is none
	PolicyHash string `json:"policy_hash,omitempty"`
	PolicyErr  string `json:"policy_error,omitempty"` // why the file as it is now is not in force
	Audit      string `json:"audit"`                  // its file, "off", or why it cannot be written
	AuditOK    bool   `json:"audit_ok"`
	PID        int    `json:"pid"`
	Version    string `json:"version"`
}

// A Question is one that waits for an answer, as it stands in a list.
type Question struct {
	ID       string          `json:"id"`
	Digest   string          `json:"digest"` // the short form
	Bridge   string          `json:"bridge"`
	From     string          `json:"from"`
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args,omitempty"`   // whole; not in a brief list
	Beside   json.RawMessage `json:"beside,omitempty"` // members of params beside them; likewise
	Rule     string          `json:"rule"`
	Asked    time.Time       `json:"asked"`
	Deadline time.Time       `json:"deadline"`
	Need     int             `json:"need"`
	Have     int             `json:"have"`
	Asking   []string        `json:"asking,omitempty"` // who has it open
}

func questionOf(s approval.Summary, brief bool) Question {
	q := Question{ID: s.ID, Digest: s.Digest, Bridge: s.Bridge, From: s.From, Tool: s.Tool, Args: s.Args, Beside: s.Beside, Rule: s.Rule,
		Asked: s.Asked, Deadline: s.Deadline, Need: s.Need, Have: s.Have, Asking: s.Asking}
	if brief {
		q.Args, q.Beside = nil, nil
	}
	return q
}

// A Grant is a remembered yes.
type Grant struct {
	ID          string          `json:"id"`
	Keep        string          `json:"keep"` // session or always
	Caller      string          `json:"from"`
	Via         string          `json:"via,omitempty"`
	Tool        string          `json:"tool"`
	Args        json.RawMessage `json:"args,omitempty"`
	By          []string        `json:"by"`
	Made        time.Time       `json:"made"`
	Until       time.Time       `json:"until"`
	Rules       []string        `json:"rules,omitempty"`
	Fingerprint string          `json:"fingerprint,omitempty"` // of the tool's definition
}

// GrantOf is how a yes that is remembered is shown.
func GrantOf(g approval.Grant) Grant {
	out := Grant{ID: g.ID, Keep: g.Keep, Caller: g.Caller, Via: g.Via, Tool: g.Tool, Args: g.Args, Made: g.Made, Until: g.Until,
		Rules: g.Rules, Fingerprint: g.Fingerprint, By: []string{}}
	if out.Tool == "" {
		out.Tool = g.Method
	}
	for _, w := range g.By {
		out.By = append(out.By, w.String())
	}
	return out
}

// An Event is something that happened to a question.
type Event struct {
	Event   string `json:"event"` // asked, changed or closed
	ID      string `json:"id"`
	Because string `json:"because,omitempty"` // a sentence that may be shown
	By      string `json:"by,omitempty"`      // who decided
}

// An Outcome is what came of an answer that counts.
type Outcome struct {
	Outcome string `json:"outcome"`          // allowed, denied, …; "pending" while others must agree too
	By      string `json:"by,omitempty"`     // who decided
	Reason  string `json:"reason,omitempty"` // why an answer that allows was taken for a no
}

// Pending is the Outcome while others must agree too.
const Pending = "pending"

// A Refusal is why an answer does not count.
type Refusal struct {
	Reason string `json:"reason"`
	By     string `json:"by,omitempty"`     // who was first
	Detail string `json:"detail,omitempty"` // more on it, in words
}

// Reasons of a Refusal. A bridge may have others; they are words with
// underscores.
const (
	Unknown        = "unknown"         // there is no such question, or not any more
	AlreadyDecided = "already_decided" // somebody else was first
	DigestMismatch = "digest_mismatch" // it is not what was shown
	WrongSender    = "wrong_sender"    // not for the person at this machine to decide

	AnswersElsewhere = "answers_elsewhere" // this bridge takes answers at its own terminal only
)

func (r *Refusal) Error() string {
	switch {
	case r.Reason == Unknown:
		return "there is no such question any more"
	case r.Reason == AlreadyDecided && r.By != "":
		return "it was decided already, by " + text.Line(r.By)
	case r.Reason == AlreadyDecided:
		return "it was decided already"
	case r.Reason == DigestMismatch:
		return "the question is not the one that was shown: look at it again"
	case r.Reason == WrongSender:
		return "this is not for you to decide"
	case r.Reason == AnswersElsewhere:
		return "the answer does not count: this bridge takes answers at the terminal it was started from, and nowhere else (--answers terminal)"
	case r.Reason == approval.InvalidDelegation:
		return "it cannot be passed on: " + text.Line(cmp.Or(r.Detail, "not to them")) + "; you are asked again, and a second time is a no"
	}
	return fmt.Sprintf("the answer does not count (%s)", text.Line(r.Reason))
}
