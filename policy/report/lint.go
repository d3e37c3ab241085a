package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A Lint is what there is to say of one file.
type Lint struct {
	File         string              `json:"file"`
	OK           bool                `json:"ok"`
	Default      string              `json:"default,omitempty"`
	Rules        int                 `json:"rules"`
	Tests        int                 `json:"tests"`
	Failing      int                 `json:"failing"`
	Tools        *int                `json:"tools,omitempty"`     // of the server, if one was asked
	Resources    string              `json:"resources,omitempty"` // who can read them, in words
	Prompts      string              `json:"prompts,omitempty"`   // who can get them
	Participants []string            `json:"participants,omitempty"`
	Delegates    []string            `json:"delegates,omitempty"` // those of them who are asked only by whom a question is passed on
	Warnings     []string            `json:"warnings,omitempty"`
	Errors       []*policy.LoadError `json:"errors,omitempty"`

	asked []string // those of Participants who are no Delegates
}

// LintOf says what is wrong or doubtful about a file: what [policy.Load] made of it, and the
// tools that its rules are held against; without any, that is left out. An error that is none
// of the file's own is returned.
func LintOf(file string, now *policy.Policy, err error, tools []policy.Tool) (Lint, error) {
	l := Lint{File: file}
	if l.Errors = Problems(err); l.Errors != nil || err != nil {
		if l.Errors != nil {
			err = nil
		}
		return l, err
	}
	l.OK, l.Default, l.Rules = true, now.Default.String(), now.Rules()
	for _, r := range now.Test() {
		l.Tests++
		if !r.Passed {
			l.Failing++
		}
	}
	l.Resources, l.Prompts = now.Reach("resources/read"), now.Reach("prompts/get")
	l.Participants, l.asked, l.Delegates = now.Participants(), now.Asked(), now.Delegates()
	l.Warnings = now.Warnings(tools)
	if l.Failing > 0 {
		l.Warnings = append(l.Warnings, fmt.Sprintf("%d of the file's own tests fail: mcpx-bridge policy test %s", l.Failing, file))
	}
	return l, nil
}

// Words are what there is to say of a good file, for people.
func (l Lint) Words() []byte {
	out := fmt.Appendf(nil, "%s: good, %s, default %s, %s\n", l.File, text.Counted(l.Rules, "rule"), l.Default, text.Counted(l.Tests, "test"))
	out = fmt.Appendf(out, "resources: %s\nprompts: %s\n", text.Line(l.Resources), text.Line(l.Prompts))
	if len(l.asked) > 0 {
		out = fmt.Appendf(out, "asks these participants: %s\n", strings.Join(l.asked, ", "))
	}
	if len(l.Delegates) > 0 {
		out = fmt.Appendf(out, "questions may be passed on to: %s\n", strings.Join(l.Delegates, ", "))
	}
	for _, w := range l.Warnings {
		out = fmt.Appendf(out, "warning: %s\n", text.Line(w))
	}
	return out
}

// Problems takes a refusal apart into its reasons; nil if err is something else.
func Problems(err error) []*policy.LoadError {
	first, ok := errors.AsType[*policy.LoadError](err)
	if !ok {
		return nil
	}
	return append([]*policy.LoadError{first}, first.More...)
}

// ReadHints are what a server says of a tool in the annotations of its definition, which is
// read as package catalog reads it.
func ReadHints(definition []byte) policy.Hints {
	var d struct {
		Annotations jsontext.Value `json:"annotations"`
	}
	json.Unmarshal(jsonrpc.Mend(definition), &d, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // what cannot be read says nothing
	return policy.HintsOf(d.Annotations)
}
