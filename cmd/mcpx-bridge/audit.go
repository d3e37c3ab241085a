package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit/show"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/config"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
)

// The commands about audit logs read them, and never write.

func (p *program) auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show, follow and verify what was decided and what ran",
		Long: `Show, follow and verify the record of what was decided and what ran.

Each bridge keeps one, under its id in the state directory, or in the FILE that run
was given. LOG is that id or file. Without LOG, show and verify take all records;
follow needs LOG if there are several. Every line has the hash of the line before it, so a
missing or altered line shows.`,
		Example: `  mcpx-bridge audit show --since 1h
  mcpx-bridge audit show filesystem --tool write_file --event decided,ended
  mcpx-bridge audit follow --json | jq .event
  mcpx-bridge audit verify filesystem`,
	}
	cmd.AddCommand(p.auditShowCommand(), p.auditFollowCommand(), p.auditVerifyCommand())
	return cmd
}

func (p *program) auditShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show [FLAGS] [LOG]",
		Short: "Show records, oldest first",
		Long: `Show the records that match all flags, oldest first, one line each. Without LOG it
shows those of all bridges on this machine, and each line names its bridge.

Records of tools/list, but for refusals, are left out without --all, --call or
--json. At a terminal lines are cut to fit, unless --wide is given; what was asked
for and who decided goes on in the next line. Control characters are shown as \u{…}.
With --json each record is shown as it was written, but with such characters
escaped; the hashes are those of the file.`,
		Example: "  mcpx-bridge audit show --verdict deny -n 20\n  mcpx-bridge audit show --since 15m --from ana\n  mcpx-bridge audit show filesystem --call 5f3a9c21-7 --json",
		Args:    help.Positional(0, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.auditShow(cmd.Context(), args) },
	}
	p.recordFlags(cmd.Flags())
	cmd.Flags().IntVarP(&p.s.Records.Last, "last", "n", 0, "the last `N` of them alone (default: all)")
	return cmd
}

func (p *program) auditFollowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "follow [FLAGS] [LOG]",
		Short: "Show records as they are written, until interrupted",
		Long: `Show records as they are written, until interrupted. With --since those from
then on come first. It goes on when the log begins a new file.`,
		Example: "  mcpx-bridge audit follow\n  mcpx-bridge audit follow filesystem --event decided --since 10m",
		Args:    help.Positional(0, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.auditFollow(cmd.Context(), args) },
	}
	p.recordFlags(cmd.Flags())
	return cmd
}

func (p *program) auditVerifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [FLAGS] [LOG]",
		Short: "Check that nothing is missing from a log or was altered",
		Long: `Check that nothing is missing from a log or was altered. Without LOG it checks those
of all bridges on this machine, and each result begins with the name of its bridge.

It checks that each line has the hash of the line before it, that no call started
twice or without being allowed, and that passkeys signed what they are said to have
signed. It checks that the newest record noted in LOG.head is still there (else the
end was cut off), and that log and note belong to the bridge that is named. A log without its note is not whole: copy both.
Anybody who can write the log can forge the note too. Nobody here can forge the
checkpoints in the topic: each "notifications/mcpx/checkpoint" has a seq and a
hash. Give one as --witness to check that the log up to there is unchanged.

Exit code 6 means that a log is not whole; its first bad line is named.`,
		Example: "  mcpx-bridge audit verify\n  mcpx-bridge audit verify filesystem --witness 256:9f86d081884c7d65…",
		Args:    help.Positional(0, 1),
		RunE:    func(_ *cobra.Command, args []string) error { return p.auditVerify(args) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&p.s.Witness, "witness", nil, "the log must have had this record, `SEQ:HASH`; repeatable")
	f.BoolVar(&p.s.Partial, "partial", false, "accept that the oldest files are kept elsewhere")
	return cmd
}

func (p *program) auditShow(ctx context.Context, args []string) error {
	paths, err := p.auditLogs(args)
	if err != nil {
		return err
	}
	found, err := p.wanted().In(ctx, paths, time.Now())
	if err != nil {
		return err
	}
	var worst error
	shown, print := false, p.recordPrinter(paths)
	for r, err := range found {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			worst = cmp.Or(worst, error(fail(exitVerify, "compare with a copy; mcpx-bridge audit verify says what is missing", "%s is gone", r.Path)))
		case err != nil:
			worst = cmp.Or(worst, restless(r.Path, err))
		default:
			if err := print(&r.Record, r.Path); err != nil {
				return err
			}
			shown = true
		}
	}
	if !shown && worst == nil {
		p.log.Info("no record matches all flags")
	}
	return worst
}

func (p *program) auditFollow(ctx context.Context, args []string) error {
	path, err := p.auditLog(args)
	if err != nil {
		return err
	}
	pick, since, err := p.wanted().Picker(time.Now())
	if err != nil {
		return err
	}
	print := p.recordPrinter([]string{path})
	for r, err := range audit.Follow(ctx, path, p.s.Records.Since != "", since) {
		if err != nil {
			return err
		}
		if pick(&r) && print(&r, path) != nil {
			return nil // nobody reads any more
		}
	}
	return nil
}

// wanted are the records that the flags choose. Programs get those of tools/list too.
func (p *program) wanted() show.Filter {
	f := p.s.Records
	f.All = f.All || p.s.JSON
	return f
}

// recordPrinter prints records of these logs, one line each.
func (p *program) recordPrinter(paths []string) func(*audit.Record, string) error {
	if p.s.JSON {
		return func(r *audit.Record, _ string) error { return p.print(rawLine(r.Text)) }
	}
	layout := show.Layout{Columns: p.columns(), Bridges: show.Bridges(p.auditDir(), paths)}
	return func(r *audit.Record, path string) error { return p.print([]byte(layout.Line(r, path) + "\n")) }
}

// auditVerify exits with 6 when a log is not whole.
func (p *program) auditVerify(args []string) error {
	paths, err := p.logsToVerify(args)
	if err != nil {
		return err
	}
	checks := audit.Checks{Partial: p.s.Partial}
	for _, text := range p.s.Witness {
		head, err := audit.ParseHead(text)
		if err != nil {
			return misused("--witness SEQ:HASH, as a checkpoint in the topic says", "--witness: %w", err)
		}
		checks.Witnesses = append(checks.Witnesses, audit.Witness{Head: head, Of: "--witness"})
	}
	if len(paths) > 1 {
		return p.verifyEach(paths, checks)
	}
	return p.verifyOne(paths[0], checks)
}

// logsToVerify are all logs where none is named, but for a witness, which knows one alone.
func (p *program) logsToVerify(args []string) ([]string, error) {
	if len(p.s.Witness) == 0 {
		return p.auditLogs(args)
	}
	path, err := p.auditLog(args)
	return []string{path}, err
}

func (p *program) verifyOne(path string, checks audit.Checks) error {
	found := show.Verify(p.auditDir(), path, checks)
	if found.Err != nil {
		return restless(path, found.Err)
	}
	if p.s.JSON {
		p.print(jsonLine(found))
	} else if found.OK {
		p.print(show.Report(path, found.Report))
	}
	switch {
	case found.OK:
		return nil
	case p.s.JSON:
		return &failure{Exit: exitVerify}
	}
	return fail(exitVerify, show.Hint(found.Report), "%w", found.Fault)
}

// verifyEach says what it finds in each of several logs, and goes on behind one that is not whole.
func (p *program) verifyEach(paths []string, checks audit.Checks) error {
	broken, unread := 0, error(nil)
	for _, path := range paths {
		found := show.Verify(p.auditDir(), path, checks)
		if p.s.JSON {
			p.print(jsonLine(found))
		} else {
			p.print(found.Text())
		}
		switch {
		case found.Err != nil:
			unread = cmp.Or(unread, restless(path, found.Err))
		case !found.OK:
			broken++
		}
	}
	switch {
	case broken == 0:
		return unread
	case p.s.JSON:
		return &failure{Exit: exitVerify}
	}
	return fail(exitVerify, "", "%d of %d audit logs are not whole", broken, len(paths))
}

// restless says what to do about a log that cannot be read for now.
func restless(path string, err error) error {
	if !errors.Is(err, audit.ErrRestless) {
		return err
	}
	return fail(exitFailed, "try again when its bridge has less to do; nothing wrong was found", "%s: %w", path, err)
}

// auditDir is where the bridges of this machine keep their records; "" if nobody can tell.
func (p *program) auditDir() string {
	home, err := localgateway.Home(p.getenv)
	if err != nil {
		return ""
	}
	return home.File("audit")
}

// auditLog finds the log that args name: a file, or a bridge that keeps its record in the
// state directory; else the one that run was told of in the environment, or the only one.
func (p *program) auditLog(args []string) (string, error) {
	if path, err := p.namedLog(args); path != "" || err != nil {
		return path, err
	}
	return show.Only(p.auditDir())
}

// auditLogs is auditLog for whoever takes all of them where none is named.
func (p *program) auditLogs(args []string) ([]string, error) {
	if path, err := p.namedLog(args); path != "" || err != nil {
		return []string{path}, err
	}
	return show.Every(p.auditDir())
}

// namedLog is the log that args or the environment name, "" if they name none.
func (p *program) namedLog(args []string) (string, error) {
	if len(args) > 0 {
		return show.Find(p.auditDir(), args[0])
	}
	if file := p.getenv(config.Env("audit")); file != "off" {
		return file, nil
	}
	return "", nil
}

// recordFlags are those that choose records.
func (p *program) recordFlags(f *pflag.FlagSet) {
	r := &p.s.Records
	p.s.wideFlag(f)
	f.BoolVar(&r.All, "all", false, "records of tools/list too")
	f.StringVar(&r.Verdict, "verdict", "", "records of this `VERDICT` of rules and people: allow, ask, deny or withdrawn")
	f.StringVar(&r.Call, "call", "", "records of this call, by its `NAME` in the record or its envelope's id")
	f.StringVar(&r.Proposal, "proposal", "", "records of the proposal with this envelope `ID`, and of its call")
	f.StringVar(&r.From, "from", "", "records about this participant's calls and answers, `ID`")
	f.StringVar(&r.Tool, "tool", "", "records about this `TOOL`; * stands for anything")
	f.StringVar(&r.Since, "since", "", "records from this `TIME` on: 15m, 2d, 2026-01-31 or 2026-01-31T12:00")
	f.StringSliceVar(&r.Event, "event", nil, "records of this `EVENT`, such as asked, answer, decided, started, ended, rejected or security; more with commas")
}
