package approval

import (
	"strconv"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// An object is a JSON object that is being written.
type object []byte

func (o *object) raw(name string, value []byte) {
	if len(*o) == 0 {
		*o = append(*o, '{')
	} else {
		*o = append(*o, ',')
	}
	*o = append(jsonrpc.AppendQuote(*o, name), ':')
	*o = append(*o, value...)
}

func (o *object) str(name, value string) { o.raw(name, text.AppendJSONString(nil, value)) }

func (o *object) num(name string, n int) { o.raw(name, strconv.AppendInt(nil, int64(n), 10)) }

func (o *object) put(name string, inner object) { o.raw(name, inner.end()) }

func (o *object) end() []byte {
	if len(*o) == 0 {
		return []byte("{}")
	}
	return append(*o, '}')
}

func list(words ...string) []byte {
	text := []byte{'['}
	for i, w := range words {
		if i > 0 {
			text = append(text, ',')
		}
		text = jsonrpc.AppendQuote(text, w)
	}
	return append(text, ']')
}

// newProperty begins one property of a form; what is empty is left out.
func newProperty(kind, title, description string, choices ...string) (p object) {
	p.str("type", kind)
	p.str("title", title)
	if description != "" {
		p.str("description", description)
	}
	if len(choices) > 0 {
		p.raw("enum", list(choices...))
	}
	return p
}

// bounds are those of a field's value, or of its length.
func (o *object) bounds(f *Field) {
	low, high := "minimum", "maximum"
	if f.Type == "string" {
		low, high = "minLength", "maxLength"
	}
	if _, ok := number([]byte(f.Min)); ok {
		o.raw(low, []byte(f.Min))
	}
	if _, ok := number([]byte(f.Max)); ok {
		o.raw(high, []byte(f.Max))
	}
}

// schema is a form as the requestedSchema of an elicitation.
func schema(properties object, required string) []byte {
	var s object
	s.str("type", "object")
	s.put("properties", properties)
	s.raw("required", list(required))
	return s.end()
}

func (f *Field) property() object {
	o := newProperty(f.Type, f.Title, "")
	if f.Now != "" {
		o.raw("default", []byte(f.Now))
	}
	if len(f.Enum) > 0 {
		o.raw("enum", []byte("["+strings.Join(f.Enum, ",")+"]"))
	}
	o.bounds(f)
	return o
}
