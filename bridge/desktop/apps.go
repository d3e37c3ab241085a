package desktop

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// An app is a page of a server's that a client shows (MCP Apps, the extension named
// appExtension): a resource at an address that the _meta of a tool announces. Some tools
// are for such a page alone.

// AppOnly reports whether a tool's definition says that it is for its app, and not for
// models: what it says of its visibility has no "model" in it. One that cannot be read
// has none.
func AppOnly(definition []byte) bool { return !visibleTo("model", definition) }

// visibleTo reports whether a tool's definition says that it is for "model" or "app". What
// says nothing of it is for both.
func visibleTo(whom string, definition []byte) bool {
	at := definition
	for _, name := range []string{"_meta", "ui", "visibility"} {
		inner, err := peek(at, name)
		if err != nil {
			return false
		}
		if at = inner[0]; at == nil || name != "visibility" && !isObject(at) || string(at) == "null" {
			return true
		}
	}
	seen, err := elements(at)
	return err == nil && slices.ContainsFunc(seen, oneOf(whom))
}

// withApp is the _meta of a peer's tool which announces a page under the address that it
// has here: two peers may have one address (FINDINGS P17). One that cannot be read says
// nothing.
func withApp(meta []byte, peer string) []byte {
	var at [6]jsonrpc.Span
	if jsonrpc.Scan(meta, jsonrpc.Passed, pageShape, at[:]) != nil {
		return []byte("{}")
	}
	pages := at[2:]
	slices.SortFunc(pages, func(a, b jsonrpc.Span) int { return b.Start - a.Start }) // from the end, so that the others stay where they are
	for _, s := range pages {
		uri, _ := jsonrpc.Unquote(meta[s.Start:s.End])
		if uri, ok := pageAddress(uri); ok {
			meta = slices.Concat(meta[:s.Start], jsonrpc.AppendQuote(nil, outwardURI(Pair{peer, uri})), meta[s.End:])
		}
	}
	return meta
}

// pageAt is what was read of a page, at the address by which the client has it: some clients
// show none that says another, and MCP Apps has it so. Every other byte is as it came.
func pageAt(asked, theirs string, result, contents []byte) []byte {
	if len(contents) == 0 || contents[0] != '[' {
		return result
	}
	i := 0
	for p := range rawjson.Parts(contents, 0) {
		at, err := peek(p.Of(contents), "uri")
		if uri, _ := jsonrpc.Unquote(at[0]); err == nil && uri == theirs {
			if named, ok := rawjson.Put(result, jsontext.Pointer("/contents/"+strconv.Itoa(i)+"/uri"), jsonrpc.AppendQuote(nil, asked)); ok {
				return named
			}
		}
		i++
	}
	return result
}

// pageShape is where a tool's _meta announces a page: as MCP Apps has it, now and in drafts,
// and as OpenAI's clients read it.
var pageShape = jsonrpc.Shape{
	{Name: "ui", Slot: 0, Inside: jsonrpc.Shape{{Name: "resourceUri", Slot: 2}}},
	{Name: appExtension, Slot: 1, Inside: jsonrpc.Shape{{Name: "resourceUri", Slot: 3}}},
	{Name: "ui/resourceUri", Slot: 4},
	{Name: "openai/outputTemplate", Slot: 5},
}

// pageAddress is a page's address as browsers read it: blanks around it, line breaks and
// tabs in it, and the case of its scheme are nothing to them.
func pageAddress(uri string) (address string, ok bool) {
	uri = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(uri)
	uri = strings.TrimFunc(uri, func(r rune) bool { return r <= ' ' })
	if len(uri) < len(appScheme) || !strings.EqualFold(uri[:len(appScheme)], appScheme) {
		return "", false
	}
	return appScheme + uri[len(appScheme):], true
}

// showsApps reads from a client's capabilities what it says of the apps that it shows, nil
// if it shows none.
func showsApps(capabilities []byte) []byte {
	if !isObject(capabilities) {
		return nil
	}
	at, err := pick(capabilities, "extensions")
	if err != nil || !isObject(at[0]) {
		return nil
	}
	ui, err := pick(at[0], appExtension)
	if err != nil || !isObject(ui[0]) {
		return nil
	}
	return ui[0]
}
