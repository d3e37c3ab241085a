package show

import (
	"cmp"
	"fmt"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// Verified is what was found in one log.
type Verified struct {
	audit.Report
	Path  string `json:"path"`
	Error string `json:"error,omitempty"` // Err, for programs

	Err error  `json:"-"` // the log could not be read to its end, which says nothing against it
	id  string // of the bridge whose log is kept at Path, "" if the place does not say
}

// Verify verifies the log at path with [audit.VerifyLog]. In dir, the directory of audit logs, it
// must be that of the bridge that its name says.
func Verify(dir, path string, checks audit.Checks) Verified {
	checks.Bridge = Whose(dir, path)
	report, err := audit.VerifyLog(path, checks)
	v := Verified{Report: report, Path: path, Err: err, id: checks.Bridge}
	if err != nil {
		v.OK, v.Error = false, err.Error()
	}
	return v
}

// Text says it behind the name of the bridge, as one result among several.
func (v Verified) Text() []byte {
	out := fmt.Appendf(nil, "%s: ", text.Line(cmp.Or(v.id, v.Path)))
	switch {
	case v.Err != nil:
		return fmt.Appendf(out, "could not be verified: %s\n", text.Line(v.Error))
	case v.OK:
		return append(out, Report(v.Path, v.Report)...)
	}
	out = fmt.Appendf(out, "not whole: %s\n", text.Line(v.Fault.Error()))
	if hint := Hint(v.Report); hint != "" {
		out = fmt.Appendf(out, "  hint: %s\n", hint)
	}
	return out
}
