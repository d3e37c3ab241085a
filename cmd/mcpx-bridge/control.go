package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/control"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// An attendance is what the person at this machine sees of a run, and says to it: the
// control.Bridge of the sidecar. It also keeps the yeses that are to last.
type attendance struct {
	control.Feed
	b    *bridging
	door *control.Door

	lasting chan approval.Grant // for keepGrants, which may wait for the disk
	ends    endings

	mu     sync.Mutex
	seated bridge.Seated
	up     bool
	wrong  string // why the policy file as it is now is not in force
}

// openDoor lets the person at this machine in.
func (b *bridging) openDoor(id string) error {
	home, err := stateHome(b.p.getenv)
	if err != nil {
		return err
	}
	if err := home.Open(); err != nil {
		return err
	}
	b.attendance = &attendance{b: b, lasting: make(chan approval.Grant, 64)}
	b.attendance.door, err = control.Open(control.Options{Dir: home.File("control"), ID: id, Bridge: b.attendance, OwnAnswers: b.p.s.Answers == "terminal", Log: b.p.log})
	if err != nil {
		return fail(exitFailed, "it takes a directory that is yours alone at "+home.File("control")+": move away what is there instead", "control socket: %w", err)
	}
	return nil
}

func (l *attendance) seatedAs(d wire.Dialect, w wire.Welcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seated = bridge.Seated{Dialect: d, Welcome: w}
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
		l.Post(control.Event{Event: event, ID: a.ID})
	case approval.Noted:
		l.Post(control.Event{Event: "changed", ID: a.ID, By: a.Who.String(), Because: a.Event})
	case approval.Settled:
		l.ends.add(a)
		l.Post(control.Event{Event: "closed", ID: a.ID, By: people(a.By), Because: ending(a)})
	}
}

func people(who []approval.Who) string {
	var all []string
	for _, w := range who {
		all = append(all, w.String())
	}
	return strings.Join(all, ", ")
}

// Status, Questions, Question, Decide, Grants and Revoke are those of
// control.Bridge.
func (l *attendance) Status() control.Status {
	l.mu.Lock()
	seated, up, wrong := l.seated, l.up, l.wrong
	l.mu.Unlock()
	at, _ := l.b.door.Where()
	s := control.Status{ID: l.b.id, Topic: l.b.p.s.Topic, Gateway: at, Dialect: seated.Dialect.Protocol, Seated: seated.Welcome.You.ID != "",
		Server: l.b.target.String(), ServerUp: up, Pending: len(l.b.sidecar.Pending(0, 0)), PID: os.Getpid(), Version: version(),
		Policy: l.b.p.s.Policy, PolicyErr: wrong, PolicyHash: l.b.sidecar.Policy().Hash(), Audit: "off", AuditOK: true}
	if l.b.audit != nil {
		s.Audit = l.b.audit.Path()
		if err := l.b.audit.Err(); err != nil {
			s.Audit, s.AuditOK = err.Error(), false
		}
	}
	return s
}

func (l *attendance) Questions() []approval.Summary { return l.b.sidecar.Pending(0, 0) }

func (l *attendance) Question(prefix string) (approval.View, bool) {
	return l.b.sidecar.View(prefix, true)
}

func (l *attendance) Decide(a approval.Answer) (control.Outcome, error) {
	counted := false
	acts := l.b.sidecar.Decide(a)
	for _, act := range acts {
		switch act := act.(type) {
		case approval.Settled:
			if act.ID == a.Question {
				return control.Outcome{Outcome: act.Outcome.String(), By: people(act.By), Reason: act.Reason}, nil
			}
		case approval.Noted:
			if act.ID != a.Question {
				continue
			}
			if act.Event == "foreign_answer" || act.Event == "late_answer" || act.Reason == approval.InvalidDelegation {
				return control.Outcome{}, l.ends.refusal(act.ID, act.Reason, problemIn(acts, act.ID))
			}
			counted = true
		}
	}
	if !counted {
		return control.Outcome{}, l.ends.refusal(a.Question, control.Unknown, "")
	}
	return control.Outcome{Outcome: control.Pending}, nil
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

func (l *attendance) Grants() []approval.Grant { return l.b.sidecar.Grants() }

// Revoke forgets a yes, also one that was kept in the file.
func (l *attendance) Revoke(id string) (bool, error) {
	had := l.b.sidecar.Revoke(id)
	l.b.rewriting.Lock()
	defer l.b.rewriting.Unlock()
	if !slices.Contains(l.b.revoked, id) {
		l.b.revoked = append(l.b.revoked, id)
	}
	kept, err := l.b.dropGrant(id)
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
