package install_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
)

// What cannot be read is an error that says where, and stays what it is.
func TestFilesThatCannotBeRead(t *testing.T) {
	for _, c := range []struct{ client, text, want string }{
		{"cursor", "{\n  \"mcpServers\": {\n    \"a\" 1\n", ":3:9: this is no JSON"},
		{"cursor", "{\"a\": 1", ":1:8: this is no JSON"},
		{"cursor", "[]", ":1:1: there should be an object"},
		{"cursor", "// nothing\n", "this is no JSON"},
		{"cursor", "{\"mcpServers\": []}", ":1:16: mcpServers should be an object"},
		{"cursor", "{\"mcpServers\": null}", ":1:16: mcpServers should be an object"},
		{"cursor", "{\"mcpServers\": {},\n \"mcpServers\": {}}", ":2:2: \"mcpServers\" is there twice"},
		{"cursor", "{\"a\": \"é\xff\"}", ":1:9: it is not UTF-8 here"},
		{"cursor", "\xff\xfe{\x00}\x00", ":1:1: it is UTF-16"},
		{"codex", "a = 1\nb = [\n", ":2:6: this is no TOML"},
		{"codex", "a = 1\na = 2\n", "this is no TOML"},
		{"codex", "[[mcp_servers]]\na=1\n", "mcp_servers should be a table"},
		{"codex", "mcp_servers = { a = { command = 'x' } }\n", "inline table"},
		{"goose", "a: [1\nb: 2\n", ":2:1: this is no YAML"},
		{"goose", "a: 1\na: 2\n", ":2:1: this is no YAML"},
		{"goose", "- a\n", ":1:1: there should be keys"},
		{"goose", "extensions: 7\n", ":1:13: extensions should be keys"},
		{"goose", "a: 1\n---\nb: 2\n", "more than one document"},
		{"goose", "a: 1\rb: 2\n", ":1:5: a line ends in a carriage return"},
	} {
		s := newStage(t, c.client, install.User)
		s.write([]byte(c.text))
		_, err := s.place.Install(ours, true)
		if e, ok := errors.AsType[*install.Error](err); !ok || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), s.place.File+":") || e.Hint == "" {
			t.Errorf("%s: %q: %v, wanted %s", c.client, c.text, err, c.want)
		}
		s.is(c.client, s.read(), []byte(c.text))
	}
}

// What is there and is not what is meant.
func TestServersThatCannotBeWrapped(t *testing.T) {
	const text = `{"mcpServers": {
  "far": {"url": "https://example.com/mcp"},
  "none": {"args": []},
  "number": {"command": 7},
  "args": {"command": "x", "args": ["a", 1]},
  "text": "x",
  "twice": {"command": "x"},
  "twice": {"command": "y"},
  "mcpx": {"command": "/elsewhere/mcpx-bridge.exe", "args": ["serve"]}
}}`
	for server, want := range map[string]string{
		"far":    ":2:3: far is not started by the client: it has an address",
		"none":   ":3:3: none: it has no command",
		"number": ":4:3: number: its command is no string",
		"args":   ":5:3: args: its args are no list of strings",
		"text":   ":6:3: text: it should be an object",
		"twice":  "twice: the name is there twice",
		"mcpx":   ":9:3: mcpx is a bridge itself",
		"nobody": "there is no server \"nobody\"",
	} {
		s := newStage(t, "cursor", install.User)
		s.write([]byte(text))
		_, err := s.place.Wrap(exe, flags, server)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, wanted %s", server, err, want)
		}
		if _, err := s.place.Unwrap(exe, server, s.history); err == nil {
			t.Errorf("%s was unwrapped", server)
		}
		s.is(server, s.read(), []byte(text))
	}
}

func TestWrappedAlready(t *testing.T) {
	s := newStage(t, "cursor", install.User)
	s.write([]byte(`{"mcpServers": {"a": {"command": "x"}}}`))
	wrapped := s.wrap("a")
	if _, err := s.place.Wrap(exe, []string{"--topic=other"}, "a"); err == nil || !strings.Contains(err.Error(), "a bridge in front of it already") {
		t.Errorf("%v", err)
	}
	if _, err := s.place.Wrap(exe, []string{"--"}, "a"); err == nil {
		t.Error("flags that end before they begin were taken")
	}
	s.is("after both", s.read(), wrapped)
}

// Somebody else's entry of our name is not ours to change; ours is, but what
// its owner added to it stays.
func TestAnEntryOfOurName(t *testing.T) {
	s := newStage(t, "cursor", install.User)
	s.write([]byte(`{"mcpServers": {"mcpx": {"command": "mcpx", "args": ["serve"]}}}`))
	if _, err := s.place.Install(ours, true); err == nil || !strings.Contains(err.Error(), "another server of the name mcpx") {
		t.Errorf("%v", err)
	}
	s.write([]byte(`{"mcpServers": {"mcpx": {"env": {"A": "b"}, "command": "C:\\old\\mcpx-bridge.exe", "args": ["serve", "--id=me"]}}}`))
	s.is("renewed", s.install(), []byte(`{"mcpServers": {"mcpx": {"env": {"A": "b"}, "command": "/opt/bin/mcpx-bridge", "args": ["serve", "--topic", "team"]}}}`))
	const laidOut = `{"mcpServers": {"mcpx": {"command": "/opt/bin/mcpx-bridge", "args": ["serve", // as ever
		"--topic","team" ,]}}}`
	s.write([]byte(laidOut))
	s.is("laid out otherwise", s.install(), []byte(laidOut))
}

// Variables are written into an entry that is made.
func TestVariables(t *testing.T) {
	e := ours
	e.Env = []string{"XDG_STATE_HOME=/s t"}
	for client, want := range map[string]string{"cursor": `"env": {"XDG_STATE_HOME": "/s t"}`, "codex": `env = { "XDG_STATE_HOME" = "/s t" }`, "goose": `envs: {"XDG_STATE_HOME": "/s t"}`} {
		s := newStage(t, client, install.User)
		if got := s.apply(s.place.Install(e, false)); !strings.Contains(string(got), want) {
			t.Errorf("%s: %s", client, got)
		}
	}
}

func TestNoFileYet(t *testing.T) {
	for _, c := range install.Clients() {
		s := newStage(t, c.Name, install.User)
		if _, err := s.place.Wrap(exe, flags, "a"); err == nil || !strings.Contains(err.Error(), "there is no such file") {
			t.Errorf("%s: wrap: %v", c.Name, err)
		}
		change, err := s.place.Install(ours, false)
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if !strings.Contains(string(change.Diff()), "--- /dev/null\n+++ "+s.place.File) {
			t.Errorf("%s:\n%s", c.Name, change.Diff())
		}
		first := s.apply(change, err)
		s.is(c.Name+": twice", s.install(), first)
		if info, err := os.Stat(s.place.File); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the file that was made: %v, %v", c.Name, info.Mode(), err)
		}
		s.undo()
		if _, err := os.Stat(s.place.File); err == nil {
			t.Errorf("%s: the file is there after all was undone", c.Name)
		}
		for _, empty := range []string{"", "\n", " \r\n"} {
			s.write([]byte(empty))
			s.install()
			s.is(c.Name+": an empty file", s.undo(), []byte(empty))
		}
	}
}

// Without the client's own directory the client is not here, unless somebody
// knows better. In a project the directories are made.
func TestNoClient(t *testing.T) {
	s := newStage(t, "cursor", install.User)
	if err := os.Remove(filepath.Dir(s.place.File)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.place.Install(ours, false); err == nil || !strings.Contains(err.Error(), "Cursor seems not to be here") {
		t.Errorf("%v", err)
	}
	s.apply(s.place.Install(ours, true))
	p := s.at("zed", install.Project)
	s.place = p
	s.install()
	if info, err := os.Stat(p.File); err != nil || info.Mode().Perm()&0o077 == 0 {
		t.Errorf("a project's file is for all who work on it: %v, %v", info, err)
	}
}

// A comment among the arguments that would go is not lost unsaid.
func TestACommentIsNotLost(t *testing.T) {
	for client, c := range map[string]struct{ text, remark string }{
		"cursor": {`{"mcpServers": {"a": {"command": "x", "args": ["--", "y"]}}}`, "/* why */ "},
		"codex":  {"[mcp_servers.a]\ncommand = 'x'\nargs = ['--', 'y']\n", "# why\n "},
		"goose":  {"extensions:\n  a:\n    cmd: \"x\"\n    args:\n      - --\n      - y\n", "# why\n        "},
	} {
		s := newStage(t, client, install.User)
		s.write([]byte(c.text))
		wrapped := s.wrap("a")
		at := bytes.Index(wrapped, []byte(`"--stdio"`))
		if client == "goose" {
			at += len(`"--stdio"`)
			c.remark = " # why"
		}
		remarked := slices.Concat(wrapped[:at], []byte(c.remark), wrapped[at:])
		s.write(remarked)
		if _, err := s.place.Unwrap(exe, "a", s.history); err == nil || !strings.Contains(err.Error(), "comment") {
			t.Errorf("%s: %v in\n%s", client, err, remarked)
		}
		remarked = bytes.Replace(remarked, []byte(c.remark), nil, 1)
		s.write(remarked)
		s.is(client, s.unwrap("a", install.History{Dir: t.TempDir()}), bytes.ReplaceAll([]byte(c.text), []byte("'x'"), []byte(`"x"`)))
	}
}

// Nor is one in a table that is empty yet, where somebody may keep what they turned off.
func TestACommentInAnEmptyTableIsNotLost(t *testing.T) {
	for _, text := range []string{
		"extensions: {\n  # memory: {cmd: m}\n  }\n",
		"extensions: { # none yet\n}\nA: 1\n",
		"extensions: # none yet\n",
		"extensions:\n  # none yet\nA: 1\n",
	} {
		s := newStage(t, "goose", install.User)
		s.write([]byte(text))
		comment := text[strings.Index(text, "#"):]
		comment = comment[:strings.Index(comment, "\n")+1]
		installed := s.install()
		if !bytes.Contains(installed, []byte(comment)) {
			t.Errorf("%q became\n%s", text, installed)
		}
		s.is("twice", s.install(), installed)
		s.is("undone", s.undo(), []byte(text))
	}
	for _, null := range []string{"~", "null"} {
		s := newStage(t, "goose", install.User)
		s.write([]byte("extensions: # none yet\n  " + null + "\n"))
		_, err := s.place.Install(ours, false)
		if e, ok := errors.AsType[*install.Error](err); !ok || !strings.Contains(err.Error(), ":1:12: there is a comment in extensions") || e.Hint == "" {
			t.Errorf("%s: %v", null, err)
		}
	}
}

// The comment behind the key of a list goes with it where no argument is left.
func TestACommentBehindTheKeyOfArgumentsIsNotLost(t *testing.T) {
	s := newStage(t, "goose", install.User)
	s.write([]byte("extensions:\n  a:\n    cmd: \"" + exe + "\"\n    args: # why\n      - run\n      - --stdio\n      - --\n      - x\n"))
	_, err := s.place.Unwrap(exe, "a", s.history)
	if err == nil || !strings.Contains(err.Error(), "there is a comment among the arguments of a") {
		t.Errorf("%v", err)
	}
	s.write(bytes.Replace(s.read(), []byte("- x"), []byte("- x\n      - y"), 1))
	s.is("with an argument", s.unwrap("a", s.history), []byte("extensions:\n  a:\n    cmd: \"x\"\n    args: # why\n      - y\n"))
}
