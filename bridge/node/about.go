package node

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// An about is what the first record of a run says of it (FINDINGS C8): what a reader
// of the log cannot find out afterwards. No secret is in it: of the command there is
// the program, and a digest that is made with the machine's secret.
type about struct {
	Version string      `json:"version"`
	Server  serverAbout `json:"server"`
	Gateway string      `json:"gateway"`
	Topic   string      `json:"topic"`
	Policy  string      `json:"policy"` // hash of the rules at the start
}

// A serverAbout is which server was started.
type serverAbout struct {
	Name    string `json:"name"`              // as the topic is told
	Program string `json:"program,omitempty"` // the file, from the root on
	Command string `json:"command,omitempty"` // keyed digest of the arguments and --env
}

func (p *plan) about() []byte {
	c := &p.engine
	a := about{Version: p.o.Version, Gateway: cmp.Or(c.Gateway, "this machine"), Topic: c.Topic, Policy: c.Policy.Hash(),
		Server: serverAbout{Name: c.Program, Program: p.program.path, Command: c.Command}}
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings alone cannot fail
	}
	return text
}

// A programRecord is the audit's word of which program was started (FINDINGS C8).
type programRecord struct {
	Event   string `json:"event"`
	Program string `json:"program"`
	SHA256  string `json:"sha256,omitempty"` // as the file was before the start
	Reason  string `json:"reason,omitempty"` // why there is none
}

// record puts the hash of the program on record. It returns when that is on the disk, or
// cannot be, which whoever is told of changes of the log hears.
func (f programFile) record(ctx context.Context, log *audit.Log) {
	rec := programRecord{Event: "program", Program: f.path}
	sum, err := f.hash(ctx)
	if rec.SHA256 = sum; err != nil {
		rec.Reason = err.Error()
	}
	if rec.SHA256 == "" && rec.Reason == "" {
		return
	}
	line, err := json.Marshal(rec)
	if err != nil || log.Append(text.EscapeJSON(line)) != nil {
		return
	}
	done := make(chan error, 1)
	log.Sync(func(err error) { done <- err })
	select {
	case <-done:
	case <-ctx.Done(): // what closes the log syncs it
	}
}
