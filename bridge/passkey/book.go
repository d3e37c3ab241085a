package passkey

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	strict "github.com/go-json-experiment/json"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// A Book keeps the passkeys of a bridge in a file of its owner, which is read anew each time:
// what was taken out of it by hand counts no more. A file that others could have written is an
// error, and so is one with members that a Book does not write. Its methods may be called from
// any goroutine.
type Book struct {
	path string
	mu   sync.Mutex
}

// In is the book of a bridge, in the directory that has those of all of them, by a name that no
// other has that may run at the time. Neither need be there yet.
func In(dir, name string) *Book { return &Book{path: filepath.Join(dir, name+".json")} }

// Path is where the file is.
func (b *Book) Path() string { return b.path }

// Bounds on a file.
const (
	maxFile = 1 << 20
	maxKept = 100
)

type file struct {
	Passkeys []Credential `json:"passkeys"`
}

// All are the passkeys, the oldest first.
func (b *Book) All() ([]Credential, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read()
}

func (b *Book) read() ([]Credential, error) {
	text, err := private.Read(b.path, maxFile+1, private.Care{Check: private.Closed})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var f file
	if err := strict.Unmarshal(text, &f, strict.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", b.path, err)
	}
	return f.Passkeys, nil
}

func (b *Book) write(all []Credential) error {
	text, err := json.MarshalIndent(file{all}, "", "  ")
	if err != nil {
		return err
	}
	if err := private.MakeDir(nil, filepath.Dir(b.path)); err != nil {
		return err
	}
	return private.Replace(nil, b.path, append(text, '\n'))
}

// Add keeps a passkey that is not there yet, once first has returned nil.
func (b *Book) Add(c Credential, first func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	all, err := b.read()
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(all, func(o Credential) bool { return bytes.Equal(o.ID, c.ID) }):
		return errors.New("this passkey is enrolled already")
	case len(all) >= maxKept:
		return fmt.Errorf("there are %d passkeys already", maxKept)
	}
	if err := first(); err != nil {
		return err
	}
	return b.write(append(all, c))
}

// Remove takes a passkey out, and then calls after with it. It reports whether it was there.
func (b *Book) Remove(key string, after func(Credential) error) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all, err := b.read()
	i := slices.IndexFunc(all, func(c Credential) bool { return c.Key() == key })
	if err != nil || i < 0 {
		return false, err
	}
	gone := all[i]
	if err := b.write(slices.Delete(all, i, i+1)); err != nil {
		return true, err
	}
	return true, after(gone)
}

// Use verifies an assertion by the passkey that made it, which must be one that was enrolled on
// the record named log. The new counter is on the disk when Use returns nil. The Credential is
// the one that signed or, with an error, the one that is said to have, if it is known here.
func (b *Book) Use(a *Assertion, statement []byte, origin, log string) (Credential, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all, err := b.read()
	if err != nil {
		return Credential{}, err
	}
	c, err := Use(all, a, statement, origin, log)
	switch {
	case c == nil:
		return Credential{}, err
	case err != nil:
		return *c, err
	}
	return *c, b.write(all)
}

// Use is what [Book.Use] does with passkeys that are read, and leaves the new counter in the one
// that signed. The Credential is nil where none of all made the assertion.
func Use(all []Credential, a *Assertion, statement []byte, origin, log string) (*Credential, error) {
	i := slices.IndexFunc(all, func(c Credential) bool { return bytes.Equal(c.ID, a.Credential) })
	if i < 0 {
		return nil, errors.New("it is by a passkey that is not enrolled at this bridge")
	}
	c := &all[i]
	if c.Log != log {
		return c, errors.New("it was enrolled on another record than this bridge keeps: remove it, and enrol it again")
	}
	return c, c.Verify(a, statement, origin)
}
