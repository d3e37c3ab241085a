package catalog

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Catalog is what the server offers, as far as calls are judged by it.
type Catalog struct {
	Tools map[string]*tool
	sieve

	Gone    map[string]string // the first fingerprint of those it offers no more
	blurred bool              // there were more of those than are remembered
}

// GoneMost bounds how many tools that are gone are remembered. Beyond it a tool
// that nobody remembers counts as changed.
const GoneMost = 4096

type tool struct {
	name   string
	Schema jsontext.Value // inputSchema as the server wrote it
	Check  func(arguments []byte) error
	First  string // its fingerprint when this server first listed it; "" if nobody remembers
	Print  string // fingerprint of all that tells what the tool is (RELIABILITY AI-9)
	Hints  policy.Hints
	About  string // how its description begins, as the server wrote it
}

// Changed reports whether a tool is another than this server listed first under its name.
func (t *tool) Changed() bool { return t.First != t.Print }

// New is one to which nothing was added.
func New() Catalog { return Catalog{Tools: map[string]*tool{}, sieve: newSieve(nil)} }

func (c Catalog) OrEmpty() Catalog {
	if c.Tools == nil {
		return Catalog{Tools: map[string]*tool{}}
	}
	return c
}

// Shortfalls say what becomes of a tool that add finds wanting.
var Shortfalls = map[string]string{
	toolUnreadable:      "a tool is not offered: ",
	toolCharset:         "a tool is not offered: ",
	toolTwice:           "a tool is listed twice, and offered once: ",
	toolsDiffer:         "two tools of one name that differ are not offered, for nobody knows which of them would run: ",
	"schema_remote_ref": "the schema of a tool refers to another document, which is not fetched, so its arguments are not checked here: ",
}

// Add takes a tool into the catalogue, or says why not, or with what reserve.
func (c Catalog) Add(raw jsontext.Value) (why string) {
	t, print, why := c.put(raw)
	switch why {
	case "":
	case toolsDiffer:
		delete(c.Tools, t.Name)
		return why
	case toolWithheld:
		return ""
	default:
		return why
	}
	c.Tools[t.Name] = &tool{name: t.Name, Schema: bytes.Clone(t.InputSchema), Print: print, Hints: policy.HintsOf(t.Annotations), About: t.about()}
	if bytes.Contains(t.InputSchema, []byte(`"$ref"`)) { // only then, for the time it takes
		if _, err := CompileSchema(t.InputSchema); errors.As(err, new(*jsonschema.LoadURLError)) {
			return "schema_remote_ref"
		}
	}
	return ""
}

// ChangedSince marks the tools that are not what they were when they were
// first listed, be it that they were away meanwhile. c may be old itself.
func (c *Catalog) ChangedSince(old Catalog) {
	c.Gone, c.blurred = maps.Clone(old.Gone), old.blurred
	for name, t := range c.Tools {
		before, away := old.Tools[name], c.Gone[name]
		switch {
		case before != nil:
			t.First = before.First // of itself, where the old list holds on
		case away != "":
			t.First = away
		case !c.blurred:
			t.First = t.Print
		}
		delete(c.Gone, name)
	}
	for _, name := range slices.Sorted(maps.Keys(old.Tools)) {
		if c.Tools[name] != nil {
			continue
		}
		if len(c.Gone) == GoneMost {
			c.blurred = true
			return
		}
		if c.Gone == nil {
			c.Gone = map[string]string{}
		}
		c.Gone[name] = old.Tools[name].First
	}
}

// Check refuses a tools/call that cannot work, and says why as far as the policy lets it.
func (c Catalog) Check(m *jsonrpc.Message, p *policy.Policy) (refusal.Refusal, bool) {
	if params := m.Get(jsonrpc.Params); len(params) == 0 || params[0] != '{' {
		return refusal.InvalidParams("tools/call needs params with a name"), true
	}
	name, ok := jsonrpc.Unquote(m.Get(jsonrpc.Name))
	if !ok {
		return refusal.InvalidParams("params.name must be a string"), true
	}
	t := c.Tools[name]
	if t == nil {
		return refusal.UnknownTool(name), true
	}
	arguments := m.Get(jsonrpc.Arguments)
	if arguments == nil {
		arguments = []byte("{}")
	}
	if arguments[0] != '{' {
		return refusal.InvalidArguments(name, "params.arguments must be an object"), true
	}
	if err := t.Fits(arguments); err != nil {
		why := err.Error()
		if m, ok := errors.AsType[*misfit](err); ok {
			why = m.within(p)
		}
		return refusal.InvalidArguments(name, text.Cut(why, refusal.Clipped)), true
	}
	return refusal.Refusal{}, false
}

// Fits checks arguments against the tool's inputSchema. A schema that cannot
// be used checks nothing: the server checks for itself.
//
// Schema and arguments both come from strangers, and the validator is not
// ours: should it fall over one day, that refuses the call and no more.
func (t *tool) Fits(arguments []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("they cannot be checked")
		}
	}()
	if t.Check == nil {
		t.Check, _ = CompileSchema(t.Schema)
	}
	return t.Check(arguments)
}

// Offered is a listing with the tools in it that callers may know of: none that
// is withheld, and none twice (DESIGN 4: one bad tool hides no other). payload is
// returned as it is where all of them are.
func (c Catalog) Offered(payload []byte) []byte {
	var at [1]jsonrpc.Span
	if jsonrpc.Scan(payload, jsonrpc.Passed, toolsShape, at[:]) != nil || at[0].End == 0 {
		return payload
	}
	var all []jsontext.Value
	if json.Unmarshal(payload[at[0].Start:at[0].End], &all, Lenient) != nil {
		return payload
	}
	offered := newSieve(c.Withheld).sift(all)
	if len(offered) == len(all) {
		return payload
	}
	list := append(bytes.Clone(payload[:at[0].Start]), '[')
	list = append(list, bytes.Join(offered, []byte(","))...)
	return append(append(list, ']'), payload[at[0].End:]...)
}

var toolsShape = jsonrpc.Shape{{Name: "result", Slot: -1, Inside: jsonrpc.Shape{{Name: "tools", Slot: 0}}}}

// Same reports whether two catalogues have the same tools.
func (c Catalog) Same(other Catalog) bool {
	if len(c.Tools) != len(other.Tools) {
		return false
	}
	for name, t := range c.Tools {
		if o := other.Tools[name]; o == nil || o.Print != t.Print {
			return false
		}
	}
	return true
}
