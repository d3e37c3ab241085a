package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
)

// The commands about audit logs read them, and never write.

func (p *program) auditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show, follow and verify the record of what was decided and what ran",
		Long: `Show, follow and verify the record of what was decided and what ran.

Each bridge keeps one, under its id in the state directory unless run was told
another FILE. LOG is that id or file; it may be left out where only one bridge
has kept a record. Every line of it names the one before by its hash, so that a
line that is missing or was altered shows.`,
		Example: `  mcpx-bridge audit show --since 1h
  mcpx-bridge audit show filesystem --tool write_file --event decided,end
  mcpx-bridge audit follow --json | jq .event
  mcpx-bridge audit verify filesystem`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.auditShowCommand(), p.auditFollowCommand(), p.auditVerifyCommand())
	return cmd
}

func (p *program) auditShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show [FLAGS] [LOG]",
		Short: "Show records, oldest first",
		Long: `Show records, oldest first, one line each; those that agree with all flags.

Control characters are shown as \u{…}. With --json each record is shown as it
was written, but with such characters escaped; what the hashes are of is the file.`,
		Example: "  mcpx-bridge audit show --since 15m --from ana\n  mcpx-bridge audit show filesystem --call 5f3a9c21-7 --json",
		Args:    positional(0, 1),
		RunE:    func(_ *cobra.Command, args []string) error { return p.auditShow(args) },
	}
	p.s.Records.flags(cmd.Flags())
	return cmd
}

func (p *program) auditFollowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "follow [FLAGS] [LOG]",
		Short: "Show records as they are written, until interrupted",
		Long: `Show records as they are written, until interrupted. With --since those from
then on come first. It goes on when the log begins a new file.`,
		Example: "  mcpx-bridge audit follow\n  mcpx-bridge audit follow filesystem --event decided --since 10m",
		Args:    positional(0, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.auditFollow(cmd.Context(), args) },
	}
	p.s.Records.flags(cmd.Flags())
	return cmd
}

func (p *program) auditVerifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [FLAGS] [LOG]",
		Short: "Check that nothing is missing from a log or was altered",
		Long: `Check that nothing is missing from a log or was altered.

It reads every line and checks that each names the hash of the one before, that
no call started without leave or twice, that the newest record noted beside the
log (in LOG.head) is still there, which shows when the end was cut off, and that
both are of the bridge that is named. A log without its note is not whole: copy
both. Whoever can write the log can forge that note too. What nobody here can
forge is what the topic was told: each "notifications/mcpx/checkpoint" there has
a seq and a hash. Give it as --witness, and the log up to there is as it was then.

Exit code 6 means that the log is not whole; the first bad line is named.`,
		Example: "  mcpx-bridge audit verify\n  mcpx-bridge audit verify filesystem --witness 256:9f86d081884c7d65…",
		Args:    positional(0, 1),
		RunE:    func(_ *cobra.Command, args []string) error { return p.auditVerify(args) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&p.s.Witness, "witness", nil, "the log must have had this record, `SEQ:HASH`; repeatable")
	f.BoolVar(&p.s.Partial, "partial", false, "accept that the oldest files are kept elsewhere")
	return cmd
}

func (p *program) auditShow(args []string) error {
	path, err := p.auditLog(args)
	if err != nil {
		return err
	}
	pick, since, err := p.s.Records.picker()
	if err != nil {
		return err
	}
	shown := false
	for r, err := range audit.Records(path, since) {
		if errors.Is(err, fs.ErrNotExist) {
			return fail(exitVerify, "compare with a copy; mcpx-bridge audit verify says what is missing", "%s is gone", path)
		}
		if err != nil {
			return restless(path, err)
		}
		is, err := p.showRecord(&r, pick)
		if err != nil {
			return err
		}
		shown = shown || is
	}
	if !shown {
		p.log.Info("no record agrees with all flags")
	}
	return nil
}

func (p *program) auditFollow(ctx context.Context, args []string) error {
	path, err := p.auditLog(args)
	if err != nil {
		return err
	}
	pick, _, err := p.s.Records.picker()
	if err != nil {
		return err
	}
	for r, err := range audit.Follow(ctx, path, p.s.Records.Since != "") {
		if err != nil {
			return err
		}
		if _, err := p.showRecord(&r, pick); err != nil {
			return nil // nobody reads any more
		}
	}
	return nil
}

// showRecord prints a record that is wanted, and reports whether it is.
func (p *program) showRecord(r *audit.Record, pick picker) (wanted bool, err error) {
	if !pick(r) {
		return false, nil
	}
	if p.s.JSON {
		return true, p.print(rawLine(r.Text))
	}
	return true, p.print(fmt.Appendf(nil, "%s\n", recordWords(r)))
}

// auditVerify exits with 6 when the log is not whole.
func (p *program) auditVerify(args []string) error {
	path, err := p.auditLog(args)
	if err != nil {
		return err
	}
	checks := audit.Checks{Partial: p.s.Partial, Bridge: p.whoseLog(path)}
	for _, text := range p.s.Witness {
		head, err := audit.ParseHead(text)
		if err != nil {
			return misused("--witness SEQ:HASH, as a checkpoint in the topic says", "--witness: %w", err)
		}
		checks.Witnesses = append(checks.Witnesses, audit.Witness{Head: head, Of: "--witness"})
	}
	report, err := audit.VerifyLog(path, checks)
	if err != nil {
		return restless(path, err)
	}
	if p.s.JSON {
		p.print(jsonLine(report))
	} else if report.OK {
		p.print(reportWords(path, report))
	}
	switch {
	case report.OK:
		return nil
	case p.s.JSON:
		return &failure{Exit: exitVerify}
	}
	return fail(exitVerify, verifyHint(report), "%w", report.Fault)
}

// restless says what to do about a log that cannot be read for now.
func restless(path string, err error) error {
	if !errors.Is(err, audit.ErrRestless) {
		return err
	}
	return fail(exitFailed, "try again, or when its bridge has less to do; nothing was found to be wrong with it", "%s: %w", path, err)
}

func verifyHint(r audit.Report) string {
	switch r.Fault.Kind {
	case audit.TornLine:
		return "if a crash did that, the bridge cuts it off and says so when it next starts"
	case audit.NoteMissing:
		return "if you keep the log elsewhere, put what was beside it there too; else compare with a copy, or with what the topic was told (--witness)"
	case audit.WrongLog:
		return "somebody has put another log, or another note, in its place: compare with a copy"
	case audit.BeginsLate:
		return "if you keep the files before elsewhere, put them back beside it, or give --partial"
	case audit.EndMissing:
		return "compare with a copy; what is missing cannot be made up for"
	}
	return ""
}

// reportWords says what was verified, and what not.
func reportWords(path string, r audit.Report) []byte {
	if r.Records == 0 {
		return fmt.Appendf(nil, "%s is empty\n  nothing vouches for that: records that were cut off would not show\n", visible(path))
	}
	const day = "2006-01-02 15:04:05"
	out := fmt.Appendf(nil, "%s is whole: records %d to %d, %s to %s, %s\n", visible(path), r.First, r.Last,
		r.From.Local().Format(day), r.To.Local().Format(day), counted(r.Starts, "call"))
	say := func(when bool, format string, args ...any) {
		if when {
			out = fmt.Appendf(out, "  "+format+"\n", args...)
		}
	}
	say(r.Bridge != "", "it is the record of %s, log %s", visible(r.Bridge), r.Log)
	say(r.Log == "", "it was made by an earlier build: no id says which log it is")
	say(r.Removed > 0, "records 1 to %d were removed as told, which is on record", r.Removed)
	say(r.Files > 1, "it has %d files", r.Files)
	say(r.Checked > 0, "it agrees with %s", counted(r.Checked, "checkpoint"))
	say(r.Unchecked > 0, "%s could not be checked: the record is in an older file", counted(r.Unchecked, "checkpoint"))
	say(r.Checked == 0, "nothing vouches for its end: a tail that was cut off would not show; see --witness")
	say(r.Recoveries > 0, "it went on after a crash or a failure: %s", counted(r.Recoveries, "time"))
	say(r.Losses > 0, "a file, or the end of one, was gone: %s", counted(r.Losses, "time"))
	say(r.Jumps > 0, "the clock was put forward or back: %s", counted(r.Jumps, "time"))
	say(!r.Closed, "it was not closed: a bridge writes to it, or was killed")
	say(len(r.Unfinished) > 0, "without a last word: %s", visible(strings.Join(r.Unfinished, " ")))
	say(true, "head %s", r.Head)
	return out
}

// whoseLog is the bridge whose log is kept at a path in the state directory; "" for
// other places, whose names say nothing.
func (p *program) whoseLog(path string) string {
	home, err := stateHome(p.getenv)
	if err != nil || filepath.Dir(path) != filepath.Join(string(home), "audit") {
		return ""
	}
	id, is := strings.CutSuffix(filepath.Base(path), ".jsonl")
	if !is {
		return ""
	}
	return id
}

// auditLog finds the log that args name: a file, or a bridge that keeps its
// record in the state directory.
func (p *program) auditLog(args []string) (string, error) {
	dir := ""
	if home, err := stateHome(p.getenv); err == nil {
		dir = filepath.Join(string(home), "audit")
	}
	if len(args) == 0 {
		return p.onlyLog(dir)
	}
	named := args[0]
	for _, path := range []string{named, filepath.Join(dir, named+".jsonl")} {
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir(), errors.Is(err, fs.ErrNotExist) && wasThere(path):
			return path, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	hint := "name a file"
	if kept := logsIn(dir); len(kept) > 0 {
		hint = "there are: " + strings.Join(kept, ", ")
	}
	return "", fail(exitFailed, hint, "there is no audit log %q", named)
}

// wasThere reports whether a log is gone of which the note about its end is left: that
// it is missing is not to go unseen.
func wasThere(path string) bool {
	note, err := audit.ReadHeadFile(path)
	return err != nil || note.Head.Seq > 0 // what is wrong with the note, verify says
}

// onlyLog is the log where none is named: the one that run was told of in the
// environment, or the only one there is.
func (p *program) onlyLog(dir string) (string, error) {
	if file := p.getenv(flagEnv("audit")); file != "" && file != "off" {
		return file, nil
	}
	switch kept := logsIn(dir); len(kept) {
	case 0:
		return "", fail(exitFailed, "name a file; run keeps its record in "+cmpDir(dir)+" unless told another place", "no bridge has kept a record here")
	case 1:
		return filepath.Join(dir, kept[0]+".jsonl"), nil
	default:
		return "", misused("name one: "+strings.Join(kept, ", "), "there are %d audit logs", len(kept))
	}
}

func cmpDir(dir string) string {
	if dir == "" {
		return "the state directory"
	}
	return dir
}

// logsIn are the ids of the bridges that keep a record in dir, or kept one that is
// gone.
func logsIn(dir string) (ids []string) {
	entries, _ := os.ReadDir(dir) // without one there are none
	for _, e := range entries {
		name, note := strings.CutSuffix(e.Name(), ".head")
		id, is := strings.CutSuffix(name, ".jsonl")
		if is && e.Type().IsRegular() && (!note || wasThere(filepath.Join(dir, name))) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// flags are those that choose records.
func (r *recordFilter) flags(f *pflag.FlagSet) {
	f.StringVar(&r.Call, "call", "", "records of this call, by our `NAME` for it or its envelope's id")
	f.StringVar(&r.Proposal, "proposal", "", "records of the proposal with this envelope `ID`, and of its call")
	f.StringVar(&r.From, "from", "", "records about this participant's calls and answers, `ID`")
	f.StringVar(&r.Tool, "tool", "", "records about this `TOOL`; * stands for anything")
	f.StringVar(&r.Since, "since", "", "records from this `TIME` on: 15m, 2d, 2026-01-31 or 2026-01-31T12:00")
	f.StringSliceVar(&r.Event, "event", nil, "records of this `EVENT`, such as asked, answered, decided, start, end, rejected or security; more with commas")
}
