package approval

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// A deed is what a request for a method does, in words: "read" and "reading" a
// "resource", which its params name under "uri".
type deed struct{ verb, gerund, thing, member string }

// wantsTo stands in a headline between who asks and for what.
const wantsTo = " requests permission to "

// deeds are the methods of MCP, of all revisions up to 2026-07-28, that a server may
// be asked and that are judged; tools/call is not among them.
var deeds = map[string]deed{
	"tools/list":               {"list", "listing", "tools", ""},
	"resources/list":           {"list", "listing", "resources", ""},
	"resources/templates/list": {"list", "listing", "resource templates", ""},
	"resources/read":           {"read", "reading", "resource", "uri"},
	"resources/subscribe":      {"subscribe to", "subscribing to", "resource", "uri"},
	"resources/unsubscribe":    {"end the subscription to", "ending the subscription to", "resource", "uri"},
	"prompts/list":             {"list", "listing", "prompts", ""},
	"prompts/get":              {"get", "getting", "prompt", "name"},
	"completion/complete":      {"complete", "completing", "an argument", ""},
	"tasks/list":               {"list", "listing", "tasks", ""},
	"tasks/get":                {"look at", "looking at", "task", "taskId"},
	"tasks/result":             {"get the result of", "getting the result of", "task", "taskId"},
	"tasks/cancel":             {"cancel", "cancelling", "task", "taskId"},
	"tasks/update":             {"answer", "answering", "task", "taskId"},
	"subscriptions/listen":     {"listen to", "listening to", "what changes", ""},
	plan.Method:                {"make calls by", "making calls by", "a plan", ""},
	"logging/setLevel":         {"set", "setting", "the log level", ""},
}

// Doing is a request as a noun, for sentences about it: "write_file", "reading
// resource file:///a", "getting prompt hello"; of a method that nobody knows its
// name. about is the tool, URI or prompt that the request names, "" if none.
func Doing(method, about string) string {
	d, known := deeds[method]
	switch {
	case method == toolsCall && about != "":
		return about
	case !known:
		return method
	case d.member == "":
		return d.gerund + " " + d.thing
	case about == "":
		return d.gerund + " a " + d.thing
	}
	return d.gerund + " " + d.thing + " " + about
}

const toolsCall = "tools/call"

// Wanting is a request for another method than tools/call as a verb: "read a
// resource", "set the log level".
func Wanting(method string) string {
	d, known := deeds[method]
	switch {
	case !known:
		return "send " + method
	case d.member == "":
		return d.verb + " " + d.thing
	}
	return d.verb + " a " + d.thing
}

// wants says what a question is about, in the bridge's words alone: nothing of what
// the caller wrote is in them but the name of a tool, which the server lists.
func (q *Question) wants() string {
	if q.Method == toolsCall {
		return "execute " + q.Tool
	}
	return Wanting(q.Method)
}

// about is what the params of another method than tools/call name, as far as they may be
// shown, "" if nothing: the URI of a resource, the name of a prompt, the id of a task.
func (q *Question) about(args []byte) string {
	d := deeds[q.Method]
	if d.member == "" || args == nil {
		return ""
	}
	name, _ := jsonrpc.Unquote(rawjson.At(args, jsontext.Pointer("/"+d.member)))
	return name
}

// shortText is [text.Line] of what may be long: its head and tail then, with its length
// and digest.
func shortText(s string) string {
	n := utf8.RuneCountInString(s)
	if n <= shownHead+shownTail {
		return text.Line(s)
	}
	return text.Line(s[:offset(s, shownHead)]) + "…" + text.Line(s[offset(s, n-shownTail):]) + measure(n, []byte(s))
}

// title is what a list shows of a question: the tool, or the method and what it is about.
func (q *Question) title(about string) string {
	if q.Method == toolsCall {
		return q.Tool
	}
	if about != "" {
		return q.Method + " " + about
	}
	return q.Method
}
