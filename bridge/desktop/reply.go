package desktop

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

func (f *Proxy) say(line []byte) { f.do(WriteClient{Line: line}) }

// reply answers with a result of ours.
func (f *Proxy) reply(r *request, result []byte) {
	if r.ended {
		return
	}
	f.say(jsonrpc.AppendResult(nil, r.id, f.completed(r, result)))
	f.end(r)
}

// stale says that nobody may keep a result for later.
const stale = `"ttlMs":0,"cacheScope":"private"`

// cached are the methods whose results say in the modern revision how long they
// are good.
var cached = []string{methodListTools, methodListPrompts, methodListResources, methodListTemplates, methodReadResource, methodDiscover}

// completed adds what a result must say in the modern revision, unless it says
// so itself.
func (f *Proxy) completed(r *request, result []byte) []byte {
	if !r.modern {
		return result
	}
	at, err := peek(result, "resultType", "ttlMs", "cacheScope", "_meta")
	if err != nil {
		return result
	}
	var more []string
	if at[0] == nil {
		more = append(more, `"resultType":"complete"`)
	}
	if slices.Contains(cached, r.method) && at[1] == nil && at[2] == nil {
		more = append(more, stale)
	}
	if at[3] == nil {
		more = append(more, `"_meta":{"`+metaServer+`":`+f.info+`}`)
	} else if said, err := peek(at[3], metaServer); isObject(at[3]) && err == nil && said[0] == nil {
		result, _ = rawjson.Put(result, jsontext.Pointer("/_meta").AppendToken(metaServer), []byte(f.info))
	}
	return withMembers(result, strings.Join(more, ","))
}

// refuse answers with a JSON-RPC error of ours.
func (f *Proxy) refuse(r *request, code int, why string, data []byte) {
	if r.ended {
		return
	}
	f.say(jsonrpc.AppendError(nil, r.id, code, why, data))
	f.end(r)
}

// passError answers with a peer's error, byte for byte.
func (f *Proxy) passError(r *request, raw []byte) {
	if r.ended {
		return
	}
	line := slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), r.id, []byte(`,"error":`), raw, []byte("}"))
	f.say(bytes.ReplaceAll(bytes.ReplaceAll(line, []byte("\n"), []byte(" ")), []byte("\r"), []byte(" ")))
	f.end(r)
}

// tagged are the parameters of a notification for who listens.
func (r *request) tagged(members []byte) []byte {
	tag := slices.Concat([]byte(`{"_meta":{"`+metaSubscription+`":`), r.id, []byte("}"))
	if len(members) > 0 {
		tag = append(append(tag, ','), members...)
	}
	return append(tag, '}')
}

// end ends a request, be it answered or not.
func (f *Proxy) end(r *request) {
	if r.ended {
		return
	}
	r.ended = true
	delete(f.requests, string(r.id))
	f.subs = slices.DeleteFunc(f.subs, func(s *request) bool { return s == r })
	if r.away != nil {
		r.away()
	}
	f.closeDialogs()
}

// closeDialogs takes all dialogs away when no call is under way in which they
// may be open. The questions stay.
func (f *Proxy) closeDialogs() {
	if len(f.dialogs) == 0 || f.host(false) != nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(f.dialogs)) {
		f.closeDialog(id)
	}
}

func (f *Proxy) closeDialog(id string) {
	f.dialogs[id].shown = false
	delete(f.dialogs, id)
	f.say(jsonrpc.AppendCancel(nil, jsonrpc.AppendQuote(nil, id), "no longer asked here"))
}

// host is a request under way in which the person may be asked something.
func (f *Proxy) host(modern bool) (first *request) {
	for _, r := range f.requests {
		if r.modern == modern && r.elicits && (r.call != nil || r.answers) && (first == nil || r.seq < first.seq) {
			first = r
		}
	}
	return first
}
