package main

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/commandline"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/setup"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

func (p *program) clientCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "client",
		Short: "Put the bridge into Claude Desktop, Cursor, VS Code and others",
		Long: `Put the bridge into the configuration of desktop clients, and take it out again.

Only the one entry changes; comments, order and layout of the file stay as they
are. A copy of the old file is kept, and "undo" brings it back to the byte.
--dry-run shows what would change, and changes nothing.

NAME is one of ` + inTwoLines(setup.Names()) + `.`,
		Example: `  mcpx-bridge client list
  mcpx-bridge client install claude-desktop --topic team --dry-run
  mcpx-bridge client wrap cursor github --policy policy.yaml
  mcpx-bridge client undo cursor`,
	}
	start := p.starters()
	cmd.AddCommand(p.clientListCommand(), p.clientInstallCommand(start), p.clientWrapCommand(start), p.clientUnwrapCommand(), p.clientUndoCommand())
	return cmd
}

// inTwoLines is a list of names for help.
func inTwoLines(names []string) string {
	half := (len(names) + 1) / 2
	return strings.Join(names[:half], ", ") + ",\n" + text.Series(names[half:], 0)
}

func (p *program) clientInstallCommand(start starters) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "install NAME [FLAGS] [-- CMD [ARG…]]",
		Short: "Let a client start the bridge",
		Long: `Let a client start the bridge, under the name mcpx.

The client starts mcpx-bridge serve, and gets the tools of everybody in the topic.
With a server's command after --, the client starts mcpx-bridge run --stdio: it
gets that server, and the topic has the server too. The rules judge the calls of
others in the topic, and with --gate-host the client's own tool calls too. Flags
of serve or run are put into the entry, files with their full path.

Without --id the entry for serve gets the id USER-NAME, unless you name a gateway or
others share the file. A client that has no directory here is an error, unless
--force makes one. An entry mcpx that starts another program is left alone.`,
		Example: `  mcpx-bridge client install claude-desktop --topic team --id ann-desk
  mcpx-bridge client install claude-code --scope user
  mcpx-bridge client install zed --policy policy.yaml -- npx -y @modelcontextprotocol/server-memory`,
		Annotations: map[string]string{help.Rarely: "answers audit cwd gate-host inbox notify start-timeout timeout include exclude limit patience"},
		Args:        help.Positional(1, -1),
		ValidArgs:   setup.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.clientInstall(cmd.Context(), start, cmd.ArgsLenAtDash(), args)
		},
	}
	p.scopeFlags(cmd)
	cmd.Flags().BoolVar(&p.s.Force, "force", false, "make the client's directory if there is none")
	carriedFlags(cmd, start.run, start.serve)
	return cmd
}

func (p *program) clientWrapCommand(start starters) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wrap NAME SERVER [FLAGS]",
		Short: "Put the bridge in front of a server that a client has",
		Long: `Put the bridge in front of a server that a client has already.

The client then starts mcpx-bridge run --stdio, which starts the server as the
client did, and lets the client talk to it as if nothing stood between. The topic
has the server too, under your rules. Variables and other settings of the entry
stay where they are. Flags of run are put into the entry. Without --id the topic
knows the server by the entry's name.

The rules (flags and --policy) are for what others in the topic ask of the
server. No rule judges what the client itself asks for, and it is not on record.
With --gate-host the rules judge the client's own tool calls too, as calls of
"host", which a policy can name.

A server that the client reaches by an address cannot be wrapped.`,
		Example:     "  mcpx-bridge client wrap cursor github --topic team --policy policy.yaml\n  mcpx-bridge client wrap cursor github --policy policy.yaml --gate-host\n  mcpx-bridge client wrap claude-code notes --scope local\n  mcpx-bridge client wrap claude-desktop memory --dry-run",
		Annotations: map[string]string{help.Rarely: "answers audit cwd gate-host inbox notify start-timeout timeout"},
		Args:        help.Positional(2, 2),
		ValidArgs:   setup.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := p.editClient(cmd.Context(), args[0], func(exe string, at install.Place, _ install.History) (*install.Change, error) {
				flags, err := p.carried(start.run)
				if err != nil {
					return nil, err
				}
				if err := start.checkRun(p, node.Target{Args: []string{args[1]}}); err != nil {
					return nil, err
				}
				if start.apart.s.ID == "" && !start.apart.bearsToken() { // two servers of one package are two participants
					flags = append([]string{"--id=" + commandline.TidyID(args[1])}, flags...)
				}
				change, err := at.Wrap(exe, flags, args[1])
				if err != nil {
					return nil, p.elsewhere(err, at, exe, args[1])
				}
				p.warnOfState()
				p.warnOfSharing(at)
				p.warnOfNamesakes(at, exe, args[1])
				return change, nil
			})
			if err != nil {
				return err
			}
			return start.sayUngated(p, args[0], cmp.Or(start.apart.s.ID, commandline.TidyID(args[1])))
		},
	}
	p.scopeFlags(cmd)
	carriedFlags(cmd, start.run)
	return cmd
}

func (p *program) clientUnwrapCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "unwrap NAME SERVER [FLAGS]",
		Short: "Take the bridge in front of a server away",
		Long: `Take the bridge in front of a server away: the client starts the server itself
again. If nobody touched its command and arguments in the meantime, they get
their old bytes back, whatever else in the file has changed.`,
		Example:   "  mcpx-bridge client unwrap cursor github",
		Args:      help.Positional(2, 2),
		ValidArgs: setup.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.editClient(cmd.Context(), args[0], func(exe string, at install.Place, h install.History) (*install.Change, error) {
				change, err := at.Unwrap(exe, args[1], h)
				return change, p.elsewhere(err, at, exe, args[1])
			})
		},
	}
	p.scopeFlags(cmd)
	return cmd
}

func (p *program) clientUndoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "undo NAME [FLAGS]",
		Short: "Take back the last install, wrap or unwrap",
		Long: `Take back what the last install, wrap or unwrap did to a client's file, one step
at a time, up to 50 steps or 256 MiB of them. The file gets back the very bytes it had.

If somebody else changed the file since, the difference is shown and nothing
happens; --force brings back the old file, and keeps the present one aside.`,
		Example:   "  mcpx-bridge client undo cursor\n  mcpx-bridge client undo claude-code --scope user --dry-run",
		Args:      help.Positional(1, 1),
		ValidArgs: setup.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.editClient(cmd.Context(), args[0], func(_ string, at install.Place, h install.History) (*install.Change, error) {
				change, err := h.Undo(at, p.s.Force)
				if m, wrong := p.machine(); wrong == nil && p.s.Scope == "" {
					err = setup.UndoneElsewhere(err, m, at, h)
				}
				return change, err
			})
		},
	}
	p.scopeFlags(cmd)
	cmd.Flags().BoolVar(&p.s.Force, "force", false, "bring back the old file even if somebody changed it since")
	return cmd
}

func (p *program) scopeFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.s.Scope, "scope", "", "whose servers, `SCOPE`: user, project or local (default: user, for claude-code project); project is the file in the current directory, local what claude-code keeps about that directory for you alone")
	f.BoolVar(&p.s.DryRun, "dry-run", false, "print the difference with the lines around it, change nothing")
}

// clientInstall is told where the -- was; -1 means that there was none.
func (p *program) clientInstall(ctx context.Context, start starters, dash int, args []string) error {
	server := args[1:]
	switch {
	case len(server) > 0 && dash != 1:
		return misused("write -- before the command of a server", "install: %q is one argument too many", args[1])
	case len(server) == 0 && dash >= 0:
		return misused("without -- the client gets the tools of the topic", "install: the command of a server is missing after --")
	}
	err := p.editClient(ctx, args[0], func(exe string, at install.Place, _ install.History) (*install.Change, error) {
		e, err := p.ourEntry(start, exe, server)
		if err != nil {
			return nil, err
		}
		if len(server) == 0 {
			e.Args = append(e.Args, p.ownID(start, at)...)
		}
		p.warnOfSharing(at)
		return at.Install(e, p.s.Force)
	})
	if err != nil || len(server) == 0 {
		return err
	}
	return start.sayUngated(p, args[0], cmp.Or(start.apart.s.ID, node.Target{Args: server}.ID()))
}

// editClient thinks a change through, and shows it or makes it so. Only one of
// our processes does so at a time.
func (p *program) editClient(ctx context.Context, name string, think func(exe string, at install.Place, h install.History) (*install.Change, error)) error {
	at, err := p.clientPlace(name)
	if err != nil {
		return err
	}
	exe, err := setup.OwnPath(exec.LookPath)
	if err != nil {
		return err
	}
	state, err := localgateway.Home(p.getenv)
	if err != nil {
		return err
	}
	if !p.s.DryRun {
		unlock, err := setup.Lock(ctx, state)
		if err != nil {
			return err
		}
		defer unlock()
	}
	history := install.History{Dir: state.File("client")}
	change, err := promptly(ctx, func() (*install.Change, error) { return think(exe, at, history) })
	if err != nil {
		return p.clientFailure(err)
	}
	if p.s.DryRun {
		return p.showChange(change)
	}
	aside, err := history.Apply(change, time.Now())
	if err != nil {
		return p.clientFailure(err)
	}
	return p.tellChange(change, aside)
}

// clientFailure words what package install found, and shows the difference if
// there is one.
func (p *program) clientFailure(err error) error {
	if e, ok := errors.AsType[*install.ChangedError](err); ok { // as Claude Code's file is at each of its starts
		if p.s.JSON {
			p.print(jsonLine(map[string]any{"file": e.File, "diff": string(e.Diff)}))
		} else {
			p.print([]byte(text.Lines(string(e.Diff))))
		}
		return fail(exitFailed, e.Less, "%w", err).
			Also("--force brings back the whole old file, without later changes, and keeps the present one aside")
	}
	if e, ok := errors.AsType[*install.Error](err); ok {
		return fail(exitFailed, e.Hint, "%w", err)
	}
	return err
}

// elsewhere says in which scope a server is, if it is in another and none was named.
func (p *program) elsewhere(err error, at install.Place, exe, server string) error {
	m, wrong := p.machine()
	if wrong != nil || p.s.Scope != "" {
		return err
	}
	return setup.InOtherScope(err, m, at, exe, server)
}

// warnOfSharing is for files that are in other people's hands too, where an entry names
// programs and files of this machine.
func (p *program) warnOfSharing(at install.Place) {
	if own := setup.OwnScope(at); own != "" {
		p.log.Info("everybody who shares " + at.File + " gets the entry too, and it names files of this machine")
		p.log.Info("hint: --scope " + string(own) + " is for you alone")
	}
}

// warnOfNamesakes names other servers of the name that the client may start instead.
func (p *program) warnOfNamesakes(at install.Place, exe, server string) {
	m, err := p.machine()
	if err != nil {
		return
	}
	for _, scope := range setup.Namesakes(m, at, exe, server) {
		p.log.Warn("scope " + string(scope) + " has a server " + server + " too, and " + at.Client.Title + " decides which of them it starts")
		p.log.Warn("hint: put the bridge in front of that one as well: --scope " + string(scope))
	}
}
