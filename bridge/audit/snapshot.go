package audit

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
)

// ErrRestless says that a log cannot be read because it begins new files, or loses
// old ones, more quickly than they are opened. It says nothing against the log.
var ErrRestless = errors.New("the log turns over more quickly than its files can be opened")

const (
	// maxHeld is how many files of a log are held open beside the newest: the
	// oldest, which are those that are removed. The others keep name and place.
	maxHeld = 256

	// maxTries is how often a log may turn over while its files are opened. That
	// takes it milliseconds, and opening takes microseconds.
	maxTries = 100
)

// An opener opens a file of a log for reading.
type opener func(name string) (io.ReadCloser, error)

// A snapshot is the files of a log as they were at one moment, oldest first. What they
// are called later, or that they are removed, changes nothing about what is read.
type snapshot struct {
	path  string
	open  opener
	names []string
	held  map[string]io.ReadCloser
	gone  error // a file that is listed, before and after, cannot be found
}

func newSnapshot(path string, open opener) *snapshot {
	return &snapshot{path: path, open: open, held: map[string]io.ReadCloser{}}
}

// settle opens the files that are there, and reports whether they still were when all
// were open. Full names are never used again, so the same list twice means that
// nothing happened in between.
func (s *snapshot) settle() (bool, error) {
	names, err := Files(s.path)
	if err != nil {
		return false, err
	}
	for name := range s.held {
		if name == s.path || !slices.Contains(names, name) {
			s.let(name)
		}
	}
	gone, err := s.hold(names)
	if err != nil {
		return false, err
	}
	now, err := Files(s.path)
	if err != nil || !slices.Equal(names, now) {
		return false, err
	}
	s.names, s.gone = names, gone
	return gone == nil, nil
}

func (s *snapshot) hold(names []string) (gone, err error) {
	for i, name := range names {
		if s.held[name] != nil || i >= maxHeld && i < len(names)-1 {
			continue
		}
		f, err := s.open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return err, nil
		}
		if err != nil {
			return nil, err
		}
		s.held[name] = f
	}
	return nil, nil
}

// file is one of names, to be read once.
func (s *snapshot) file(name string) (io.ReadCloser, error) {
	if f := s.held[name]; f != nil {
		delete(s.held, name)
		return f, nil
	}
	return s.open(name)
}

func (s *snapshot) let(name string) {
	s.held[name].Close()
	delete(s.held, name)
}

func (s *snapshot) close() {
	for name := range s.held {
		s.let(name)
	}
}

// restless is why it did not settle.
func (s *snapshot) restless() error {
	if s.gone != nil {
		return s.gone
	}
	return ErrRestless
}

// called is what a file of the snapshot is called by now: the newest may be full.
func (s *snapshot) called(name string) string {
	if name != s.path {
		return name
	}
	var last uint64
	for _, file := range s.names {
		last = max(last, firstOf(s.path, filepath.Base(file)))
	}
	now, _ := Files(s.path) // without them it is called what it was
	for _, file := range now {
		if firstOf(s.path, filepath.Base(file)) > last {
			return file
		}
	}
	return name
}

// all yields the lines of a log, as [Records] does.
func all(path string, open opener, yield func(Line, error) bool) {
	s := newSnapshot(path, open)
	defer s.close()
	settled := false
	for try := 0; !settled; try++ {
		var err error
		if settled, err = s.settle(); err == nil && !settled && try == maxTries {
			err = s.restless()
		}
		if err == nil && settled && len(s.names) == 0 {
			err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		if err != nil {
			yield(Line{}, err)
			return
		}
	}
	for _, name := range s.names {
		f, err := s.file(name)
		if errors.Is(err, fs.ErrNotExist) {
			err = ErrRestless // more were removed than were held
		}
		if err != nil {
			yield(Line{}, err)
			return
		}
		if !linesFrom(name, f, yield) {
			return
		}
	}
}
