package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A Recorded is a call as an audit log has it.
type Recorded struct {
	Past                   // of this call alone
	Records []audit.Record // all that are about it, in the order in which they were written
}

// ErrNotRecorded means that no log knows of a call.
var ErrNotRecorded = errors.New("there is no such call on record")

// FindCall finds a call in audit logs, by the name that its bridge gave it or by the id of
// its envelope; of several calls whose envelopes have that id, the first. Its errors are
// those of [audit.Records], and [ErrNotRecorded].
func FindCall(ctx context.Context, name string, logs []string) (*Recorded, error) {
	for _, path := range logs {
		found := &Recorded{}
		for r, err := range audit.Records(ctx, path, time.Time{}) {
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if !r.Broken && (r.Call == name || r.Call != "" && r.Env == name) {
				name = r.Call
				r.Text = bytes.Clone(r.Text)
				found.Records = append(found.Records, r)
				found.Take(r)
			}
		}
		if found.Records != nil {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrNotRecorded, name)
}

// Call is the call as it was put before the policy of then. There is none where its
// arguments are not on record: the error's hint is the command that judges it by the policy
// in file when they are given.
func (r *Recorded) Call(file string) (policy.Call, error) {
	if calls := r.Calls(); len(calls) > 0 {
		return calls[0], nil
	}
	left := r.withoutArguments()
	return policy.Call{}, fault.New(fault.Failed, "give them: "+again(left, file),
		"--call: its arguments (%s) are not on record, so it cannot be judged again: long ones are left out, and those of calls that nobody could be asked about",
		text.Counted(left.ArgsBytes, "byte"))
}

// withoutArguments is the record that would have the arguments.
func (r *Recorded) withoutArguments() audit.Record {
	i := slices.IndexFunc(r.Records, func(each audit.Record) bool { return each.ArgsBytes > 0 })
	return r.Records[max(i, 0)]
}

// again is the command line that judges the call of a record, but for its arguments.
func again(r audit.Record, file string) string {
	words := []string{"mcpx-bridge policy explain --policy", file, "--from", text.Line(r.From), "--at", r.At.UTC().Format(time.RFC3339)}
	if r.Via == "proposal" {
		words = append(words, "--via", r.Via)
	}
	if r.Method == "tools/call" {
		words = append(words, text.Line(r.Tool))
	} else {
		words = append(words, "--method", text.Line(r.Method))
	}
	return strings.Join(append(words, "KEY=VALUE…"), " ")
}
