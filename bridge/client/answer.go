package client

import (
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// ErrServesNone is why somebody who answers lists no tools.
var ErrServesNone = errors.New("serves no tools")

// newID is a fresh envelope id.
func newID() string { return uuid.NewString() }

// ErrorOf words the JSON-RPC error with which somebody answered a method or a tool, as a
// [*fault.Error] with the exit code it stands for, not made safe to show. Our bridges' codes
// are those of DESIGN section 9.
func ErrorOf(to, what string, raw []byte) error {
	var e struct {
		Code    jsonrpc.Code
		Message string
		Data    struct{ Reason, Say, By string }
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		// data may be anything; code and message are what counts.
		var bare struct {
			Code    jsonrpc.Code
			Message string
		}
		if json.Unmarshal(raw, &bare) != nil {
			return fault.New(fault.Failed, "", "%s answers %s with an error that cannot be read", to, what)
		}
		e.Code, e.Message = bare.Code, bare.Message
	}
	said := e.Data.Say
	if said != "" && e.Data.By != "" {
		said = e.Data.By + " says: " + said
	}
	switch exit := ExitOf(int(e.Code)); exit {
	case fault.Refused:
		return fault.New(exit, said, "%s refused %s: %s (%s)", to, what, e.Message, e.Data.Reason)
	case fault.NoAnswer:
		return fault.New(exit, said, "%s gave no answer to %s: %s (%s)", to, what, e.Message, e.Data.Reason)
	default:
		if e.Code == refusal.CodeUnknownMethod && what == "tools/list" {
			return fault.New(exit, "", "%s %w: %s (%d)", to, ErrServesNone, e.Message, e.Code)
		}
		return fault.New(exit, "", "%s answers %s with an error: %s (%d)", to, what, e.Message, e.Code)
	}
}

// ExitOf is the exit code that the code of a JSON-RPC error stands for.
func ExitOf(code int) int {
	switch {
	case code == refusal.CodeExpired, code == refusal.CodeOutcomeUnknown, code == refusal.CodeCallTimeout:
		return fault.NoAnswer
	case refusal.IsOurs(code):
		return fault.Refused
	}
	return fault.Failed
}
