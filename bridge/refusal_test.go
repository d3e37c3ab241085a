package bridge

import (
	"encoding/json"
	"testing"
	"time"
)

// A refusal tells its caller whether the call ran, whether the same may be tried again and
// after how long: a program builds on each (DESIGN section 9).
func TestARefusalSaysWhetherAndWhenToTryAgain(t *testing.T) {
	for _, c := range []struct {
		r         Refusal
		code      int
		reason    string
		executed  Executed
		retryable bool
		after     time.Duration
	}{
		{auditUnavailable(), -31009, "audit_unavailable", No, true, time.Second},
		{shareIsFull(), -31005, "busy", No, true, time.Minute},
		{atCapacity(), -31005, "busy", No, true, time.Second},
		{shuttingDown(), -31006, "shutting_down", No, true, 0},
		{serverUnavailable("ended", 3*time.Second), -31007, "server_unavailable", No, true, 3 * time.Second},
		{serverUnavailable("ended", 0), -31007, "server_unavailable", No, true, 0},
		{serverUnavailable("ended", -1), -31007, "server_unavailable", No, false, 0},
		{outcomeUnknown("ended"), -31008, "outcome_unknown", Perhaps, false, 0},
		{answerUnreadable("x"), -31008, "outcome_unknown", Perhaps, false, 0},
		{callTimeout(time.Second), -31010, "call_timeout", Perhaps, false, 0},
		{tooLarge(1), -31013, "too_large", Yes, false, 0},
		{proposalTooLarge(1), -31013, "too_large", No, false, 0},
		{policyDenied("x", "r"), -31004, "policy_denied", No, false, 0},
		{proposalWithdrawn("p"), -31012, "withdrawn", No, false, 0},
		{proposalExpired("p"), -31002, "expired", No, false, 0},
		{alreadyFulfilled("p", "f"), -31014, "already_fulfilled", No, false, 0},
		{invalidParams("x"), -32602, "invalid_params", No, false, 0},
		{unknownTool("x"), -32602, "unknown_tool", No, false, 0},
		{unknownMethod("x"), -32601, "unknown_method", No, false, 0},
		{invalidRequest("x"), -32600, "invalid_request", No, false, 0},
	} {
		var said struct {
			ID    int
			Error struct {
				Code int
				Data struct {
					Reason       string
					Executed     Executed
					Retryable    bool
					RetryAfterMS int64 `json:"retry_after_ms"`
				}
			}
		}
		if err := json.Unmarshal(c.r.payload([]byte("7")), &said); err != nil {
			t.Fatal(err)
		}
		d := said.Error.Data
		if said.ID != 7 || said.Error.Code != c.code || d.Reason != c.reason || d.Executed != c.executed || d.Retryable != c.retryable || d.RetryAfterMS != c.after.Milliseconds() {
			t.Errorf("%s: %+v", c.reason, said)
		}
	}
}
