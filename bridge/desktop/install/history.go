package install

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// What is kept of one file: so many steps, in so many bytes. The newest is kept whatever
// it takes.
const (
	maxSteps = 50
	maxKept  = 256 << 20
)

// A History keeps, for every file that was changed, what it was before each
// step and what the step left. Files can hold secrets, so it is for the user
// alone (0700, files 0600).
//
//	Dir/HASH/000001.json   a step of the file whose path has this hash
//	Dir/HASH/aside-…       what a forced undo found and did away with
type History struct {
	Dir string // made when the first step is kept
}

// A step is one change of a file, as it is kept.
type step struct {
	File   string    `json:"file"`
	Client string    `json:"client"`
	Scope  Scope     `json:"scope"`
	Dir    string    `json:"dir,omitempty"` // with Local
	Verb   Verb      `json:"verb"`
	Server string    `json:"server"`
	At     time.Time `json:"at"`
	Made   bool      `json:"made,omitempty"` // there was no file before
	Before []byte    `json:"before,omitempty"`
	After  []byte    `json:"after"`

	name string // of the file it is kept in
}

func (s step) before() content { return content{!s.Made, s.Before} }

func (s step) after() content { return content{true, s.After} }

// of reports whether a step changed what a place is about: in one file there may be
// servers of several scopes.
func (s step) of(p Place) bool {
	return s.Scope == p.Scope && s.Dir == p.dir() || s.Scope != Local && p.Scope != Local
}

// named says which step it was.
func (s step) named() string {
	return "the " + string(s.Verb) + " of " + s.Server + " in scope " + string(s.Scope) + s.where()
}

func (s step) where() string {
	if s.Dir == "" {
		return ""
	}
	return " in " + s.Dir
}

// less is what takes back a step without what others wrote since.
func (s step) less(p Place) string {
	switch s.Verb {
	case Wrap:
		return "mcpx-bridge client unwrap " + p.Client.Name + " " + s.Server + p.scoped() + " takes the bridge away, and leaves the rest as it is now"
	case Unwrap:
		return "mcpx-bridge client wrap " + p.Client.Name + " " + s.Server + p.scoped() + " puts the bridge back, and leaves the rest as it is now"
	}
	return "the entry " + s.Server + " can be taken out by hand"
}

// Apply makes the change, having kept what it takes to undo it. Nothing is
// written if the file is not what it was when the change was thought of. A
// change that is empty does nothing; it returns where a forced undo put what it
// found, or "".
func (h History) Apply(c *Change, now time.Time) (aside string, err error) {
	if c.Verb == Undo {
		return h.applyUndo(c, now)
	}
	if c.Empty() {
		return "", nil
	}
	if err := c.file.still(c.before); err != nil {
		return "", err
	}
	kept, err := h.keep(c, now)
	if err != nil {
		return "", fmt.Errorf("the old file cannot be kept, so nothing was written: %w", err)
	}
	if err := c.write(); err != nil {
		os.Remove(kept)
		return "", err
	}
	h.thin(c.file.path)
	return "", nil
}

func (c *Change) write() error {
	mode := fs.FileMode(0o600)
	if c.Place.Scope == Project {
		mode = 0o644
	}
	return c.file.become(c.before, c.after, mode)
}

func (h History) applyUndo(c *Change, now time.Time) (aside string, err error) {
	if err := c.file.still(c.before); err != nil {
		return "", err
	}
	if c.forced && c.before.there {
		aside = filepath.Join(h.dir(c.file.path), "aside-"+now.UTC().Format("20060102T150405.000000000"))
		if err := private.Replace(nil, aside, c.before.raw); err != nil {
			return "", fmt.Errorf("the present file cannot be kept, so nothing was written: %w", err)
		}
	}
	if !c.Empty() {
		if err := c.write(); err != nil {
			return aside, err
		}
	}
	for _, name := range c.steps {
		err = errors.Join(err, os.Remove(name))
	}
	return aside, err
}

// dir is where the steps of a file are kept.
func (h History) dir(path string) string {
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(h.Dir, hex.EncodeToString(sum[:8]))
}

func (h History) keep(c *Change, now time.Time) (string, error) {
	dir := h.dir(c.file.path)
	if err := private.MakeDir(nil, dir); err != nil {
		return "", err
	}
	names, err := h.names(c.file.path)
	if err != nil {
		return "", err
	}
	next := 1
	if len(names) > 0 {
		last := strings.TrimSuffix(filepath.Base(names[0]), ".json")
		if next, err = strconv.Atoi(last); err != nil {
			return "", err
		}
		next++
	}
	text, err := json.Marshal(step{c.file.path, c.Place.Client.Name, c.Place.Scope, c.Place.dir(), c.Verb, c.Server, now, !c.before.there, c.before.raw, c.after.raw, ""})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, fmt.Sprintf("%06d.json", next))
	return name, private.Replace(nil, name, text)
}

// names are those of the files that the steps of a file are kept in, the newest first.
func (h History) names(path string) ([]string, error) {
	entries, err := os.ReadDir(h.dir(path)) // sorted by name
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []string
	for _, e := range slices.Backward(entries) {
		if filepath.Ext(e.Name()) == ".json" {
			all = append(all, filepath.Join(h.dir(path), e.Name()))
		}
	}
	return all, nil
}

// steps are those of a file, the newest first. Each may be as large as two such files, so
// none is read before it is its turn.
func (h History) steps(path string) iter.Seq2[step, error] {
	return func(yield func(step, error) bool) {
		names, err := h.names(path)
		if err != nil {
			yield(step{}, err)
			return
		}
		for _, name := range names {
			if s, err := readStep(name); (err != nil || s.File == path) && !yield(s, err) {
				return
			}
		}
	}
}

func readStep(name string) (step, error) {
	s := step{name: name}
	text, err := os.ReadFile(name)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, &Error{File: name, Msg: "a kept step cannot be read: " + err.Error(), Hint: "remove it to go on without it"}
	}
	return s, nil
}

// thin forgets all steps beyond maxSteps or maxKept bytes, the oldest first, so that what is left
// has no gap if it fails half way. That it cannot is no harm.
func (h History) thin(path string) {
	names, err := h.names(path)
	if err != nil {
		return
	}
	room := int64(maxKept)
	for i, name := range names {
		if info, err := os.Stat(name); err == nil {
			room -= info.Size()
		}
		if i == 0 || i < maxSteps && room >= 0 {
			continue
		}
		for _, old := range slices.Backward(names[i:]) {
			os.Remove(old)
		}
		return
	}
}

// Undo is the change that takes back the last step. A file that is not what
// that step left is an error (*ChangedError), or with force gets what it was all
// the same. A step that never came to be, or has been taken back by hand, is
// passed over.
func (h History) Undo(p Place, force bool) (*Change, error) {
	file, now, err := load(p.File)
	if err != nil {
		return nil, err
	}
	var passed []string
	for s, err := range h.steps(file.path) {
		if err != nil {
			return nil, err
		}
		passed = append(passed, s.name)
		c := &Change{Place: p, Verb: Undo, Undone: s.Verb, Server: s.Server, file: file, before: now, after: s.before(), steps: passed}
		switch {
		case now.equal(s.before()):
			continue
		case !s.of(p):
			return nil, &Error{File: p.File, Msg: "its last change was " + s.named() + ", and steps are taken back one after the other",
				Hint: "mcpx-bridge client undo " + p.Client.Name + " --scope " + string(s.Scope) + " takes that one back" + s.where()}
		case now.equal(s.after()):
			return c, nil
		case force:
			c.forced = true
			return c, nil
		}
		return nil, &ChangedError{File: p.File, Diff: difference(p.File, s.after(), now), Less: s.less(p)}
	}
	return nil, &Error{File: p.File, Msg: "there is nothing to undo", Hint: "only what client install, wrap and unwrap did to this very file can be undone", Absent: true}
}

// unwrapped returns the bytes that command and arguments of a server had before
// it was wrapped, if they still are what the wrapping left.
func (h History) unwrapped(c *Change, d document, s slot) (string, bool) {
	for kept, err := range h.steps(c.file.path) {
		if err != nil {
			return "", false // they are a nicety here
		}
		if kept.Verb != Wrap || kept.Server != s.name || !kept.of(c.Place) {
			continue
		}
		was, text, ok := c.Place.stretch(kept.Before, s.name)
		left, leftText, ok2 := c.Place.stretch(kept.After, s.name)
		if ok && ok2 && left.of(leftText) == s.stretch().of(d.text) {
			return was.of(text), true
		}
	}
	return "", false
}

func (p Place) stretch(raw []byte, name string) (span, []byte, bool) {
	d, err := p.Client.open(raw, p.keys())
	if err != nil {
		return span{}, nil, false
	}
	s := find(d.page, name)
	if s == nil || s.wrong != "" {
		return span{}, nil, false
	}
	return s.stretch(), d.text, true
}

// Unwrap takes the bridge away again. Where nobody touched command and
// arguments since h saw the server wrapped, they get back the very bytes they
// had; else what the arguments say is written anew.
func (p Place) Unwrap(exe, server string, h History) (*Change, error) {
	c, d, s, err := p.lookup(Unwrap, server)
	if err != nil {
		return nil, err
	}
	front := s.entry.front(exe)
	if front == 0 {
		return nil, p.at(d, s, server+" has no bridge in front of it", "mcpx-bridge client list says which servers have")
	}
	e := s.entry.freed(front)
	if was, ok := h.unwrapped(c, d, *s); ok {
		return c.edited(d, []edit{{s.stretch(), was}}, e)
	}
	if s.args.remarked(d.text, front, len(e.Args) == 0) {
		return nil, p.remarked(d, s)
	}
	return c.edited(d, s.put(p.Client.form, d.text, e, front), e)
}
