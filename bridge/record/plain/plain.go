package plain

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
)

// Level says which records people want to hear of. What package stdio has
// logged already is a detail.
func Level(r *record.Record) slog.Level {
	switch r.Event {
	case record.Dropped:
		if r.Detail == record.OwnReturned {
			return slog.LevelDebug
		}
		return slog.LevelWarn
	case record.Warning, record.ReloadWaiting, record.ReloadFailed, record.EventsLost, record.Halted, record.Resumed:
		return slog.LevelWarn
	case record.ReloadDecided:
		if r.Reason == "too_large" {
			return slog.LevelWarn
		}
	case record.Disconnected:
		if !left(r) {
			return slog.LevelWarn
		}
		return slog.LevelDebug
	case record.Asked:
		if r.Unasked {
			return slog.LevelDebug // what was decided follows
		}
	case record.Decided:
		if r.Question == "" || r.Verdict == "withdrawn" {
			return slog.LevelDebug // a rule did, and people want to read of people; or that it was withdrawn follows
		}
		return slog.LevelInfo
	case record.Ended:
		if strings.HasSuffix(r.Method, "/list") && r.Executed == string(refusal.Yes) {
			return slog.LevelDebug // whoever looks around; nothing was done
		}
	case record.Withdrawn:
		if r.Method == "initialize" || strings.HasPrefix(r.Reason, "proposal_") {
			return slog.LevelDebug // whoever looked in, or the call for a proposal of which the end was told
		}
	case record.Left, record.Checkpoint, record.Modified: // what was changed stands in what was decided
		return slog.LevelDebug
	case record.Proposed:
		if r.State == "watched" {
			return slog.LevelDebug // it is somebody else's
		}
		return slog.LevelInfo
	case record.Started, record.ServerUp, record.ServerExit, record.ServerNoise, record.ServerLog, record.Stopped:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// left reports whether a link is down because we left.
func left(r *record.Record) bool { return r.Detail == topic.ErrLeft.Error() }

// Words are a record for people. Names in it are those that others chose: they are to be made
// safe to show.
func Words(r *record.Record) string {
	what := cmp.Or(r.Tool, r.Method)
	switch r.Event {
	case record.Peer:
		if r.Count > 0 {
			return sumInWords(r)
		}
		return r.ID + " " + peerStates[r.State]
	case record.Started:
		return r.From + " calls " + what
	case record.Ended:
		if r.Executed == string(refusal.No) {
			return "refused " + r.From + ": " + cmp.Or(what, "a request") + " (" + r.Reason + ")"
		}
		return "answered " + r.From + ": " + what + " " + r.Outcome
	case record.Asked:
		out := "asking " + text.Series(r.Of, 0) + ": may " + r.From + " " + wanted(r) + "?" + question(r)
		if r.Why != "" {
			out += "; " + r.From + " says " + text.Quote(r.Why, 200)
		}
		return out
	case record.Answer:
		if r.Reason == approval.InvalidDelegation {
			return text.Series(r.By, 0) + " wanted to pass it on to somebody who cannot be asked, and decides as before" + question(r)
		}
		return text.Series(r.By, 0) + " answered: " + cmp.Or(r.Reason, "yes") + question(r)
	case record.Confirmed, record.Tightened, record.PasskeyEnrolled, record.PasskeyRemoved:
		return passkeyInWords(r, what)
	case record.LateAnswer:
		return "a late answer of " + who(r) + " counts for nothing (" + text.Words(cmp.Or(r.Reason, "not_open")) + ")" + question(r)
	case record.ForeignAnswer:
		return "an answer of " + who(r) + " counts for nothing (" + text.Uncounted(r.Reason) + ")" + question(r)
	case record.Security:
		return securityInWords(r, what)
	case record.Decided:
		return decidedInWords(r, what) + question(r)
	case record.ReloadWaiting:
		out := "the policy file may let more through, or shows people less or other words; the old rules stay, and what it forbids newly waits too, until somebody at this machine agrees (mcpx-bridge approvals) or restarts the bridge: " + r.Detail
		if r.Count > 1 {
			out += fmt.Sprintf(", and %d more", r.Count-1)
		}
		return out
	case record.ReloadDecided:
		return fileInWords(r)
	case record.Reloaded:
		if r.InForce != nil {
			return fmt.Sprintf("rules read again: %d, default %s", r.InForce.Rules(), r.InForce.Default)
		}
	case record.ReloadFailed:
		return "the policy file was not taken, the old rules stay: " + r.Detail
	case record.Halted, record.Resumed:
		return haltInWords(r)
	case record.Revoked:
		return "from now on somebody is asked again: may " + r.From + " " + wanted(r) + "?"
	case record.Withdrawn:
		return r.From + " took " + what + " back"
	case record.Proposed, record.Rejected, record.Left, record.Taken, record.Reopened, record.Fulfilled, record.Unfulfilled, record.Expired:
		return proposalInWords(r, what)
	case record.ServerUp:
		return fmt.Sprintf("the server is up, with %d tools", r.Tools)
	case record.ServerExit:
		return "the server is gone"
	case record.ServerNoise:
		return "the server said something that is no message"
	case record.ServerLog:
		return "the server logs"
	case record.Disconnected:
		if left(r) {
			return "left the topic"
		}
		return "the link to the gateway is down"
	case record.Reconnected:
		return "back in the topic"
	case record.Dropped:
		return "dropped a frame (" + r.Reason + ")"
	case record.Warning:
		return text.Words(r.Reason)
	}
	return text.Words(string(r.Event))
}

// passkeyInWords says what a passkey signed, or is to sign, or whose came and went.
func passkeyInWords(r *record.Record, what string) string {
	switch r.Event {
	case record.Confirmed:
		return "a passkey of " + people(r.By) + " signed a yes to " + what + " for " + r.From + question(r)
	case record.Tightened:
		return "a yes to " + what + " for " + r.From + " takes a passkey from now on" + question(r)
	case record.PasskeyEnrolled:
		return "the passkey " + r.Detail + " was enrolled: it signs for " + people(r.By)
	}
	return "the passkey " + r.Detail + " of " + people(r.By) + " was removed"
}

// decidedInWords says how people decided, or why nobody did.
func decidedInWords(r *record.Record, what string) string {
	about := what + " for " + r.From
	switch {
	case r.Outcome == "expired":
		return "nobody decided in time about " + about
	case r.Outcome == "aborted" && r.Reason == approval.ShuttingDown:
		return "withdrawn: " + about + ", the bridge stopped"
	case r.Outcome == "aborted":
		return "withdrawn: " + about + ", " + text.Words(r.Reason)
	case r.Outcome == "refused":
		return "nobody could decide about " + about + " (" + r.Reason + ")"
	case r.Outcome == "withdrawn":
		return "withdrawn: " + about + ", the caller took it back"
	}
	return "decided: " + r.Verdict + " " + about + deciders(r)
}

// fileInWords says what became of a policy file that waited.
func fileInWords(r *record.Record) string {
	switch r.Reason {
	case "audit_unavailable":
		return "the yes to the policy file could not be put on record (" + r.Detail + ") and does not count; somebody is asked again in a minute"
	case "too_large":
		return fmt.Sprintf("the policy file is looser in %d ways, too many to ask about, and does not count: make the change in smaller steps, or restart the bridge with it", r.Count)
	}
	who := people(r.By)
	switch {
	case r.Verdict == "allow":
		return "the changed policy file counts from now on (by " + who + ")"
	case who != "":
		return "the changed policy file does not count: " + who + " said no"
	case r.Outcome == "expired":
		return "the changed policy file does not count: nobody decided in time"
	}
	return "the changed policy file does not count: " + text.Words(cmp.Or(r.Reason, r.Outcome))
}

// haltInWords says who stopped everything, or lets it go on, and why.
func haltInWords(r *record.Record) string {
	out := "halted"
	switch {
	case r.Event == record.Resumed:
		out = "no longer halted"
	case r.Reason == "restarted":
		out = "halted still, as before the restart"
	}
	if out += ", by " + people(r.By); r.Detail != "" {
		out += ": " + r.Detail
	}
	if r.Event == record.Halted {
		out += "; nothing starts until it is resumed"
	}
	return out
}

// securityInWords says what should not have been, and by whom.
func securityInWords(r *record.Record, what string) string {
	out := "security: " + text.Words(r.Reason)
	if what != "" {
		out += ", " + what
	}
	if len(r.By) > 0 {
		out += ", by " + people(r.By)
	}
	return out
}

// who is whose answer it is.
func who(r *record.Record) string { return cmp.Or(people(r.By), text.Person(r.From), "somebody") }

// people are who decided, for whoever does not know the names that policies have.
func people(names []string) string {
	var by []string
	for _, name := range names {
		by = append(by, text.Person(name))
	}
	return text.Series(by, 0)
}

// wanted says what a caller wants to do.
func wanted(r *record.Record) string {
	if r.Tool == "" {
		return approval.Wanting(r.Method)
	}
	return "call " + r.Tool
}

// question is the name of the question, as everybody who is asked and who waits is shown it.
func question(r *record.Record) string {
	if r.Digest == "" {
		return ""
	}
	return " [" + r.Digest + "]"
}

// deciders says by whom a call was decided, now or some time ago.
func deciders(r *record.Record) string {
	by := text.Series(r.By, 0) + refusal.Changed(len(r.By), r.Modified)
	switch {
	case len(r.By) == 0:
		return ""
	case r.Keep != "":
		return ", by " + by + ", who will not be asked that again (" + r.Keep + ")"
	case r.Grant != "":
		return ", as " + by + " had it remembered"
	}
	return ", by " + by
}

// proposalInWords says what has become of somebody's proposal.
func proposalInWords(r *record.Record, what string) string {
	by, its := text.Series(r.By, 0), r.From+"'s proposal of "+what
	switch r.Event {
	case record.Proposed:
		return r.From + " proposes " + what
	case record.Rejected:
		if r.State == "untold" {
			return "passed over " + its + " (" + r.Reason + ")"
		}
		return "rejected " + its + " (" + r.Reason + ")"
	case record.Left:
		return its + " is left to others"
	case record.Taken:
		return by + " takes up " + its
	case record.Reopened:
		return by + " did nothing about " + its + ", so this bridge may serve it again"
	case record.Fulfilled:
		return by + " fulfilled " + its
	case record.Unfulfilled:
		return by + " could not fulfil " + its
	}
	return its + " has expired"
}

// Details are what the words do not say.
func Details(r *record.Record) []slog.Attr {
	all := detail(nil, "call", r.Call)
	all = detail(all, "rule", r.Rule)
	all = detail(all, "grant", r.Grant)
	switch {
	case r.Event == record.Disconnected && left(r), r.Event == record.Reloaded && r.InForce != nil:
	case r.Event == record.Halted, r.Event == record.Resumed, r.Event == record.ReloadFailed, r.Event == record.ReloadWaiting, r.Event == record.ReloadDecided && r.Reason == "audit_unavailable":
	default:
		all = detail(all, "detail", r.Detail)
	}
	if r.Event == record.Dropped {
		all = detail(all, "from", r.From)
	}
	if r.Event == record.ServerExit && r.Signal == "" {
		all = append(all, slog.Int("exit", r.Exit))
	}
	all = detail(all, "signal", r.Signal)
	all = detail(all, "retry_after", time.Duration(r.RetryMS)*time.Millisecond)
	return detail(all, "stderr", strings.Join(r.Stderr, " | "))
}

// detail adds an attribute, unless it says nothing.
func detail[T comparable](all []slog.Attr, key string, value T) []slog.Attr {
	var nothing T
	if value == nothing {
		return all
	}
	return append(all, slog.Any(key, value))
}

// sumInWords says how many lines about somebody were not written.
func sumInWords(r *record.Record) string {
	who := r.ID
	if who == "" {
		who = "others"
	}
	out := fmt.Sprintf("%d more lines about %s are not listed one by one", r.Count, who)
	if r.State != "" {
		out += ": " + who + " " + peerStates[r.State]
	}
	return out
}

var peerStates = map[string]string{"here": "is here", "joined": "joined", "left": "left"}
