package desktop

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// maxDefinition is how long the definition of one tool, prompt or resource may
// be, in bytes.
const maxDefinition = 256 << 10

// define reads what a peer lists. Clients refuse a whole list for one entry
// that is not as they want it, so what would spoil it is left out, or is an
// error, and that entry is not offered. Text is shown as [visible] has it.
func define(k int, raw []byte) (d definition, err error) {
	if len(raw) > maxDefinition {
		return d, fmt.Errorf("its definition has over %d KiB", maxDefinition>>10)
	}
	if d.fields, err = fieldsOf(raw); err != nil {
		return d, err
	}
	var known bool
	if d.key, known = jsonrpc.Unquote(d.get(kinds[k].key)); !known || d.key == "" {
		return d, errors.New("it has no " + kinds[k].key)
	}
	if !isText(d.get("name")) { // nor do resources go without
		return d, errors.New("it has no name")
	}
	if k == tools {
		d.giveSchema()
		if err := checkSchema(d.get("inputSchema")); err != nil {
			return d, fmt.Errorf("its inputSchema %w", err)
		}
	}
	d.fields = slices.DeleteFunc(d.fields, func(f field) bool {
		fine, known := fit[f.name]
		return known && !fine(f.value)
	})
	d.answers = d.get("outputSchema") != nil
	d.appOnly = k == tools && AppOnly(raw)
	d.modelOnly = k == tools && !visibleTo("app", raw)
	return d, d.show(k)
}

// giveSchema gives a tool a schema that says nothing where it has none, or one
// that says nothing: arguments are an object in any case (FINDINGS P14).
func (d *definition) giveSchema() {
	const anything = `{"type":"object"}`
	raw := d.get("inputSchema")
	if raw == nil {
		d.fields = append(d.fields, field{"inputSchema", []byte(anything)})
		return
	}
	for i := range d.fields {
		if f := &d.fields[i]; f.name == "inputSchema" {
			switch at, err := pick(raw, "type"); {
			case string(raw) == "true" || string(raw) == "null":
				f.value = []byte(anything)
			case isObject(raw) && err == nil && at[0] == nil:
				f.value = withMembers(raw, `"type":"object"`)
			}
		}
	}
}

// fit says what members must be like that need not be there. Clients hold each
// of them against a schema in which a null is not the same as nothing.
var fit = map[string]check{
	"title":       isText,
	"description": isText,
	"mimeType":    isText,
	"size":        into[float64],
	"annotations": members("", map[string]check{"title": isText, "readOnlyHint": into[bool], "destructiveHint": into[bool], "idempotentHint": into[bool],
		"openWorldHint": into[bool], "audience": listOf(oneOf("user", "assistant")), "priority": isShare, "lastModified": into[time.Time]}),
	"icons":        listOf(members("src", map[string]check{"src": isText, "mimeType": isText, "sizes": listOf(isText), "theme": oneOf("light", "dark")})),
	"arguments":    listOf(members("name", map[string]check{"name": isText, "description": isText, "title": isText, "required": into[bool]})),
	"_meta":        isObject,
	"outputSchema": func(raw []byte) bool { return checkSchema(raw) == nil && compiles(raw) },
	"execution":    func([]byte) bool { return false }, // tasks are not passed on

	"defer_loading": into[bool], // of no revision, and clients read it
}

// of is the definition as the client sees it: under another name, and saying
// whose it is, in title and description.
func (d *definition) of(peer, key, name string) []byte {
	out, whose := slices.Clone(d.fields), clip(peer, 80)
	described := false
	for i, f := range out {
		text, _ := jsonrpc.Unquote(f.value)
		switch f.name {
		case key:
			out[i].value = jsonrpc.AppendQuote(nil, name)
		case "title":
			out[i].value = jsonrpc.AppendQuote(nil, text+" ("+whose+")")
		case "_meta":
			out[i].value = withApp(f.value, peer)
		case "description":
			described = true
			out[i].value = jsonrpc.AppendQuote(nil, strings.TrimSpace(text+" (via "+whose+")"))
		}
	}
	if !described {
		out = append(out, field{"description", jsonrpc.AppendQuote(nil, "(via "+whose+")")})
	}
	return appendObject(nil, out)
}
