package install_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
)

const exe = "/opt/bin/mcpx-bridge"

var (
	ours  = install.Entry{Command: exe, Args: []string{"serve", "--topic", "team"}}
	flags = []string{"--policy", "/p q.yaml"}
)

// A stage is a machine of its own with one client's file on it.
type stage struct {
	t       testing.TB
	machine install.Machine
	place   install.Place
	history install.History
	now     time.Time
}

func newStage(t testing.TB, client string, scope install.Scope) *stage {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := install.Machine{GOOS: "linux", Home: filepath.Join(dir, "home"), Dir: filepath.Join(dir, "project")}
	s := &stage{t: t, machine: m, history: install.History{Dir: filepath.Join(dir, "steps")}, now: time.Unix(1e9, 0)}
	s.place = s.at(client, scope)
	for _, d := range []string{m.Dir, filepath.Dir(s.place.File)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *stage) at(client string, scope install.Scope) install.Place {
	s.t.Helper()
	all := install.Clients()
	i := slices.IndexFunc(all, func(c install.Client) bool { return c.Name == client })
	if i < 0 {
		s.t.Fatalf("there is no client %s", client)
	}
	p, ok := all[i].Place(s.machine, scope)
	if !ok {
		s.t.Fatalf("%s has no scope %q", client, scope)
	}
	return p
}

func (s *stage) write(text []byte) {
	s.t.Helper()
	if err := os.WriteFile(s.place.File, text, 0o640); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) read() []byte {
	s.t.Helper()
	text, err := os.ReadFile(s.place.File)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// apply carries a change out and returns what the file is then.
func (s *stage) apply(c *install.Change, err error) []byte {
	s.t.Helper()
	if err == nil {
		s.now = s.now.Add(time.Second)
		_, err = s.history.Apply(c, s.now)
	}
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	text, _ := os.ReadFile(s.place.File)
	return text
}

func (s *stage) install() []byte { s.t.Helper(); return s.apply(s.place.Install(ours, false)) }

func (s *stage) wrap(server string) []byte {
	s.t.Helper()
	return s.apply(s.place.Wrap(exe, flags, server))
}

func (s *stage) unwrap(server string, h install.History) []byte {
	s.t.Helper()
	return s.apply(s.place.Unwrap(exe, server, h))
}

func (s *stage) undo() []byte { s.t.Helper(); return s.apply(s.history.Undo(s.place, false)) }

func (s *stage) is(what string, got, want []byte) {
	s.t.Helper()
	if !bytes.Equal(got, want) {
		s.t.Errorf("%s:\n%s\nwanted:\n%s", what, got, want)
	}
}

// Each file of testdata is a configuration, and what becomes of it. UPDATE in
// the environment writes the results anew: read them.
func TestFilesAsTheyAreFound(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there is no testdata", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			client, server := meant(t, string(a.Comment))
			text := a.Files[0].Data
			if strings.Contains(string(a.Comment), "no line end") {
				text = bytes.TrimSuffix(text, []byte("\n"))
			}
			s := newStage(t, client, install.User)
			s.write(text)
			installed, wrapped := s.install(), s.wrap(server)
			if os.Getenv("UPDATE") != "" {
				a.Files = append(a.Files[:1], txtar.File{Name: "installed", Data: installed}, txtar.File{Name: "wrapped", Data: wrapped})
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			s.is("installed", installed, trimmed(installed, a.Files[1].Data))
			s.is("wrapped", wrapped, trimmed(wrapped, a.Files[2].Data))
			s.is("undone", s.undo(), installed)
			s.is("undone twice", s.undo(), text)
			backAndForth(t, client, server, text)
		})
	}
}

// trimmed takes off the line end that txtar puts where there is none.
func trimmed(got, want []byte) []byte {
	if !bytes.HasSuffix(got, []byte("\n")) {
		return bytes.TrimSuffix(want, []byte("\n"))
	}
	return want
}

// meant reads "CLIENT wraps SERVER: …".
func meant(t *testing.T, comment string) (client, server string) {
	t.Helper()
	head, _, _ := strings.Cut(comment, ":")
	client, server, ok := strings.Cut(head, " wraps ")
	if !ok {
		t.Fatalf("%q does not say what is wrapped", comment)
	}
	return client, strings.Trim(server, `"`)
}

// backAndForth holds what must hold of every file: a step twice is a step once,
// and there is a way back to the same bytes from each.
func backAndForth(t *testing.T, client, server string, text []byte) {
	t.Helper()
	for name, text := range map[string][]byte{"as it is": text, "CRLF": crlf(text), "with a mark": append([]byte("\xef\xbb\xbf"), text...)} {
		s := newStage(t, client, install.User)
		s.write(text)
		installed := s.install()
		s.is(name+": installed twice", s.install(), installed)
		wrapped := s.wrap(server)
		s.is(name+": wrapped twice", s.wrap(server), wrapped)
		s.is(name+": unwrapped", s.unwrap(server, s.history), installed)
		for i, want := range [][]byte{wrapped, installed, text} {
			s.is(fmt.Sprintf("%s: undone %d times", name, i+1), s.undo(), want)
		}
		if _, err := s.history.Undo(s.place, false); err == nil {
			t.Errorf("%s: there was more to undo than had been done", name)
		}
		if bytes.Count(wrapped, []byte("\n")) != bytes.Count(wrapped, []byte("\r\n")) && name == "CRLF" {
			t.Errorf("line ends are mixed: %q", wrapped)
		}
		s.wrap(server)
		found := surveyed(t, s, server)
		if !found.Wrapped {
			t.Errorf("%s: the survey does not see that %s is wrapped", name, server)
		}
		s.unwrap(server, install.History{Dir: t.TempDir()}) // nothing is remembered
		if found = surveyed(t, s, server); found.Wrapped || found.Wrong != "" {
			t.Errorf("%s: after unwrapping without memory: %+v", name, found)
		}
	}
}

func crlf(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")) }

// surveyed is what a survey says of a server.
func surveyed(t *testing.T, s *stage, name string) install.Server {
	t.Helper()
	for _, f := range install.Survey(s.machine, exe) {
		if f.Place.File != s.place.File {
			continue
		}
		for _, server := range f.Servers {
			if server.Name == name {
				return server
			}
		}
	}
	t.Fatalf("the survey does not find %s", name)
	return install.Server{}
}
