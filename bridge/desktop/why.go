package desktop

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// takeWhy reads why a client makes a request, which whoever is asked about it will read as the
// word of our id in the topic. It reports false if the request is refused.
func (f *Proxy) takeWhy(r *request, meta []byte) bool {
	if !isObject(meta) {
		return true
	}
	at, err := pick(meta, approval.JustificationKey)
	if err != nil || at[0] == nil {
		return true // revise has looked at it
	}
	why, ok := jsonrpc.Unquote(at[0])
	if !ok || why == "" {
		f.refuse(r, codeInvalidParams, `_meta["`+approval.JustificationKey+`"] must be a text`, nil)
		return false
	}
	r.why = why
	return true
}

// justified is params, an object that has members, with why the request is made; "" says nothing.
func justified(params []byte, why string) []byte {
	if why == "" {
		return params
	}
	params = append(params[:len(params)-1:len(params)-1], `,"_meta":{"`+approval.JustificationKey+`":`...)
	return append(jsonrpc.AppendQuote(params, why), "}}"...)
}
