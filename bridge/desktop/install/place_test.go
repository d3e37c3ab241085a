package install_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
)

// Where the files are (MCP 3.4).
func TestPlaces(t *testing.T) {
	want := `
claude-desktop user     linux   /h/.config/Claude/claude_desktop_config.json
claude-desktop user     darwin  /h/Library/Application Support/Claude/claude_desktop_config.json
claude-desktop user     windows /h/AppData/Roaming/Claude/claude_desktop_config.json
claude-code    user     linux   /h/.claude.json
claude-code    user     darwin  /h/.claude.json
claude-code    user     windows /h/.claude.json
claude-code    project  linux   /p/.mcp.json
claude-code    local    linux   /h/.claude.json
claude-code    local    windows /h/.claude.json
cursor         user     linux   /h/.cursor/mcp.json
cursor         user     windows /h/.cursor/mcp.json
cursor         project  linux   /p/.cursor/mcp.json
vscode         user     linux   /h/.config/Code/User/mcp.json
vscode         user     darwin  /h/Library/Application Support/Code/User/mcp.json
vscode         user     windows /h/AppData/Roaming/Code/User/mcp.json
vscode         project  darwin  /p/.vscode/mcp.json
windsurf       user     linux   /h/.codeium/windsurf/mcp_config.json
windsurf       user     windows /h/.codeium/windsurf/mcp_config.json
zed            user     linux   /h/.config/zed/settings.json
zed            user     darwin  /h/.config/zed/settings.json
zed            user     windows /h/AppData/Roaming/Zed/settings.json
zed            project  linux   /p/.zed/settings.json
codex          user     linux   /h/.codex/config.toml
codex          user     windows /h/.codex/config.toml
codex          project  linux   /p/.codex/config.toml
gemini         user     linux   /h/.gemini/settings.json
gemini         project  linux   /p/.gemini/settings.json
goose          user     linux   /h/.config/goose/config.yaml
goose          user     darwin  /h/.config/goose/config.yaml
goose          user     windows /h/AppData/Roaming/Block/goose/config/config.yaml
`
	seen := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(want)) {
		f := strings.Fields(line)
		name, scope, goos, file := f[0], install.Scope(f[1]), f[2], strings.Join(f[3:], " ")
		seen[name] = true
		s := &stage{t: t, machine: install.Machine{GOOS: goos, Home: "/h", Dir: "/p"}}
		if got := filepath.ToSlash(s.at(name, scope).File); got != file {
			t.Errorf("%s %s on %s: %s, wanted %s", name, scope, goos, got, file)
		}
	}
	for _, c := range install.Clients() {
		if !seen[c.Name] {
			t.Errorf("nobody says where %s has its file", c.Name)
		}
	}
}

// Settings of the person's that move files.
func TestPlacesThatWereMoved(t *testing.T) {
	m := install.Machine{GOOS: "linux", Home: "/h", ConfigHome: "/c", ClaudeConfig: "/cc", CodexHome: "/x", AppData: "/a"}
	m.Dir = "/p"
	for name, want := range map[string]string{"claude-desktop": "/c/Claude/claude_desktop_config.json", "claude-code": "/cc/.claude.json",
		"codex": "/x/config.toml", "goose": "/c/goose/config.yaml", "zed": "/c/zed/settings.json", "vscode": "/c/Code/User/mcp.json"} {
		s := &stage{t: t, machine: m}
		if got := filepath.ToSlash(s.at(name, install.User).File); got != want {
			t.Errorf("%s: %s, wanted %s", name, got, want)
		}
	}
	s := &stage{t: t, machine: m}
	if got := filepath.ToSlash(s.at("claude-code", install.Local).File); got != "/cc/.claude.json" {
		t.Errorf("claude-code, local: %s", got)
	}
	m.GOOS = "windows"
	s = &stage{t: t, machine: m}
	if got, want := filepath.ToSlash(s.at("claude-desktop", install.User).File), "/a/Claude/claude_desktop_config.json"; got != want {
		t.Errorf("%s, wanted %s", got, want)
	}
}

func TestScopes(t *testing.T) {
	m := install.Machine{GOOS: "linux", Home: "/h", Dir: "/p"}
	for _, c := range install.Clients() {
		p, _ := c.Place(m, "")
		if want := map[bool]install.Scope{true: install.Project, false: install.User}[c.Name == "claude-code"]; p.Scope != want {
			t.Errorf("%s is for a %s when nothing is said, wanted %s", c.Name, p.Scope, want)
		}
		if _, ok := c.Place(m, "team"); ok {
			t.Errorf("%s has a scope team", c.Name)
		}
		for _, of := range []install.Scope{install.Project, install.Local} {
			if _, ok := c.Place(install.Machine{GOOS: "linux", Home: "/h"}, of); ok {
				t.Errorf("%s has a %s scope where there is no directory", c.Name, of)
			}
		}
	}
}
