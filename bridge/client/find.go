package client

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Await waits until somebody of that id is in the topic, for a second at most: a bridge may have
// been started in the line above. Where somebody is there whose id is like it, it does not wait.
// Its error names who was probably meant.
func (c *Client) Await(ctx context.Context, id string) error {
	hint := ""
	for range 20 {
		if c.Present(id) {
			return nil
		}
		if hint = policy.Meant(id, c.OtherIDs()); hint != "" || !pause.For(ctx, 50*time.Millisecond) {
			break
		}
	}
	return fault.New(fault.NoAnswer, cmp.Or(hint, "mcpx-bridge who lists who is here"), "there is no %q in the topic %s", id, c.connector.Join.Topic)
}

// OtherIDs are the ids of those who are here too.
func (c *Client) OtherIDs() (ids []string) {
	for _, p := range c.Others() {
		ids = append(ids, p.ID)
	}
	return ids
}

// Typed makes one JSON object of the arguments of somebody's tool. Only pairs need its schema,
// for which [ListTime] is waited at most. Its errors are those of [Client.Tools] too.
func (c *Client) Typed(ctx context.Context, to, name string, given arguments.Arguments) ([]byte, error) {
	if !given.NeedTypes() {
		return given.Object(nil)
	}
	tools, err := c.listed(ctx, to)
	if errors.Is(err, ErrNoAnswer) {
		return nil, fault.New(fault.NoAnswer, "give them as JSON: '{\"key\":\"value\"}'", "%s does not say what arguments %s takes: it did not answer tools/list in time", to, name)
	}
	if err != nil {
		return nil, err
	}
	t, err := Named(to, name, tools)
	if err != nil {
		return nil, err
	}
	return given.Object(arguments.TypesOf(t.InputSchema))
}

// Lacks is the error for a tool that somebody does not list, nil where it does, or lists none.
func (c *Client) Lacks(ctx context.Context, to, name string) error {
	tools, err := c.listed(ctx, to)
	if err != nil {
		return nil
	}
	_, err = Named(to, name, tools)
	return err
}

func (c *Client) listed(ctx context.Context, of string) ([]Tool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, ListTime, ErrNoAnswer)
	defer cancel()
	return c.Tools(ctx, of, WithOne)
}

// Named finds somebody's tool among those that it lists. The error names the one that was
// probably meant.
func Named(of, name string, tools []Tool) (Tool, error) {
	if i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name }); i >= 0 {
		return tools[i], nil
	}
	return Tool{}, fault.New(fault.Failed, cmp.Or(Near(name, tools), "mcpx-bridge tools "+of+" lists them"), "%s has no tool %q", of, name)
}

// Near is a hint at the tool that was probably meant, "" if none is near.
func Near(name string, tools []Tool) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return policy.Meant(name, names)
}
