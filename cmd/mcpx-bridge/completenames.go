package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit/show"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/setup"
)

// completeTime is for how long a shell that completes a name waits for what is here.
const completeTime = time.Second

// A finder lists what an argument can be, behind those that are there already. It starts
// and makes nothing.
type finder func(ctx context.Context, args []string) []string

// completeNames lets shells complete arguments that name something that is here.
func (p *program) completeNames(root *cobra.Command) {
	for command, find := range map[string]finder{
		"call": p.peersThenTools, "propose": p.peersThenTools, "tools": p.peersThenTools,
		"approve":        p.bridgeNames,
		"approvals show": p.questionNames, "approvals allow": p.questionNames, "approvals deny": p.questionNames,
		"audit show": p.logNames, "audit follow": p.logNames, "audit verify": p.logNames,
		"client wrap":   func(_ context.Context, args []string) []string { return p.clientServers(args, false) },
		"client unwrap": func(_ context.Context, args []string) []string { return p.clientServers(args, true) },
	} {
		c, _, err := root.Find(strings.Fields(command))
		if err != nil {
			continue
		}
		otherwise := cobra.ShellCompDirectiveNoFileComp
		if c.Parent().Name() == "audit" {
			otherwise = cobra.ShellCompDirectiveDefault // a log is a file, too
		}
		c.ValidArgs, c.ValidArgsFunction = nil, func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			return p.found(c.Context(), find, args, begun), otherwise
		}
	}
}

// found are the names that find finds in time, that begin as was begun and that a shell
// can take as they are.
func (p *program) found(ctx context.Context, find finder, args []string, begun string) []string {
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	p.log = slog.New(slog.DiscardHandler)
	names := make(chan []string, 1)
	go func() { names <- find(ctx, args) }()
	select {
	case all := <-names:
		return slices.DeleteFunc(all, func(name string) bool {
			return !oneWord.MatchString(name) || !strings.HasPrefix(name, begun)
		})
	case <-ctx.Done():
		return nil
	}
}

// oneWord is a name that no shell takes for anything else. The script for bash ends at a
// colon.
var oneWord = regexp.MustCompile(`^[A-Za-z0-9_./@+][A-Za-z0-9_./@+-]*$`)

// peersThenTools are those who are in the topic, and behind one of them its tools.
func (p *program) peersThenTools(ctx context.Context, args []string) []string {
	if len(args) > 1 || !p.atOwnGateway() {
		return nil
	}
	q, err := p.takeSeat(ctx, client.Options{})
	if err != nil {
		return nil
	}
	defer q.Close()
	var names []string
	if len(args) == 0 {
		for _, other := range q.Others() {
			names = append(names, other.ID)
		}
		return names
	}
	tools, _ := q.Tools(ctx, args[0], client.WithOne)
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

// atOwnGateway reports whether a command would join this machine's own gateway, and that
// has been there before: nothing is made for a name to be completed.
func (p *program) atOwnGateway() bool {
	for _, name := range []string{"gateway", "config", "token-command"} {
		if p.getenv(flagEnv(name)) != "" {
			return false
		}
	}
	if p.s.Gateway != "" || p.s.Config != "" || p.s.TokenCommand != "" {
		return false
	}
	if topic := p.getenv(flagEnv("topic")); topic != "" && p.s.Topic == "lobby" {
		p.s.Topic = topic
	}
	p.s.ID = "" // a seat that somebody has is not taken for that
	home, err := stateHome(p.getenv)
	if err != nil {
		return false
	}
	_, err = os.Stat(string(home))
	return err == nil
}

func (p *program) bridgeNames(ctx context.Context, _ []string) (names []string) {
	all, _ := p.bridges(ctx)
	for _, c := range all {
		names = append(names, c.Known.ID)
	}
	return names
}

func (p *program) questionNames(ctx context.Context, args []string) (names []string) {
	if len(args) > 0 {
		return nil
	}
	all, _ := p.bridges(ctx)
	for _, c := range all {
		questions, _ := c.List(ctx, false)
		for _, q := range questions {
			names = append(names, q.ID[:min(8, len(q.ID))])
		}
	}
	return names
}

func (p *program) logNames(_ context.Context, args []string) []string {
	if len(args) > 0 {
		return nil
	}
	return show.In(p.auditDir())
}

// clientServers are the clients, and behind one of them its servers that are wrapped, or
// are not and can be.
func (p *program) clientServers(args []string, wrapped bool) (names []string) {
	if len(args) == 0 {
		return setup.Names()
	}
	m, err := p.machine()
	if err != nil || len(args) > 1 {
		return nil
	}
	exe, _ := setup.OwnPath(exec.LookPath) // without it those of our name are enough
	for _, f := range install.Survey(m, exe) {
		if f.Place.Client.Name != args[0] || string(f.Place.Scope) != cmp.Or(p.s.Scope, string(f.Place.Scope)) {
			continue
		}
		for _, s := range f.Servers {
			if s.Wrapped == wrapped && !s.Remote {
				names = append(names, s.Name)
			}
		}
	}
	return names
}
