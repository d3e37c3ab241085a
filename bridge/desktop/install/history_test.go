package install_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop/install"
)

const one = `{"mcpServers": {"a": {"command": "x", "env": {"TOKEN": "s3cret"}}}}` + "\n"

// Somebody writes the file between our reading and our writing.
func TestARaceIsNoticed(t *testing.T) {
	s := newStage(t, "cursor", install.User)
	s.write([]byte(one))
	change, err := s.place.Wrap(exe, flags, "a")
	if err != nil {
		t.Fatal(err)
	}
	theirs := []byte(strings.Replace(one, `"x"`, `"y"`, 1))
	s.write(theirs)
	if _, err := s.history.Apply(change, s.now); err == nil || !strings.Contains(err.Error(), "written by somebody else meanwhile") {
		t.Errorf("%v", err)
	}
	s.is("after the race", s.read(), theirs)
	if _, err := s.history.Undo(s.place, false); err == nil {
		t.Error("a step that was not made can be undone")
	}
	s.nothingBeside()

	create := newStage(t, "cursor", install.User)
	change, err = create.place.Install(ours, false)
	create.write(theirs)
	if _, err2 := create.history.Apply(change, s.now); err != nil || err2 == nil {
		t.Errorf("a file that came to be meanwhile: %v, %v", err, err2)
	}
	create.is("the file that came to be", create.read(), theirs)
}

// nothingBeside fails if anything but the file is in its directory.
func (s *stage) nothingBeside() {
	s.t.Helper()
	entries, err := os.ReadDir(filepath.Dir(s.place.File))
	if err != nil || len(entries) != 1 {
		s.t.Errorf("beside the file: %v, %v", entries, err)
	}
}

func TestAChangedFileIsNotUndone(t *testing.T) {
	s := newStage(t, "cursor", install.User)
	s.write([]byte(one))
	wrapped := s.wrap("a")
	theirs := bytes.Replace(wrapped, []byte("}\n"), []byte(", \"theme\": \"dark\"}\n"), 1)
	s.write(theirs)
	_, err := s.history.Undo(s.place, false)
	changed, ok := errors.AsType[*install.ChangedError](err)
	if !ok || !bytes.Contains(changed.Diff, []byte(`"theme": "dark"`)) || !bytes.HasPrefix(changed.Diff, []byte("--- ")) {
		t.Fatalf("%v\n%s", err, changed.Diff)
	}
	s.is("unwrapped all the same", s.unwrap("a", s.history), []byte(strings.Replace(one, "}\n", ", \"theme\": \"dark\"}\n", 1)))
	s.is("back", s.undo(), theirs)

	change, err := s.history.Undo(s.place, true)
	if err != nil {
		t.Fatal(err)
	}
	aside, err := s.history.Apply(change, s.now)
	if err != nil {
		t.Fatal(err)
	}
	s.is("forced", s.read(), []byte(one))
	kept, err := os.ReadFile(aside)
	s.is("what was there", kept, theirs)
	if err != nil {
		t.Error(err)
	}
	if _, err := s.history.Undo(s.place, true); err == nil {
		t.Error("there was more to undo")
	}
}

// Who takes a step back by hand has taken it back.
func TestUndoneByHand(t *testing.T) {
	s := newStage(t, "cursor", install.User)
	s.write([]byte(one))
	installed := s.install()
	s.wrap("a")
	s.write(installed)
	s.is("the step before", s.undo(), []byte(one))
	if _, err := s.history.Undo(s.place, false); err == nil {
		t.Error("the step that was taken back by hand is there yet")
	}
}

// A file that was taken away can be had back, but not without being told.
func TestAFileThatIsGone(t *testing.T) {
	s := newStage(t, "cursor", install.User)
	s.write([]byte(one))
	s.install()
	if err := os.Remove(s.place.File); err != nil {
		t.Fatal(err)
	}
	if _, err := s.history.Undo(s.place, false); err == nil {
		t.Error("it was undone")
	}
	s.is("forced", s.apply(s.history.Undo(s.place, true)), []byte(one))
}

func TestStepsAreForTheUserAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	s := newStage(t, "cursor", install.User)
	s.write([]byte(one))
	s.wrap("a")
	files := 0
	err := filepath.WalkDir(s.history.Dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others can get at %s: %v", name, info.Mode())
		}
		if !d.IsDir() {
			files++
		}
		return err
	})
	if err != nil || files != 1 {
		t.Errorf("%d files, %v", files, err)
	}
}

// However often a file is changed, what is kept is bounded.
func TestStepsAreBounded(t *testing.T) {
	s := newStage(t, "cursor", install.User)
	s.write([]byte(one))
	for range 40 {
		s.wrap("a")
		s.unwrap("a", s.history)
	}
	steps := 0
	for ; ; steps++ {
		change, err := s.history.Undo(s.place, false)
		if err != nil {
			break
		}
		s.apply(change, nil)
	}
	if steps != 50 {
		t.Errorf("%d steps were kept", steps)
	}
	s.is("in the end", s.read(), []byte(one))
}

// A client may keep its history in its file: few steps of such a file take much room. What
// is kept of old ones is neither read nor, over the bound, kept because of a new one.
func TestStepsOfLargeFilesAreFewer(t *testing.T) {
	s := newStage(t, "cursor", install.User)
	s.write([]byte(one))
	before := s.wrap("a")
	s.install()
	kept := func() []string {
		names, err := filepath.Glob(filepath.Join(s.history.Dir, "*", "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	oldest := kept()[0]
	if err := os.Truncate(oldest, 256<<20); err != nil { // sparse: it takes no room on the disk
		t.Fatal(err)
	}
	s.is("a step back beside a large one", s.undo(), before)
	s.install()
	if names := kept(); len(names) != 1 || names[0] == oldest {
		t.Errorf("%v are kept, %s is the oldest", names, oldest)
	}
	s.is("the newest step", s.undo(), before)
}

// Mode and owner stay, and so does a symbolic link: the file it leads to changes.
func TestLinksAndModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there, and modes say nothing")
	}
	s := newStage(t, "cursor", install.User)
	real := filepath.Join(s.machine.Dir, "dotfiles.json")
	if err := errors.Join(os.WriteFile(real, []byte(one), 0o640), os.Chmod(real, 0o640), os.Symlink(real, s.place.File)); err != nil {
		t.Fatal(err)
	}
	owner := -1
	if os.Geteuid() == 0 {
		owner = 4242
		if err := os.Chown(real, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	s.wrap("a")
	if to, err := os.Readlink(s.place.File); err != nil || to != real {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	info, err := os.Stat(real)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if owner >= 0 && ownerOf(info) != owner {
		t.Errorf("it belongs to %d now", ownerOf(info))
	}
	s.is("undone", s.undo(), []byte(one))
	s.nothingBeside()

	os.Remove(real)
	if _, err := s.place.Install(ours, true); err == nil || !strings.Contains(err.Error(), "leads nowhere") {
		t.Errorf("a link that leads nowhere: %v", err)
	}
}

// Who made a file read-only meant it, though its directory could be written.
func TestAReadOnlyFile(t *testing.T) {
	s := newStage(t, "cursor", install.User)
	s.write([]byte(one))
	if err := os.Chmod(s.place.File, 0o444); err != nil {
		t.Fatal(err)
	}
	change, err := s.place.Wrap(exe, flags, "a")
	if err == nil {
		_, err = s.history.Apply(change, s.now)
	}
	if err == nil || !strings.Contains(err.Error(), "it is read-only") {
		t.Errorf("%v", err)
	}
	s.is("afterwards", s.read(), []byte(one))
	if _, err := s.history.Undo(s.place, false); err == nil {
		t.Error("there is something to undo")
	}
}

// A file that is not one.
func TestADirectoryInItsPlace(t *testing.T) {
	s := newStage(t, "cursor", install.User)
	if err := os.Mkdir(s.place.File, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := s.place.Install(ours, true); err == nil {
		t.Error("it was taken for a file")
	}
}

func TestSurvey(t *testing.T) {
	s := newStage(t, "cursor", install.User)
	s.write([]byte(`{"mcpServers": {"a": {"command": "x"}, "far": {"url": "u"}, "b": {"command": "y"}}}`))
	s.install()
	s.wrap("b")
	broken := s.at("claude-code", install.Project)
	if err := os.WriteFile(broken.File, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	here := 0
	for _, f := range install.Survey(s.machine, exe) {
		switch {
		case f.Place.File == s.place.File:
			here++
			if !f.Here || !f.There || !f.Ours || len(f.Servers) != 3 || f.Servers[0].Wrapped || !f.Servers[1].Remote || !f.Servers[2].Wrapped {
				t.Errorf("%+v", f)
			}
		case f.Place.File == broken.File:
			here++
			if f.Err == nil || !f.Here {
				t.Errorf("%+v", f)
			}
		case f.Here || f.There || f.Ours || f.Err != nil:
			t.Errorf("%+v", f)
		}
	}
	if here != 2 {
		t.Errorf("%d of 2 were found", here)
	}
}
