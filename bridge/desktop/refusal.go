package desktop

import (
	"encoding/json"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
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

// inWords is a bridge's refusal (DESIGN 9) in one sentence that a model can
// read; "" if it is another error.
func inWords(pair Pair, raw []byte) string {
	h, ok := refusal.Hear(raw)
	if !ok || !refusal.IsOurs(int(h.Code)) {
		return ""
	}
	h.Message, h.Reason, h.Say, h.By = clip(h.Message, 300), clip(h.Reason, 40), clip(h.Say, 200), clip(h.By, 200)
	text := h.Sentence(clip(pair.Peer, 80), clip(pair.Name, 80))
	if says := h.Says(); says != "" {
		text += "; " + says
	}
	return text
}

// refused answers with a refusal, whose data a program finds in _meta.
func (f *Proxy) refused(r *request, text string, raw []byte) {
	f.reply(r, compose(map[string]any{"content": words(text), "isError": true, "_meta": map[string]any{"mcpx/refusal": json.RawMessage(raw)}}))
}

// passing reports whether an error will not last.
func passing(raw []byte) bool {
	h, ok := refusal.Hear(raw)
	code := int(h.Code)
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
