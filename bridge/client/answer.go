package client

import (
	"errors"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
)

// ErrServesNone is why somebody who answers lists no tools.
var ErrServesNone = errors.New("serves no tools")

// newID is a fresh envelope id.
func newID() string { return uuid.NewString() }

// ErrorOf words the JSON-RPC error with which somebody answered a method or a tool, as a
// [*fault.Error] with the exit code it stands for, not made safe to show. Our bridges' codes
// are those of DESIGN section 9.
func ErrorOf(to, what string, raw []byte) error {
	h, ok := refusal.Hear(raw)
	if !ok {
		return fault.New(fault.Failed, "", "%s answers %s with an error that cannot be read", to, what)
	}
	exit := ExitOf(int(h.Code))
	switch {
	case h.BadArguments():
		return fault.New(fault.Refused, "", "%s", h.Sentence(to, what))
	case refusal.IsOurs(int(h.Code)):
		return fault.New(exit, "", "%s", h.Sentence(to, what)).Adding(h.Says())
	case h.Code == refusal.CodeUnknownMethod && what == "tools/list":
		return fault.New(exit, "", "%s %w: %s (%d)", to, ErrServesNone, h.Message, h.Code)
	}
	return fault.New(exit, "", "%s answers %s with an error: %s (%d)", to, what, h.Message, h.Code)
}

// NoSuchTool reports whether a bridge says that there is no tool of that name.
func (a Answer) NoSuchTool() bool {
	h, ok := refusal.Hear(a.Err)
	return ok && h.Reason == refusal.ReasonUnknownTool
}

// ExitOf is the exit code that the code of a JSON-RPC error stands for.
func ExitOf(code int) int {
	switch {
	case refusal.Refuses(code):
		return fault.Refused
	case refusal.IsOurs(code):
		return fault.NoAnswer
	}
	return fault.Failed
}
