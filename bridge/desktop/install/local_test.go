package install_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
)

// localFile is what Claude Code keeps: servers of the user, of this directory, and of
// another one, all of one name; DIR stands for this directory.
const localFile = `{
  "numStartups": 12345678901234567890,
  "mcpServers": {"notes": {"type": "stdio", "command": "users"}},
  "projects": {
    "/elsewhere": {"mcpServers": {"notes": {"command": "others", "args": ["x"]}}, "history": []},
    "DIR": {
      "allowedTools": [],
      "mcpServers": {
        "notes": {
          "type": "stdio",
          "command": "mine",
          "args": [],
          "env": {"KEY": "s3cret"}
        }
      },
      "hasTrustDialogAccepted": true
    }
  }
}
`

func localStage(t *testing.T, text string) *stage {
	t.Helper()
	s := newStage(t, "claude-code", install.Local)
	s.write([]byte(strings.ReplaceAll(text, "DIR", filepath.ToSlash(s.machine.Dir))))
	return s
}

// What Claude Code keeps for one directory alone, its usual place, could not be wrapped.
func TestTheServersOfOneDirectoryAreWrapped(t *testing.T) {
	s := localStage(t, localFile)
	text := s.read()
	wrapped := s.wrap("notes")
	want := bytes.Replace(text, []byte(`"command": "mine",
          "args": [],`), []byte(`"command": "/opt/bin/mcpx-bridge",
          "args": ["run", "--stdio", "--policy", "/p q.yaml", "--", "mine"],`), 1)
	s.is("wrapped", wrapped, want)
	s.is("wrapped twice", s.wrap("notes"), want)
	s.is("unwrapped", s.unwrap("notes", s.history), text)
	installed := s.install()
	want = bytes.Replace(text, []byte(`"s3cret"}
        }
`), []byte(`"s3cret"}
        },
        "mcpx": {
          "type": "stdio",
          "command": "/opt/bin/mcpx-bridge",
          "args": ["serve", "--topic", "team"]
        }
`), 1)
	s.is("installed", installed, want)
	for _, want := range [][]byte{text, wrapped, text} {
		s.is("undone", s.undo(), want)
	}
	if _, err := s.place.Wrap(exe, flags, "others"); err == nil || !strings.Contains(err.Error(), `there is no server "others"`) {
		t.Errorf("another directory's server: %v", err)
	}
}

// In a file that does not know the directory yet, or has no servers for it, a place for
// them is made, and taken back.
func TestADirectoryThatClaudeCodeDoesNotKnowYet(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"a\": 1\n}\n":              "{\n  \"a\": 1,\n  \"projects\": {\n    \"DIR\": {\n      \"mcpServers\": {\n        \"mcpx\": {\n          \"type\": \"stdio\",\n          \"command\": \"/opt/bin/mcpx-bridge\",\n          \"args\": [\"serve\", \"--topic\", \"team\"]\n        }\n      }\n    }\n  }\n}\n",
		`{"projects": {"/b": {"x": 1}}}`:  `{"projects": {"/b": {"x": 1}, "DIR": {"mcpServers": {"mcpx": {"type": "stdio", "command": "/opt/bin/mcpx-bridge", "args": ["serve", "--topic", "team"]}}}}}`,
		`{"projects": {"DIR": {"x": 1}}}`: `{"projects": {"DIR": {"x": 1, "mcpServers": {"mcpx": {"type": "stdio", "command": "/opt/bin/mcpx-bridge", "args": ["serve", "--topic", "team"]}}}}}`,
		"":                                "{\n  \"projects\": {\n    \"DIR\": {\n      \"mcpServers\": {\n        \"mcpx\": {\n          \"type\": \"stdio\",\n          \"command\": \"/opt/bin/mcpx-bridge\",\n          \"args\": [\"serve\", \"--topic\", \"team\"]\n        }\n      }\n    }\n  }\n}\n",
	} {
		s := localStage(t, text)
		before := s.read()
		installed := s.install()
		s.is("installed", installed, []byte(strings.ReplaceAll(want, "DIR", filepath.ToSlash(s.machine.Dir))))
		s.is("twice", s.install(), installed)
		s.is("undone", s.undo(), before)
	}
	for _, text := range []string{`{"projects": []}`, `{"projects": {"DIR": 7}}`, `{"projects": {"DIR": {}, "DIR": {}}}`, `{"projects": null}`, `{"projects": {"DIR": {"mcpServers": []}}}`} {
		s := localStage(t, text)
		before := s.read()
		if _, err := s.place.Install(ours, true); err == nil || !strings.Contains(err.Error(), s.place.File+":1:") {
			t.Errorf("%s: %v", text, err)
		}
		s.is(text, s.read(), before)
	}
}

// The user's servers and those of the directories are in one file, which is put back as
// a whole: only the newest step is undone, and only as what it was.
func TestUndoInAFileOfSeveralScopes(t *testing.T) {
	s := localStage(t, localFile)
	text := s.read()
	local := s.place
	mine := s.wrap("notes")
	s.place = s.at("claude-code", install.User)
	both := s.wrap("notes")
	s.place = local
	if _, err := s.history.Undo(s.place, false); err == nil || !strings.Contains(err.Error(), "user") {
		t.Errorf("the user's step was undone as the directory's: %v", err)
	}
	s.is("unwrapped with another of the name wrapped", s.unwrap("notes", s.history), bytes.Replace(both, mine[bytes.Index(mine, []byte(`"command": "/opt`)):bytes.Index(mine, []byte(`,
          "env"`))], []byte(`"command": "mine",
          "args": []`), 1))
	s.is("and undone", s.undo(), both)
	s.place = s.at("claude-code", install.User)
	s.is("the user's", s.undo(), mine)
	s.place = local
	s.machine.Dir = filepath.Join(s.machine.Dir, "other")
	s.place = s.at("claude-code", install.Local)
	if _, err := s.history.Undo(s.place, false); err == nil || !strings.Contains(err.Error(), filepath.ToSlash(filepath.Dir(s.machine.Dir))) {
		t.Errorf("another directory's step was undone: %v", err)
	}
	s.place = local
	s.is("the directory's", s.undo(), text)
}

// A directory has several names: with links and without, and on Windows with either
// slash and either case of the drive.
func TestADirectoryByItsOtherNames(t *testing.T) {
	for key, m := range map[string]install.Machine{
		"/link/p":  {GOOS: "linux", Dir: "/link/p", RealDir: "/real/p"},
		"/real/p":  {GOOS: "linux", Dir: "/link/p", RealDir: "/real/p"},
		"C:/u/p":   {GOOS: "windows", Dir: `C:\u\p`},
		"c:/u/p":   {GOOS: "windows", Dir: `C:\u\p`},
		`C:\\u\\p`: {GOOS: "windows", Dir: `C:\u\p`},
	} {
		s := newStage(t, "claude-code", install.Local)
		m.Home = s.machine.Home
		s.machine = m
		s.place = s.at("claude-code", install.Local)
		s.write([]byte(`{"projects": {"` + key + `": {"mcpServers": {"a": {"command": "x"}}}}}`))
		s.wrap("a")
		if _, err := s.place.Unwrap(exe, "a", s.history); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	s := newStage(t, "claude-code", install.Local)
	s.machine.RealDir = "/real/p"
	s.place = s.at("claude-code", install.Local)
	if got := s.install(); !bytes.Contains(got, []byte(`"/real/p": {`)) {
		t.Errorf("a new one is named %s", got)
	}
}

func TestSurveyOfOneDirectory(t *testing.T) {
	s := localStage(t, localFile)
	s.wrap("notes")
	for _, f := range install.Survey(s.machine, exe) {
		if f.Place.Client.Name != "claude-code" || f.Place.Scope != install.Local {
			continue
		}
		if !f.Here || !f.There || len(f.Servers) != 1 || !f.Servers[0].Wrapped || len(f.Elsewhere) != 1 || f.Elsewhere[0] != "/elsewhere" {
			t.Errorf("%+v", f)
		}
		return
	}
	t.Error("the survey leaves it out")
}

// The file is for its owner alone, as Claude Code makes it.
func TestTheFileOfLocalServersIsPrivate(t *testing.T) {
	s := newStage(t, "claude-code", install.Local)
	s.install()
	if info, err := os.Stat(s.place.File); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
