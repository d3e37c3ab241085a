package desktop

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// A field is a member of an object, its value as it was written.
type field struct {
	name  string
	value []byte
}

// fieldsOf takes an object apart. It refuses what could be read in two ways.
func fieldsOf(raw []byte) (all []field, err error) {
	if err := jsonrpc.Scan(raw, jsonrpc.Judged, nil, nil); err != nil || !isObject(raw) {
		return nil, err
	}
	for p := range rawjson.Parts(raw, 0) {
		all = append(all, field{p.Name, bytes.Clone(p.Of(raw))}) // or all of a page would stay for one of its entries
	}
	return all, nil
}

func appendObject(dst []byte, fields []field) []byte {
	dst = append(dst, '{')
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonrpc.AppendQuote(dst, f.name), ':')
		dst = append(dst, f.value...)
	}
	return append(dst, '}')
}

// pick finds members of an object by name, nil for those that are absent. A
// member that only looks like one of them is an error.
func pick(raw []byte, names ...string) ([][]byte, error) { return under(jsonrpc.Judged, raw, names) }

// peek is pick for what is passed on and not judged.
func peek(raw []byte, names ...string) ([][]byte, error) { return under(jsonrpc.Passed, raw, names) }

func under(rules jsonrpc.Rules, raw []byte, names []string) ([][]byte, error) {
	found := make([][]byte, len(names))
	if raw == nil {
		return found, nil
	}
	shape, at := make(jsonrpc.Shape, len(names)), make([]jsonrpc.Span, len(names))
	for i, name := range names {
		shape[i] = jsonrpc.Member{Name: name, Slot: i}
	}
	if err := jsonrpc.Scan(raw, rules, shape, at); err != nil {
		return found, err
	}
	for i, s := range at {
		if s.End != 0 {
			found[i] = raw[s.Start:s.End:s.End]
		}
	}
	return found, nil
}

var errNotText = errors.New("it must be a string")

// texts reads members that are strings, each of which must be there.
func texts(values ...[]byte) ([]string, error) {
	all := make([]string, len(values))
	for i, v := range values {
		text, ok := jsonrpc.Unquote(v)
		if !ok {
			return nil, errNotText
		}
		all[i] = text
	}
	return all, nil
}

func isObject(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// compose writes values of our own as JSON on one line.
func compose(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only our own structs of strings, numbers and raw JSON that was read before come here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// same is a text for JSON that differs in nothing but white space and the order
// of members: numbers keep their spelling. raw was scanned before.
func same(raw []byte) string {
	return string(rawjson.AppendCanonical(nil, raw, jsonrpc.AppendQuote))
}

// elements takes an array apart that was scanned before. What is wrong within one of
// them is nothing to the others (FINDINGS P5, P14): each is scanned by itself.
func elements(raw []byte) (all [][]byte, err error) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, errors.New("there is no list in it")
	}
	for p := range rawjson.Parts(raw, 0) {
		all = append(all, bytes.Clone(p.Of(raw)))
	}
	return all, nil
}

// clip shows what others wrote on one line, at most so many characters of it.
func clip(s string, most int) string { return text.Cut(breaks.Replace(s), most) }

// breaks are white space in what is put on one line.
var breaks = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ")

// withMembers puts members at the start of an object.
func withMembers(object []byte, members string) []byte {
	rest := bytes.TrimLeft(bytes.TrimLeft(object, " \t\r\n")[1:], " \t\r\n")
	switch {
	case members == "":
		return object
	case rest[0] == '}':
		return slices.Concat([]byte("{"+members), rest)
	}
	return slices.Concat([]byte("{"+members+","), rest)
}

// orNothing is an object without members for what is none, which is a no.
func orNothing(raw []byte) []byte {
	if !isObject(raw) {
		return []byte("{}")
	}
	return raw
}

func orNull(id []byte) []byte {
	if len(id) == 0 {
		return []byte("null")
	}
	return id
}
