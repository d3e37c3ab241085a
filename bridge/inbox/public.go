package inbox

import (
	"context"
	"iter"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// LookOnly is an Inbox in which nobody decides: for those who may see what is asked on
// this machine while answers are taken elsewhere, which each question says. What is
// remembered may still be taken back, which only tightens.
func LookOnly(in Inbox) Inbox {
	return lookOnly{in}
}

type lookOnly struct{ Inbox }

const atItsTerminal = "answered only at the terminal of the bridge (--answers terminal)"

func (l lookOnly) Status(ctx context.Context) (Status, error) {
	s, err := l.Inbox.Status(ctx)
	s.Elsewhere = atItsTerminal
	return s, err
}

func (l lookOnly) List(ctx context.Context, args bool) ([]approval.Summary, error) {
	all, err := l.Inbox.List(ctx, args)
	for i := range all {
		all[i].Elsewhere = atItsTerminal
	}
	return all, err
}

func (l lookOnly) Show(ctx context.Context, id string) (approval.View, error) {
	v, err := l.Inbox.Show(ctx, id)
	v.Elsewhere = atItsTerminal
	return v, err
}

func (lookOnly) Decide(context.Context, Decision) (Outcome, error) {
	return Outcome{}, &Refusal{Reason: AnswersElsewhere}
}

func (l lookOnly) Halt(ctx context.Context, h Halt) (Halted, error) {
	if in, is := l.Inbox.(Halter); is {
		return in.Halt(ctx, h)
	}
	return Halted{}, ErrNotHaltable
}

func (l lookOnly) Explain(ctx context.Context, c Call) (string, error) {
	if in, is := l.Inbox.(Explainer); is {
		return in.Explain(ctx, c)
	}
	return "", ErrNoRules
}

// Resume lets more happen, which is for whoever may answer: an agent with a shell of this user's
// could undo what its person stopped.
func (lookOnly) Resume(context.Context, string) error {
	return &Refusal{Reason: AnswersElsewhere}
}

// A Publisher is an Inbox that knows how its questions may be shown to whoever is not
// at this machine.
type Publisher interface {
	Inbox

	// ShowPublic is Show with what the policy redacts redacted, and without the command
	// of the server (see [approval.Desk.PublicView]).
	ShowPublic(ctx context.Context, id string) (approval.View, error)
}

// Public is the Inbox as it may leave this machine, in notifications or by a page that
// is reached from elsewhere. Arguments are redacted and cut; lists and grants have
// none, as nobody redacted those. A list names each question as its public view does, and not
// at all one that has ended meanwhile. There are no commands, files and process ids, nobody
// who is merely here, and no words in which somebody said why.
func Public(in Publisher) Inbox { return public{in} }

type public struct{ Publisher }

func (p public) Status(ctx context.Context) (Status, error) {
	s, err := p.Publisher.Status(ctx)
	if s.PolicyErr != "" {
		s.PolicyErr = "the policy file as it is now is not in force" // the error cites it
	}
	if s.Halted != nil {
		s.Halted = &Halted{By: s.Halted.By, Since: s.Halted.Since}
	}
	s.Server, s.Policy, s.Audit, s.PID, s.Flags, s.Present = "", "", "", 0, nil, nil
	return s, err
}

func (p public) List(ctx context.Context, _ bool) ([]approval.Summary, error) {
	all, err := p.Publisher.List(ctx, false)
	for i := range all {
		v, _ := p.ShowPublic(ctx, all[i].ID) // the name in Publisher.List has what the policy hides
		all[i].Tool = v.Tool
	}
	return all, err
}

func (p public) Show(ctx context.Context, id string) (approval.View, error) {
	return p.ShowPublic(ctx, id)
}

// Watch leaves out what people said in words of their own, which nobody redacted.
func (p public) Watch(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range p.Publisher.Watch(ctx) {
			e.Because, _, _ = strings.Cut(e.Because, Said)
			if !yield(e, err) {
				return
			}
		}
	}
}

func (p public) Grants(ctx context.Context) ([]Grant, error) {
	all, err := p.Publisher.Grants(ctx)
	for i := range all {
		all[i].Args = nil
	}
	return all, err
}
