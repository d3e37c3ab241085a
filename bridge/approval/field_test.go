package approval_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

func TestFieldsTakeWhatIsTyped(t *testing.T) {
	text := approval.Field{Type: "string", Enum: []string{`"production"`, `"staging"`}}
	count := approval.Field{Type: "integer", Min: "1", Max: "300"}
	free := approval.Field{Type: "string"}
	for _, c := range []struct {
		f     approval.Field
		typed string
		want  string // "" for a problem
	}{
		{text, "staging", `"staging"`}, {text, `"staging"`, `"staging"`}, {text, "mars", ""}, {text, "", ""},
		{count, "30", "30"}, {count, " 30 ", "30"}, {count, "0", ""}, {count, "1/2", ""}, {count, "0x10", ""}, {count, "1.5", ""}, {count, "", ""},
		{free, "a \"b\"", `"a \"b\""`}, {free, `"a"x`, `"\"a\"x"`}, {free, "", `""`}, {free, " a", `" a"`},
		{free, "a\x80", ""}, {free, "\"a\x80\"", ""}, {text, "\xffstaging", ""},
		{approval.Field{Type: "boolean"}, "true", "true"}, {approval.Field{Type: "boolean"}, "yes", ""},
	} {
		raw, problem := c.f.Value(c.typed)
		if (problem == "") != (c.want != "") || problem == "" && string(raw) != c.want {
			t.Errorf("%s %q: %s, %s; want %s", c.f.Type, c.typed, raw, problem, c.want)
		}
	}
}

func TestFieldsShowWhatTheyHave(t *testing.T) {
	for now, want := range map[string]string{`"a"`: "a", `"a\u200b"`: `"a\u200b"`, `"\"q"`: `"\"q"`, `" a"`: `" a"`, ``: ""} {
		f := approval.Field{Type: "string", Now: now}
		if got := f.Typed(); got != want {
			t.Errorf("%s: %s, want %s", now, got, want)
		}
		if now == "" {
			continue
		}
		if raw, problem := f.Value(f.Typed()); problem != "" {
			t.Errorf("%s: typed back it is %s, %s", now, raw, problem)
		}
	}
}
