package node

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A localInbox is the inbox of the person at this machine: what they see of a run, and
// say to it.
type localInbox struct {
	inbox.Feed
	fixed inbox.Status // what does not change during a run
	where func() (url string, hosted bool)

	// These are set before anybody asks, see assemble.
	sidecar *bridge.Sidecar
	audit   *audit.Log // nil if no record is kept
	kept    *remembered

	decided decided

	mu     sync.Mutex
	seated engine.Seated
	up     bool
	wrong  string // why the policy file as it is now is not in force
}

var _ inbox.Publisher = (*localInbox)(nil)

// newInbox is the inbox of a plan that goes by an id.
func (p *plan) newInbox(id string) *localInbox {
	return &localInbox{where: p.way.Where, fixed: inbox.Status{ID: id, Topic: p.engine.Topic, Server: p.o.Server.String(), PID: os.Getpid(), Version: p.o.Version, Policy: p.o.Policy}}
}

// openSocket lets the person at this machine in from other programs. With LookOnly one that
// merely runs as the same user, as an agent with a shell does, may look and may not answer.
func (p *plan) openSocket(id string, in inbox.Inbox) (*socket.Server, error) {
	if err := p.o.State.Open(); err != nil {
		return nil, err
	}
	if p.o.LookOnly {
		in = inbox.LookOnly(in)
	}
	dir := p.o.State.File("control")
	s, err := socket.Open(socket.Options{Dir: dir, ID: id, Inbox: in, Log: p.o.Log})
	if err != nil {
		return nil, fault.New(fault.Failed, "it takes a directory that is yours alone at "+dir+": move away what is there instead", "control socket: %w", err)
	}
	return s, nil
}

func (l *localInbox) seatedAs(d wire.Dialect, w wire.Welcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seated = engine.Seated{Dialect: d, Welcome: w}
}

func (l *localInbox) serverUp(up bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up = up
}

// policyWrong says why the policy file is not in force as it is; nil: it is.
func (l *localInbox) policyWrong(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrong = ""; err != nil {
		l.wrong = err.Error()
	}
}

// told passes on what the sidecar says of questions.
func (l *localInbox) told(a approval.Act) {
	switch a := a.(type) {
	case approval.Show:
		event := "asked"
		if a.Why != "" {
			event = "changed"
		}
		l.Post(inbox.Event{Event: event, ID: a.ID})
	case approval.Noted:
		l.Post(inbox.Event{Event: "changed", ID: a.ID, By: a.Who.String(), Because: string(a.Event)})
	case approval.Settled:
		l.decided.add(a)
		l.Post(inbox.Event{Event: "closed", ID: a.ID, By: inbox.Names(a.By), Because: ending(a)})
	}
}

// Status and the following are those of inbox.Publisher.
func (l *localInbox) Status(context.Context) (inbox.Status, error) {
	l.mu.Lock()
	seated, up, wrong := l.seated, l.up, l.wrong
	l.mu.Unlock()
	s := l.fixed
	s.Gateway, _ = l.where()
	s.Dialect, s.Seated, s.ServerUp = seated.Dialect.Protocol, seated.Welcome.You.ID != "", up
	s.Pending, s.PolicyErr, s.PolicyHash = len(l.sidecar.Pending(0, 0)), wrong, l.sidecar.Policy().Hash()
	s.Audit, s.AuditOK = "off", true
	if l.audit != nil {
		s.Audit = l.audit.Path()
		if err := l.audit.Err(); err != nil {
			s.Audit, s.AuditOK = err.Error(), false
		}
	}
	return s, nil
}

func (l *localInbox) List(_ context.Context, args bool) ([]approval.Summary, error) {
	all := l.sidecar.Pending(0, 0)
	for i := range all {
		if !args {
			all[i].Args, all[i].Beside = nil, nil
		}
	}
	return all, nil
}

func (l *localInbox) Show(_ context.Context, id string) (approval.View, error) {
	return orUnknown(l.sidecar.View(id, true))
}

func (l *localInbox) ShowPublic(_ context.Context, id string) (approval.View, error) {
	return orUnknown(l.sidecar.PublicView(id))
}

func orUnknown(v approval.View, ok bool) (approval.View, error) {
	if !ok {
		return v, &inbox.Refusal{Reason: inbox.Unknown}
	}
	return v, nil
}

func (l *localInbox) Decide(_ context.Context, d inbox.Decision) (inbox.Outcome, error) {
	counted := false
	acts := l.sidecar.Decide(approval.Answer{Who: approval.Who{Door: approval.Local}, Question: d.ID, Digest: d.Digest, Result: d.Result})
	for _, act := range acts {
		switch act := act.(type) {
		case approval.Settled:
			if act.ID == d.ID {
				return inbox.Outcome{Outcome: act.Outcome.String(), By: inbox.Names(act.By), Reason: act.Reason}, nil
			}
		case approval.Noted:
			if act.ID != d.ID {
				continue
			}
			if act.Event == record.ForeignAnswer || act.Event == record.LateAnswer || act.Reason == approval.InvalidDelegation {
				return inbox.Outcome{}, l.decided.refusal(act.ID, act.Reason, problemIn(acts, act.ID))
			}
			counted = true
		}
	}
	if !counted {
		return inbox.Outcome{}, l.decided.refusal(d.ID, inbox.Unknown, "")
	}
	return inbox.Outcome{Outcome: inbox.Pending}, nil
}

// problemIn is what was wrong with an answer after which a question is put anew.
func problemIn(acts []approval.Act, question string) string {
	for _, act := range acts {
		if again, ok := act.(approval.Show); ok && again.ID == question && again.Problem != "" {
			return again.Problem
		}
	}
	return ""
}

func (l *localInbox) Grants(context.Context) (all []inbox.Grant, err error) {
	for _, g := range l.sidecar.Grants() {
		all = append(all, inbox.GrantOf(l.fixed.ID, g, true))
	}
	return all, nil
}

// Revoke forgets a yes, also one that was kept in the file.
func (l *localInbox) Revoke(_ context.Context, id string) (bool, error) {
	had := l.sidecar.Revoke(id)
	kept, err := l.kept.Drop(id)
	if err != nil {
		return false, fmt.Errorf("the grant could not be taken out of its file: %w", err)
	}
	return had || kept, nil
}
