package install

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// A Scope says whose servers a file lists.
type Scope string

const (
	User    Scope = "user"    // those of one person, wherever the client is used
	Project Scope = "project" // those of one directory, often shared with others
	Local   Scope = "local"   // those of one person in one directory; Claude Code has it, in the file of User
)

// A Machine says where files are. Nothing of it is looked up here.
type Machine struct {
	GOOS string // as in runtime.GOOS
	Home string // the person's home, absolute
	Dir  string // the project, absolute; "" if there is none

	RealDir string // Dir without links; "": it has none

	AppData      string // %APPDATA% on Windows; "" means Home/AppData/Roaming
	ConfigHome   string // $XDG_CONFIG_HOME elsewhere; "" means Home/.config
	ClaudeConfig string // $CLAUDE_CONFIG_DIR; "" means Home
	CodexHome    string // $CODEX_HOME; "" means Home/.codex
}

// appData is where desktop programs keep what they know of a person.
func (m Machine) appData() string {
	switch m.GOOS {
	case "windows":
		return m.roaming()
	case "darwin":
		return filepath.Join(m.Home, "Library", "Application Support")
	}
	return m.config()
}

func (m Machine) roaming() string {
	return cmp.Or(m.AppData, filepath.Join(m.Home, "AppData", "Roaming"))
}

func (m Machine) config() string { return cmp.Or(m.ConfigHome, filepath.Join(m.Home, ".config")) }

// A Client is a program that starts MCP servers its configuration names.
type Client struct {
	Name  string  // as it is called on the command line
	Title string  // as people call it
	After string  // what a person does for it to read its file again; "" if it does so by itself
	Scope []Scope // those it has, the one that is meant when none is named first

	form    form
	table   string // the key that the servers are under
	marks   []pair // what an entry of ours says beside command and arguments
	project string // the file, from the project's directory
	user    func(Machine) string
}

var userOnly, userFirst, claudeCode = []Scope{User}, []Scope{User, Project}, []Scope{Project, Local, User}

var (
	typed   = []pair{{"type", `"stdio"`}}
	custom  = []pair{{"source", `"custom"`}} // older builds take no entry without it
	asGoose = []pair{{"type", "stdio"}, {"name", OurName}, {"enabled", "true"}, {"timeout", "300"}}
)

// Clients returns those that are known, in the order people look for them
// (MCP 3.4).
func Clients() []Client {
	const restart, itself, session = "restart it", "", "start a new session"
	return []Client{
		{Name: "claude-desktop", Title: "Claude Desktop", After: restart, Scope: userOnly, form: jsonc, table: "mcpServers",
			user: func(m Machine) string { return filepath.Join(m.appData(), "Claude", "claude_desktop_config.json") }},
		{Name: "claude-code", Title: "Claude Code", After: session, Scope: claudeCode, form: jsonc, table: "mcpServers", marks: typed, project: ".mcp.json",
			user: func(m Machine) string { return filepath.Join(cmp.Or(m.ClaudeConfig, m.Home), ".claude.json") }},
		{Name: "cursor", Title: "Cursor", After: itself, Scope: userFirst, form: jsonc, table: "mcpServers", project: ".cursor/mcp.json",
			user: func(m Machine) string { return filepath.Join(m.Home, ".cursor", "mcp.json") }},
		{Name: "vscode", Title: "VS Code", After: "start the server from its list of MCP servers", Scope: userFirst, form: jsonc, table: "servers", marks: typed, project: ".vscode/mcp.json",
			user: func(m Machine) string { return filepath.Join(m.appData(), "Code", "User", "mcp.json") }},
		{Name: "windsurf", Title: "Windsurf", After: restart, Scope: userOnly, form: jsonc, table: "mcpServers",
			user: func(m Machine) string { return filepath.Join(m.Home, ".codeium", "windsurf", "mcp_config.json") }},
		{Name: "zed", Title: "Zed", After: itself, Scope: userFirst, form: jsonc, table: "context_servers", marks: custom, project: ".zed/settings.json", user: zedFile},
		{Name: "codex", Title: "Codex", After: session, Scope: userFirst, form: toml, table: "mcp_servers", project: ".codex/config.toml",
			user: func(m Machine) string {
				return filepath.Join(cmp.Or(m.CodexHome, filepath.Join(m.Home, ".codex")), "config.toml")
			}},
		{Name: "gemini", Title: "Gemini CLI", After: session, Scope: userFirst, form: jsonc, table: "mcpServers", project: ".gemini/settings.json",
			user: func(m Machine) string { return filepath.Join(m.Home, ".gemini", "settings.json") }},
		{Name: "goose", Title: "Goose", After: session, Scope: userOnly, form: yaml, table: "extensions", marks: asGoose, user: gooseFile},
	}
}

func zedFile(m Machine) string {
	if m.GOOS == "windows" {
		return filepath.Join(m.roaming(), "Zed", "settings.json")
	}
	if m.GOOS == "darwin" {
		return filepath.Join(m.Home, ".config", "zed", "settings.json")
	}
	return filepath.Join(m.config(), "zed", "settings.json")
}

func gooseFile(m Machine) string {
	if m.GOOS == "windows" {
		return filepath.Join(m.roaming(), "Block", "goose", "config", "config.yaml")
	}
	return filepath.Join(m.config(), "goose", "config.yaml")
}

// A Place is the file in which a client lists its servers.
type Place struct {
	Client Client
	Scope  Scope
	File   string   // as the client names it; it need not be there
	root   string   // must be there for the file to be made in or below it
	names  []string // of the directory, for Local: by which of them it is known in the file, its reader finds out
}

// projects is the key under which Claude Code keeps what belongs to one directory.
const projects = "projects"

// names are those that Claude Code may know the directory by: as it is without links, for
// new ones, and with slashes on Windows too, in either case of the drive's letter.
func (m Machine) names() []string {
	var all []string
	for _, dir := range []string{cmp.Or(m.RealDir, m.Dir), m.Dir} {
		if m.GOOS != "windows" {
			all = append(all, dir)
			continue
		}
		for _, name := range []string{strings.ReplaceAll(dir, `\`, "/"), strings.ReplaceAll(dir, "/", `\`)} {
			all = append(all, name, strings.ToLower(name[:1])+name[1:], strings.ToUpper(name[:1])+name[1:])
		}
	}
	return all
}

// Place returns the file of a scope; "" is the client's usual one. It reports
// whether the client has such a file on this machine.
func (c Client) Place(m Machine, s Scope) (Place, bool) {
	s = cmp.Or(s, c.Scope[0])
	if !slices.Contains(c.Scope, s) || s != User && m.Dir == "" {
		return Place{}, false
	}
	if s == Project {
		return Place{c, s, filepath.Join(m.Dir, filepath.FromSlash(c.project)), m.Dir, nil}, true
	}
	file := c.user(m)
	p := Place{c, s, file, filepath.Dir(file), nil}
	if s == Local {
		p.names = m.names()
	}
	return p, true
}

// keys lead to the servers in the file.
func (p Place) keys() keys {
	if p.Scope == Local {
		return keys{{projects}, p.names, {p.Client.table}}
	}
	return keys{{p.Client.table}}
}

// dir is whose servers they are, with Local.
func (p Place) dir() string {
	if p.Scope != Local {
		return ""
	}
	return p.names[0]
}
