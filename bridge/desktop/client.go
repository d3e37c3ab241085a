package desktop

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// methods are the requests that are served.
var methods map[string]func(*Proxy, *request)

func init() { // which would be a cycle without it
	methods = map[string]func(*Proxy, *request){
		methodInitialize:    (*Proxy).initialize,
		methodDiscover:      (*Proxy).discover,
		methodPing:          func(f *Proxy, r *request) { f.speak(r, struct{}{}) },
		methodListTools:     func(f *Proxy, r *request) { f.answerList(tools, r) },
		methodListPrompts:   func(f *Proxy, r *request) { f.answerList(prompts, r) },
		methodListResources: func(f *Proxy, r *request) { f.answerList(resources, r) },
		methodListTemplates: func(f *Proxy, r *request) { f.answerList(templates, r) },
		methodCallTool:      (*Proxy).callTool,
		methodGetPrompt:     (*Proxy).getPrompt,
		methodReadResource:  (*Proxy).readResource,
		methodListen:        (*Proxy).listen,
	}
}

// line takes one line of the client's.
func (f *Proxy) line(text []byte) {
	text = bytes.Trim(text, " \t\r")
	if len(text) == 0 {
		return
	}
	m, err := jsonrpc.Parse(text, jsonrpc.Judged)
	if err != nil {
		f.unreadable(text, err)
		return
	}
	switch m.Class() {
	case jsonrpc.Request:
		f.request(&m)
	case jsonrpc.Notification:
		f.notification(&m)
	case jsonrpc.Response:
		f.dialogAnswered(&m)
	default:
		f.say(jsonrpc.AppendError(nil, orNull(m.Get(jsonrpc.ID)), codeInvalidRequest, "the message is neither a request nor a notification nor an answer", nil))
	}
}

// unreadable answers what cannot be taken, under its id if it has one that can
// be told.
func (f *Proxy) unreadable(text []byte, err error) {
	code := codeParse
	var id []byte
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		code = e.Code()
		if e.Code() != codeParse && e.Reason != jsonrpc.Batch && e.Key != "id" {
			id = idOf(text)
		}
	}
	if text, ok := jsonrpc.Unquote(id); ok && f.dialogs[text] != nil {
		f.decide(f.dialogs[text], []byte("{}")) // an answer that can be read in two ways is a no
		return
	}
	f.say(jsonrpc.AppendError(nil, orNull(id), code, err.Error(), nil))
}

func (f *Proxy) overlong(head []byte) {
	f.say(jsonrpc.AppendError(nil, orNull(idOf(head)), codeInvalidRequest, fmt.Sprintf("the message is longer than %d bytes", jsonrpc.MaxSize), nil))
}

// idOf is the id of a request that was refused, as far as it was read; nil if
// it has none or more than one.
func idOf(text []byte) []byte {
	shape := jsonrpc.Shape{{Name: "id", Slot: 0}, {Name: "method", Slot: 1}}
	var at [2]jsonrpc.Span
	_ = jsonrpc.Scan(text, jsonrpc.Passed, shape, at[:]) // what it came by stands
	id := text[at[0].Start:at[0].End]
	if len(id) == 0 || at[0].End == len(text) || !bytes.ContainsRune([]byte(`"-0123456789`), rune(id[0])) {
		return nil
	}
	return bytes.Clone(id)
}

func (f *Proxy) request(m *jsonrpc.Message) {
	r := &request{id: m.Get(jsonrpc.ID), method: m.Text(jsonrpc.Method), params: m.Get(jsonrpc.Params), token: m.Get(jsonrpc.ProgressToken),
		elicits: f.client.elicits, apps: f.client.apps}
	if len(r.token) > 0 && !strings.ContainsRune(`"-0123456789`, rune(r.token[0])) {
		r.token = nil
	}
	serve := methods[r.method]
	switch {
	case f.requests[string(r.id)] != nil:
		f.say(jsonrpc.AppendError(nil, r.id, codeInvalidRequest, "a request with this id is still under way", nil))
		return
	case len(f.requests) >= maxOpen:
		f.say(jsonrpc.AppendError(nil, r.id, busy.code, "too many requests are under way", nil))
		return
	}
	f.heard++
	r.seq = f.heard
	f.requests[string(r.id)] = r
	if r.params != nil && !isObject(r.params) {
		f.refuse(r, codeInvalidParams, "params must be an object", nil)
		return
	}
	if meta := m.Get(jsonrpc.Meta); !f.revise(r, meta) || !f.takeWhy(r, meta) {
		return
	}
	if serve == nil {
		f.refuse(r, codeUnknownMethod, "there is no method "+clip(r.method, 80), nil)
		return
	}
	serve(f, r)
}

// revise finds out which revision a request is in. It reports false if it is
// refused.
func (f *Proxy) revise(r *request, meta []byte) bool {
	if !isObject(meta) {
		return true
	}
	at, err := pick(meta, metaRevision, metaCapabilities)
	if err != nil {
		f.refuse(r, codeInvalidParams, "_meta: "+err.Error(), nil)
		return false
	}
	if at[0] == nil {
		return true
	}
	revision, _ := jsonrpc.Unquote(at[0])
	if slices.Contains(revisions[1:], revision) && r.method != methodDiscover {
		return true
	}
	if revision != modern {
		data := compose(mcp.UnsupportedProtocolVersionData{Supported: revisions, Requested: clip(revision, 40)})
		f.refuse(r, codeWrongRevision, "this revision of MCP is not spoken here", data)
		return false
	}
	ui := showsApps(at[1])
	r.modern, r.elicits, r.apps = true, elicits(at[1]), ui != nil
	f.showing(ui)
	return true
}

func (f *Proxy) notification(m *jsonrpc.Message) {
	switch m.Text(jsonrpc.Method) {
	case toldInitialized:
		f.client.ready = true
	case toldCancelled:
		if r := f.requests[string(m.Get(jsonrpc.RequestID))]; r != nil && r.method != methodInitialize {
			f.end(r) // and nothing is answered
		}
	}
}

// listen opens a stream of notifications of the modern revision.
func (f *Proxy) listen(r *request) {
	if !r.modern {
		f.refuse(r, codeUnknownMethod, methodListen+" belongs to another revision of MCP", nil)
		return
	}
	at, err := pick(r.params, "notifications")
	if err != nil || at[0] != nil && !isObject(at[0]) {
		f.refuse(r, codeInvalidParams, "notifications must be an object", nil)
		return
	}
	agreed := map[string]bool{}
	wanted, err := pick(at[0], "toolsListChanged", "promptsListChanged", "resourcesListChanged")
	if err != nil {
		f.refuse(r, codeInvalidParams, err.Error(), nil)
		return
	}
	for k, name := range []string{"toolsListChanged", "promptsListChanged", "resourcesListChanged"} {
		if string(wanted[k]) == "true" {
			agreed[name] = true
			r.listens = append(r.listens, kinds[k].change)
		}
	}
	f.subs = append(f.subs, r)
	f.say(jsonrpc.AppendNotification(nil, toldAcknowledged, r.tagged(slices.Concat([]byte(`"notifications":`), compose(agreed)))))
}
