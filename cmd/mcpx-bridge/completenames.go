package main

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit/show"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/config"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/setup"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
)

// completeNames lets shells complete arguments that name something that is here.
func (p *program) completeNames(root *cobra.Command) {
	for command, find := range map[string]help.Finder{
		"call": p.peersThenTools, "propose": p.peersThenTools, "tools": p.peersThenTools,
		"approve":        p.bridgeNames,
		"inbox":          p.bridgeNames,
		"approvals show": p.questionNames, "approvals allow": p.questionNames, "approvals deny": p.questionNames,
		"halt": p.bridgeNames, "resume": p.bridgeNames,
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
			p.log = slog.New(slog.DiscardHandler)
			return help.Found(c.Context(), find, args, begun), otherwise
		}
	}
}

// peersThenTools are those who are in the topic, and behind one of them its tools.
func (p *program) peersThenTools(ctx context.Context, args []string) []string {
	if len(args) > 1 || !p.atOwnGateway() {
		return nil
	}
	if topic := p.getenv(config.Env("topic")); topic != "" && p.s.Topic == "lobby" {
		p.s.Topic = topic // no setting has been read yet
	}
	p.s.ID = "" // a seat that somebody has is not taken for that
	q, err := p.takeSeat(ctx, client.Options{})
	if err != nil {
		return nil
	}
	defer q.Close()
	if len(args) == 0 {
		return q.OtherIDs()
	}
	var names []string
	tools, _ := q.Tools(ctx, args[0], client.WithOne)
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

// atOwnGateway reports whether a command would join this machine's own gateway, and that
// has been there before: nothing is made for a name to be completed.
func (p *program) atOwnGateway() bool {
	for name, given := range map[string]string{"gateway": p.s.Gateway, "config": p.s.Config, "token-command": p.s.TokenCommand} {
		if given != "" || p.getenv(config.Env(name)) != "" {
			return false
		}
	}
	home, err := localgateway.Home(p.getenv)
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
			names = append(names, q.Short)
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
func (p *program) clientServers(args []string, wrapped bool) []string {
	if len(args) == 0 {
		return setup.Names()
	}
	m, err := p.machine()
	if err != nil || len(args) > 1 {
		return nil
	}
	exe, _ := setup.OwnPath(exec.LookPath) // without it those of our name are enough
	return setup.ServersOf(m, exe, args[0], p.s.Scope, wrapped)
}
