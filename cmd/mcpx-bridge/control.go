package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// An attendance is the inbox of the person at this machine: what they see of a run, and
// say to it. It also keeps the yeses that are to last.
type attendance struct {
	inbox.Feed
	b    *bridging
	door *socket.Server

	lasting chan approval.Grant // for keepGrants, which may wait for the disk
	ends    endings

	mu     sync.Mutex
	seated engine.Seated
	up     bool
	wrong  string // why the policy file as it is now is not in force
}

var _ inbox.Publisher = (*attendance)(nil)

// openDoor lets the person at this machine in. With --answers terminal, a program that
// merely runs as the same user, as an agent with a shell does, may look and may not answer.
func (b *bridging) openDoor(id string) error {
	home, err := stateHome(b.p.getenv)
	if err != nil {
		return err
	}
	if err := home.Open(); err != nil {
		return err
	}
	b.attendance = &attendance{b: b, lasting: make(chan approval.Grant, 64)}
	in := inbox.Inbox(b.attendance)
	if b.p.s.Answers == "terminal" {
		in = inbox.LookOnly(in)
	}
	b.attendance.door, err = socket.Open(socket.Options{Dir: home.File("control"), ID: id, Inbox: in, Log: b.p.log})
	if err != nil {
		return fail(exitFailed, "it takes a directory that is yours alone at "+home.File("control")+": move away what is there instead", "control socket: %w", err)
	}
	return nil
}

func (l *attendance) seatedAs(d wire.Dialect, w wire.Welcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seated = engine.Seated{Dialect: d, Welcome: w}
}

func (l *attendance) serverUp(up bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up = up
}

// policyWrong says why the policy file is not in force as it is; nil: it is.
func (l *attendance) policyWrong(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrong = ""; err != nil {
		l.wrong = err.Error()
	}
}

// told passes on what the sidecar says of questions.
func (l *attendance) told(a approval.Act) {
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
		l.ends.add(a)
		l.Post(inbox.Event{Event: "closed", ID: a.ID, By: people(a.By), Because: ending(a)})
	}
}

func people(who []approval.Who) string {
	var all []string
	for _, w := range who {
		all = append(all, w.String())
	}
	return strings.Join(all, ", ")
}

// Status and the following are those of inbox.Publisher.
func (l *attendance) Status(context.Context) (inbox.Status, error) {
	l.mu.Lock()
	seated, up, wrong := l.seated, l.up, l.wrong
	l.mu.Unlock()
	at, _ := l.b.door.Where()
	s := inbox.Status{ID: l.b.id, Topic: l.b.p.s.Topic, Gateway: at, Dialect: seated.Dialect.Protocol, Seated: seated.Welcome.You.ID != "",
		Server: l.b.target.String(), ServerUp: up, Pending: len(l.b.sidecar.Pending(0, 0)), PID: os.Getpid(), Version: version(),
		Policy: l.b.p.s.Policy, PolicyErr: wrong, PolicyHash: l.b.sidecar.Policy().Hash(), Audit: "off", AuditOK: true}
	if l.b.audit != nil {
		s.Audit = l.b.audit.Path()
		if err := l.b.audit.Err(); err != nil {
			s.Audit, s.AuditOK = err.Error(), false
		}
	}
	return s, nil
}

func (l *attendance) List(_ context.Context, args bool) ([]approval.Summary, error) {
	all := l.b.sidecar.Pending(0, 0)
	for i := range all {
		if !args {
			all[i].Args, all[i].Beside = nil, nil
		}
	}
	return all, nil
}

func (l *attendance) Show(_ context.Context, id string) (approval.View, error) {
	return orUnknown(l.b.sidecar.View(id, true))
}

func (l *attendance) ShowPublic(_ context.Context, id string) (approval.View, error) {
	return orUnknown(l.b.sidecar.PublicView(id))
}

func orUnknown(v approval.View, ok bool) (approval.View, error) {
	if !ok {
		return v, &inbox.Refusal{Reason: inbox.Unknown}
	}
	return v, nil
}

func (l *attendance) Decide(_ context.Context, d inbox.Decision) (inbox.Outcome, error) {
	counted := false
	acts := l.b.sidecar.Decide(approval.Answer{Who: approval.Who{Door: approval.Local}, Question: d.ID, Digest: d.Digest, Result: d.Result})
	for _, act := range acts {
		switch act := act.(type) {
		case approval.Settled:
			if act.ID == d.ID {
				return inbox.Outcome{Outcome: act.Outcome.String(), By: people(act.By), Reason: act.Reason}, nil
			}
		case approval.Noted:
			if act.ID != d.ID {
				continue
			}
			if act.Event == record.ForeignAnswer || act.Event == record.LateAnswer || act.Reason == approval.InvalidDelegation {
				return inbox.Outcome{}, l.ends.refusal(act.ID, act.Reason, problemIn(acts, act.ID))
			}
			counted = true
		}
	}
	if !counted {
		return inbox.Outcome{}, l.ends.refusal(d.ID, inbox.Unknown, "")
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

func (l *attendance) Grants(context.Context) (all []inbox.Grant, err error) {
	for _, g := range l.b.sidecar.Grants() {
		all = append(all, inbox.GrantOf(l.b.id, g, true))
	}
	return all, nil
}

// Revoke forgets a yes, also one that was kept in the file.
func (l *attendance) Revoke(_ context.Context, id string) (bool, error) {
	had := l.b.sidecar.Revoke(id)
	kept, err := l.b.kept.Drop(id)
	if err != nil {
		return false, fmt.Errorf("the grant could not be taken out of its file: %w", err)
	}
	return had || kept, nil
}

// keepDoor serves the person at this machine until ctx ends.
func (b *bridging) keepDoor(ctx context.Context) error {
	defer b.attendance.Feed.Close()
	return b.attendance.door.Serve(ctx)
}
