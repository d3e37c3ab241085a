package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
)

// Files as some people have them, that were refused (FINDINGS P8, P16): our entry
// goes in, and all else stays.
func TestFilesThatWereRefusedForTheirEnds(t *testing.T) {
	for _, c := range []struct{ client, text, want string }{
		{"cursor", "{\"mcpServers\": {}} // mine", "} // mine"},
		{"cursor", "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n// end", "\n// end"},
		{"goose", "extensions: ~\n", "extensions:\n  mcpx:"}, {"goose", "extensions: null\nb: 1\n", "extensions:\n  mcpx:"}, {"goose", "a: 1\nextensions: # none yet\n", "extensions:\n  mcpx:"},
		{"goose", "a: 1\n...\n", "a: 1\nextensions:\n  mcpx:"}, {"goose", "extensions:\n  a:\n    cmd: x\n...\n# over\n", "    cmd: x\n  mcpx:"},
		{"goose", "extensions: ~\n...\n", "extensions:\n  mcpx:"}, {"goose", "extensions: NULL", "extensions:\n  mcpx:"}, {"goose", "extensions: Null # none\nb: 1\n", "envs: {} # none\nb: 1\n"},
		{"goose", "extensions: ~\r\nb: 1\r\n", "extensions:\r\n  mcpx:\r\n"}, {"goose", "a: 1\r\n...\r\n# over", "\r\n...\r\n# over"}, {"goose", "a: 1\n...", "\n..."},
		{"cursor", "{\r\n  \"mcpServers\": {}\r\n} // mine", "\r\n} // mine"}, {"cursor", "{} //", "} //"}, {"vscode", "{\"servers\": {}}//", "}//"}, {"zed", "// a\n{\n  // b\n}\n// c", "\n// c"},
		{"claude-code", "{\"projects\": {}} // mine", "} // mine"},
	} {
		s := newStage(t, c.client, install.User)
		s.write([]byte(c.text))
		change, err := s.place.Install(ours, true)
		if err != nil {
			t.Errorf("%s: %q: %v", c.client, c.text, err)
			continue
		}
		if _, err := s.history.Apply(change, s.now); err != nil {
			t.Fatal(err)
		}
		if got := string(s.read()); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q became %q", c.client, c.text, got)
		}
		if got := string(s.undo()); got != c.text {
			t.Errorf("%s: %q came back as %q", c.client, c.text, got)
		}
	}
	for _, text := range []string{"a: 1\n...\nb: 2\n", "a: 1\n...\n---\nb: 2\n"} {
		s := newStage(t, "goose", install.User)
		s.write([]byte(text))
		if _, err := s.place.Install(ours, true); err == nil {
			t.Errorf("%q is one document", text)
		}
	}
}

// A command that is none, or beside an address, has no bridge put in front.
func TestWhatIsNoCommandIsNotWrapped(t *testing.T) {
	for client, entries := range map[string][]string{
		"cursor": {`{"mcpServers": {"a": {"command": ""}}}`, `{"mcpServers": {"a": {"command": "  "}}}`, `{"mcpServers": {"a": {"command": "x", "url": "https://a"}}}`,
			`{"mcpServers": {"a": {"serverUrl": "https://a", "command": "x"}}}`, `{"mcpServers": {"a": {"command": "x", "httpUrl": "https://a"}}}`, `{"mcpServers": {"a": {"command": "x", "uri": "https://a"}}}`},
		"goose": {"extensions:\n  a:\n    cmd: ''\n", "extensions:\n  a:\n    cmd: '  '\n", "extensions:\n  a:\n    cmd: \"\\t\"\n", "extensions:\n  a:\n    cmd:\n", "extensions:\n  a:\n    cmd: x\n    url: https://a\n", "extensions:\n  a:\n    cmd: x\n    uri: https://a\n"},
		"codex": {"[mcp_servers.a]\ncommand = ''\n", "[mcp_servers.a]\ncommand = '  '\n", "[mcp_servers.a]\nserverUrl = 'https://a'\ncommand = 'x'\n", "mcp_servers.a = { command = 'x', httpUrl = 'https://a' }\n", "[mcp_servers.a]\ncommand = 'x'\nurl = 'https://a'\n"},
	} {
		for _, text := range entries {
			s := newStage(t, client, install.User)
			s.write([]byte(text))
			_, err := s.place.Wrap("/usr/bin/mcpx-bridge", nil, "a")
			if e, ok := errors.AsType[*install.Error](err); !ok || e.File == "" || e.Hint == "" {
				t.Errorf("%s: %q is wrapped: %v", client, text, err)
			}
		}
	}
}

// A loop of links is told with the file that it was met at.
func TestALoopOfLinksIsNamed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	for _, of := range []string{"file", "directory"} {
		s := newStage(t, "cursor", install.User)
		loop := s.place.File
		if of == "directory" {
			loop = filepath.Dir(loop)
			if err := os.RemoveAll(loop); err != nil {
				t.Fatal(err)
			}
		} else if err := os.MkdirAll(filepath.Dir(loop), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Base(loop), loop); err != nil {
			t.Fatal(err)
		}
		_, err := s.place.Install(ours, true)
		if err == nil || !strings.Contains(err.Error(), s.place.File) {
			t.Errorf("a %s that is a link to itself: %v", of, err)
		}
		_, wrap := s.place.Wrap(exe, flags, "a")
		_, undo := s.history.Undo(s.place, true)
		for _, err := range []error{wrap, undo} {
			if err == nil || !strings.Contains(err.Error(), s.place.File) {
				t.Errorf("a %s that is a link to itself: %v", of, err)
			}
		}
		for _, f := range install.Survey(s.machine, exe) {
			if f.Place.File == s.place.File && (f.Err == nil || !strings.Contains(f.Err.Error(), s.place.File)) {
				t.Errorf("the survey says %v", f.Err)
			}
		}
	}
}
