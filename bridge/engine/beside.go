package engine

import (
	"bytes"
	"cmp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// The params of a request are judged whole, in two parts: the arguments, which rules
// look at, and what stands beside them. What is in neither is the protocol's own (see
// [policy.OfProtocol]). One rule, for whoever calls and by whatever road (DESIGN 4,
// FINDINGS H3).

// partsOf parts the params of a request for a method. arguments are those of a
// tools/call, and of any other method the params without _meta; nil if there are
// none. beside is one object of all other members that reach the server, nil if
// there are none; revision says what server that is, see [Hello.modern]. Both may refer to the message.
func partsOf(m *jsonrpc.Message, method, revision string) (arguments, beside []byte) {
	if method == "tools/call" {
		return m.Get(jsonrpc.Arguments), besideOf(m, true, revision)
	}
	params := m.Get(jsonrpc.Params)
	switch {
	case len(params) == 0 || params[0] != '{':
		return nil, nil
	case !m.Has(jsonrpc.Meta):
		return params, nil
	}
	return m.AppendParams(nil, jsonrpc.Edit{Field: jsonrpc.Meta}), besideOf(m, false, revision)
}

// besideOf gathers what stands beside the arguments: of a call of a tool all members
// of params but name and arguments, else those of _meta alone.
func besideOf(m *jsonrpc.Message, call bool, revision string) (beside []byte) {
	for e := range m.Entries(jsonrpc.Params) {
		switch {
		case e.Field == jsonrpc.Meta:
			beside = appendMeta(beside, m, e, revision)
		case call && e.Field != jsonrpc.Name && e.Field != jsonrpc.Arguments:
			beside = appendEntry(beside, e)
		}
	}
	if beside == nil {
		return nil
	}
	return append(beside, '}')
}

// modern is the server's revision if it is 2026-07-28 or later, else "".
func (h *Hello) modern() string {
	if !h.Modern {
		return ""
	}
	return cmp.Or(h.Revision, jsonrpc.ModernRevision)
}

// appendMeta appends _meta without what the protocol puts there, if anything is left.
func appendMeta(beside []byte, m *jsonrpc.Message, meta jsonrpc.Entry, revision string) []byte {
	switch meta.Value[0] {
	case 'n':
		return beside
	case '{':
	default:
		return appendEntry(beside, meta)
	}
	_, others := metaParts(m, revision)
	if others == nil {
		return beside
	}
	meta.Value = append(others, '}')
	return appendEntry(beside, meta)
}

// maxPassed bounds what passes as the protocol's own, so that it can be put on record.
const maxPassed = 4 << 10

// metaParts parts the members of a _meta into what passes as the protocol's own and what
// is judged. Both are objects without their end, nil if they are empty. The progress token
// is in neither: the server gets one of ours.
func metaParts(m *jsonrpc.Message, revision string) (passed, others []byte) {
	for e := range m.Entries(jsonrpc.Meta) {
		key := unquoted(e.Key)
		switch own := policy.OfProtocol(key, e.Value, revision); {
		case own && string(key) == "progressToken":
		case own && len(passed)+len(e.Key)+len(e.Value) < maxPassed:
			passed = appendEntry(passed, e)
		default:
			others = appendEntry(others, e)
		}
	}
	return passed, others
}

// passed is what reaches the server as the protocol's own, for the record; nil if nothing
// does. It may hold words of the caller's choice, which nobody is asked about.
func (e *Engine) passed(c *inflight.Call) []byte {
	m := &c.Request.Message
	if meta := m.Get(jsonrpc.Meta); len(meta) == 0 || meta[0] != '{' {
		return nil
	}
	passed, _ := metaParts(m, e.server.hello.modern())
	if passed == nil {
		return nil
	}
	return e.policy.RedactMeta(append(passed, '}'))
}

// unquoted is the name that a key says.
func unquoted(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key[1 : len(key)-1]
	}
	name, _ := jsonrpc.Unquote(key)
	return []byte(name)
}

// appendEntry appends a member to an object that is begun, and begins one of nothing.
func appendEntry(object []byte, e jsonrpc.Entry) []byte {
	if object == nil {
		object = append(object, '{')
	} else {
		object = append(object, ',')
	}
	return append(append(append(object, e.Key...), ':'), e.Value...)
}

// besideNow is what stands beside the arguments to the server that there is now. One
// that has come back in another era may not know for the protocol's own what the one
// before did (FINDINGS A5).
func (e *Engine) besideNow(c *inflight.Call) []byte {
	_, beside := partsOf(&c.Request.Message, c.Method, e.server.hello.modern())
	return beside
}

// asAgreed is a call's request as it may run: as it came, or with the arguments that
// somebody put in place of its own. What stands beside them stays.
func asAgreed(c *inflight.Call) *jsonrpc.Message {
	m := &c.Request.Message
	if c.Agreed == nil || len(c.Agreed.Modified) == 0 {
		return m
	}
	edit := []jsonrpc.Edit{{Field: jsonrpc.Arguments, Value: c.Agreed.Args}}
	if c.Method != "tools/call" {
		edit[0].Field = jsonrpc.Params
	}
	changed := reread(m.AppendCall(nil, []byte("0"), c.Method, edit...))
	if meta := m.Get(jsonrpc.Meta); c.Method != "tools/call" && meta != nil {
		changed = reread(changed.AppendCall(nil, []byte("0"), c.Method, jsonrpc.Edit{Field: jsonrpc.Meta, Value: meta}))
	}
	return changed
}

// reread reads a line that was built of parts that had been read before.
func reread(line []byte) *jsonrpc.Message {
	m, err := jsonrpc.Parse(line, jsonrpc.Rules{Depth: jsonrpc.Judged.Depth + 1, Size: 2 * jsonrpc.MaxSize})
	if err != nil {
		panic(err) // arguments are scanned strictly when they come, and when they are edited
	}
	return &m
}
