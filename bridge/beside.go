package bridge

import (
	"bytes"

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
// there are none; modern says of which era that is. Both may refer to the message.
func partsOf(m *jsonrpc.Message, method string, modern bool) (arguments, beside []byte) {
	if method == "tools/call" {
		return m.Get(jsonrpc.Arguments), besideOf(m, true, modern)
	}
	params := m.Get(jsonrpc.Params)
	switch {
	case len(params) == 0 || params[0] != '{':
		return nil, nil
	case !m.Has(jsonrpc.Meta):
		return params, nil
	}
	return m.AppendParams(nil, jsonrpc.Edit{Field: jsonrpc.Meta}), besideOf(m, false, modern)
}

// besideOf gathers what stands beside the arguments: of a call of a tool all members
// of params but name and arguments, else those of _meta alone.
func besideOf(m *jsonrpc.Message, call, modern bool) (beside []byte) {
	for e := range m.Entries(jsonrpc.Params) {
		switch {
		case e.Field == jsonrpc.Meta:
			beside = appendMeta(beside, m, e, modern)
		case call && e.Field != jsonrpc.Name && e.Field != jsonrpc.Arguments:
			beside = appendEntry(beside, e)
		}
	}
	if beside == nil {
		return nil
	}
	return append(beside, '}')
}

// appendMeta appends _meta without what the protocol puts there, if anything is left.
func appendMeta(beside []byte, m *jsonrpc.Message, meta jsonrpc.Entry, modern bool) []byte {
	switch meta.Value[0] {
	case 'n':
		return beside
	case '{':
	default:
		return appendEntry(beside, meta)
	}
	var inner []byte
	for e := range m.Entries(jsonrpc.Meta) {
		if !policy.OfProtocol(unquoted(e.Key), e.Value, modern) {
			inner = appendEntry(inner, e)
		}
	}
	if inner == nil {
		return beside
	}
	meta.Value = append(inner, '}')
	return appendEntry(beside, meta)
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
func (e *Engine) besideNow(c *call) []byte {
	_, beside := partsOf(&c.request.Message, c.method, e.server.hello.Modern)
	return beside
}

// asAgreed is a call's request as it may run: as it came, or with the arguments that
// somebody put in place of its own. What stands beside them stays.
func (c *call) asAgreed() *jsonrpc.Message {
	m := &c.request.Message
	if c.agreed == nil || len(c.agreed.Modified) == 0 {
		return m
	}
	edit := []jsonrpc.Edit{{Field: jsonrpc.Arguments, Value: c.agreed.Args}}
	if c.method != "tools/call" {
		edit[0].Field = jsonrpc.Params
	}
	changed := reread(m.AppendCall(nil, []byte("0"), c.method, edit...))
	if meta := m.Get(jsonrpc.Meta); c.method != "tools/call" && meta != nil {
		changed = reread(changed.AppendCall(nil, []byte("0"), c.method, jsonrpc.Edit{Field: jsonrpc.Meta, Value: meta}))
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
