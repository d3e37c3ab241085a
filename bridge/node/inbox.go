package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

// A localInbox is the inbox of the person at this machine: what they see of a run, and
// say to it. Who watches it does so through all places that the bridge has in the topic.
type localInbox struct {
	inbox.Feed
	fixed   inbox.Status // what does not change during a run
	decided decided

	mu     sync.Mutex
	place  *place // nil while there is none
	seated engine.Seated
	up     bool
	wrong  string // why the policy file as it is now is not in force
}

// A place is a bridge in the topic, as far as its inbox is concerned.
type place struct {
	id, topic string
	where     func() (url string, hosted bool)
	sidecar   *bridge.Sidecar
	audit     *audit.Log // nil if no record is kept
	kept      *remembered
	keys      inbox.Passkeys
	halt      *haltFile
	pace      *pace // nil: nobody counts
}

var (
	_ inbox.Publisher = (*localInbox)(nil)
	_ inbox.Halter    = (*localInbox)(nil)
	_ inbox.Explainer = (*localInbox)(nil)
)

// newInbox is the inbox of a plan, which has no place yet.
func (p *plan) newInbox() *localInbox {
	return &localInbox{fixed: inbox.Status{ID: p.id, Topic: p.engine.Topic, Server: p.o.Server.String(), AuditOK: true, PID: os.Getpid(), Version: p.o.Version, Policy: p.o.Policy, Flags: p.flagged()}}
}

// InboxOf is the inbox of the person at this machine for a Sidecar that runs without a Node,
// and so without files. told is to hear what [bridge.Options.Told] does.
func InboxOf(id, topic string, s *bridge.Sidecar) (in inbox.Publisher, told func(approval.Act)) {
	l := &localInbox{fixed: inbox.Status{ID: id, Topic: topic, AuditOK: true}}
	l.enter(&place{id: id, topic: topic, where: func() (string, bool) { return "", false }, sidecar: s})
	return struct{ inbox.Publisher }{l}, l.told
}

// enter has questions asked and answered at a place.
func (l *localInbox) enter(p *place) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.place = p
}

// leave takes away the questions of the place that there was.
func (l *localInbox) leave() {
	l.mu.Lock()
	was := l.place
	l.place, l.seated = nil, engine.Seated{}
	l.mu.Unlock()
	for _, q := range was.sidecar.Pending(0, 0) {
		l.Post(inbox.Event{Event: "closed", ID: q.ID, Because: "the bridge has left the topic"})
	}
}

func (l *localInbox) here() *place {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.place
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
		event := "changed"
		if a.To.Door == approval.Local && a.Why == "" {
			event = "asked"
		}
		l.Post(inbox.Event{Event: event, ID: a.ID})
	case approval.Close:
		l.Post(inbox.Event{Event: "changed", ID: a.ID})
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
	p, seated, up, wrong := l.place, l.seated, l.up, l.wrong
	l.mu.Unlock()
	s := l.fixed
	s.Dialect, s.Seated, s.ServerUp, s.PolicyErr = seated.Dialect.Protocol, seated.Welcome.You.ID != "", up, wrong
	if p == nil {
		return s, nil
	}
	s.ID, s.Topic = p.id, p.topic
	s.Gateway, _ = p.where()
	s.Halted = shownHalt(p.sidecar.Halted())
	if ids, known := p.sidecar.Present(); known {
		s.Present = inbox.PresentOf(ids)
	}
	if p.pace != nil {
		calls := p.pace.minute(p.sidecar.Calls())
		s.Calls = &calls
	}
	s.Pending, s.PolicyHash, s.Audit = len(p.sidecar.Pending(0, 0)), p.sidecar.Policy().Hash(), "off"
	if p.audit != nil {
		s.Audit = p.audit.Path()
		if err := p.audit.Err(); err != nil {
			s.Audit, s.AuditOK = err.Error(), false
		}
	}
	return s, nil
}

func (l *localInbox) List(_ context.Context, args bool) ([]approval.Summary, error) {
	p := l.here()
	if p == nil {
		return nil, nil
	}
	all := p.sidecar.Pending(0, 0)
	for i := range all {
		if !args {
			all[i].Args, all[i].Beside = nil, nil
		}
	}
	return all, nil
}

func (l *localInbox) Show(_ context.Context, id string) (v approval.View, err error) {
	found := false
	if p := l.here(); p != nil {
		v, found = p.sidecar.View(id, true)
	}
	return orUnknown(v, found)
}

func (l *localInbox) ShowPublic(_ context.Context, id string) (v approval.View, err error) {
	found := false
	if p := l.here(); p != nil {
		v, found = p.sidecar.PublicView(id)
	}
	return orUnknown(v, found)
}

func orUnknown(v approval.View, found bool) (approval.View, error) {
	if !found {
		return v, &inbox.Refusal{Reason: inbox.Unknown}
	}
	return v, nil
}

func (l *localInbox) Decide(_ context.Context, d inbox.Decision) (inbox.Outcome, error) {
	var acts []approval.Act
	if p := l.here(); p != nil {
		acts = p.sidecar.Decide(approval.Answer{Who: approval.Who{Door: approval.Local}, Question: d.ID, Digest: d.Digest, Result: d.Result})
	}
	return l.outcome(acts, d)
}

// outcome is what became of a question that was answered.
func (l *localInbox) outcome(acts []approval.Act, d inbox.Decision) (inbox.Outcome, error) {
	counted := false
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
				return inbox.Outcome{}, l.decided.refusal(act.ID, act.Reason, cmp.Or(problemIn(acts, act.ID), act.Said))
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
	p := l.here()
	if p == nil {
		return nil, nil
	}
	for _, g := range p.sidecar.Grants() {
		all = append(all, inbox.GrantOf(p.id, g, true))
	}
	return all, nil
}

// Revoke forgets a yes, also one that was kept in the file.
func (l *localInbox) Revoke(_ context.Context, id string) (bool, error) {
	p := l.here()
	if p == nil {
		return false, errors.New("the bridge has no seat in the topic now, and its grants are in a file: try again, or stop the bridge and revoke the grant then")
	}
	had := p.sidecar.Revoke(id)
	kept, err := p.kept.Drop(id)
	if err != nil {
		return false, fmt.Errorf("the grant could not be taken out of its file: %w", err)
	}
	return had || kept, nil
}

// Explain is that of inbox.Explainer.
func (l *localInbox) Explain(_ context.Context, c inbox.Call) (string, error) {
	p := l.here()
	if p == nil {
		return "", errNoPlace
	}
	return report.Judged(p.sidecar.Described(policy.Call{From: c.From, Via: c.Via, Method: c.Method, Tool: c.Tool, Args: c.Args, Beside: c.Beside, Why: c.Why, Now: c.At})), nil
}

var errNoPlace = errors.New("the bridge has no seat in the topic now, so nobody can call it: try again when it has one")

// resumeTime is how long a disk may take until it is on it that the bridge goes on.
const resumeTime = 10 * time.Second

// Halt and Resume are those of inbox.Halter.
func (l *localInbox) Halt(_ context.Context, h inbox.Halt) (inbox.Halted, error) {
	p := l.here()
	if p == nil {
		return inbox.Halted{}, errNoPlace
	}
	how := p.sidecar.Halt(engine.Halt{By: localPerson, Why: text.Strip(h.Reason, inbox.MaxReason), Cancel: h.Cancel})
	l.Post(inbox.Event{Event: "changed", Because: inbox.WasHalted})
	if err := p.halt.keep(p.sidecar.Halted); err != nil {
		return *shownHalt(&how), fmt.Errorf("it is halted, but may not be after a restart: %w", err)
	}
	return *shownHalt(&how), nil
}

func (l *localInbox) Resume(ctx context.Context, reason string) error {
	p := l.here()
	if p == nil {
		return errNoPlace
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resumeTime) // who hangs up has said it all the same
	defer cancel()
	if err := p.sidecar.Resume(ctx, engine.Resume{By: localPerson, Why: text.Strip(reason, inbox.MaxReason)}); err != nil {
		return fmt.Errorf("it is halted still, as it is not on record that it goes on: %w", err)
	}
	l.Post(inbox.Event{Event: "changed", Because: inbox.GoesOn})
	if err := p.halt.keep(p.sidecar.Halted); err != nil {
		return fmt.Errorf("it goes on, but will be halted after a restart: %w", err)
	}
	return nil
}
