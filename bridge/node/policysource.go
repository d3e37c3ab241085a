package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// lookEvery is how often a policy file is looked at for changes.
const lookEvery = time.Second

// A policySource is where the policy in force comes from: a file, which may
// change, and rules, which do not.
type policySource struct {
	file  string         // "" if there is none
	rules *policy.Policy // laid over the file, or in force alone
	stamp fileStamp      // of the file when it was last read
	again bool           // it is to be read at the next look, whether it has changed or not

	self string // our participant id, who is never asked
	host bool   // whether the client's own calls are judged, so that its person can be asked
}

// A fileStamp tells whether a file may have changed.
type fileStamp struct {
	size int64
	at   time.Time
	id   any
}

func stampOf(file string) fileStamp {
	info, err := os.Stat(file)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{info.Size(), info.ModTime(), fileID(info)}
}

// read is the policy as it stands now.
func (r *policySource) read() (*policy.Policy, error) {
	if r.file == "" {
		return r.rules, nil
	}
	r.stamp = stampOf(r.file)
	text, err := private.Read(r.file, policy.MaxFile+1, private.Care{Check: private.Authored, Above: true})
	if err != nil {
		return nil, err
	}
	p, err := policy.Load(r.file, text)
	if err != nil {
		return nil, err
	}
	now := p.With(r.rules)
	if wrong := now.Unanswerable(r.self, r.host); wrong != nil {
		wrong.File = r.file
		return nil, wrong
	}
	return now, nil
}

// ReadRules is what would be in force for the bridge self: the file, "" for none, with the
// rules over it. host says that an MCP client's own calls are judged too. Its errors are
// misuse.
func ReadRules(file string, rules *policy.Policy, self string, host bool) (*policy.Policy, error) {
	now, err := (&policySource{file: file, rules: rules, self: self, host: host}).read()
	return now, PolicyFault(err)
}

// PolicyFault says why a policy file is not taken, and what to do about it: the first
// problem with its place. nil is nil.
func PolicyFault(err error) error {
	hint, more := "", ""
	refused, isLoad := errors.AsType[*policy.LoadError](err)
	switch {
	case err == nil:
		return nil
	case isLoad:
		hint = refused.Suggestion
		if n := len(refused.More); n > 0 {
			more = fmt.Sprintf("%d more: mcpx-bridge policy check %s", n, refused.File)
		}
		bare := *refused
		bare.Suggestion = ""
		err = errors.New(bare.Error())
	case errors.Is(err, os.ErrNotExist):
		hint = "mcpx-bridge policy init -- CMD drafts one"
	case errors.Is(err, private.ErrForeign):
		hint = "give it to the user that runs the bridge (chown), or copy it to a folder of that user: anybody who can change it decides what runs"
	}
	return fault.Misuse(hint, "policy: %w", err).Also(more)
}

// watch reads the file again when it was saved, and when it is told to, until
// ctx ends. A file that cannot be read changes nothing: the last good policy
// stays in force (DESIGN 6). It is read at each look then, for what mends it may
// show elsewhere: in its mode, or that of its folder. That it cannot is said once.
func (r *policySource) watch(ctx context.Context, told <-chan struct{}, changed func(*policy.Policy), failed func(error)) {
	if r.file == "" {
		return
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for said := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-told:
			said = ""
		case <-look.C:
			if !r.again && stampOf(r.file) == r.stamp {
				continue
			}
		}
		p, err := r.read()
		switch r.again = err != nil; {
		case err == nil:
			said = ""
			changed(p)
		case err.Error() != said:
			said = err.Error()
			failed(err)
		}
	}
}
