package plan

import (
	"strconv"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// Words say what an item covers, whole, fit to be shown. What redact would hide of a call's
// arguments is hidden; nil hides nothing. m counts what cannot be seen as it is.
func (i *Item) Words(m *text.Marks, redact func(args []byte) []byte) string {
	return i.tool(m) + i.With(m, redact)
}

// With is what an item says of the arguments, behind the name of its tool.
func (i *Item) With(m *text.Marks, redact func(args []byte) []byte) string {
	var b []byte
	for n, a := range i.Args {
		b = append(b, joint(n, " with ", ", ")...)
		b = a.append(b, m, redact)
	}
	if len(i.Args) == 0 {
		return string(b) + " without arguments"
	}
	return string(b) + ", and no other arguments"
}

func (i *Item) tool(m *text.Marks) string {
	tool := string(m.AppendLine(nil, i.Tool))
	switch i.Uses {
	case 0:
		return "struck: " + tool
	case 1:
		return "once: " + tool
	}
	return "up to " + strconv.Itoa(i.Uses) + " times: " + tool
}

func (a *Arg) append(b []byte, m *text.Marks, redact func(args []byte) []byte) []byte {
	b = m.AppendLine(b, strings.TrimPrefix(string(a.At), "/"))
	switch {
	case a.Any:
		return append(b, " anything at all"...)
	case a.hides(redact):
		return append(b, " [redacted]"...)
	case a.Under != "":
		return m.AppendQuoted(append(b, " in the folder "...), a.Under)
	}
	for n, v := range a.Is {
		b = append(b, joint(n, " ", " or ")...)
		b = rawjson.AppendCanonical(b, v, func(dst []byte, s string) []byte { return m.AppendQuoted(dst, s) })
	}
	return b
}

// joint stands before the n-th of several.
func joint(n int, first, others string) string {
	if n == 0 {
		return first
	}
	return others
}

// Tools are the tools that it names, each once, in their order.
func (p *Plan) Tools() (all []string) {
	seen := map[string]bool{}
	for _, i := range p.Items {
		if !seen[i.Tool] {
			seen[i.Tool] = true
			all = append(all, i.Tool)
		}
	}
	return all
}

// Uses are how many calls each item covers.
func (p *Plan) Uses() (all []int) {
	for _, i := range p.Items {
		all = append(all, i.Uses)
	}
	return all
}

// Result is what the proposer hears of a plan that counts from now on, under an id: the
// result of its request.
func (p *Plan) Result(id string, until time.Time) []byte {
	b := jsonrpc.AppendQuote([]byte(`{"plan":`), id)
	b = jsonrpc.AppendQuote(append(b, `,"until":`...), until.UTC().Format(time.RFC3339))
	b = append(b, `,"uses":[`...)
	for n, i := range p.Items {
		if n > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(i.Uses), 10)
	}
	return append(b, "]}"...)
}
