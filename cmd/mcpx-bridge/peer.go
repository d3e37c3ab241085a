package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
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
	d, err := p.newConnector(p.chosenID(false), false)
	if err != nil {
		return nil, err
	}
	return p.sit(ctx, d, o)
}

// takeTurn is takeSeat for who asks something and leaves. Under an id that was chosen, which a
// script may do many times at once, it waits until the others on this machine are done.
func (p *program) takeTurn(ctx context.Context, o client.Options) (*peer, error) {
	d, err := p.newConnector(p.chosenID(false), false)
	if err != nil {
		return nil, err
	}
	state, _ := localgateway.OpenHome(p.getenv) // without one nobody knows of anybody
	turn, err := d.Turn(ctx, state, p.s.Timeout)
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

// others are the ids of those who are here too.
func (q *peer) others() (ids []string) {
	for _, p := range q.Others() {
		ids = append(ids, p.ID)
	}
	return ids
}

// here returns an error unless somebody of that id is in the topic, or joins at once: a
// bridge may have been started in the line above.
func (q *peer) here(ctx context.Context, id string) error {
	hint := "mcpx-bridge who lists who is here"
	for range 20 {
		if q.Present(id) {
			return nil
		}
		if meant := policy.Nearest(id, q.others()); meant != "" {
			hint = "did you mean " + meant + "?"
			break
		}
		if !pause.For(ctx, 50*time.Millisecond) {
			break
		}
	}
	return fail(exitNoAnswer, hint, "there is no %q in the topic %s", id, q.way.Join.Topic)
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

// typed makes one JSON object of the arguments. Only pairs need the schema.
func (q *peer) typed(ctx context.Context, to, name string, given arguments.Arguments) ([]byte, error) {
	var types arguments.Types
	if given.NeedTypes() {
		listing, cancel := context.WithTimeoutCause(ctx, client.ListTime, client.ErrNoAnswer)
		defer cancel()
		tools, err := q.Tools(listing, to, client.WithOne)
		if errors.Is(err, client.ErrNoAnswer) {
			return nil, fail(exitNoAnswer, "give them as JSON: '{\"key\":\"value\"}'", "%s does not say what arguments %s takes: it did not answer tools/list in time", to, name)
		}
		if err != nil {
			return nil, noAnswer(to, "tools/list", err)
		}
		i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == name })
		if i < 0 {
			return nil, noSuchTool(to, name, tools)
		}
		types = arguments.TypesOf(tools[i].InputSchema)
	}
	return given.Object(types)
}

func noSuchTool(to, name string, tools []tool) *failure {
	return fail(exitFailed, cmp.Or(nearTool(name, tools), "mcpx-bridge tools "+to+" lists them"), "%s has no tool %q", to, name)
}

// nearTool is the hint at the tool that was probably meant, "" if none is near.
func nearTool(name string, tools []tool) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	if meant := policy.Nearest(name, names); meant != "" {
		return "did you mean " + meant + "?"
	}
	return ""
}

// missing is the error for a tool that to does not list, nil where it does, or lists none.
func (q *peer) missing(ctx context.Context, to, name string) *failure {
	ctx, cancel := context.WithTimeoutCause(ctx, client.ListTime, client.ErrNoAnswer)
	defer cancel()
	tools, err := q.Tools(ctx, to, client.WithOne)
	if err != nil || slices.ContainsFunc(tools, func(t tool) bool { return t.Name == name }) {
		return nil
	}
	return noSuchTool(to, name, tools)
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
