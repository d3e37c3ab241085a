package refusal

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A Heard is a refusal as it arrives at a caller. Who calls from a shell, a model behind a
// client and a proposer read the same words of it.
type Heard struct {
	Code     jsonrpc.Code
	Message  string
	Reason   string
	Executed Executed
	Say      string // the owner's words, or those of By
	By       string // who decided, by the names that policies have; "": the rules did
}

// Hear reads a JSON-RPC error, and reports whether it is one. Of what stands beside code and
// message, what cannot be read is left out: anybody may answer anything.
func Hear(raw []byte) (h Heard, ok bool) {
	var e struct {
		Code    jsonrpc.Code
		Message string
		Data    json.RawMessage
	}
	if json.Unmarshal(raw, &e) != nil {
		return h, false
	}
	var data struct {
		Reason, Say, By string
		Executed        Executed
	}
	if json.Unmarshal(e.Data, &data) != nil {
		data.Reason, data.Say, data.By, data.Executed = "", "", "", ""
	}
	return Heard{e.Code, e.Message, data.Reason, data.Executed, data.Say, data.By}, true
}

// HearReject reads what a bridge says for programs of a proposal of a tool that it rejects
// ([Refusal.Exactly]), and reports whether that is a reason of ours.
func HearReject(tool, detail, say, by string) (h Heard, ok bool) {
	reason, message, _ := strings.Cut(detail, ": ")
	var r Refusal
	switch reason {
	case "policy_denied":
		r = PolicyDenied(tool, "")
	case "expired":
		r = Undecided(tool)
	case "no_approver":
		r = Unasked(tool, 1, nil, nil)
	case "shutting_down":
		r = ShuttingDown()
	case reasonHalted:
		r = Halted(by, say)
	case "declined":
		r = Refusal{Code: CodeDenied, Reason: reason, Executed: No, Message: Declined("the call of "+tool, strings.Split(cmp.Or(by, "somebody"), ", "))}
	case reasonUnexplained:
		r = Refusal{Code: codePolicyDenied, Reason: reason, Executed: No}
	case reasonArguments, ReasonUnknownTool, "invalid_params", "invalid_request":
		r = Refusal{Code: CodeInvalidParams, Reason: reason, Executed: No}
	default:
		return h, false
	}
	message = cmp.Or(message, r.Message)
	return Heard{jsonrpc.Code(r.Code), message, reason, No, say, by}, message != ""
}

// Sentence says it of what was asked of whom, without its end and not made safe to show.
func (h *Heard) Sentence(whom, what string) string {
	return h.how(whom, what) + ": " + strings.TrimSuffix(h.Message, ".") + Bracketed(h.Reason)
}

// how says what did not happen, and whether the call ran.
func (h *Heard) how(whom, what string) string {
	code := int(h.Code)
	refused := Refuses(code)
	switch {
	case h.Executed == No && (code == CodeHalted || code == codeAuditUnavailable):
		return whom + " runs nothing now" // whatever was asked on the way to a call
	case h.Executed == No && (!refused || code == codeWithdrawn):
		return whom + " did not run " + what
	case h.Executed == No:
		return whom + " refused " + what + ", it did not run"
	case h.Executed == Yes:
		return whom + " has run " + what + " and gave no answer"
	case refused:
		return whom + " refused " + what + ", it may or may not have run"
	}
	return whom + " gave no answer to " + what + ", it may or may not have run"
}

// Says is whose words stand beside it, and which: "its owner says: …"; "" if there are none.
func (h *Heard) Says() string { return Says(h.By, h.Say) }

// BadArguments reports whether a bridge says that the arguments do not fit the tool's schema,
// so that the server never got them.
func (h *Heard) BadArguments() bool { return h.Reason == reasonArguments && h.Executed == No }

// Refuses reports whether a code of ours is a no; the others say that nobody decided, or that
// the server did not answer.
func Refuses(code int) bool {
	return IsOurs(code) && code != CodeExpired && code != CodeOutcomeUnknown && code != CodeCallTimeout
}
