package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// patches are where the mistakes are, from the root of the module.
const patches = "bridge/sim/testdata/mutants"

// A mutant is a bridge with one mistake.
type mutant struct {
	name, why string
	number    int               // by which the program knows it, from 1
	broken    map[string][]byte // by file: its text with the mistake in it

	killed uint64 // by which seed; 0: by none
	last   string // what there is to say of its end
}

// read reads all patches, and applies them. What does not apply is an error,
// and all such are told at once.
func read(root string) (all []*mutant, err error) {
	files, err := filepath.Glob(filepath.Join(root, patches, "*.txtar"))
	if err != nil {
		return nil, err
	}
	var wrong []error
	for _, file := range files {
		m, err := readMutant(root, file)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", file, err))
			continue
		}
		m.number = len(all) + 1
		all = append(all, m)
	}
	if len(files) == 0 {
		wrong = append(wrong, fmt.Errorf("no mutants are in %s: this runs where go.mod is", patches))
	}
	return all, errors.Join(wrong...)
}

func readMutant(root, file string) (*mutant, error) {
	a, err := txtar.ParseFile(file)
	switch {
	case err != nil:
		return nil, err
	case len(a.Files) == 0 || len(a.Files)%2 != 0:
		return nil, errors.New("a patch is pairs of files: the lines as they are, and broken")
	}
	m := &mutant{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), why: strings.TrimSpace(string(a.Comment)), broken: map[string][]byte{}}
	for pair := range slices.Chunk(a.Files, 2) {
		if err := m.apply(root, pair[0], pair[1]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// apply replaces the lines in old, which is named like the file they stand in.
func (m *mutant) apply(root string, old, broken txtar.File) error {
	text, again := m.broken[old.Name]
	if !again {
		var err error
		if text, err = os.ReadFile(filepath.Join(root, old.Name)); err != nil {
			return err
		}
	}
	if n := strings.Count(string(text), string(old.Data)); n != 1 {
		return fmt.Errorf("its lines stand %d times in %s; put the mistake where they have gone", n, old.Name)
	}
	m.broken[old.Name] = []byte(strings.Replace(string(text), string(old.Data), string(broken.Data), 1))
	return nil
}
