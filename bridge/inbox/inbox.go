// Package inbox is what one person is asked, and how they answer: the one interface
// that every surface (terminal, socket, page, notification) consumes, whether the
// questions are those of a bridge on this machine or those put to a participant of a
// topic. A surface needs nothing else of a bridge.
//
// The shapes are approval's own: a question is an [approval.Summary] in a list and an
// [approval.View] as a whole, what is remembered of an answer is a [Grant]. An answer is
// a [Decision], and what came of it an [Outcome], or a [Refusal] where it does not
// count. Their JSON is what commands print and what the socket says.
//
// An Inbox is the full view, for the person at this machine. [Public] is what may leave
// it, and [LookOnly] lets nobody decide.
//
// This package does no I/O and waits for nobody. Only Decide and Revoke change
// anything, and a decision must carry the digest of what was shown (RELIABILITY AI-23).
package inbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// An Inbox is what one person is asked. Its methods may be called from many goroutines
// at a time.
type Inbox interface {
	Status(ctx context.Context) (Status, error)

	// List lists the questions that wait for an answer, oldest first; with their
	// arguments only if args says so.
	List(ctx context.Context, args bool) ([]approval.Summary, error)

	// Show shows the whole of one, by any prefix that no other id has. The error is a
	// [*Refusal] if there is none.
	Show(ctx context.Context, id string) (approval.View, error)

	// Decide takes the answer of the person whose inbox this is. The error says why it
	// does not count; it is a [*Refusal] where the question is why.
	Decide(ctx context.Context, d Decision) (Outcome, error)

	// Watch yields what happens to questions. The first Event is empty and says that
	// watching has begun: what came before is in List, and nothing after is missed. It
	// ends with ctx and when there is no more to hear, as for who reads too slowly,
	// with an error where one is known.
	Watch(ctx context.Context) iter.Seq2[Event, error]

	// Grants lists what is remembered of answers, oldest first.
	Grants(ctx context.Context) ([]Grant, error)

	// Revoke takes back a Grant by its whole id, and reports whether there was one. After
	// an error it may be in force still, or again after a restart.
	Revoke(ctx context.Context, id string) (bool, error)
}

// Status is how a bridge is, or a participant.
type Status struct {
	ID         string   `json:"id"`
	Topic      string   `json:"topic"`
	Gateway    string   `json:"gateway"`
	Dialect    string   `json:"dialect"`
	Seated     bool     `json:"seated"`           // has its seat at the topic
	Server     string   `json:"server,omitempty"` // the command, in words
	ServerUp   bool     `json:"server_up"`
	Pending    int      `json:"pending"`
	Policy     string   `json:"policy,omitempty"` // the file; "" if there is none
	PolicyHash string   `json:"policy_hash,omitempty"`
	Flags      []string `json:"flags,omitempty"`        // the rules that flags gave, which hold beside those of the file
	PolicyErr  string   `json:"policy_error,omitempty"` // why the file as it is now is not in force
	Audit      string   `json:"audit,omitempty"`        // its file, "off", or why it cannot be written
	AuditOK    bool     `json:"audit_ok"`
	PID        int      `json:"pid,omitempty"`
	Version    string   `json:"version"`

	// Participant: it is one, and no bridge, and has no server, no record and nothing to halt.
	Participant bool `json:"participant,omitempty"`

	Elsewhere string `json:"elsewhere,omitempty"` // why nobody answers here, or resumes the bridge; "": they do

	Halted  *Halted  `json:"halted,omitempty"`            // nil: it is not
	Calls   *int     `json:"calls_last_minute,omitempty"` // what was asked of the server, lists too, whatever became of it; nil: not known
	Present *Present `json:"here,omitempty"`              // nil: not known, as without a seat
}

// Halted is how a bridge is halted.
type Halted struct {
	By     string    `json:"by"` // by a name that policies have
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since"`
}

// Words says by whom, since when and why, on one line that is safe to show.
func (h *Halted) Words(now time.Time) string {
	out := "by " + text.Person(h.By)
	if !h.Since.IsZero() {
		out += " at " + text.Moment(h.Since.Local(), now)
	}
	if h.Reason != "" {
		out += ": " + text.Line(h.Reason)
	}
	return out
}

// A Grant is a remembered yes, and where it counts.
type Grant struct {
	Bridge string `json:"bridge"`
	approval.Grant
	Running bool `json:"running"` // the bridge is; what is kept of one that is not counts when it starts
}

// GrantOf is how a yes is shown that a bridge remembers.
func GrantOf(bridge string, g approval.Grant, running bool) Grant {
	g.Tool = cmp.Or(g.Tool, g.Method)
	if g.By == nil {
		g.By = []approval.Who{}
	}
	return Grant{bridge, g, running}
}

// An Event is something that happened to a question, or to who is here to be asked.
type Event struct {
	Event   string `json:"event"`             // asked, changed or closed
	ID      string `json:"id"`                // "": any question may be changed
	Because string `json:"because,omitempty"` // a sentence that may be shown
	By      string `json:"by,omitempty"`      // who decided
}

// Said stands, in the Because of an Event, before what a person said of it in words of
// their own.
const Said = ", who said: "

// Answered is the Because of an Event that closes a question whose answer was sent to whoever
// asked. A second one that closes it says what came of that, where the asker does.
const Answered = "answered"

// The Because of an Event that is about no question, and says that the bridge was halted,
// that it goes on, or that another policy is in force, by which questions may have less time.
const (
	WasHalted  = "halted"
	GoesOn     = "resumed"
	OtherRules = "reloaded"
)

// A Decision answers a question.
type Decision struct {
	ID     string          `json:"id"`     // of the question, whole
	Digest string          `json:"digest"` // what was shown with it, whole or short
	Result json.RawMessage `json:"result"` // that of an elicitation, see [approval.Reply.Result]
}

// Decide is the Decision to answer what v shows with r.
func Decide(v *approval.View, r *approval.Reply) Decision {
	return Decision{v.ID, v.Digest, r.Result(v.Choice)}
}

// An Outcome is what came of a Decision that counts.
type Outcome struct {
	Outcome string `json:"outcome"`          // allowed, denied, …; or one of the following
	By      string `json:"by,omitempty"`     // who decided
	Reason  string `json:"reason,omitempty"` // why an answer that allows was taken for a no
}

// Outcomes that are not the end of a question.
const (
	Pending = "pending" // others must agree too, or somebody else was asked
	Sent    = "sent"    // to whoever asked; what came of it is told later, see [Answered]
)

// A Refusal is why a Decision does not count.
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

	DigestMismatch = approval.DigestMismatch
	WrongSender    = approval.WrongSender

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
	case r.Reason == approval.Halted:
		return "the answer does not count: the bridge is halted, and takes a no only until it is resumed"
	case r.Reason == approval.Unconfirmed:
		return "the answer does not count: " + approval.TakesPasskey
	case r.Reason == approval.BadPasskey:
		return "the passkey does not count: " + text.Line(cmp.Or(r.Detail, "it is not known here"))
	case r.Reason == approval.OtherSigned:
		return "the passkey signed another question, or one that has changed since: look at it again"
	case r.Reason == approval.InvalidDelegation:
		return "it was not passed on: " + text.Line(cmp.Or(r.Detail, "not to them")) + "; it is yours to decide as before"
	}
	return fmt.Sprintf("the answer does not count (%s)", text.Line(r.Reason))
}

// Names are people as they are listed, with commas.
func Names(who []approval.Who) string {
	var all []string
	for _, w := range who {
		all = append(all, w.String())
	}
	return strings.Join(all, ", ")
}
