package main

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
)

// A peer is a seat taken for the length of one command, to ask the others.
type peer struct {
	*client.Client
	way  *connector
	turn *localgateway.Held // which others of our id wait for; may be nil
}

// Close leaves the topic and lets the next of our id in.
func (q *peer) Close() {
	q.Client.Close()
	q.turn.Close()
}

// What the commands say of others, in few letters.
type (
	tool   = client.Tool
	answer = client.Answer
)

// takeSeat joins the topic, under --id or a random one.
func (p *program) takeSeat(ctx context.Context, o client.Options) (*peer, error) {
	d, err := p.participant()
	if err != nil {
		return nil, err
	}
	return p.sit(ctx, d, o)
}

// takeTurn is takeSeat for who asks something and leaves. Under an id that was chosen, which a
// script may do many times at once, it waits until the others on this machine are done.
func (p *program) takeTurn(ctx context.Context, o client.Options) (*peer, error) {
	d, err := p.participant()
	if err != nil {
		return nil, err
	}
	turn, err := d.Turn(ctx, p.s.Timeout)
	if err != nil {
		return nil, err
	}
	q, err := p.sit(ctx, d, o)
	if err != nil {
		turn.Close()
		return q, err
	}
	q.turn = turn
	return q, nil
}

// sit joins the topic by a way that was chosen.
func (p *program) sit(ctx context.Context, d *connector, o client.Options) (*peer, error) {
	if err := d.CheckApprover(ctx); err != nil {
		return nil, err
	}
	if err := d.Locate(ctx); err != nil {
		return nil, err
	}
	if err := d.Ready(ctx); err != nil {
		return nil, err
	}
	if id := topic.ReadClaims(d.tokens.Peek()).ID; id != "" && d.Derived {
		d.Join.ID = id
	}
	q := p.newPeer(d, o)
	return q, q.Dial(ctx)
}

func (p *program) newPeer(d *connector, o client.Options) *peer {
	o.Version, o.Log = version(), p.log
	if o.OnStarting == nil {
		o.OnStarting = func(id, words string) { p.log.Info(id + " is " + words) }
	}
	return &peer{Client: client.New(d.Connector, o), way: d}
}

// saysOf says when the one who is asked leaves and comes back. That is no end: who
// comes back may bring an answer along. What it returns is for OnPresence.
func (p *program) saysOf(whom *atomic.Pointer[string]) func(id, event string) {
	away := false
	return func(id, event string) {
		asked := *whom.Load()
		switch {
		case id != asked || asked == "":
		case event == "leave":
			away = true
			p.log.Warn(asked + " has left the topic; there may be an answer if it comes back")
		case event == "join" && away:
			away = false
			p.log.Info(asked + " is back in the topic; mcpx-bridge who says which server that is")
		}
	}
}

// noAnswer words what kept an answer from coming.
func noAnswer(to, what string, err error) error {
	undecided, asked := errors.AsType[*client.UndecidedError](err)
	switch {
	case err == nil:
		return nil
	case asked && undecided.Within > 0:
		return fail(exitNoAnswer, "", "%w", err)
	case asked:
		return fail(exitInterrupted, "", "cancelled %s: %w", what, err)
	case errors.Is(err, client.ErrNoAnswer):
		return fail(exitNoAnswer, "--timeout gives it longer", "%s did not answer %s in time", to, what)
	case errors.Is(err, errSignalled), errors.Is(err, context.Canceled):
		return fail(exitInterrupted, "", "cancelled %s", what)
	}
	return err
}
