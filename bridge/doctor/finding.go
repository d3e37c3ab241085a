package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A Finding is what one check came to.
type Finding struct {
	Check    string   `json:"check"`
	OK       bool     `json:"ok"`
	Detail   string   `json:"detail"`
	Hint     string   `json:"hint,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// FindingOf is what a check came to: detail where all is well, else the error with its hints.
func FindingOf(check, detail string, err error, warnings ...string) Finding {
	f := Finding{Check: check, OK: err == nil, Detail: detail, Warnings: warnings}
	if err != nil {
		f.Detail = err.Error()
		if known, ok := errors.AsType[*fault.Error](err); ok {
			f.Hint = strings.Join(known.Hint, "; ")
		}
	}
	return f
}

// Words are a finding for people: one line, and one more for its hint and for each warning.
func (f Finding) Words() []byte {
	mark := "ok  "
	if !f.OK {
		mark = "FAIL"
	}
	line := fmt.Appendf(nil, "%s  %-9s %s\n", mark, f.Check, text.Line(f.Detail))
	if f.Hint != "" {
		line = fmt.Appendf(line, "                hint: %s\n", text.Line(f.Hint))
	}
	for _, w := range f.Warnings {
		line = fmt.Appendf(line, "                warning: %s\n", text.Line(w))
	}
	return line
}

// Unoffered says which tools "run" would not offer, and why.
func Unoffered(tools []client.Tool) (warnings []string) {
	for _, u := range catalog.UnofferedOf(definitions(tools)) {
		switch u.Why {
		case "tool_name_charset":
			warnings = append(warnings, fmt.Sprintf("the tool %q is not offered: a name has up to 128 of A-Z a-z 0-9 _ . / -, so that it can be told from others", u.Name))
		case "tools_of_one_name":
			warnings = append(warnings, fmt.Sprintf("two tools called %s that differ are not offered: nobody knows which of them would run", u.Name))
		case "tool_name_twice":
			warnings = append(warnings, fmt.Sprintf("the tool %s is listed twice, and offered once", u.Name))
		default:
			warnings = append(warnings, "a tool is not offered, for its definition cannot be read")
		}
	}
	return warnings
}

// Names are those of many tools, the first of them.
func Names(tools []client.Tool) string {
	var all []string
	for _, t := range tools {
		all = append(all, t.Name)
	}
	return text.Some(all)
}
