package approval

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Value reads what a person typed into a field: a string may stand there
// without its quotes. problem says why the field does not take it, "" if it
// does.
func (f *Field) Value(typed string) (raw []byte, problem string) {
	if !utf8.ValidString(typed) {
		return nil, "must be valid UTF-8"
	}
	raw = []byte(strings.TrimSpace(typed))
	if _, quoted := jsonrpc.Unquote(raw); f.Type == "string" && !(quoted && json.Valid(raw)) {
		raw = jsonrpc.AppendQuote(nil, typed)
	}
	if !json.Valid(raw) {
		return nil, wants[f.Type]
	}
	return raw, f.unfit(raw)
}

// unfit says why the field does not take a value, "" if it does.
func (f *Field) unfit(raw []byte) string {
	return unfit(&policy.Edit{Type: f.Type, Enum: f.Enum, Min: f.Min, Max: f.Max, Under: f.Under}, raw)
}

var wants = map[string]string{
	"string": "must be a string", "number": "must be a number", "integer": "must be a whole number", "boolean": "must be true or false",
}

// Typed is the value that a field has now, as a person would type it; "" if it
// is unknown.
func (f *Field) Typed() string {
	if s, ok := jsonrpc.Unquote([]byte(f.Now)); ok && f.Type == "string" && text.Line(s) == s && !strings.HasPrefix(s, `"`) && strings.TrimSpace(s) == s {
		return s
	}
	return f.Now
}

// Choices are the values a field takes, as a person would type them; nil if
// there are too many to tell.
func (f *Field) Choices() (typed []string) {
	if f.Type == "boolean" && len(f.Enum) == 0 {
		return []string{"true", "false"}
	}
	for _, raw := range f.Enum {
		one := Field{Type: f.Type, Now: raw}
		typed = append(typed, text.Line(one.Typed()))
	}
	return slices.Compact(typed)
}

// fieldJSON is a Field in JSON: the values of arguments stand there as they are.
type fieldJSON struct {
	Field string            `json:"field"`
	Title string            `json:"title"`
	Type  string            `json:"type"`
	Enum  []json.RawMessage `json:"enum,omitempty"`
	Min   string            `json:"min,omitempty"`
	Max   string            `json:"max,omitempty"`
	Under string            `json:"under,omitempty"`
	Now   json.RawMessage   `json:"now,omitempty"`
}

func (f Field) MarshalJSON() ([]byte, error) {
	out := fieldJSON{f.Field, f.Title, f.Type, nil, f.Min, f.Max, f.Under, json.RawMessage(f.Now)}
	for _, one := range f.Enum {
		out.Enum = append(out.Enum, json.RawMessage(one))
	}
	return json.Marshal(out)
}

func (f *Field) UnmarshalJSON(raw []byte) error {
	var in fieldJSON
	err := json.Unmarshal(raw, &in)
	*f = Field{Field: in.Field, Title: in.Title, Type: in.Type, Min: in.Min, Max: in.Max, Under: in.Under, Now: string(in.Now)}
	for _, one := range in.Enum {
		f.Enum = append(f.Enum, string(one))
	}
	return err
}

// A Field is one thing an approver may change.
type Field struct {
	Field, Title, Type string
	Enum               []string // raw JSON
	Min, Max           string
	Under              string // the folder that a string must name, or one in it; "" for none, or if hidden
	Now                string // raw JSON, "" if unknown or hidden
}
