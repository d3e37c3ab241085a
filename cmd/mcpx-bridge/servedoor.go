package main

import (
	"context"
	"os"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/control"
)

// openDoor lets mcpx-bridge approve at this machine answer what we are asked,
// for clients that cannot put questions to their person. It is no trouble if it
// cannot: another client may have started us twice.
func (s *serving) openDoor() {
	home, err := stateHome(s.p.getenv)
	if err == nil {
		err = home.Open()
	}
	if err == nil {
		s.door, err = control.Open(control.Options{Dir: home.File("control"), ID: s.q.door.Join.ID, Bridge: localAsked{s}, Log: s.p.log})
	}
	if err != nil {
		s.p.log.Warn("mcpx-bridge approve does not reach this client's questions", "error", err)
	}
}

func (s *serving) keepDoor(ctx context.Context) error {
	if s.door == nil {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return s.door.Serve(ctx)
}

// localAsked is the control.Bridge of a serve: what we are asked as a
// participant.
type localAsked struct{ s *serving }

func (l localAsked) Status() control.Status {
	q := l.s.q
	url, _ := q.door.Where()
	return control.Status{ID: q.door.Join.ID, Topic: q.door.Join.Topic, Gateway: url, Dialect: q.tongue(), Seated: q.me() != "",
		Pending: len(l.s.asked.all()), Audit: "off", PID: os.Getpid(), Version: version()}
}

func (l localAsked) Questions() (all []approval.Summary) {
	for _, a := range l.s.asked.all() {
		v := a.View
		all = append(all, approval.Summary{ID: v.ID, Digest: v.Short, Bridge: visible(a.from), From: a.fact("Caller"), Tool: a.fact("Tool"),
			Args: a.Args, Asked: v.Asked, Deadline: v.Deadline, Need: 1, Asking: []string{l.s.asked.Me()}})
	}
	return all
}

func (l localAsked) Question(prefix string) (approval.View, bool) {
	var found []*asked
	for _, a := range l.s.asked.all() {
		if strings.HasPrefix(a.View.ID, prefix) {
			found = append(found, a)
		}
	}
	if len(found) != 1 {
		return approval.View{}, false
	}
	v, err := l.s.asked.Show(context.Background(), found[0].View.ID)
	return v, err == nil
}

// Decide passes the answer on as it is, to whoever asked. What comes of it they
// do not say.
func (l localAsked) Decide(a approval.Answer) (control.Outcome, error) {
	q := l.s.asked.find(func(q *asked) bool { return q.View.ID == a.Question })
	if q == nil {
		return control.Outcome{}, &control.Refusal{Reason: control.Unknown}
	}
	if a.Digest != q.View.Digest && a.Digest != q.View.Short {
		return control.Outcome{}, &control.Refusal{Reason: control.DigestMismatch}
	}
	outcome, err := l.s.asked.answer(a.Question, func(*asked) []byte { return a.Result })
	if err == nil {
		l.s.settled(a.Question)
	}
	return outcome, err
}

func (l localAsked) Watch() (<-chan control.Event, func()) { return l.s.asked.Feed.Watch() }
func (l localAsked) Grants() []approval.Grant              { return nil }
func (l localAsked) Revoke(string) (bool, error)           { return false, nil }
