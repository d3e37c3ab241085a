package refusal

import (
	"strconv"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Result is the refusal as a model can read it, an answer to the raw id: a tool's
// result with isError, one sentence, and all that a program needs in _meta
// (DESIGN 9). whom and what are the bridge and the tool as [Heard.Sentence] names them.
// modern: as 2026-07-28 has it.
func (r Refusal) Result(id []byte, whom, what string, modern bool) []byte {
	h := Heard{Code: jsonrpc.Code(r.Code), Message: r.Message, Reason: r.Reason, Executed: r.Executed, Say: r.Say, By: strings.Join(r.By, ", ")}
	text := h.Sentence(whom, what)
	if says := h.Says(); says != "" {
		text += "; " + says
	}
	if r.Reason == "expired" {
		text += "; the person at this machine can decide with: mcpx-bridge approve, while the call waits, so make it again"
	}
	result := []byte(`{`)
	if modern {
		result = append(result, `"resultType":"complete",`...)
	}
	result = append(jsonrpc.AppendQuote(append(result, `"content":[{"type":"text","text":`...), text), `}],"isError":true,"_meta":{"mcpx/refusal":{"code":`...)
	result = strconv.AppendInt(result, int64(r.Code), 10)
	result = append(append(result, `,"data":`...), r.data()...)
	return jsonrpc.AppendResult(nil, id, append(result, `}}}`...))
}
