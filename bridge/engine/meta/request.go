package meta

import (
	"bytes"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// The params of a request are judged whole, in two parts: the arguments, which rules
// look at, and what stands beside them. What is in neither is the protocol's own (see
// [policy.OfProtocol]). One rule, for whoever calls and by whatever road (DESIGN 4,
// FINDINGS H3).

// Parts parts the params of a request for a method. arguments are those of a
// tools/call, and of any other method the params without _meta; nil if there are
// none. beside is one object of all other members that reach the server, nil if
// there are none; revision is the server's if that is 2026-07-28 or later, else "".
// arguments may refer to the message; beside is fresh.
func Parts(m *jsonrpc.Message, method, revision string) (arguments, beside []byte) {
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

// Passed is one object, fresh, of what reaches a server of a revision (as in [Parts]) as the
// protocol's own, nil if nothing does. It has no progress token, and less than 4 KiB: what is
// beyond that is judged.
func Passed(m *jsonrpc.Message, revision string) []byte {
	if meta := m.Get(jsonrpc.Meta); len(meta) == 0 || meta[0] != '{' {
		return nil
	}
	passed, _ := metaParts(m, revision)
	if passed == nil {
		return nil
	}
	return append(passed, '}')
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

// Reread reads a line that was built of parts that had been read before by [jsonrpc.Judged];
// it panics if it cannot be read. The Message refers to line.
func Reread(line []byte) *jsonrpc.Message {
	m, err := jsonrpc.Parse(line, jsonrpc.Rules{Depth: jsonrpc.Judged.Depth + 1, Size: 2 * jsonrpc.MaxSize})
	if err != nil {
		panic(err) // arguments are scanned strictly when they come, and when they are edited
	}
	return &m
}

// Clash says what a participant's _meta holds that is one, to a lenient server, with something
// that is put beside it; nil if nothing is. ours is as in [Lacking].
func Clash(ours, theirs []byte) error {
	if len(theirs) < 3 || theirs[0] != '{' {
		return nil
	}
	beside := Lacking(ours, theirs)
	if len(beside) == 0 {
		return nil
	}
	both := slices.Concat([]byte("{"), beside, []byte(","), theirs[1:])
	if err := jsonrpc.Scan(both, jsonrpc.Called, nil, nil); jsonrpc.Is(err, jsonrpc.KeysAlike) {
		return err
	}
	return nil
}

// Lacking returns those of the members ours, raw and without braces, that a _meta lacks. One
// that stood there twice would be for each server to choose from. Where theirs is no object it
// returns ours itself, else what is fresh, by name; nil if none is lacking.
func Lacking(ours, theirs []byte) []byte {
	var has, puts map[string]jsontext.Value
	if len(theirs) == 0 || json.Unmarshal(theirs, &has) != nil || json.Unmarshal(slices.Concat([]byte("{"), ours, []byte("}")), &puts) != nil {
		return ours
	}
	var beside []byte
	for _, key := range slices.Sorted(maps.Keys(puts)) {
		if has[key] != nil {
			continue
		}
		if beside != nil {
			beside = append(beside, ',')
		}
		beside = append(append(jsonrpc.AppendQuote(beside, key), ':'), puts[key]...)
	}
	return beside
}
