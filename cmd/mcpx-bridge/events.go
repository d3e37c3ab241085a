package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
)

// events puts what happens before the owner: as JSON lines on stdout, or in
// words in the log. The first event is ready; what happens before it is held
// until it has come, or until close.
type events struct {
	out *spool // nil without --json
	log *slog.Logger

	mu     sync.Mutex
	ready  bool
	held   []byte // lines
	missed int    // lines that were too many to be held
	line   []byte // room for one
	guests guests
}

// heldMost is how many bytes are held for ready, which may be long in coming: a
// gateway can be away for hours, and a server talks.
const heldMost = 1 << 20

// emit is the Emit of a Sidecar: it neither waits nor calls back.
func (e *events) emit(r *record.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case r.Event == record.Peer && !e.listsLocked(r.ID, r.State):
		e.detail(inWords(r))
		return
	case r.Event == record.Connected && !e.ready:
		return // ready says so
	case r.Event == record.Connected:
		again := *r
		again.Event = record.Reconnected
		r = &again
	}
	e.sayOrHold(r)
}

func (e *events) sayOrHold(r *record.Record) {
	if e.out != nil && !e.ready {
		e.hold(append(text.EscapeJSON(r.JSON()), '\n'))
		return
	}
	e.say(r)
}

func (e *events) hold(line []byte) {
	if len(e.held)+len(line) > heldMost {
		e.missed++
		return
	}
	e.held = append(e.held, line...)
}

func (e *events) say(r *record.Record) {
	if e.out != nil {
		e.line = append(r.Append(e.line[:0]), '\n')
		e.out.Write(text.EscapeJSON(e.line))
		return
	}
	ctx, level := context.Background(), levelOf(r)
	if e.log.Enabled(ctx, level) {
		e.log.LogAttrs(ctx, level, inWords(r), details(r)...)
	}
}

// begin emits ready, in words with a line for each text, and what was held for it. It
// reports whether this is the first time; later ones do nothing.
func (e *events) begin(ready any, text ...string) (first bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ready {
		return false
	}
	e.ready = true
	if e.out == nil {
		for _, line := range text {
			e.log.Info(line)
		}
	} else {
		e.out.Write(jsonLine(ready))
	}
	e.release()
	return true
}

func (e *events) release() {
	if len(e.held) > 0 {
		e.out.Write(e.held)
	}
	if e.missed > 0 {
		e.out.Write(eventsLost(e.missed))
	}
	e.held, e.missed = nil, 0
}

// close emits what is still held, for a start that failed has its history too,
// and then that all is over.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sumUpLocked()
	e.release()
	e.say(&record.Record{Event: record.Stopped})
	if e.out != nil {
		e.out.close()
	}
}

// newEvents chooses where events go: to stdout, unless that is a client's.
func (p *program) newEvents(to io.Writer) *events {
	e := &events{log: p.log}
	if p.s.JSON {
		e.out = newSpool(to, eventsLost)
	}
	return e
}

// jsonLine is a value on one line, fit for a terminal.
func jsonLine(v any) []byte {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err) // only our own structs of strings and numbers come here
	}
	return append(text.EscapeJSON(line), '\n')
}

func eventsLost(n int) []byte {
	return fmt.Appendf(nil, "{\"event\":\"events_lost\",\"count\":%d}\n", n)
}
func logLinesLost(n int) []byte {
	return fmt.Appendf(nil, "mcpx-bridge: warning: %d log lines were lost: nobody read them\n", n)
}

// levelOf says which records people want to hear of. What package stdio has
// logged already is a detail.
func levelOf(r *record.Record) slog.Level {
	switch r.Event {
	case record.Dropped, record.Warning, record.ReloadWaiting:
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
	case record.Decided:
		if r.Question == "" {
			return slog.LevelDebug // a rule did; people want to read of people
		}
		return slog.LevelInfo
	case record.Left:
		return slog.LevelDebug
	case record.Proposed:
		if r.State == "watched" {
			return slog.LevelDebug // it is somebody else's
		}
		return slog.LevelInfo
	case record.Call, record.ServerUp, record.ServerExit, record.ServerNoise, record.ServerLog, record.Stopped:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func andMore(n int) string {
	if n < 1 {
		return ""
	}
	return fmt.Sprintf(", and %d more", n)
}

// left reports whether a link is down because we left.
func left(r *record.Record) bool { return r.Detail == topic.ErrLeft.Error() }

// inWords says a record to people.
func inWords(r *record.Record) string {
	what := cmp.Or(r.Tool, r.Method)
	switch r.Event {
	case record.Peer:
		if r.Count > 0 {
			return sumInWords(r)
		}
		return r.ID + " " + peerStates[r.State]
	case record.Call:
		return r.From + " calls " + what
	case record.Ended:
		if r.Executed == string(refusal.No) {
			return "refused " + r.From + ": " + cmp.Or(what, "a request") + " (" + r.Reason + ")"
		}
		return "answered " + r.From + ": " + what + " " + r.Outcome
	case record.Asked:
		return "asking " + strings.Join(r.Of, ", ") + ": may " + r.From + " " + wanted(r) + "?"
	case record.Answer:
		return strings.Join(r.By, ", ") + " answered: " + cmp.Or(r.Reason, "yes")
	case record.Decided:
		return "decided: " + r.Verdict + " " + what + " for " + r.From + deciders(r)
	case record.ReloadWaiting:
		return fmt.Sprintf("the policy file lets more through, or tells people less or other words, than the policy in force, which holds until somebody at this machine agrees (mcpx-bridge approvals, or a restart): %s", r.Detail) + andMore(r.Count-1)
	case record.ReloadDecided:
		return fileInWords(r)
	case record.Revoked:
		return "from now on somebody is asked again: may " + r.From + " " + wanted(r) + "?"
	case record.Withdrawn:
		return r.From + " withdrew " + what
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
		return strings.ReplaceAll(r.Reason, "_", " ")
	}
	return strings.ReplaceAll(string(r.Event), "_", " ")
}

// fileInWords says what became of a policy file that waited.
func fileInWords(r *record.Record) string {
	switch r.Reason {
	case "audit_unavailable":
		return "the yes to the policy file could not be put on record (" + r.Detail + ") and does not count; somebody is asked again in a minute"
	case "too_large":
		return fmt.Sprintf("the policy file is looser in %d ways, more than anybody is asked about, and does not count: make the change in smaller steps, or restart the bridge with it", r.Count)
	}
	return "the policy file that lets more through: " + r.Verdict + deciders(r)
}

// wanted says what a caller wants to do.
func wanted(r *record.Record) string {
	if r.Tool == "" {
		return approval.Wanting(r.Method)
	}
	return "call " + r.Tool
}

// deciders says by whom a call was decided, now or some time ago.
func deciders(r *record.Record) string {
	by := strings.Join(r.By, ", ")
	switch {
	case by == "":
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
	by, its := strings.Join(r.By, ", "), r.From+"'s proposal of "+what
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
		return by + " did nothing about " + its + ", which is ours again"
	case record.Fulfilled:
		return by + " fulfilled " + its
	case record.Unfulfilled:
		return by + " could not fulfil " + its
	}
	return its + " has expired"
}

// details are what the words do not say.
func details(r *record.Record) []slog.Attr {
	all := detail(nil, "call", r.Call)
	all = detail(all, "rule", r.Rule)
	all = detail(all, "grant", r.Grant)
	if r.Event != record.Disconnected || !left(r) {
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
