package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/control"
)

func (p *program) grantsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "grants",
		Short: "List what is remembered of answers, and take it back",
		Long: `List what is remembered of answers, and take it back.

Who allows a call may have that remembered, for the session or until a date. The
same call (same caller, same arguments, same tool, defined as it was then) then
runs without a question, while the policy would still let those decide who did
and the server is started with the same command and --env in the same directory.
For attach, the endpoint is the command, and the directory ours.
What it inherits of the environment beside that, and what its program is, may have
changed: for calls that hang on it, let nothing be remembered.
What is to last is kept in a file under the state directory.`,
		Example: "  mcpx-bridge grants list\n  mcpx-bridge grants revoke 9c01d2ee",
		Args:    noSuchCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:     "list [FLAGS]",
		Short:   "List what is remembered",
		Long:    "List what the bridges on this machine remember: which calls run without a question, to which definition of the tool somebody agreed, when, who, and until when.",
		Example: "  mcpx-bridge grants list\n  mcpx-bridge grants list --json",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withBridges(cmd.Context(), func(all bridges) error { return p.listGrants(cmd.Context(), all) })
		},
	}, &cobra.Command{
		Use:     "revoke [FLAGS] ID…",
		Short:   "Ask again from now on",
		Long:    "Forget an answer, so that the same call is asked about again. What runs already is not stopped.",
		Example: "  mcpx-bridge grants revoke 9c01d2ee",
		Args:    arguments(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withBridges(cmd.Context(), func(all bridges) error { return p.revokeGrants(cmd.Context(), all, args) })
		},
	})
	return cmd
}

// A grantLine is what grants list --json prints.
type grantLine struct {
	Bridge string `json:"bridge"`
	control.Grant
}

func (p *program) listGrants(ctx context.Context, all bridges) error {
	rows := [][]string{{"ID", "BRIDGE", "FROM", "TOOL", "ARGUMENTS", "KEPT", "DEFINITION", "AGREED", "UNTIL", "BY"}}
	for _, c := range all {
		grants, err := c.Grants(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Status.ID, err)
		}
		for _, g := range grants {
			if p.s.JSON {
				p.print(jsonLine(grantLine{c.Status.ID, g}))
				continue
			}
			args := []rune(string(g.Args))
			if len(args) > 40 {
				args = append(args[:39], '…')
			}
			rows = append(rows, []string{g.ID, c.Status.ID, g.Caller, g.Tool, string(args), g.Keep,
				g.Fingerprint[:min(len(g.Fingerprint), 8)], g.Made.Local().Format(time.DateTime), g.Until.Local().Format(time.DateTime), strings.Join(g.By, ", ")})
		}
	}
	if p.s.JSON {
		return nil
	}
	if len(rows) == 1 {
		p.log.Info("nothing is remembered", "bridges", len(all))
		return nil
	}
	return p.print(table(rows))
}

// revokeGrants takes back those whose ids begin with what is named. All are
// found before the first is taken back.
func (p *program) revokeGrants(ctx context.Context, all bridges, named []string) error {
	if err := all.none(); err != nil {
		return err
	}
	type one struct {
		at *control.Client
		control.Grant
	}
	var chosen []one
	for _, prefix := range named {
		var found []one
		for _, c := range all {
			grants, err := c.Grants(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Status.ID, err)
			}
			for _, g := range grants {
				if strings.HasPrefix(g.ID, prefix) {
					found = append(found, one{c, g})
				}
			}
		}
		if len(found) != 1 || prefix == "" {
			return fail(exitFailed, "mcpx-bridge grants list says what is remembered", "%d remembered answers have an id that begins with %q", len(found), prefix)
		}
		chosen = append(chosen, found...)
	}
	for _, g := range chosen {
		ok, err := g.at.Revoke(ctx, g.ID)
		switch {
		case err != nil:
			return err
		case ok:
			p.log.Info("revoked " + g.ID + ": " + g.Tool + " for " + g.Caller)
		}
		if p.s.JSON {
			p.print(jsonLine(map[string]any{"id": g.ID, "revoked": ok}))
		}
	}
	return nil
}
