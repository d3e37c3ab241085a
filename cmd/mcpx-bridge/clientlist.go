package main

import (
	"context"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/setup"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

func (p *program) clientListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [FLAGS]",
		Short: "List the clients that are here, and their servers",
		Long: `List the clients on this machine, and the servers in their files: whether the
bridge is there as mcpx, which servers it is in front of, and which ones it could
be put in front of. Files of the current directory are listed too, and what
Claude Code keeps about that directory in its own file (scope local).

--json prints a line for every file that a client here could have. That there is
no client is an answer too: the exit code is 0.`,
		Example: "  mcpx-bridge client list\n  mcpx-bridge client list --json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.listClients(cmd.Context()) },
	}
}

func (p *program) listClients(ctx context.Context) error {
	m, err := p.machine()
	if err != nil {
		return err
	}
	exe, err := setup.OwnPath(exec.LookPath)
	if err != nil {
		exe = "" // then those of our name are enough
	}
	all, err := promptly(ctx, func() ([]install.Found, error) { return install.Survey(m, exe), nil })
	if err != nil {
		return err
	}
	l, elsewhere := p.list("CLIENT", "SCOPE", "MCPX", "BRIDGED", "OTHERS", "FILE"), []string(nil)
	for _, f := range all {
		if f.Err != nil && !p.s.JSON {
			p.log.Warn(f.Err.Error())
		} else if f.Here || p.s.JSON {
			l.add(setup.FoundOf(f), setup.Row(f)...)
			elsewhere = append(elsewhere, f.Elsewhere...)
		}
	}
	if len(elsewhere) > 0 && !p.s.JSON {
		p.log.Info("claude-code keeps servers of scope local for other directories too: " + text.Some(elsewhere))
		p.log.Info("hint: they are listed, wrapped and unwrapped there")
	}
	if err := l.end("no client was found; looked for " + strings.Join(setup.Names(), ", ")); err != nil || len(l.rows) > 1 || p.s.JSON {
		return err
	}
	p.log.Info("hint: mcpx-bridge client list --json has each file that was looked for")
	return nil
}

// promptly does what may take long with files that others wrote, and leaves it undone
// when a signal comes: then the program ends. Nothing is written in it.
func promptly[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type outcome struct {
		is  T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		is, err := do()
		done <- outcome{is, err}
	}()
	select {
	case o := <-done:
		return o.is, o.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// showChange is for --dry-run.
func (p *program) showChange(c *install.Change) error {
	if p.s.JSON {
		line := setup.EditOf(c)
		line.Changed, line.DryRun, line.Diff = false, true, string(c.Diff())
		return p.print(jsonLine(line))
	}
	if c.Empty() {
		p.log.Info("nothing would change", "file", c.Place.File)
		return nil
	}
	return p.print([]byte(text.Lines(string(c.Diff()))))
}

func (p *program) tellChange(c *install.Change, aside string) error {
	if p.s.JSON {
		line := setup.EditOf(c)
		line.Aside = aside
		return p.print(jsonLine(line))
	}
	if c.Empty() {
		p.log.Info("nothing to do, it is so already", "file", c.Place.File)
		return nil
	}
	p.log.Info(setup.Done(c), "file", c.Place.File)
	if aside != "" {
		p.log.Info("the old file is kept", "file", aside)
	}
	if client := c.Place.Client; client.After != "" {
		p.log.Info("hint: for " + client.Title + " to see it, " + client.After)
	}
	return nil
}

func (p *program) clientPlace(name string) (install.Place, error) {
	m, err := p.machine()
	if err != nil {
		return install.Place{}, err
	}
	return setup.PlaceOf(m, name, p.s.Scope)
}

// machine says where this person's files are on this machine.
func (p *program) machine() (install.Machine, error) { return setup.Machine(p.getenv) }
