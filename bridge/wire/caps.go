package wire

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Caps are the kinds a participant may send. The zero Caps state nothing and
// so permit everything, as in mcp-x/v0, which has no word for them; a stated
// list that is empty permits nothing. Caps are not changed once made and may be
// shared.
type Caps struct {
	raw     []byte
	grants  []grant
	refused []string // kinds that were refused all the same
}

// A grant is one capability.
type grant struct {
	kind    string
	payload jsontext.Value // pattern the payload must fit, nil if any will do
	to      []string       // the only recipients it holds for, nil if it does not say
	opaque  bool           // holds something we cannot judge, so it permits nothing
}

// ParseCaps reads a list of capabilities as a welcome, a token or a flag has it:
// strings (WIRE 3.3) or objects {kind, payload} (WIRE 5.6), mixed as one likes.
// Nothing, or null, gives the zero Caps. The error names the element that is
// neither; the Caps returned with it permit what the others do. raw is kept.
func ParseCaps(raw []byte) (Caps, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return Caps{}, nil
	}
	var list []jsontext.Value
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return Caps{}, fmt.Errorf("capabilities are not a list: %+.80q", raw)
	}
	c := Caps{raw: raw, grants: make([]grant, len(list))}
	var wrong error
	for i, v := range list {
		var err error
		if c.grants[i], err = parseGrant(v); err != nil && wrong == nil {
			wrong = fmt.Errorf("capability %d: %w", i+1, err)
		}
	}
	return c, wrong
}

func parseGrant(v jsontext.Value) (grant, error) {
	if v.Kind() == '"' {
		kind, _ := jsonrpc.Unquote(v)
		return grant{kind: kind}, nil
	}
	var o map[string]jsontext.Value
	g := grant{opaque: true}
	if json.Unmarshal(v, &o) == nil {
		g.kind, _ = jsonrpc.Unquote(o["kind"])
	}
	if g.kind == "" {
		return g, fmt.Errorf("want a string or an object with a kind, not %+.80q", v)
	}
	g.payload, g.opaque = o["payload"], false
	for name, value := range o {
		switch name {
		case "kind", "payload", "id":
		case "to":
			g.opaque = g.opaque || json.Unmarshal(value, &g.to) != nil || len(g.to) == 0
		default:
			g.opaque = true
		}
	}
	return g, nil
}

// Stated reports whether there is a list at all, which may be empty.
func (c Caps) Stated() bool { return c.raw != nil }

// Raw returns the list as it was given, nil if none was.
func (c Caps) Raw() []byte { return c.raw }

// Allows reports whether a frame with this kind, spelled as in mcpx/v0.1 or as
// in mew, and this payload may be sent. It is what our gateway enforces, and
// strict: equality; a star at the end, which stands for any rest; stars
// elsewhere, which do not cross a colon; a kind without CONTEXT, which covers
// it with any (WIRE 3.3); payload patterns (WIRE 5.6). What it does not
// understand does not permit. The system's own kinds are nobody's.
func (c Caps) Allows(kind string, payload []byte) bool {
	if gatewayOnly(kind) {
		return false
	}
	return !c.Stated() || slices.ContainsFunc(c.grants, func(g grant) bool {
		return g.to == nil && g.covers(kind, payload)
	})
}

func (g *grant) reaches(to []string) bool {
	if g.to == nil {
		return true
	}
	return len(to) > 0 && !slices.ContainsFunc(to, func(id string) bool { return !slices.Contains(g.to, id) })
}

func (g *grant) covers(kind string, payload []byte) bool {
	return !g.opaque && coversKind(g.kind, kind) && (g.payload == nil || fits(g.payload, payload))
}

// PredictsMCP is Predicts for a JSON-RPC message of a method, in any spelling of its kind;
// op is request, response or notification.
func (c Caps) PredictsMCP(op, method string) bool {
	return c.Predicts("mcp/"+op+":"+method) || c.Predicts("mcp/"+op) || c.Predicts("mcp")
}

// CouldServe reports whether somebody with these capabilities could serve a proposal of
// such a request: could answer it, or make it of somebody who can.
func (c Caps) CouldServe(method string) bool {
	return !c.Stated() || c.PredictsMCP("response", method) || c.PredictsMCP("request", method)
}

// Predicts reports whether a gateway will let a kind through that we send, as
// far as the kind tells: reference gateways know equality and a star at the end
// and nothing else (WIRE W-4). Payload patterns are taken to fit, since a
// refusal is told and can be dealt with.
func (c Caps) Predicts(kind string) bool { return c.predicts([]byte(kind)) }

// Without returns c less one kind that a gateway has refused though c promised
// it: [Dialect.Append] does not write it any more.
func (c Caps) Without(kind string) Caps {
	c.refused = append(slices.Clip(c.refused), kind)
	return c
}

func (c Caps) predicts(kind []byte) bool {
	if slices.ContainsFunc(c.refused, func(k string) bool { return k == string(kind) }) {
		return false
	}
	if !c.Stated() {
		return true
	}
	for i := range c.grants {
		pattern := c.grants[i].kind
		if prefix, open := strings.CutSuffix(pattern, "*"); string(kind) == pattern ||
			open && len(kind) >= len(prefix) && string(kind[:len(prefix)]) == prefix {
			return true
		}
	}
	return false
}
