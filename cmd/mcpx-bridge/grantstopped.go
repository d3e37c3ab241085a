package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// What is remembered while its bridge is stopped (FINDINGS C2).

// A grantBook is the file of yeses that are to last, and what belongs to it: beside
// ID.json there are ID.lock, which a bridge holds with others of its id as long as it
// lives, and who changes the file while there is none holds alone; and ID.revoked, what
// was taken back meanwhile and the record does not say yet.
type grantBook struct {
	path string       // of ID.json
	disk private.Disk // nil: the operating system's
}

func (k grantBook) beside(ext string) string { return strings.TrimSuffix(k.path, ".json") + ext }

// id is the bridge that it belongs to.
func (k grantBook) id() string { return strings.TrimSuffix(filepath.Base(k.path), ".json") }

// errHeld says that somebody has the file who does not share it.
var errHeld = errors.New("it is being changed by another process")

// hold takes the lock until the file that it returns is closed. Who changes the file
// alone needs a moment, for which the others wait.
func (k grantBook) hold(alone bool) (private.File, error) {
	dir := filepath.Dir(k.path)
	if err := private.MakeDir(k.disk, dir); err != nil {
		return nil, err
	}
	f, err := private.Open(k.beside(".lock"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		got, err := private.Lock(f, alone)
		if got {
			return f, nil
		}
		if err != nil || alone || try == 100 {
			f.Close()
			if err == nil {
				err = fmt.Errorf("%s: %w", k.path, errHeld)
			}
			return nil, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// holdHint is what to do about a lock that could not be had.
func (k grantBook) holdHint(err error) string {
	if errors.Is(err, errHeld) {
		return "\"mcpx-bridge grants revoke\" needs a moment for that: try again"
	}
	return "it takes a directory that is yours alone at " + filepath.Dir(k.path) + ": move away what is there instead"
}

// maxGrantsFile is how long the file may be.
const maxGrantsFile = 16 << 20

// read is what the file says. It is not read where others could have written it.
func (k grantBook) read() ([]approval.Grant, error) {
	text, err := private.Read(k.path, maxGrantsFile+1, private.Care{Check: private.Closed})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case len(text) > maxGrantsFile:
		return nil, fmt.Errorf("%s has over %d bytes", k.path, maxGrantsFile)
	}
	return approval.ReadGrants(k.path, text)
}

// unreadable is how a command ends that found what it cannot read.
func (k grantBook) unreadable(err error) error {
	hint := "without " + k.path + " and " + k.beside(".revoked") + " nothing is remembered, and everything is asked again"
	if errors.Is(err, private.ErrOpen) {
		hint = "who can change it decides what runs unasked: chmod 600 it if it says what you agreed to, else delete it"
	}
	return misused(hint, "what is remembered cannot be read: %w", err)
}

// tellEarlier says that the file of an earlier version, which kept rules, counts for nothing.
func (p *program) tellEarlier(k grantBook) {
	file := k.beside(".yaml")
	if _, err := os.Lstat(file); err == nil {
		p.log.Warn(file + " does not count any more: an earlier version wrote it, and what it remembers is asked about again")
		p.log.Warn("hint: whoever agrees may have that remembered anew, in " + k.path + "; delete the old file")
	}
}

// write makes the file say what is kept, whole, or takes it away.
func (k grantBook) write(kept []approval.Grant) error {
	if len(kept) == 0 {
		return private.Delete(k.disk, k.path)
	}
	text, err := approval.WriteGrants(kept)
	if err == nil {
		_, err = approval.ReadGrants(k.path, text)
	}
	if err != nil {
		return fmt.Errorf("what was to be written cannot be read: %w", err)
	}
	if len(text) > maxGrantsFile {
		return fmt.Errorf("%s would have over %d bytes", k.path, maxGrantsFile)
	}
	if err := private.MakeDir(k.disk, filepath.Dir(k.path)); err != nil {
		return err
	}
	return private.Replace(k.disk, k.path, text)
}

// A revocation is a yes that was taken back while its bridge was stopped.
type revocation struct {
	Event  string    `json:"event"`
	From   string    `json:"from"`
	Method string    `json:"method"`
	Tool   string    `json:"tool,omitempty"`
	Grant  string    `json:"grant"`
	Reason string    `json:"reason"`
	At     time.Time `json:"revoked_at"`
}

// A grantStart is what a run has of the file of grants from its start on.
type grantStart struct {
	holding    private.File // its lock
	unrecorded []revocation // of the time before
}

// pending are the revocations that the record does not say yet. A line that cannot be
// read is an error: what it took back must not count again.
func (k grantBook) pending() (all []revocation, err error) {
	text, err := private.Read(k.beside(".revoked"), 16<<20, private.Care{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var r revocation
		if err := json.Unmarshal(line, &r); err != nil || r.Grant == "" || r.Event != "revoked" {
			return nil, fmt.Errorf("%s cannot be read: %q", k.beside(".revoked"), line)
		}
		all = append(all, r)
	}
	return all, nil
}

// revoke takes yeses back while the bridge is stopped. That they are is on the disk
// before they are out of the file: whichever of the two a start finds, they count no
// more. The caller holds the lock alone.
func (k grantBook) revoke(ids []string, now time.Time) error {
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
			pending = append(pending, revocation{"revoked", g.Caller, g.Method, g.Tool, g.ID, "the bridge was stopped", now.UTC().Truncate(time.Second)})
		}
	}
	var text []byte
	for _, r := range pending {
		text = append(text, jsonLine(r)...)
	}
	if err := private.Replace(k.disk, k.beside(".revoked"), text); err != nil {
		return err
	}
	return k.write(without(kept, ids))
}

func without(kept []approval.Grant, ids []string) []approval.Grant {
	return slices.DeleteFunc(slices.Clone(kept), func(g approval.Grant) bool { return slices.Contains(ids, g.ID) })
}

// look is what the file says, and what was taken back; nothing is changed.
func (k grantBook) look() (kept []approval.Grant, revoked []revocation, err error) {
	if revoked, err = k.pending(); err == nil {
		kept, err = k.read()
	}
	return kept, revoked, err
}

// current is what counts at a start: what the file says, less what was taken back.
func (k grantBook) current() (kept []approval.Grant, revoked []revocation, err error) {
	if kept, revoked, err = k.look(); err != nil || len(revoked) == 0 {
		return kept, revoked, err
	}
	var ids []string
	for _, r := range revoked {
		ids = append(ids, r.Grant)
	}
	if rest := without(kept, ids); len(rest) < len(kept) {
		return rest, revoked, k.write(rest)
	}
	return kept, revoked, nil
}

// recordRevoked puts into the record what was taken back while the bridge was stopped,
// and forgets it only when that is on the disk. log may be nil: there is no record.
func (k grantBook) recordRevoked(log *audit.Log, revoked []revocation) error {
	if len(revoked) == 0 {
		return nil
	}
	if log != nil {
		var recs [][]byte
		for _, r := range revoked {
			recs = append(recs, bytes.TrimSpace(jsonLine(r)))
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

// grantBooks are those of all bridges that ever kept a yes here, but for those named.
func (p *program) grantBooks(but []string) (all []grantBook, err error) {
	home, err := stateHome(p.getenv)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(home.File("grants"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		k := grantBook{path: filepath.Join(home.File("grants"), strings.TrimSuffix(e.Name(), ext)+".json")}
		switch {
		case !e.Type().IsRegular() || slices.Contains(but, k.id()):
		case ext == ".json":
			all = append(all, k)
		case ext == ".yaml":
			p.tellEarlier(k)
		}
	}
	return all, nil
}
