package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/grants"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
)

func (p *program) grantsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "grants",
		Short: "List remembered answers, and take them back",
		Long: `List remembered answers (grants), and take them back.

An approver can have a yes remembered, for the session or until a date. The same
call (same caller, arguments and tool, with the same definition) then runs without
a question, as long as the policy would let the same people decide, and the server
is started with the same command and --env in the same directory. For attach, the
endpoint counts as the command, and the bridge's directory as the directory.
Other variables, and the program itself, may have changed since: for calls that
depend on them, let nothing be remembered.
What a plan gave leave for is listed with how often each call of it was made, of how
often it may be.
Grants that outlast the bridge are kept in a file in the state directory.`,
		Example: "  mcpx-bridge grants list\n  mcpx-bridge grants revoke 9c01d2ee",
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "list [FLAGS]",
		Short: "List what is remembered",
		Long: `List the grants of the bridges on this machine, stopped ones too: which call runs
without a question, which definition of the tool somebody agreed to, who agreed,
when, and until when.`,
		Example: "  mcpx-bridge grants list\n  mcpx-bridge grants list --json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.listGrants(cmd.Context()) },
	}, &cobra.Command{
		Use:   "revoke [FLAGS] ID…",
		Short: "Ask again from now on",
		Long: `Forget a remembered answer, so that the same call is asked about again. A call that
runs already is not stopped. If the bridge is stopped, its file is changed, and its
next start puts that on record.`,
		Example: "  mcpx-bridge grants revoke 9c01d2ee",
		Args:    help.Positional(1, -1),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.revokeGrants(cmd.Context(), args) },
	})
	return cmd
}

// allGrants are those that count on this machine, where so many bridges run.
func (p *program) allGrants(ctx context.Context) (found []grants.Found, bridges int, err error) {
	running, err := p.bridges(ctx)
	if err != nil {
		return nil, 0, err
	}
	home, err := localgateway.Home(p.getenv)
	if err != nil {
		return nil, 0, err
	}
	found, err = grants.Find(ctx, running, home.File("grants"), p.log)
	return found, len(running), err
}

func (p *program) listGrants(ctx context.Context) error {
	found, bridges, err := p.allGrants(ctx)
	if err != nil {
		return err
	}
	l := p.list(grants.Head()...)
	for _, g := range found {
		l.add(g.Grant, g.Row()...)
	}
	return l.end("nothing is remembered", "bridges", bridges)
}

// revokeGrants takes back those whose ids begin with what is named.
func (p *program) revokeGrants(ctx context.Context, named []string) error {
	there, _, err := p.allGrants(ctx)
	if err != nil {
		return err
	}
	chosen, err := grants.Named(there, named)
	if err != nil {
		return err
	}
	for _, g := range chosen {
		ok, err := g.Revoke(ctx)
		switch {
		case err != nil:
			return err
		case ok && g.Running:
			p.log.Info("revoked " + g.ID + ": " + g.Tool + " for " + g.Caller)
		case ok:
			p.log.Info("revoked " + g.ID + ": " + g.Tool + " for " + g.Caller + ", of " + g.Bridge + ", which is stopped; its next start puts that on record")
		}
		if p.s.JSON {
			p.print(jsonLine(map[string]any{"id": g.ID, "bridge": g.Bridge, "revoked": ok}))
		}
	}
	return nil
}
