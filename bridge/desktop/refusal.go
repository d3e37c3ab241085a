package desktop

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// An excuse is why we answer a call ourselves, in the terms of DESIGN 9.
type excuse struct {
	code     int
	reason   string
	executed refusal.Executed
}

var (
	unavailable    = excuse{refusal.CodeServerUnavailable, "server_unavailable", refusal.No}
	busy           = excuse{refusal.CodeBusy, "busy", refusal.No}
	outcomeUnknown = excuse{refusal.CodeOutcomeUnknown, "outcome_unknown", refusal.Perhaps}
	unreadable     = excuse{refusal.CodeOutcomeUnknown, "outcome_unknown", refusal.Yes}
	notThere       = excuse{codeInvalidParams, "unknown", refusal.No}
)

// sorry answers that something did not work: a call with a result that a model
// reads, anything else with an error.
func (f *Proxy) sorry(r *request, why excuse, text string) {
	text = clip(text, 600)
	data := compose(map[string]any{"reason": why.reason, "executed": why.executed, "retryable": why == unavailable || why == busy})
	if r.method != methodCallTool {
		f.refuse(r, why.code, text, data)
		return
	}
	f.refused(r, text, compose(map[string]any{"code": why.code, "message": text, "data": json.RawMessage(data)}))
}

// A fault is a JSON-RPC error as far as it is read here.
type fault struct {
	Code    jsonrpc.Code
	Message string
	Data    json.RawMessage
}

// reasons are the members of a refusal's data that are said to people.
type reasons struct {
	Reason, Executed, Say string
}

func readFault(raw []byte) (e fault, why reasons, ok bool) {
	if json.Unmarshal(raw, &e) != nil {
		return e, why, false
	}
	_ = json.Unmarshal(e.Data, &why) // data may be anything
	return e, why, true
}

// inWords is a bridge's refusal (DESIGN 9) in one sentence that a model can
// read; "" if it is another error.
func inWords(pair Pair, raw []byte) string {
	e, why, ok := readFault(raw)
	if !ok || !refusal.IsOurs(int(e.Code)) {
		return ""
	}
	ran := map[string]string{"no": "so it did not run", "yes": "after it had run"}[why.Executed]
	if ran == "" {
		ran = "and it may or may not have run"
	}
	text := fmt.Sprintf("%s did not answer %s, %s: %s", clip(pair.Peer, 80), clip(pair.Name, 80), ran, clip(strings.TrimSuffix(e.Message, "."), 300))
	if why.Reason != "" {
		text += " (" + clip(strings.ReplaceAll(why.Reason, "_", " "), 40) + ")"
	}
	if why.Say != "" {
		text += "; it says: " + clip(why.Say, 200)
	}
	return text
}

// refused answers with a refusal, whose data a program finds in _meta.
func (f *Proxy) refused(r *request, text string, raw []byte) {
	f.reply(r, compose(map[string]any{"content": words(text), "isError": true, "_meta": map[string]any{"mcpx/refusal": json.RawMessage(raw)}}))
}

// passing reports whether an error will not last.
func passing(raw []byte) bool {
	e, _, ok := readFault(raw)
	code := int(e.Code)
	return ok && (code == busy.code || code == refusal.CodeShuttingDown || code == unavailable.code)
}

// asksTheClient reports whether an error is one that a client acts upon. What
// cannot be read may be.
func asksTheClient(raw []byte) bool {
	at, err := peek(raw, "code", "data")
	var code float64
	if err != nil || json.Unmarshal(at[0], &code) != nil {
		return true
	}
	if code != codeElicitURL || !isObject(at[1]) {
		return false
	}
	data, err := peek(at[1], "elicitations")
	return err != nil || data[0] != nil
}

// A word is content of type text.
type word struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func words(text string) []word { return []word{{"text", text}} }
