package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	_, g := keeping(t)
	other := g
	other.ID, other.Caller = "ffffffff", "carol"
	root := t.TempDir()
	d := powercut.On(root)
	k := grantBook{filepath.Join(root, "grants", "fs.yaml"), d}
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
			kept, _, _, err := grantBook{path: filepath.Join(dir, "grants", "fs.yaml")}.current()
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
	k := grantBook{path: filepath.Join(t.TempDir(), "grants", "fs.yaml")}
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
	_, g := keeping(t)
	dir := t.TempDir()
	k := grantBook{path: filepath.Join(dir, "grants", "fs.yaml")}
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
	_, _, revoked, err := k.current()
	if err != nil || len(revoked) != 1 || revoked[0].Grant != g.ID || revoked[0].From != "bob" {
		t.Fatalf("%v %v", revoked, err)
	}
	if err := k.recordRevoked(log, revoked); err == nil {
		t.Error("it is on record in a log that is closed")
	}
	if again, err := k.pending(); err != nil || len(again) != 1 {
		t.Errorf("%v %v", again, err)
	}
	if err := os.WriteFile(k.beside(".revoked"), []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := k.current(); err == nil {
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
	_, g := keeping(t)
	dir := t.TempDir()
	k := grantBook{path: filepath.Join(dir, "grants", "fs.yaml")}
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
	_, _, revoked, err := k.current()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.recordRevoked(log, revoked); err == nil {
		t.Error("it is said to be on record")
	}
	if again, err := k.pending(); err != nil || len(again) != 1 {
		t.Errorf("%v %v", again, err)
	}
}

// A machine that fails between the note that a yes was taken back and the file of those that
// are kept leaves both: it counts no more, whoever looks (FINDINGS C2).
func TestAYesThatWasTakenBackAndIsStillInTheFileDoesNotCount(t *testing.T) {
	_, g := keeping(t)
	other, ended := g, g
	other.ID, other.Caller = "ffffffff", "carol"
	ended.ID, ended.Caller, ended.Made, ended.Until = "eeeeeeee", "dave", g.Made.Add(-2*time.Hour), g.Made.Add(-time.Hour)
	state := t.TempDir()
	k := grantBook{path: filepath.Join(state, "mcpx-bridge", "grants", "fs.yaml")}
	all := []approval.Grant{g, other, ended}
	if err := k.write(all); err != nil {
		t.Fatal(err)
	}
	if err := k.revoke([]string{g.ID}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := k.write(all); err != nil { // as it was before
		t.Fatal(err)
	}
	if code, out, errs := typed(t, state, "grants", "list"); code != 0 || strings.Contains(out, g.ID) || strings.Contains(out, ended.ID) || !strings.Contains(out, other.ID) {
		t.Errorf("listed, %d: %s%s", code, out, errs)
	}
	for _, gone := range []string{g.ID, ended.ID} {
		if code, _, errs := typed(t, state, "grants", "revoke", gone); code != exitFailed || !strings.Contains(errs, "0 remembered answers") {
			t.Errorf("revoked, %d: %s", code, errs)
		}
	}
	kept, _, revoked, err := k.current()
	if err != nil || len(revoked) != 1 || slices.Contains(idsOf(kept), g.ID) || !slices.Contains(idsOf(kept), other.ID) {
		t.Errorf("%v count, %v", idsOf(kept), err)
	}
	if kept, _, err := k.read(); err != nil || slices.Contains(idsOf(kept), g.ID) {
		t.Errorf("the file still has %v, %v", idsOf(kept), err)
	}
}

// A bridge that lives, and whose door does not answer, would write its file over ours.
func TestTheGrantsOfABridgeThatIsNotReachedAreNotRevoked(t *testing.T) {
	_, g := keeping(t)
	state := t.TempDir()
	k := grantBook{path: filepath.Join(state, "mcpx-bridge", "grants", "fs.yaml")}
	if err := k.write([]approval.Grant{g}); err != nil {
		t.Fatal(err)
	}
	lives, err := k.hold(false)
	if err != nil {
		t.Fatal(err)
	}
	defer lives.Close()
	if code, _, errs := typed(t, state, "grants", "revoke", g.ID); code != exitFailed || !strings.Contains(errs, "the bridge fs is not reached") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if kept, _, err := k.read(); err != nil || len(kept) != 1 {
		t.Errorf("the file has %v, %v", idsOf(kept), err)
	}
}
