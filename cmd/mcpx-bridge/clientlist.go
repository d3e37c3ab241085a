package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
)

func (p *program) clientListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [FLAGS]",
		Short: "List the clients that are here, and their servers",
		Long: `List the clients that are here, and the servers in their files: whether the
bridge is there as mcpx, what it is in front of, and what it could be put in
front of. Files of the directory we are in are listed too, and what Claude Code
keeps of it in its own file (scope local).

With --json there is a line for every file that a client here could have.`,
		Example: "  mcpx-bridge client list\n  mcpx-bridge client list --json",
		Args:    positional(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.listClients(cmd.Context()) },
	}
}

func (p *program) listClients(ctx context.Context) error {
	m, err := p.machine()
	if err != nil {
		return err
	}
	exe, err := ownPath()
	if err != nil {
		exe = "" // then those of our name are enough
	}
	rows, elsewhere := [][]string{{"CLIENT", "SCOPE", "MCPX", "BRIDGED", "OTHERS", "FILE"}}, []string(nil)
	all, err := promptly(ctx, func() ([]install.Found, error) { return install.Survey(m, exe), nil })
	if err != nil {
		return err
	}
	for _, f := range all {
		switch {
		case p.s.JSON:
			p.print(jsonLine(foundLine(f)))
		case f.Err != nil:
			p.log.Warn(f.Err.Error())
		case f.Here:
			rows = append(rows, foundRow(f))
			elsewhere = append(elsewhere, f.Elsewhere...)
		}
	}
	if p.s.JSON {
		return nil
	}
	if len(rows) == 1 {
		p.log.Info("no client was found", "known", strings.Join(clientNames(), ", "))
		return nil
	}
	if len(elsewhere) > 0 {
		p.log.Info("claude-code keeps servers of scope local for other directories too: " + dashed(elsewhere))
		p.log.Info("hint: they are listed, wrapped and unwrapped there")
	}
	return p.print(table(rows))
}

func foundRow(f install.Found) []string {
	ours := "no"
	if f.Ours {
		ours = "yes"
	}
	var bridged, others []string
	for _, s := range f.Servers {
		switch {
		case s.Wrapped:
			bridged = append(bridged, s.Name)
		case s.Remote:
			others = append(others, s.Name+" (remote)")
		default:
			others = append(others, s.Name)
		}
	}
	return []string{f.Place.Client.Name, string(f.Place.Scope), ours, dashed(bridged), dashed(others), f.Place.File}
}

func dashed(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	words := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if more := len(names) - mostNamed; more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	return words
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
		return none, fail(exitFailed, "", "%w", context.Cause(ctx))
	}
}

// A foundServer is one of the servers in a line of client list --json.
type foundServer struct {
	Name    string `json:"name"`
	Bridged bool   `json:"bridged"`
	Remote  bool   `json:"remote"`
	Problem string `json:"problem,omitempty"` // why the bridge cannot be put in front of it
}

func foundLine(f install.Found) any {
	line := struct {
		Client  string        `json:"client"`
		Scope   string        `json:"scope"`
		File    string        `json:"file"`
		Here    bool          `json:"here"`   // the client seems to be on this machine
		Exists  bool          `json:"exists"` // the file does
		MCPX    bool          `json:"mcpx"`
		Servers []foundServer `json:"servers"`
		Error   string        `json:"error,omitempty"`

		Elsewhere []string `json:"elsewhere,omitempty"` // with scope local: other directories that have servers
	}{f.Place.Client.Name, string(f.Place.Scope), f.Place.File, f.Here, f.There, f.Ours, []foundServer{}, "", f.Elsewhere}
	for _, s := range f.Servers {
		line.Servers = append(line.Servers, foundServer{s.Name, s.Wrapped, s.Remote, s.Wrong})
	}
	if f.Err != nil {
		line.Error = f.Err.Error()
	}
	return line
}

// An editLine is what the commands that edit print with --json.
type editLine struct {
	Client  string       `json:"client"`
	Scope   string       `json:"scope"`
	File    string       `json:"file"`
	Verb    install.Verb `json:"verb"`
	Server  string       `json:"server"`
	Changed bool         `json:"changed"`
	DryRun  bool         `json:"dry_run,omitempty"`
	Diff    string       `json:"diff,omitempty"`
	Aside   string       `json:"aside,omitempty"`
}

func lineOf(c *install.Change) editLine {
	return editLine{Client: c.Place.Client.Name, Scope: string(c.Place.Scope), File: c.Place.File, Verb: c.Verb, Server: c.Server, Changed: !c.Empty()}
}

// showChange is for --dry-run.
func (p *program) showChange(c *install.Change) error {
	if p.s.JSON {
		line := lineOf(c)
		line.Changed, line.DryRun, line.Diff = false, true, string(c.Diff())
		return p.print(jsonLine(line))
	}
	if c.Empty() {
		p.log.Info("nothing would change", "file", c.Place.File)
		return nil
	}
	return p.print([]byte(visibleLines(string(c.Diff()))))
}

func (p *program) tellChange(c *install.Change, aside string) error {
	if p.s.JSON {
		line := lineOf(c)
		line.Aside = aside
		return p.print(jsonLine(line))
	}
	if c.Empty() {
		p.log.Info("nothing to do, it is so already", "file", c.Place.File)
		return nil
	}
	client := c.Place.Client
	said := map[install.Verb]string{
		install.Install: client.Title + " starts the bridge as " + c.Server + " now",
		install.Wrap:    client.Title + " starts " + c.Server + " behind the bridge now",
		install.Unwrap:  client.Title + " starts " + c.Server + " by itself again",
		install.Undo:    "undone: " + string(c.Undone) + " of " + c.Server + " in " + client.Title,
	}
	p.log.Info(said[c.Verb], "file", c.Place.File)
	if aside != "" {
		p.log.Info("what the file was is kept", "file", aside)
	}
	if client.After != "" {
		p.log.Info("hint: for " + client.Title + " to see it, " + client.After)
	}
	return nil
}
