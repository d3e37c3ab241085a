package prompt

import (
	"context"
	"errors"
	"iter"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/control"
)

// A Source is where questions come from. Its methods may be called from many
// goroutines.
type Source interface {
	Name() string  // distinct from all others'
	Label() string // for people
	Me() string    // who we are in the views of this source

	List(ctx context.Context) ([]control.Question, error)
	Show(ctx context.Context, id string) (approval.View, error) // whole
	Decide(ctx context.Context, v *approval.View, r approval.Reply) (control.Outcome, error)

	// Watch yields an empty event when it has begun, and ends when there is
	// no more to hear: with the error that says why, if there is one.
	Watch(ctx context.Context) iter.Seq2[control.Event, error]
	Close()
}

// Sent is the Outcome of an answer whose fate a source does not tell.
const Sent = "sent"

// A Finder returns the sources that there are now, without those whose names
// are known already.
type Finder func(ctx context.Context, known func(name string) bool) ([]Source, error)

// Bridges finds the bridges of this user on this machine, by their sockets in
// dir. want narrows them down; nil: all.
func Bridges(dir string, want func(control.Status) bool) Finder {
	return func(ctx context.Context, known func(string) bool) (found []Source, err error) {
		paths, err := control.Doors(dir)
		for _, path := range paths {
			if known(path) {
				continue
			}
			c, err := control.Dial(ctx, path)
			if err != nil {
				continue // nobody lives there, or not for us
			}
			if want != nil && !want(c.Status) {
				c.Close()
				continue
			}
			found = append(found, bridge{c})
		}
		return found, err
	}
}

// Own finds the bridge of this process.
func Own(d *control.Door) Finder {
	return func(ctx context.Context, known func(string) bool) ([]Source, error) {
		if known(d.Path()) {
			return nil, nil
		}
		c, err := d.Enter(ctx)
		if err != nil {
			return nil, err
		}
		return []Source{bridge{c}}, nil
	}
}

// Only finds one source, once.
func Only(s Source) Finder {
	return func(_ context.Context, known func(string) bool) ([]Source, error) {
		if known(s.Name()) {
			return nil, nil
		}
		return []Source{s}, nil
	}
}

// bridge is a source behind a local door.
type bridge struct{ c *control.Client }

func (b bridge) Name() string  { return b.c.Path }
func (b bridge) Label() string { return b.c.Status.ID + " in " + b.c.Status.Topic }
func (b bridge) Me() string    { return "local" }
func (b bridge) Close()        { b.c.Close() }

func (b bridge) List(ctx context.Context) ([]control.Question, error) { return b.c.List(ctx, true) }

func (b bridge) Show(ctx context.Context, id string) (approval.View, error) {
	return b.c.Show(ctx, id)
}

func (b bridge) Watch(ctx context.Context) iter.Seq2[control.Event, error] { return b.c.Watch(ctx) }

func (b bridge) Decide(ctx context.Context, v *approval.View, r approval.Reply) (control.Outcome, error) {
	return b.c.Decide(ctx, v.ID, v.Digest, r.Result(len(v.DelegateTo) > 0))
}

// gone: the question is not open any more, so nobody need hear of it.
func gone(err error) bool {
	r, ok := errors.AsType[*control.Refusal](err)
	return ok && (r.Reason == control.Unknown || r.Reason == control.AlreadyDecided)
}
