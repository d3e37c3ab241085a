package desktop

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A reading says what the strings of a value are to who gets it.
type reading int

const (
	prose   reading = iota // text: what could not be seen is shown
	literal                // to be sent back as it is: nothing in it may be hidden
	schemas                // a schema: text, but for what its keywords say
	named                  // schemas by the names of properties, which are literal
	params                 // the arguments of a prompt: text, but for their names
)

// literals are the keywords of a schema whose strings a model sends back, or a
// client acts upon.
var literals = []string{"enum", "const", "default", "required", "dependentRequired", "pattern", "format", "type",
	"$ref", "$dynamicRef", "$id", "$schema", "$anchor", "$dynamicAnchor", "$vocabulary", "contentEncoding", "contentMediaType"}

// byName are the keywords whose members are schemas by name.
var byName = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}

// errHidden is why something cannot be offered: it would have to be sent back as
// it is, and nobody could see what that is.
var errHidden = errors.New("has a name or a value with characters that cannot be seen")

// visible returns a value of which people see all that a model does (FINDINGS M6):
// text with \u{…} for what could not be seen. Where that would change what must be
// sent back, it is [errHidden]. raw has been scanned strictly before.
func visible(raw []byte, as reading) ([]byte, error) {
	if !suspect(raw) {
		return raw, nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	return appendVisible(make([]byte, 0, len(raw)+64), d, as)
}

// suspect reports whether there may be a character in JSON that cannot be seen:
// what is ASCII without such escapes holds none.
func suspect(raw []byte) bool {
	for i, c := range raw {
		if c >= 0x7F || c == '\\' && i+1 < len(raw) && strings.IndexByte("ubfr", raw[i+1]) >= 0 {
			return true
		}
	}
	return false
}

func appendVisible(dst []byte, d *jsontext.Decoder, as reading) ([]byte, error) {
	switch d.PeekKind() {
	case '{':
		return appendVisibleObject(dst, d, as)
	case '[':
		return appendVisibleArray(dst, d, as)
	}
	raw, err := d.ReadValue()
	if err != nil {
		return dst, err
	}
	s, isString := jsonrpc.Unquote(raw)
	switch {
	case !isString:
		return append(dst, raw...), nil
	case as != literal:
		return jsonrpc.AppendQuote(dst, text.Lines(s)), nil
	case hides(s):
		return dst, errHidden
	}
	return append(dst, raw...), nil
}

func appendVisibleObject(dst []byte, d *jsontext.Decoder, as reading) ([]byte, error) {
	if _, err := d.ReadToken(); err != nil {
		return dst, err
	}
	dst = append(dst, '{')
	for first := true; d.PeekKind() == '"'; first = false {
		raw, err := d.ReadValue()
		if err != nil {
			return dst, err
		}
		name, _ := jsonrpc.Unquote(raw)
		if hides(name) {
			return dst, errHidden
		}
		if !first {
			dst = append(dst, ',')
		}
		if dst, err = appendVisible(append(append(dst, raw...), ':'), d, as.of(name)); err != nil {
			return dst, err
		}
	}
	_, err := d.ReadToken()
	return append(dst, '}'), err
}

func appendVisibleArray(dst []byte, d *jsontext.Decoder, as reading) ([]byte, error) {
	if _, err := d.ReadToken(); err != nil {
		return dst, err
	}
	dst = append(dst, '[')
	for first := true; d.PeekKind() != ']'; first = false {
		if !first {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendVisible(dst, d, as); err != nil {
			return dst, err
		}
	}
	_, err := d.ReadToken()
	return append(dst, ']'), err
}

// of is how the member of an object is read.
func (as reading) of(name string) reading {
	switch {
	case as == named:
		return schemas
	case as == schemas && slices.Contains(literals, name), as == params && name == "name":
		return literal
	case as == schemas && slices.Contains(byName, name):
		return named
	}
	return as
}

// hides reports whether what is to be sent back has characters that cannot be
// seen. Breaks between lines and tabs stand there as escapes, which models know.
func hides(s string) bool {
	return !text.Plain(strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(s))
}

// readings are how the members of a definition are read. What is not named here is
// for programs: it is left out where it hides something.
var readings = map[string]reading{
	"title": prose, "description": prose, "annotations": prose, "inputSchema": schemas, "outputSchema": schemas, "arguments": params,
}

// show makes a definition one of which people see all that models do.
func (d *definition) show(k int) (err error) {
	if hides(d.key) {
		return errors.New("its " + kinds[k].key + " has characters that cannot be seen")
	}
	var kept []field
	for _, f := range d.fields {
		as, known := readings[f.name]
		if f.name == "name" && kinds[k].key != "name" {
			as, known = prose, true
		}
		if !known {
			as = literal
		}
		f.value, err = visible(f.value, as)
		switch {
		case f.name == kinds[k].key:
		case err != nil && known:
			return fmt.Errorf("its %s %w", f.name, err)
		case err != nil || hides(f.name):
			continue
		}
		kept = append(kept, f)
	}
	d.fields = kept
	return nil
}
