package grants

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A Book is the file of yeses that are to last, and what belongs to it: beside
// ID.json there are ID.lock, which a bridge holds with others of its id as long as it
// lives, and who changes the file while there is none holds alone; ID.writing, which one of
// those that live holds while it changes the file; and ID.revoked, what was taken back
// meanwhile and the record does not say yet.
type Book struct {
	path string       // of ID.json
	disk private.Disk // nil: the operating system's
}

// In is the book of a bridge, in the directory that has those of all of them. Neither need
// be there yet.
func In(dir, id string) Book { return Book{path: filepath.Join(dir, id+".json")} }

func (k Book) beside(ext string) string { return strings.TrimSuffix(k.path, ".json") + ext }

// ID is the bridge that it belongs to.
func (k Book) ID() string { return strings.TrimSuffix(filepath.Base(k.path), ".json") }

// ErrHeld says that somebody has the file who does not share it: for who changes it from
// outside, the bridge; for a bridge, after two seconds, who changes it.
var ErrHeld = errors.New("it is being changed by another process")

// hold takes the lock of those that live. Who changes the file alone needs a moment, for
// which the others wait.
func (k Book) hold(alone bool) (private.File, error) { return k.lock(".lock", alone, !alone) }

// lock takes a lock until the file that it returns is closed. Who is patient waits for it.
func (k Book) lock(ext string, alone, patient bool) (private.File, error) {
	dir := filepath.Dir(k.path)
	if err := private.MakeDir(k.disk, dir); err != nil {
		return nil, err
	}
	f, err := private.Open(k.beside(ext), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		got, err := private.Lock(f, alone)
		if got {
			return f, nil
		}
		if err != nil || !patient || try == 100 {
			f.Close()
			if err == nil {
				err = fmt.Errorf("%s: %w", k.path, ErrHeld)
			}
			return nil, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// holdHint is what to do about a lock that could not be had.
func (k Book) holdHint(err error) string {
	if errors.Is(err, ErrHeld) {
		return "try again: \"mcpx-bridge grants revoke\", or another bridge of this id, has it for a moment"
	}
	return "it takes a directory that is yours alone at " + filepath.Dir(k.path) + ": move away what is there instead"
}

// maxFile is how many bytes the file may have.
const maxFile = 16 << 20

// read is what the file says. It is not read where others could have written it.
func (k Book) read() ([]approval.Grant, error) {
	text, err := private.Read(k.path, maxFile+1, private.Care{Check: private.Closed})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case len(text) > maxFile:
		return nil, fmt.Errorf("%s has over %d bytes", k.path, maxFile)
	}
	return approval.ReadGrants(k.path, text)
}

// unreadable is how a command ends that found what it cannot read.
func (k Book) unreadable(err error) error {
	hint := "without " + k.path + " and " + k.beside(".revoked") + " nothing is remembered, and everything is asked again"
	switch {
	case errors.Is(err, ErrHeld):
		hint = k.holdHint(err)
	case errors.Is(err, private.ErrOpen):
		hint = "if it says what you agreed to, chmod 600 it, else delete it: anybody who can change it decides what runs unasked"
	}
	return fault.New(fault.Misused, hint, "the remembered answers cannot be read: %w", err)
}

// TellEarlier says that the file of an earlier version, which kept rules, counts for nothing.
func (k Book) TellEarlier(log *slog.Logger) {
	file := k.beside(".yaml")
	if _, err := os.Lstat(file); err == nil {
		log.Warn(file + " does not count any more: an earlier version wrote it, and what it remembers is asked about again")
		log.Warn("hint: delete the old file; new answers are remembered in " + k.path + "")
	}
}

// change makes of what the file says what it is to say. Bridges of one id may live in several
// topics: of two that change it at once, the second must have read what the first wrote.
func (k Book) change(to func([]approval.Grant) []approval.Grant) error {
	turn, err := k.lock(".writing", true, true)
	if err != nil {
		return err
	}
	defer turn.Close()
	kept, err := k.read()
	if err != nil {
		return err
	}
	return k.write(to(kept))
}

// write makes the file say what is kept, whole, or takes it away.
func (k Book) write(kept []approval.Grant) error {
	if len(kept) == 0 {
		return private.Delete(k.disk, k.path)
	}
	text, err := approval.WriteGrants(kept)
	if err == nil {
		_, err = approval.ReadGrants(k.path, text)
	}
	if err != nil {
		return fmt.Errorf("the new text of the grants cannot be read: %w", err)
	}
	if len(text) > maxFile {
		return fmt.Errorf("%s would have over %d bytes", k.path, maxFile)
	}
	if err := private.MakeDir(k.disk, filepath.Dir(k.path)); err != nil {
		return err
	}
	return private.Replace(k.disk, k.path, text)
}

// A Revocation is a yes that was taken back while its bridge was stopped.
type Revocation struct {
	Event  string    `json:"event"`
	From   string    `json:"from"`
	Method string    `json:"method"`
	Tool   string    `json:"tool,omitempty"`
	Grant  string    `json:"grant"`
	Reason string    `json:"reason"`
	At     time.Time `json:"revoked_at"`
}

// pending are the revocations that the record does not say yet. A line that cannot be
// read is an error: what it took back must not count again.
func (k Book) pending() (all []Revocation, err error) {
	text, err := private.Read(k.beside(".revoked"), maxFile, private.Care{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var r Revocation
		if err := json.Unmarshal(line, &r); err != nil || r.Grant == "" || r.Event != "revoked" {
			return nil, fmt.Errorf("%s cannot be read: %q", k.beside(".revoked"), line)
		}
		all = append(all, r)
	}
	return all, nil
}

// Revoke takes yeses back, by their ids, while the bridge is stopped; of one that lives, or
// starts or ends just now, the error is [ErrHeld]. Ids that are not there are left alone.
func (k Book) Revoke(ids ...string) error {
	lock, err := k.hold(true)
	if err != nil {
		return err
	}
	defer lock.Close()
	return k.revoke(ids, time.Now())
}

// revoke is for who holds the lock alone. That they are taken back is on the disk before
// they are out of the file: whichever of the two a start finds, they count no more.
func (k Book) revoke(ids []string, now time.Time) error {
	kept, err := k.read()
	if err != nil {
		return err
	}
	pending, err := k.pending()
	if err != nil {
		return err
	}
	for _, g := range kept {
		if slices.Contains(ids, g.ID) {
			pending = append(pending, Revocation{"revoked", g.Caller, g.Method, g.Tool, g.ID, "the bridge was stopped", now.UTC().Truncate(time.Second)})
		}
	}
	var lines []byte
	for _, r := range pending {
		lines = append(append(lines, r.line()...), '\n')
	}
	if err := private.Replace(k.disk, k.beside(".revoked"), lines); err != nil {
		return err
	}
	return k.write(without(kept, ids))
}

func without(kept []approval.Grant, ids []string) []approval.Grant {
	return slices.DeleteFunc(slices.Clone(kept), func(g approval.Grant) bool { return slices.Contains(ids, g.ID) })
}

// Look is what the file says, and what was taken back; nothing is changed. Its errors
// are misuse, with a hint.
func (k Book) Look() (kept []approval.Grant, revoked []Revocation, err error) {
	if kept, revoked, err = k.look(); err != nil {
		return nil, nil, k.unreadable(err)
	}
	return kept, revoked, nil
}

func (k Book) look() (kept []approval.Grant, revoked []Revocation, err error) {
	if revoked, err = k.pending(); err == nil {
		kept, err = k.read()
	}
	return kept, revoked, err
}

// Open is for a bridge that starts: what counts, and what was taken back and is to be put
// on record. Nobody changes the file from outside until the caller closes held. The errors
// say in a hint what can be done.
func (k Book) Open() (held io.Closer, kept []approval.Grant, revoked []Revocation, err error) {
	if held, err = k.hold(false); err != nil {
		return nil, nil, nil, fault.New(fault.Failed, k.holdHint(err), "the remembered answers cannot be read: %w", err)
	}
	if kept, revoked, err = k.current(); err != nil {
		held.Close()
		return nil, nil, nil, k.unreadable(err)
	}
	return held, kept, revoked, nil
}

// current is what counts at a start: what the file says, less what was taken back.
func (k Book) current() (kept []approval.Grant, revoked []Revocation, err error) {
	if kept, revoked, err = k.look(); err != nil || len(revoked) == 0 {
		return kept, revoked, err
	}
	var ids []string
	for _, r := range revoked {
		ids = append(ids, r.Grant)
	}
	if rest := without(kept, ids); len(rest) < len(kept) {
		return rest, revoked, k.change(func(now []approval.Grant) []approval.Grant { return without(now, ids) })
	}
	return kept, revoked, nil
}

// RecordRevoked puts into the record what was taken back while the bridge was stopped,
// waits for the disk, and forgets it only then. It is for whoever holds what Open returned.
// log may be nil: there is no record.
func (k Book) RecordRevoked(log *audit.Log, revoked []Revocation) error {
	if len(revoked) == 0 {
		return nil
	}
	if log != nil {
		var recs [][]byte
		for _, r := range revoked {
			recs = append(recs, r.line())
		}
		if err := log.Append(recs...); err != nil {
			return err
		}
		done := make(chan error, 1)
		log.Sync(func(err error) { done <- err })
		if err := <-done; err != nil {
			return err
		}
	}
	return private.Delete(k.disk, k.beside(".revoked"))
}

// line is the record of it, as JSON on one line without its end.
func (r Revocation) line() []byte {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and a time cannot fail
	}
	return text.EscapeJSON(line)
}

// All are the books of the bridges that ever kept a yes in a directory, but for those
// named. log hears of what an earlier version left.
func All(dir string, but []string, log *slog.Logger) (all []Book, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		k := In(dir, strings.TrimSuffix(e.Name(), ext))
		switch {
		case !e.Type().IsRegular() || slices.Contains(but, k.ID()):
		case ext == ".json":
			all = append(all, k)
		case ext == ".yaml":
			k.TellEarlier(log)
		}
	}
	return all, nil
}
