package refusal

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Executed tells a caller whether the server was given the call. It is the
// one field a caller may build on when it decides to try again.
type Executed string

const (
	No      Executed = "no"      // the server never got it
	Yes     Executed = "yes"     // the server answered it
	Perhaps Executed = "unknown" // the server got some or all of it and did not answer
)

// A Refusal is an answer that is not the server's. Codes and reasons are the
// table of DESIGN section 9.
type Refusal struct {
	Code       int
	Reason     string
	Message    string // for people; says what and what to do
	Executed   Executed
	Retryable  bool
	RetryAfter time.Duration
	Rule       string

	Decision  string   // the question that was put
	By        []string // who decided
	Say       string   // the owner's or the deciding person's words
	Tool      string   // what was called and by whom, where nobody could be asked
	Requester string
	Proposal  string // that the request refers to
	First     string // the request that served it before
	Over      bool   // a limit of the policy is used up
	Mendable  bool   // another proposal may do, so that the Message is for the proposer too
}

// The codes of DESIGN section 9 that can occur so far. They lie outside the
// ranges that JSON-RPC and MCP keep for themselves.
const (
	CodeInvalidRequest = -32600
	CodeUnknownMethod  = -32601
	CodeInvalidParams  = -32602

	CodeDenied            = -31001
	CodeExpired           = -31002
	CodeNoApprover        = -31003
	codePolicyDenied      = -31004
	CodeBusy              = -31005
	CodeShuttingDown      = -31006
	CodeServerUnavailable = -31007
	CodeOutcomeUnknown    = -31008
	codeAuditUnavailable  = -31009
	CodeCallTimeout       = -31010
	CodeToolChanged       = -31011
	codeWithdrawn         = -31012
	codeTooLarge          = -31013
	codeAlreadyFulfilled  = -31014
	CodeHalted            = -31015
)

// IsOurs reports whether a code is of that table, or may come to be: whoever answers with it
// is a bridge, and did not answer in the server's name.
func IsOurs(code int) bool { return -31099 <= code && code <= CodeDenied }

// InvalidRequest is for what is no JSON-RPC request; why is a sentence about it.
func InvalidRequest(why string) Refusal {
	return Refusal{Code: CodeInvalidRequest, Reason: "invalid_request", Message: why, Executed: No}
}

// UnknownMethod is for a method that no server is asked through a bridge.
func UnknownMethod(method string) Refusal {
	return Refusal{Code: CodeUnknownMethod, Reason: "unknown_method", Executed: No,
		Message: "the method " + text.Quote(method, Clipped) + " is not one a server can be asked"}
}

// ReasonUnknownTool is the reason of an [UnknownTool].
const ReasonUnknownTool = "unknown_tool"

// UnknownTool is for a tool that is not offered.
func UnknownTool(name string) Refusal {
	return Refusal{Code: CodeInvalidParams, Reason: ReasonUnknownTool, Executed: No,
		Message: "unknown tool " + text.Quote(name, Clipped) + "; tools/list names those there are"}
}

// InvalidArguments is for arguments that the schema of a tool refuses; why names what.
func InvalidArguments(tool, why string) Refusal {
	return Refusal{Code: CodeInvalidParams, Reason: reasonArguments, Executed: No,
		Message: "the arguments of " + tool + " are not as its schema has them: " + why}
}

const reasonArguments = "invalid_arguments"

// InvalidParams is for params that cannot be judged; why is a sentence.
func InvalidParams(why string) Refusal {
	return Refusal{Code: CodeInvalidParams, Reason: "invalid_params", Executed: No, Message: why}
}

// Ambiguous is for parameters that a lenient server reads otherwise than we do
// (FINDINGS H1).
func Ambiguous(why error) Refusal {
	return InvalidParams("the parameters can be read in two ways: " + why.Error())
}

// PolicyDenied is for what a rule, or the default (rule is "" then), does not allow.
func PolicyDenied(what, rule string) Refusal {
	return Refusal{Code: codePolicyDenied, Reason: "policy_denied", Executed: No, Rule: rule,
		Message: "the owner's policy does not allow " + what}
}

// PlanDenied is for a plan that covers a call of a tool which a rule denies, or may deny.
func PlanDenied(tool, rule string) Refusal {
	r := PolicyDenied("this plan", rule)
	r.Mendable = true
	if tool != "" {
		r.Message += ": of the calls of " + tool + " that it covers, some are or may be denied"
	}
	if rule != "" {
		r.Message += " by rule " + rule
	}
	if tool != "" {
		r.Message += "; a plan that lists values (is, in) covers what that leaves"
	}
	return r
}

const reasonUnexplained = "justification_required"

// Unexplained is for what a rule lets nobody do who does not say why; key is where, in the _meta
// of a request, that is said.
func Unexplained(what, rule, via, key string) Refusal {
	where := `in _meta["` + key + `"], with call --why, or as why of mcpx_call`
	if via == "proposal" {
		where = "as the reason of the proposal, or with propose --why"
	}
	return Refusal{Code: codePolicyDenied, Reason: reasonUnexplained, Executed: No, Rule: rule, Mendable: true,
		Message: "the owner's policy wants to know why you ask for " + what + ": say it " + where}
}

// Undecided is for what nobody decided about in time; what names it.
func Undecided(what string) Refusal {
	return Refusal{Code: CodeExpired, Reason: "expired", Executed: No, Message: "nobody decided about " + what + " in time"}
}

// Unasked is for what too few can be asked about, of need who must agree; what names it. here
// and away are those who may decide, by the names that policies have.
func Unasked(what string, need int, here, away []string) Refusal {
	r := Refusal{Code: CodeNoApprover, Reason: "no_approver", Executed: No, Retryable: true,
		Message: "nobody who may decide about " + what + " can be asked now"}
	if len(here) > 0 && need > len(here) {
		r.Message = fmt.Sprintf("%d must agree about %s, and only %s", need, what, are(here, "here"))
		if len(away) > 0 {
			r.Message += "; " + are(away, "away")
		}
	}
	return r
}

// are says where people are.
func are(names []string, where string) string {
	if len(names) == 1 {
		return People(names) + " is " + where
	}
	return People(names) + " are " + where
}

// Busy is for who may try again after a second; what is a sentence.
func Busy(what string) Refusal {
	return Refusal{Code: CodeBusy, Reason: "busy", Executed: No, Retryable: true, RetryAfter: time.Second, Message: what}
}

// ShareIsFull is for who sent more in a quarter of an hour than can be known again.
func ShareIsFull() Refusal {
	r := Busy("you sent more requests within 15 minutes than the bridge can tell from repeated ones")
	r.RetryAfter = time.Minute
	return r
}

// AtCapacity is for a call for which the server has no room.
func AtCapacity() Refusal {
	return Busy("the server has as many calls as it may have at one time; try again")
}

// ShuttingDown is for calls that come after the bridge was told to stop.
func ShuttingDown() Refusal {
	return Refusal{Code: CodeShuttingDown, Reason: "shutting_down", Executed: No, Retryable: true,
		Message: "the bridge is stopping and takes no more calls"}
}

// Halted is for what would start while the bridge is halted: by whom, by a name that policies
// have, and why, in their words.
func Halted(by, why string) Refusal {
	return Refusal{Code: CodeHalted, Reason: reasonHalted, Executed: No, Retryable: true, By: []string{by}, Say: why,
		Message: "the bridge is halted, and starts nothing until it goes on"}
}

const reasonHalted = "halted"

// ServerUnavailable is for calls to a server that is not up: "it " and why make a sentence.
// retry is when it may be up again; negative: never.
func ServerUnavailable(why string, retry time.Duration) Refusal {
	return Refusal{Code: CodeServerUnavailable, Reason: "server_unavailable", Executed: No,
		Retryable: retry >= 0, RetryAfter: max(retry, 0), Message: "the server is not running: it " + why}
}

// NotStarted is for calls to a server that has never been up; wait is how long they waited
// for it.
func NotStarted(wait time.Duration) Refusal {
	r := ServerUnavailable("", time.Second)
	r.Message = "the server is still starting, after " + wait.String()
	return r
}

// StartIsFull is for calls to a server that has never been up, and for which too many wait.
func StartIsFull() Refusal {
	r := ServerUnavailable("", time.Second)
	r.Message = "the server is still starting, and as many requests wait for that as may"
	return r
}

// NotGreeted is for calls to a server that its own client has not initialized; wait is how
// long it may take.
func NotGreeted(wait time.Duration) Refusal {
	r := ServerUnavailable("", wait)
	r.Message = "the server's own client has not initialized it yet"
	return r
}

// OutcomeUnknown is for calls that the server had when it ended: "it " and why make a sentence.
func OutcomeUnknown(why string) Refusal {
	return Refusal{Code: CodeOutcomeUnknown, Reason: "outcome_unknown", Executed: Perhaps,
		Message: "the server ended while it had the call, so nobody knows whether it ran: it " + why}
}

// AnswerUnreadable is for a call whose answer is no message; why is a reason in one word.
func AnswerUnreadable(why string) Refusal {
	return Refusal{Code: CodeOutcomeUnknown, Reason: "outcome_unknown", Executed: Perhaps,
		Message: "the server's answer cannot be read (" + why + "), so nobody knows whether the call ran"}
}

// AuditUnavailable is for what cannot be put on record, and so does not run.
func AuditUnavailable() Refusal {
	return Refusal{Code: codeAuditUnavailable, Reason: "audit_unavailable", Executed: No, Retryable: true, RetryAfter: time.Second,
		Message: "the audit log cannot be written, and nothing runs that is not on record"}
}

// CallTimeout is for a call that the server has not answered in its time.
func CallTimeout(after time.Duration) Refusal {
	return Refusal{Code: CodeCallTimeout, Reason: "call_timeout", Executed: Perhaps,
		Message: "the server did not answer within " + after.String()}
}

// TooLarge is for an answer of size bytes that no frame carries. The call ran.
func TooLarge(size int) Refusal {
	return Refusal{Code: codeTooLarge, Reason: "too_large", Executed: Yes,
		Message: "the server's answer has " + strconv.Itoa(size) + " bytes, more than a topic carries (" + strconv.Itoa(jsonrpc.MaxSize) + ")"}
}

// ProposalTooLarge is for a proposal of which no request can be shown to all.
func ProposalTooLarge(size int) Refusal {
	return Refusal{Code: codeTooLarge, Reason: "too_large", Executed: No,
		Message: "the request would have " + strconv.Itoa(size) + " bytes; a topic carries " + strconv.Itoa(jsonrpc.MaxSize) + " at most, with the envelope"}
}

// TooMuchToAsk is for a call that somebody would have to agree to.
func TooMuchToAsk(what, why string) Refusal {
	return Refusal{Code: codeTooLarge, Reason: "too_large", Executed: No,
		Message: "nobody can be asked about " + what + " with such arguments: " + why}
}

// ProposalWithdrawn is for a request that comes too late for its proposal.
func ProposalWithdrawn(id string) Refusal {
	return Refusal{Code: codeWithdrawn, Reason: "withdrawn", Executed: No, Proposal: id,
		Message: "the proposer has withdrawn this proposal"}
}

// ProposalExpired is for a request that comes after the time of its proposal.
func ProposalExpired(id string) Refusal {
	return Refusal{Code: CodeExpired, Reason: "expired", Executed: No, Proposal: id,
		Message: "this proposal has expired"}
}

// AlreadyFulfilled is for a request that serves the proposal id second; first is the request
// that served it.
func AlreadyFulfilled(id, first string) Refusal {
	return Refusal{Code: codeAlreadyFulfilled, Reason: "already_fulfilled", Executed: No, Proposal: id, First: first,
		Message: "another request serves this proposal already"}
}

// Payload is the refusal as a JSON-RPC error answer to id; nil id: the request
// had none.
func (r Refusal) Payload(id []byte) []byte {
	return jsonrpc.AppendError(nil, id, r.Code, r.Message, r.data())
}

// data is what a program needs to know of it.
func (r Refusal) data() []byte {
	data := append([]byte(`{"reason":`), strconv.Quote(r.Reason)...)
	data = append(data, `,"executed":"`...)
	data = append(data, r.Executed...)
	data = append(data, `","retryable":`...)
	data = strconv.AppendBool(data, r.Retryable)
	if r.RetryAfter > 0 {
		data = append(data, `,"retry_after_ms":`...)
		data = strconv.AppendInt(data, r.RetryAfter.Milliseconds(), 10)
	}
	for _, m := range []struct{ name, value string }{
		{"decision_id", r.Decision}, {"rule", r.Rule}, {"by", strings.Join(r.By, ", ")}, {"say", r.Say},
		{"tool", r.Tool}, {"requester", r.Requester}, {"proposal", r.Proposal}, {"first", r.First},
	} {
		if m.value != "" {
			data = append(append(append(data, `,"`...), m.name...), `":`...)
			data = jsonrpc.AppendQuote(data, m.value)
		}
	}
	return append(data, '}')
}

// Clipped is the most that is repeated of what a stranger wrote. An answer must
// not grow with the question: what is quoted grows, and might fit no frame.
// In words it is shown through [text.Quote] and [text.Cut].
const Clipped = 300

// Clip is for records, which keep what arrived as it was: who shows them makes it
// fit to be seen.
func Clip(s string) string {
	if len(s) <= Clipped {
		return s
	}
	return strings.ToValidUTF8(s[:Clipped], "") + "…"
}

// Word is a refusal as a proposer hears it (WIRE 7.3, 7.8).
func (r *Refusal) Word() string {
	switch r.Code {
	case CodeUnknownMethod, CodeServerUnavailable:
		return proposal.Incapable
	case CodeInvalidRequest, CodeInvalidParams:
		if r.Reason == ReasonUnknownTool {
			return proposal.Incapable
		}
		return proposal.Invalid
	case codePolicyDenied, CodeNoApprover:
		if r.Over {
			return proposal.ResourceLimit
		}
		return proposal.Policy
	case codeTooLarge:
		return proposal.ResourceLimit
	case CodeBusy, CodeShuttingDown, CodeHalted:
		return proposal.Busy
	case CodeExpired:
		return proposal.Timeout
	case CodeDenied:
		if r.Reason == "declined" || r.Reason == "cancelled" {
			return proposal.Disagree
		}
	}
	return proposal.Other
}

// Exactly is why, for programs; where the proposer can mend it or may try again when others are
// here, in words too.
func (r *Refusal) Exactly() string {
	if r.Mendable || r.Code == CodeInvalidParams || r.Code == CodeInvalidRequest || r.Code == CodeNoApprover {
		return r.Reason + ": " + r.Message
	}
	return r.Reason
}
