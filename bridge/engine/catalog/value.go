package catalog

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Value builds what a schema validator wants to see from a JSON text that has
// been scanned strictly before: it does not check again. Numbers keep their
// text.
func Value(text []byte) any { return values{text: text}.value() }

// counted is value as long as there is work for it left. What it gives otherwise
// is not all there is.
func (b values) counted() (any, bool) {
	v := b.value()
	return v, *b.left >= 0
}

// A values builds a value. mute: strings are left empty, but for keys. That is
// for a schema to which it makes no difference; see [deaf].
type values struct {
	text []byte
	mute bool
	left *int // work; nil: as much as it takes
}

func (b values) value() any {
	v, _ := b.at(SkipSpace(b.text, 0))
	return v
}

func (b values) at(i int) (v any, next int) {
	text := b.text
	if b.left != nil {
		if *b.left -= workValue; *b.left < 0 {
			return nil, len(text)
		}
	}
	switch text[i] {
	case '{':
		return b.object(i)
	case '[':
		return b.array(i)
	case '"':
		end := jsonrpc.StringEnd(text, i)
		if b.mute {
			return "", end
		}
		escapes := bytes.Count(text[i:end], []byte(`\`))
		if b.left != nil {
			if *b.left -= 3*(end-i)/4 + workEscape*escapes; *b.left < 0 {
				return nil, len(text)
			}
		}
		if escapes == 0 {
			return string(text[i+1 : end-1]), end
		}
		s, _ := jsonrpc.Unquote(text[i:end])
		return s, end
	case 't':
		return true, i + len("true")
	case 'f':
		return false, i + len("false")
	case 'n':
		return nil, i + len("null")
	}
	end := i
	for end < len(text) && (text[end] > ',' || text[end] == '+') && text[end] != ']' && text[end] != '}' {
		end++
	}
	return Numeral(text[i:end]), end
}

// What a number may have at most to be looked into. The validator makes an
// exact fraction of each, which costs the more the larger it is, and of an
// exponent beyond a million it makes nothing and falls over.
const (
	MaxDigits   = 1024
	MaxExponent = 400
)

// A VastNumber is too large to be looked into. The validator takes it for
// something that is no JSON, so it fits no schema that says anything about it.
type VastNumber string

func Numeral(text []byte) any {
	if len(text) > MaxDigits {
		return VastNumber(text)
	}
	exponent := 0
	if e := bytes.IndexAny(text, "eE"); e >= 0 {
		n, err := strconv.Atoi(string(text[e+1:]))
		if err != nil {
			return VastNumber(text)
		}
		exponent = n
	}
	if exponent < -MaxExponent || exponent > MaxExponent {
		return VastNumber(text)
	}
	return json.Number(text)
}

func (b values) object(i int) (map[string]any, int) {
	text, o := b.text, map[string]any{}
	for i = SkipSpace(text, i+1); text[i] != '}'; i = SkipSpace(text, i) {
		if text[i] == ',' {
			i = SkipSpace(text, i+1)
		}
		if b.left != nil {
			*b.left -= workMember
		}
		end := jsonrpc.StringEnd(text, i)
		key, _ := jsonrpc.Unquote(text[i:end])
		colon := SkipSpace(text, end)
		o[key], i = b.at(SkipSpace(text, colon+1))
		if i == len(text) {
			return o, i // no work is left: else the object ends before the text does
		}
	}
	return o, i + 1
}

func (b values) array(i int) ([]any, int) {
	text, a := b.text, []any{}
	for i = SkipSpace(text, i+1); text[i] != ']'; i = SkipSpace(text, i) {
		if text[i] == ',' {
			i = SkipSpace(text, i+1)
		}
		var v any
		v, i = b.at(i)
		a = append(a, v)
		if i == len(text) {
			return a, i
		}
	}
	return a, i + 1
}

func SkipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i
}

// hearing are what marks the words of a schema that look into strings, or at
// whether two are the same, or lead to another schema.
var hearing = [][]byte{
	[]byte(`"enum"`), []byte(`"const"`), []byte(`"pattern"`), []byte(`"format"`), []byte(`"minLength"`), []byte(`"maxLength"`),
	[]byte(`"uniqueItems"`), []byte(`"content`), []byte(`Ref"`), []byte(`"$ref"`), []byte(`\`),
}

// deaf reports whether a schema says nothing about what strings contain. Where
// one is written with escapes it is not looked at that closely.
func deaf(schema []byte) bool {
	return !slices.ContainsFunc(hearing, func(word []byte) bool { return bytes.Contains(schema, word) })
}
