package socket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A Pending is a question, and where it is asked.
type Pending struct {
	At *Client
	approval.Summary
}

// Find is the question, of all that are open, whose name it is (see [approval.Summary.Named]).
// None and more than one are errors, *fault.Error with a hint.
func Find(ctx context.Context, all []*Client, name string) (found Pending, err error) {
	if len(all) == 0 {
		return found, fault.New(fault.Failed, "start one with \"mcpx-bridge run\"", "no bridge is running on this machine")
	}
	n := 0
	for _, c := range all {
		list, err := c.List(ctx, false)
		if err != nil {
			return found, fmt.Errorf("%s: %w", c.Known.ID, err)
		}
		for _, q := range list {
			if q.Named(name) {
				found = Pending{c, q}
				n++
			}
		}
	}
	switch {
	case n == 0:
		return found, NotOpen(name)
	case n > 1:
		return found, fault.New(fault.Failed, "write more of it", "there are %d questions whose id or digest begins with %q", n, name)
	}
	return found, nil
}

// NotOpen is the error for a name that no open question has.
func NotOpen(name string) error {
	return fault.New(fault.Failed, "mcpx-bridge approvals list says what is open", "no question is open whose id or digest begins with %q", name)
}

// Meant are the bridges, of those with their sockets in dir, that have one of these names, or all
// where there is none, without what merely takes part, and are in the topic, or in any where that
// is "". A name that none of them has, and none at all, are errors, *fault.Error with those that
// run as a hint. silent says which others may be meant that live and do not answer.
func Meant(ctx context.Context, dir string, named []string, topic string) (meant []*Client, silent, err error) {
	paths, err := Paths(dir)
	if err != nil {
		return nil, nil, err
	}
	all, failed := dialAll(ctx, paths)
	for i, path := range paths {
		if len(named) > 0 && !slices.ContainsFunc(named, func(id string) bool { return mayBe(path, id) }) {
			failed[i] = nil
		}
	}
	silent = errors.Join(failed...)
	meant = slices.DeleteFunc(slices.Clone(all), func(c *Client) bool {
		isMeant := len(named) == 0 && !c.Known.Participant || slices.Contains(named, c.Known.ID)
		return !isMeant || topic != "" && c.Known.Topic != topic
	})
	for _, name := range named {
		if !slices.ContainsFunc(meant, func(c *Client) bool { return c.Known.ID == name }) {
			return nil, silent, fault.New(fault.Failed, "these run: "+places(all), "no such bridge runs on this machine: %s; nothing was done", text.Line(name))
		}
	}
	if len(meant) == 0 {
		return nil, silent, fault.New(fault.Failed, "these run: "+places(all), "no bridge that is meant runs on this machine")
	}
	return meant, silent, nil
}

// mayBe: a socket has the name of its bridge, and a number where another has that already.
func mayBe(path, id string) bool {
	name := strings.TrimSuffix(filepath.Base(path), ".sock")
	return name == socketName(id) || strings.HasPrefix(name, socketName(id)+"~")
}

// places names bridges, without what merely takes part, and their topics.
func places(all []*Client) string {
	var names []string
	for _, c := range all {
		if !c.Known.Participant {
			names = append(names, c.Known.ID+" in "+c.Known.Topic)
		}
	}
	return cmp.Or(text.Series(names, 6), "none")
}
