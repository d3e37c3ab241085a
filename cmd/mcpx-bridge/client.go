package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/commandline"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func (p *program) clientCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "client",
		Short: "Put the bridge into Claude Desktop, Cursor, VS Code and others",
		Long: `Put the bridge into the configuration of desktop clients, and take it out again.

Only the entry that is meant changes; comments, order and layout of the file
stay as they are. What the file was is kept, and "undo" brings it back to the
byte. --dry-run shows what would change, and changes nothing.

NAME is one of ` + inTwoLines(clientNames()) + `.`,
		Example: `  mcpx-bridge client list
  mcpx-bridge client install claude-desktop --topic team --dry-run
  mcpx-bridge client wrap cursor github --policy policy.yaml
  mcpx-bridge client undo cursor`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	start := p.starters()
	cmd.AddCommand(p.clientListCommand(), p.clientInstallCommand(start), p.clientWrapCommand(start), p.clientUnwrapCommand(), p.clientUndoCommand())
	return cmd
}

func clientNames() []string {
	var names []string
	for _, c := range install.Clients() {
		names = append(names, c.Name)
	}
	return names
}

// inTwoLines is a list of names for help.
func inTwoLines(names []string) string {
	half := (len(names) + 1) / 2
	return strings.Join(names[:half], ", ") + ",\n" + strings.Join(names[half:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func (p *program) clientInstallCommand(start starters) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "install NAME [FLAGS] [-- CMD [ARG…]]",
		Short: "Let a client start the bridge",
		Long: `Let a client start the bridge, under the name mcpx.

The client gets the tools of everybody in the topic: it starts mcpx-bridge
serve. With a server's command behind -- it gets that server, which then sits in
the topic too: it starts mcpx-bridge run --stdio, whose rules are for the others
in the topic, and with --gate-host for the client's own tool calls too. Flags of
these two are put into the entry, files among them with their full path.

A client that has no directory here is an error, unless --force makes one. An
entry mcpx that starts another program is left alone.`,
		Example: `  mcpx-bridge client install claude-desktop --topic team --id ann-desk
  mcpx-bridge client install claude-code --scope user
  mcpx-bridge client install zed --policy policy.yaml -- npx -y @modelcontextprotocol/server-memory`,
		Args:      positional(1, -1),
		ValidArgs: clientNames(),
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
client did, and lets the client talk to it as if nothing stood between. At the
same time the server sits in the topic, under your rules. Variables and other
settings of the entry stay where they are. Flags of run are put into the entry.
Without --id the server goes by the entry's name there.

The rules, those of --policy too, are for what others in the topic ask of the
server. What the client itself asks for, none of them judges, and it is not on
record. With --gate-host they are for the client's own tool calls as well, as those
of "host": a policy can name it.

A server that the client reaches by an address cannot be wrapped.`,
		Example:   "  mcpx-bridge client wrap cursor github --topic team --policy policy.yaml\n  mcpx-bridge client wrap cursor github --policy policy.yaml --gate-host\n  mcpx-bridge client wrap claude-code notes --scope local\n  mcpx-bridge client wrap claude-desktop memory --dry-run",
		Args:      positional(2, 2),
		ValidArgs: clientNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := p.editClient(cmd.Context(), args[0], func(exe string, at install.Place, _ install.History) (*install.Change, error) {
				flags, err := p.carried(start.run)
				if err != nil {
					return nil, err
				}
				if err := start.checkRun(p, target{argv: []string{args[1]}}); err != nil {
					return nil, err
				}
				if start.apart.s.ID == "" { // two servers of one package are two participants
					flags = append([]string{"--id=" + commandline.TidyID(args[1])}, flags...)
				}
				change, err := at.Wrap(exe, flags, args[1])
				if err != nil {
					return nil, p.inOtherScope(err, at, exe, args[1])
				}
				p.warnOfState()
				p.warnOfSharing(at)
				p.warnOfNamesakes(at, exe, args[1])
				return change, nil
			})
			if err != nil {
				return err
			}
			return start.sayUngated(p, args[0])
		},
	}
	p.scopeFlags(cmd)
	carriedFlags(cmd, start.run)
	return cmd
}

func (p *program) clientUnwrapCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "unwrap NAME SERVER [FLAGS]",
		Short: "Take the bridge away from in front of a server",
		Long: `Take the bridge away from in front of a server: the client starts it itself
again. If nobody touched its command and arguments in the meantime, they get
back the very bytes they had, whatever else in the file has changed.`,
		Example:   "  mcpx-bridge client unwrap cursor github",
		Args:      positional(2, 2),
		ValidArgs: clientNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.editClient(cmd.Context(), args[0], func(exe string, at install.Place, h install.History) (*install.Change, error) {
				change, err := at.Unwrap(exe, args[1], h)
				return change, p.inOtherScope(err, at, exe, args[1])
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
at a time, up to 50 steps. The file gets back the very bytes it had.

If somebody else changed it since, the difference is shown and nothing happens;
--force brings back the old file all the same, and keeps the present one aside.`,
		Example:   "  mcpx-bridge client undo cursor\n  mcpx-bridge client undo claude-code --scope user --dry-run",
		Args:      positional(1, 1),
		ValidArgs: clientNames(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.editClient(cmd.Context(), args[0], func(_ string, at install.Place, h install.History) (*install.Change, error) {
				change, err := h.Undo(at, p.s.Force)
				return change, p.undoneElsewhere(err, at, h)
			})
		},
	}
	p.scopeFlags(cmd)
	cmd.Flags().BoolVar(&p.s.Force, "force", false, "bring back the old file though somebody changed it since")
	return cmd
}

func (p *program) scopeFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.s.Scope, "scope", "", "whose servers, `SCOPE`: user, project for the file of the directory we are in, or local for what claude-code keeps of that directory for you alone (default: user, for claude-code project)")
	f.BoolVar(&p.s.DryRun, "dry-run", false, "print the difference with the lines around it, change nothing")
}

// clientInstall is told where the -- was; -1 means that there was none.
func (p *program) clientInstall(ctx context.Context, start starters, dash int, args []string) error {
	server := args[1:]
	switch {
	case len(server) > 0 && dash != 1:
		return misused("write -- before the command of a server", "install: %q is one argument too many", args[1])
	case len(server) == 0 && dash >= 0:
		return misused("without -- the client gets the tools of the topic", "install: no command of a server stands behind --")
	}
	err := p.editClient(ctx, args[0], func(exe string, at install.Place, _ install.History) (*install.Change, error) {
		e, err := p.ourEntry(start, exe, server)
		if err != nil {
			return nil, err
		}
		p.warnOfSharing(at)
		return at.Install(e, p.s.Force)
	})
	if err != nil || len(server) == 0 {
		return err
	}
	return start.sayUngated(p, args[0])
}

// editClient thinks a change through, and shows it or makes it so. Only one of
// our processes does so at a time.
func (p *program) editClient(ctx context.Context, name string, think func(exe string, at install.Place, h install.History) (*install.Change, error)) error {
	at, err := p.clientPlace(name)
	if err != nil {
		return err
	}
	exe, err := ownPath()
	if err != nil {
		return err
	}
	state, err := stateHome(p.getenv)
	if err != nil {
		return err
	}
	if !p.s.DryRun {
		unlock, err := lockClients(ctx, state)
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

func (p *program) clientPlace(name string) (install.Place, error) {
	all := install.Clients()
	i := slices.IndexFunc(all, func(c install.Client) bool { return c.Name == name })
	if i < 0 {
		hint := "it is one of " + strings.Join(clientNames(), ", ")
		if meant := policy.Nearest(name, clientNames()); meant != "" {
			hint = "did you mean " + meant + "?"
		}
		return install.Place{}, misused(hint, "there is no client %q", name)
	}
	m, err := p.machine()
	if err != nil {
		return install.Place{}, err
	}
	at, ok := all[i].Place(m, install.Scope(p.s.Scope))
	if !ok {
		var has []string
		for _, s := range all[i].Scope {
			has = append(has, string(s))
		}
		return at, misused("it has "+strings.Join(has, ", "), "--scope: %s has no scope %q", name, p.s.Scope)
	}
	return at, nil
}

// machine says where this person's files are on this machine.
func (p *program) machine() (install.Machine, error) {
	key := "HOME"
	if runtime.GOOS == "windows" {
		key = "USERPROFILE"
	}
	m := install.Machine{GOOS: runtime.GOOS, Home: p.getenv(key), AppData: p.getenv("APPDATA"), ConfigHome: p.getenv("XDG_CONFIG_HOME"),
		ClaudeConfig: p.getenv("CLAUDE_CONFIG_DIR"), CodexHome: p.getenv("CODEX_HOME")}
	for name, dir := range map[string]string{key: m.Home, "APPDATA": m.AppData, "XDG_CONFIG_HOME": m.ConfigHome, "CLAUDE_CONFIG_DIR": m.ClaudeConfig, "CODEX_HOME": m.CodexHome} {
		if dir != "" && !filepath.IsAbs(dir) {
			return m, misused("write it from the root on, or unset it", "%s is %q, it must be an absolute path", name, dir)
		}
	}
	if m.Home == "" {
		return m, misused("set "+key, "there is no %s to look for the files of clients in", key)
	}
	var err error
	if m.Dir, err = os.Getwd(); err == nil {
		m.RealDir, err = filepath.EvalSymlinks(m.Dir)
	}
	return m, err
}

// ownPath is the path that a client finds us by, also after the next update: the
// one in PATH, if that is us.
func ownPath() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	if strings.Contains(filepath.ToSlash(exe), "/go-build") {
		return "", fail(exitFailed, "build it where it can stay: go build -o bin/ ./cmd/mcpx-bridge", "%s will be gone when this command ends", exe)
	}
	found, err := exec.LookPath("mcpx-bridge")
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err == nil && sameFile(found, exe) {
		return found, nil
	}
	return exe, nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// clientWait is how long an edit waits for another that is under way.
const clientWait = 10 * time.Second

// lockClients makes us the only process that edits clients' files. Two commands at
// once run one after the other.
func lockClients(ctx context.Context, d stateDir) (unlock func() error, err error) {
	if err := d.Open(); err != nil {
		return nil, err
	}
	for began := time.Now(); ; {
		f, err := d.Lock("client.lock")
		if err != nil {
			return nil, err
		}
		if f != nil {
			return holdClients(f), nil
		}
		if time.Since(began) > clientWait || !pause.For(ctx, freeAgain) {
			return nil, fail(exitFailed, "try again when it is done, or end it", "another mcpx-bridge client is at work%s", holderOfClients(d))
		}
	}
}

// holdClients writes into the lock whose it is, for those who wait in vain.
func holdClients(f *os.File) (unlock func() error) {
	if f.Truncate(0) == nil {
		fmt.Fprintf(f, "%d\n", os.Getpid()) // who cannot write it holds the lock all the same
	}
	return f.Close
}

// holderOfClients says who has the lock, if that is known.
func holderOfClients(d stateDir) string {
	text, err := d.Read("client.lock")
	if pid, wrong := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && wrong == nil {
		return fmt.Sprintf(": process %d", pid)
	}
	return ""
}

// clientFailure words what package install found, and shows the difference if
// there is one.
func (p *program) clientFailure(err error) error {
	if e, ok := errors.AsType[*install.ChangedError](err); ok { // as Claude Code's file is at each of its starts
		if p.s.JSON {
			p.print(jsonLine(map[string]any{"file": e.File, "diff": string(e.Diff)}))
		} else {
			p.print([]byte(visibleLines(string(e.Diff))))
		}
		return fail(exitFailed, e.Less, "%w", err).
			Also("--force brings back the whole file as it was before, without all that was written since, and keeps aside what is there now")
	}
	if e, ok := errors.AsType[*install.Error](err); ok {
		return fail(exitFailed, e.Hint, "%w", err)
	}
	return err
}
