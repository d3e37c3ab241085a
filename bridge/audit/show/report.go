package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// Hint is what to do about what [audit.VerifyLog] found; it may be "".
func Hint(r audit.Report) string {
	switch r.Fault.Kind {
	case audit.TornLine:
		return "if a crash did that, the next start of the bridge cuts the line off and says so"
	case audit.NoteMissing:
		return "if you moved the log, move its .head file too; else compare with a copy, or with a checkpoint in the topic (--witness)"
	case audit.WrongLog:
		return "somebody has put another log, or another note, in its place: compare with a copy"
	case audit.BeginsLate:
		return "if you keep the earlier files elsewhere, put them back beside this one, or add --partial"
	case audit.EndMissing:
		return "compare with a copy; missing records cannot be restored"
	}
	return ""
}

// Report says what was verified, and what not.
func Report(path string, r audit.Report) []byte {
	if r.Records == 0 {
		return fmt.Appendf(nil, "%s is empty\n  nothing proves that it always was: records that were cut off would not show\n", text.Line(path))
	}
	out := fmt.Appendf(nil, "%s is whole: records %d to %d, %s to %s, %s\n", text.Line(path), r.First, r.Last,
		r.From.Local().Format(time.DateTime), r.To.Local().Format(time.DateTime), text.Counted(r.Starts, "call"))
	say := func(when bool, format string, args ...any) {
		if when {
			out = fmt.Appendf(out, "  "+format+"\n", args...)
		}
	}
	say(r.Bridge != "", "it is the record of %s, log %s", text.Line(r.Bridge), r.Log)
	say(r.Log == "", "it was made by an earlier build: no id says which log it is")
	say(r.Removed > 0, "records 1 to %d were removed to keep its limits, which is on record", r.Removed)
	say(r.Files > 1, "it has %d files", r.Files)
	say(r.Checked > 0, "it agrees with %s", text.Counted(r.Checked, "checkpoint"))
	say(r.Unchecked > 0, "%s could not be checked: the record is in an older file", text.Counted(r.Unchecked, "checkpoint"))
	say(r.Checked == 0, "nothing proves its end: records that were cut off there would not show; see --witness")
	say(r.Signed > 0, "what passkeys signed is what was allowed: %s", text.Counted(r.Signed, "signature"))
	say(r.Unenrolled > 0, "enrolled before the first record, so that nothing here says whose they are: %s", text.Counted(r.Unenrolled, "passkey"))
	say(r.Halts > 0, "the bridge was halted: %s", text.Counted(r.Halts, "time"))
	say(r.Halted, "it is halted at the end of the record: nothing may start")
	say(r.Recoveries > 0, "it went on after a crash or a failure: %s", text.Counted(r.Recoveries, "time"))
	say(r.Losses > 0, "a file, or the end of one, was gone: %s", text.Counted(r.Losses, "time"))
	say(r.Jumps > 0, "the clock was put forward or back: %s", text.Counted(r.Jumps, "time"))
	say(!r.Closed, "it was not closed: a bridge writes to it, or was killed")
	say(len(r.Unfinished) > 0, "calls without an end on record: %s", text.Line(strings.Join(r.Unfinished, " ")))
	say(true, "head %s", r.Head)
	return out
}
