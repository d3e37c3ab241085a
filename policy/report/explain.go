package report

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// Words are a decision of a policy for people, with the arguments as they may be shown; none at
// all say nothing.
func Words(now *policy.Policy, d policy.Decision, args []byte) string {
	if bytes.Equal(args, []byte("{}")) {
		args = nil
	}
	words := policy.Explain(d, string(rawjson.OneLine(args)))
	if told := notified(now, d); len(told) > 0 {
		words += "notified: " + strings.Join(told, ", ") + "\n"
	}
	return words
}

// Judged are what a policy decides about a call, in words: arguments are redacted, limits count as unused.
func Judged(now *policy.Policy, c policy.Call) string {
	d := now.Decide(c, nil)
	d.Limits = now.ForRecord(d.Limits, c.Args)
	return Words(now, d, now.Redact(c.Args))
}

// notified are the channels by which people hear of the question, in words.
func notified(now *policy.Policy, d policy.Decision) []string {
	if d.Ask == nil {
		return nil
	}
	return now.Notified(d.Ask.Of)
}

// An Explanation is a decision as JSON.
type Explanation struct {
	Verdict string          `json:"verdict"`
	Rule    string          `json:"rule,omitempty"`
	Line    int             `json:"line,omitempty"`
	Say     string          `json:"say,omitempty"`
	From    string          `json:"from"`
	Via     string          `json:"via"`
	Method  string          `json:"method"`
	Tool    string          `json:"tool,omitempty"`
	Args    json.RawMessage `json:"args"`
	Ask     *Asking         `json:"ask,omitempty"`
	Limits  []Taking        `json:"limits,omitempty"`
	Rules   []policy.Reason `json:"rules"`

	Notified []string `json:"notified,omitempty"` // channels that hear of the question, and when, in words

	Recorded []json.RawMessage `json:"recorded,omitempty"` // the records of the call, where it was taken from there
}

// An Asking is who is asked, and how.
type Asking struct {
	Of       []string `json:"of"`
	Need     int      `json:"need"`
	WithinMS int64    `json:"within_ms"`
	Mode     string   `json:"mode"`
	Priority string   `json:"priority"`
	Remember []string `json:"remember,omitempty"`
	Confirm  string   `json:"confirm,omitempty"`
	Edit     []string `json:"edit,omitempty"`
	Delegate []string `json:"delegate,omitempty"`
	Rules    []string `json:"rules,omitempty"`
}

// A Taking is what the call would take of a limit.
type Taking struct {
	policy.Reservation
	WindowMS int64 `json:"window_ms"`
}

// Explain is a decision of a policy as JSON, with the arguments as they may be shown, and what is on record
// of the call.
func Explain(now *policy.Policy, d policy.Decision, args []byte, recorded []audit.Record) Explanation {
	e := Explanation{Verdict: d.Verdict.String(), Rule: d.Rule, Line: d.Line, Say: d.Say,
		From: d.From, Via: d.Via, Method: d.Method, Tool: d.Tool, Args: args, Rules: append([]policy.Reason{}, d.Reasons...), Notified: notified(now, d)}
	for _, r := range recorded {
		e.Recorded = append(e.Recorded, json.RawMessage(r.Text))
	}
	for _, l := range d.Limits {
		e.Limits = append(e.Limits, Taking{l, l.Window.Milliseconds()})
	}
	if a := d.Ask; a != nil {
		e.Ask = &Asking{Of: a.Of, Need: a.Need, WithinMS: a.Within.Milliseconds(), Mode: a.Mode, Priority: a.Priority, Remember: a.Remember, Confirm: a.Confirm, Rules: a.Rules}
		for _, edit := range a.Edit {
			e.Ask.Edit = append(e.Ask.Edit, edit.Arg)
		}
		if a.Delegate != nil {
			e.Ask.Delegate = a.Delegate.To
		}
	}
	return e
}
