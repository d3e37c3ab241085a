package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

// lookEvery is how often a policy file is looked at for changes.
const lookEvery = time.Second

// A rulebook is where the policy in force comes from: a file, which may
// change, and the flags, which do not.
type rulebook struct {
	file  string         // "" if there is none
	flags *policy.Policy // --allow and --deny
	bare  *policy.Policy // in force without a file
	seen  looks          // of the file when it was last read

	self string // our participant id, who is never asked
	host bool   // whether the client's own calls are judged, so that its person can be asked
}

// Looks tell whether a file may have changed.
type looks struct {
	size int64
	at   time.Time
	id   any
}

func looksOf(file string) looks {
	info, err := os.Stat(file)
	if err != nil {
		return looks{}
	}
	return looks{info.Size(), info.ModTime(), fileID(info)}
}

// newRulebook reads the flags and the file, and refuses what is wrong in them
// before anything is started.
func (p *program) newRulebook(self string) (*rulebook, *policy.Policy, error) {
	flags, err := policy.Flags(p.s.Allow, p.s.Deny)
	if err != nil {
		return nil, nil, misused("--allow 'read_*'", "%w", err)
	}
	r := &rulebook{file: p.s.Policy, flags: flags, self: self, host: p.s.GateHost}
	if r.bare, err = p.barePolicy(flags); err != nil {
		return nil, nil, err
	}
	now, err := r.read()
	if err != nil {
		return nil, nil, policyError(err)
	}
	return r, now, nil
}

// barePolicy is what holds without a file: what --allow and --deny do not name
// is asked.
func (p *program) barePolicy(flags *policy.Policy) (*policy.Policy, error) {
	switch {
	case p.asks() && p.s.Policy != "":
		return nil, misused("who decides is said in the file: asks: {default: {of: [local, alice], within: 10m}}",
			"--approver and --within have no meaning with --policy")
	case p.asks():
		asking, err := p.asking()
		if err != nil {
			return nil, err
		}
		return asking.With(flags), nil
	}
	return flags, nil
}

// asks reports whether the flags say how to ask.
func (p *program) asks() bool { return len(p.s.Approver) > 0 || p.s.Within != 0 }

// approvers are those whom --approver names, beside the person at this machine,
// who is asked anyway.
func (p *program) approvers() []string {
	return slices.DeleteFunc(slices.Clone(p.s.Approver), func(id string) bool { return id == "local" })
}

// checkApprovers refuses those who are never asked: a bridge about its own calls, and
// the person behind a client where there is none.
func (p *program) checkApprovers(self string) error {
	switch {
	case slices.Contains(p.s.Approver, self):
		return misused("name somebody else; you at this machine are asked anyway", "--approver: %s is this bridge itself", self)
	case slices.Contains(p.s.Approver, "host") && !p.s.GateHost:
		return misused("add --stdio and --gate-host; you at this machine are asked anyway", "--approver: host is the person behind the client whose calls are judged")
	}
	return nil
}

// asking is a policy that asks the person at this machine and all approvers
// about every call.
func (p *program) asking() (*policy.Policy, error) {
	within := cmp.Or(p.s.Within, 5*time.Minute)
	if within < time.Second || within > 24*time.Hour {
		return nil, misused("--within 10m", "--within: a question has 1s to 24h")
	}
	of := []string{"local"}
	for _, id := range p.approvers() {
		if err := checkID("--approver", id); err != nil {
			return nil, err
		}
		of = append(of, id)
	}
	asked, err := policy.Load("--approver", fmt.Appendf(nil, "version: 1\ndefault: ask\nasks: {default: {of: %s, within: %s}}\n", bytes.TrimSpace(jsonLine(of)), within))
	if all := report.Problems(err); len(all) > 0 {
		return nil, misused(all[0].Suggestion, "--approver: %s", all[0].Message)
	}
	return asked, err
}

// read is the policy as it stands now.
func (r *rulebook) read() (*policy.Policy, error) {
	if r.file == "" {
		return r.bare, nil
	}
	r.seen = looksOf(r.file)
	text, err := private.Read(r.file, policy.MaxFile+1, private.Care{Check: private.Authored, Above: true})
	if err != nil {
		return nil, err
	}
	p, err := policy.Load(r.file, text)
	if err != nil {
		return nil, err
	}
	now := p.With(r.flags)
	if wrong := now.Unanswerable(r.self, r.host); wrong != nil {
		wrong.File = r.file
		return nil, wrong
	}
	return now, nil
}

// readPolicy reads a file no further than [policy.Load] needs to see that it is
// too long.
func readPolicy(file string) ([]byte, error) {
	return private.Read(file, policy.MaxFile+1, private.Care{})
}

// policyError is exit 2 with the place and what was probably meant.
func policyError(err error) error {
	hint, more := "", ""
	problems := report.Problems(err)
	switch {
	case err == nil:
		return nil
	case len(problems) > 0:
		hint = problems[0].Suggestion
		if n := len(problems) - 1; n > 0 {
			more = fmt.Sprintf("%d more: mcpx-bridge policy check %s", n, problems[0].File)
		}
		err = errors.New(problems[0].Where())
	case errors.Is(err, os.ErrNotExist):
		hint = "mcpx-bridge policy init -- CMD drafts one"
	case errors.Is(err, private.ErrForeign):
		hint = "who can change it decides what runs: give it to the user that runs the bridge (chown), or copy it to a folder of that user"
	}
	return misused(hint, "policy: %w", err).Also(more)
}

// watch reads the file again when it was saved, and when it is told to, until
// ctx ends. A file that cannot be read changes nothing: the last good policy
// stays in force (DESIGN 6).
func (r *rulebook) watch(ctx context.Context, told <-chan struct{}, changed func(*policy.Policy), failed func(error)) {
	if r.file == "" {
		return
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-told:
		case <-look.C:
			if looksOf(r.file) == r.seen {
				continue
			}
		}
		if p, err := r.read(); err != nil {
			failed(err)
		} else {
			changed(p)
		}
	}
}

// keepRules puts every new policy in force.
func (b *bridging) keepRules(ctx context.Context) error {
	b.rules.watch(ctx, b.p.reload,
		func(p *policy.Policy) {
			b.attendance.policyWrong(nil)
			b.sidecar.Handle(engine.Saved{Policy: p, File: b.rules.file})
			b.sidecar.Flush()
		},
		func(err error) {
			b.attendance.policyWrong(err)
			b.events.emit(&record.Record{Event: record.ReloadFailed, Detail: err.Error()})
		})
	<-ctx.Done()
	return nil
}
