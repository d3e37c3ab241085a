package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

// flagRules are what --allow, --deny, --approver and --within say.
func (p *program) flagRules() (*policy.Policy, error) {
	flags, err := policy.Flags(p.s.Allow, p.s.Deny)
	if err != nil {
		return nil, misused("--allow 'read_*'", "%w", err)
	}
	return p.barePolicy(flags)
}

// barePolicy is what holds without a file: what --allow and --deny do not name
// is asked.
func (p *program) barePolicy(flags *policy.Policy) (*policy.Policy, error) {
	switch {
	case p.asks() && p.s.Policy != "":
		return nil, misused("say in the file who decides: asks: {default: {of: [local, alice], within: 10m}}",
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

// readPolicy reads a file no further than [policy.Load] needs to see that it is
// too long.
func readPolicy(file string) ([]byte, error) {
	return private.Read(file, policy.MaxFile+1, private.Care{})
}
