package grants

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private/powercut"
)

func idsOf(grants []approval.Grant) (ids []string) {
	for _, g := range grants {
		ids = append(ids, g.ID)
	}
	return ids
}

// What was taken back while the bridge was stopped counts no more, wherever the power
// is cut, and one that was kept does (FINDINGS T1, C2).
func TestARevokedYesStaysRevokedOverAPowerCut(t *testing.T) {
	g := aYes()
	other := g
	other.ID, other.Caller = "ffffffff", "carol"
	root := t.TempDir()
	d := powercut.On(root)
	k := Book{filepath.Join(root, "grants", "fs.json"), d}
	if err := k.write([]approval.Grant{g, other}); err != nil {
		t.Fatal(err)
	}
	wrote := d.Steps()
	if err := k.revoke([]string{g.ID}, time.Now()); err != nil {
		t.Fatal(err)
	}
	revoked := d.Steps()
	for step := range d.Steps() + 1 {
		for try := range 10 {
			dice := rand.New(rand.NewPCG(uint64(step), uint64(try)))
			dir := filepath.Join(t.TempDir(), fmt.Sprint(step, "-", try))
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := d.At(step, dice.IntN, dir); err != nil {
				t.Fatal(err)
			}
			kept, _, err := Book{path: filepath.Join(dir, "grants", "fs.json")}.current()
			if err != nil {
				t.Fatalf("after step %d: %v", step, err)
			}
			if ids := idsOf(kept); step >= wrote && !slices.Contains(ids, other.ID) || step >= revoked && slices.Contains(ids, g.ID) {
				t.Fatalf("after step %d of %q: %v", step, d.Trace(), ids)
			}
		}
	}
}

// A bridge that lives holds the file with others of its id; who changes it from outside
// needs it alone.
func TestTheFileOfALivingBridgeIsNotChangedFromOutside(t *testing.T) {
	k := Book{path: filepath.Join(t.TempDir(), "grants", "fs.json")}
	one, err := k.hold(false)
	if err != nil {
		t.Fatal(err)
	}
	two, err := k.hold(false)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := k.hold(true); err == nil {
		f.Close()
		t.Error("it is changed under two bridges")
	}
	one.Close()
	two.Close()
	f, err := k.hold(true)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// What cannot be put on record is kept for the next start.
func TestARevocationIsForgottenOnlyWhenItIsOnRecord(t *testing.T) {
	g := aYes()
	dir := t.TempDir()
	k := Book{path: filepath.Join(dir, "grants", "fs.json")}
	if err := k.write([]approval.Grant{g}); err != nil {
		t.Fatal(err)
	}
	if err := k.revoke([]string{g.ID}, time.Now()); err != nil {
		t.Fatal(err)
	}
	log, _, err := audit.Open(filepath.Join(dir, "audit", "fs.jsonl"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	_, revoked, err := k.current()
	if err != nil || len(revoked) != 1 || revoked[0].Grant != g.ID || revoked[0].From != "bob" {
		t.Fatalf("%v %v", revoked, err)
	}
	if err := k.RecordRevoked(log, revoked); err == nil {
		t.Error("it is on record in a log that is closed")
	}
	if again, err := k.pending(); err != nil || len(again) != 1 {
		t.Errorf("%v %v", again, err)
	}
	if err := os.WriteFile(k.beside(".revoked"), []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.current(); err == nil {
		t.Error("what was taken back cannot be read, and nobody says so")
	}
}

// An unsynced is a file of the record whose disk fails at some time.
type unsynced struct {
	audit.File
	broken *atomic.Bool
}

func (f unsynced) Sync() error {
	if f.broken.Load() {
		return errors.New("input/output error")
	}
	return f.File.Sync()
}

// Nor is it forgotten when its record is written, and never comes to the disk.
func TestARevocationWhoseRecordIsNotOnTheDiskIsNotForgotten(t *testing.T) {
	g := aYes()
	dir := t.TempDir()
	k := Book{path: filepath.Join(dir, "grants", "fs.json")}
	if err := k.write([]approval.Grant{g}); err != nil {
		t.Fatal(err)
	}
	if err := k.revoke([]string{g.ID}, time.Now()); err != nil {
		t.Fatal(err)
	}
	var broken atomic.Bool
	log, _, err := audit.Open(filepath.Join(dir, "audit", "fs.jsonl"), audit.Options{Wrap: func(f audit.File) audit.File { return unsynced{f, &broken} }})
	if err != nil {
		t.Fatal(err)
	}
	broken.Store(true)
	defer log.Close()
	_, revoked, err := k.current()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.RecordRevoked(log, revoked); err == nil {
		t.Error("it is said to be on record")
	}
	if again, err := k.pending(); err != nil || len(again) != 1 {
		t.Errorf("%v %v", again, err)
	}
}
