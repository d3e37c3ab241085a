package engine

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
)

// A refusal tells its caller whether the call ran, whether the same may be tried again and
// after how long: a program builds on each (DESIGN section 9).
func TestARefusalSaysWhetherAndWhenToTryAgain(t *testing.T) {
	for _, c := range []struct {
		r         refusal.Refusal
		code      int
		reason    string
		executed  refusal.Executed
		retryable bool
		after     time.Duration
	}{
		{refusal.AuditUnavailable(), -31009, "audit_unavailable", refusal.No, true, time.Second},
		{refusal.ShareIsFull(), -31005, "busy", refusal.No, true, time.Minute},
		{refusal.AtCapacity(), -31005, "busy", refusal.No, true, time.Second},
		{refusal.ShuttingDown(), -31006, "shutting_down", refusal.No, true, 0},
		{refusal.ServerUnavailable("ended", 3*time.Second), -31007, "server_unavailable", refusal.No, true, 3 * time.Second},
		{refusal.ServerUnavailable("ended", 0), -31007, "server_unavailable", refusal.No, true, 0},
		{refusal.ServerUnavailable("ended", -1), -31007, "server_unavailable", refusal.No, false, 0},
		{refusal.OutcomeUnknown("ended"), -31008, "outcome_unknown", refusal.Perhaps, false, 0},
		{refusal.AnswerUnreadable("x"), -31008, "outcome_unknown", refusal.Perhaps, false, 0},
		{refusal.CallTimeout(time.Second), -31010, "call_timeout", refusal.Perhaps, false, 0},
		{refusal.TooLarge(1), -31013, "too_large", refusal.Yes, false, 0},
		{refusal.ProposalTooLarge(1), -31013, "too_large", refusal.No, false, 0},
		{refusal.PolicyDenied("x", "r"), -31004, "policy_denied", refusal.No, false, 0},
		{refusal.ProposalWithdrawn("p"), -31012, "withdrawn", refusal.No, false, 0},
		{refusal.ProposalExpired("p"), -31002, "expired", refusal.No, false, 0},
		{refusal.AlreadyFulfilled("p", "f"), -31014, "already_fulfilled", refusal.No, false, 0},
		{refusal.InvalidParams("x"), -32602, "invalid_params", refusal.No, false, 0},
		{refusal.UnknownTool("x"), -32602, "unknown_tool", refusal.No, false, 0},
		{refusal.UnknownMethod("x"), -32601, "unknown_method", refusal.No, false, 0},
		{refusal.InvalidRequest("x"), -32600, "invalid_request", refusal.No, false, 0},
	} {
		var said struct {
			ID    int
			Error struct {
				Code int
				Data struct {
					Reason       string
					Executed     refusal.Executed
					Retryable    bool
					RetryAfterMS int64 `json:"retry_after_ms"`
				}
			}
		}
		if err := json.Unmarshal(c.r.Payload([]byte("7")), &said); err != nil {
			t.Fatal(err)
		}
		d := said.Error.Data
		if said.ID != 7 || said.Error.Code != c.code || d.Reason != c.reason || d.Executed != c.executed || d.Retryable != c.retryable || d.RetryAfterMS != c.after.Milliseconds() {
			t.Errorf("%s: %+v", c.reason, said)
		}
	}
}
