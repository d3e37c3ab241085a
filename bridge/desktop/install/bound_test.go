package install_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
)

// A file that came with a repository took minutes, gigabytes, or the program with it.
func TestFilesThatWouldCostTooMuchAreRefused(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a: &a [x, x]\n")
	for c := 'b'; c < 'j'; c++ {
		bomb.WriteString(fmt.Sprintf("%c: &%c [*%c, *%c]\n", c, c, c-1, c-1))
	}
	for name, c := range map[string]struct {
		client string
		scope  install.Scope
		text   string
		want   string
	}{
		"brackets":             {"cursor", install.User, strings.Repeat("[", 1<<20), ":1:1001: more than 1000 brackets"},
		"braces":               {"cursor", install.User, strings.Repeat(`{"a":`, 1<<20), "more than 1000 brackets"},
		"behind quotes":        {"cursor", install.User, `{"\"]}": /*"*/ ` + strings.Repeat(`[`, 1<<20), "more than 1000 brackets"},
		"behind a quote's end": {"cursor", install.User, "{ // \"\n \"a\\\\\": " + strings.Repeat(`[`, 1<<20), "more than 1000 brackets"},
		"a project's size":     {"cursor", install.Project, `{"a":"` + strings.Repeat("x", 4<<20) + `"}`, "it has over 4194304 bytes"},
		"toml":                 {"codex", install.User, "a = " + strings.Repeat("[", 10_000), "this is no TOML"},
		"toml, keys":           {"codex", install.User, strings.Repeat("[x]\ny = 1\n", 10_001), "more than 20000 keys and tables"},
		"yaml, brackets":       {"goose", install.User, "a: " + strings.Repeat("[", 80<<10), "more than 100 brackets"},
		"yaml, aliases":        {"goose", install.User, bomb.String(), "there are more than 10 aliases"},
		"yaml, words":          {"goose", install.User, strings.Repeat("# x\n", 30_000), "it has more than 20000 words"},
	} {
		s := newStage(t, c.client, c.scope)
		s.write([]byte(c.text))
		_, err := s.place.Install(ours, true)
		if e, ok := errors.AsType[*install.Error](err); !ok || !strings.Contains(err.Error(), c.want) || e.File != s.place.File {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// What stands in texts and comments is no nesting, and what is large is no bomb.
func TestLargeFilesAreStillEdited(t *testing.T) {
	var json, toml, yaml strings.Builder
	json.WriteString(`{"note": "` + strings.Repeat("[", 5000) + `", /* ` + strings.Repeat("{", 5000) + ` */ "mcpServers":{`)
	yaml.WriteString("note: '" + strings.Repeat("[", 5000) + "'\nextensions:\n")
	for i := range 20_000 {
		fmt.Fprintf(&json, `"s%d":{"command":"x"},`, i)
	}
	json.WriteString(`"notes":{"command":"x"}}}`)
	toml.WriteString("[mcp_servers.notes]\ncommand = 'x'\n")
	for i := range 1000 {
		fmt.Fprintf(&toml, "[mcp_servers.s%d]\ncommand = 'x'\n", i)
		fmt.Fprintf(&yaml, "  s%d:\n    cmd: x\n", i)
	}
	yaml.WriteString("  notes:\n    cmd: x\n")
	for client, text := range map[string]string{"cursor": json.String(), "codex": toml.String(), "goose": yaml.String()} {
		s := newStage(t, client, install.User)
		s.write([]byte(text))
		if c, err := s.place.Wrap("/bin/mcpx-bridge", []string{"--allow=x"}, "notes"); err != nil || c.Empty() {
			t.Errorf("%s: %.200v", client, err)
		}
	}
}
