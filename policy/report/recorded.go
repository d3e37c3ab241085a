package report

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
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
func FindCall(name string, logs []string) (*Recorded, error) {
	for _, path := range logs {
		found := &Recorded{}
		for r, err := range audit.Records(path, time.Time{}) {
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
// arguments were too long for the record.
func (r *Recorded) Call() (policy.Call, error) {
	calls := r.Calls()
	if len(calls) == 0 {
		return policy.Call{}, errors.New("its arguments are too long to be on record, so it cannot be judged again")
	}
	return calls[0], nil
}
