package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
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
	k := grantBook{filepath.Join(root, "grants", "fs.json"), d}
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
			kept, _, err := grantBook{path: filepath.Join(dir, "grants", "fs.json")}.current()
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
	k := grantBook{path: filepath.Join(t.TempDir(), "grants", "fs.json")}
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
	k := grantBook{path: filepath.Join(dir, "grants", "fs.json")}
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
	if err := k.recordRevoked(log, revoked); err == nil {
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
	_, g := keeping(t)
	dir := t.TempDir()
	k := grantBook{path: filepath.Join(dir, "grants", "fs.json")}
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
	k := grantBook{path: filepath.Join(state, "mcpx-bridge", "grants", "fs.json")}
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
	kept, revoked, err := k.current()
	if err != nil || len(revoked) != 1 || slices.Contains(idsOf(kept), g.ID) || !slices.Contains(idsOf(kept), other.ID) {
		t.Errorf("%v count, %v", idsOf(kept), err)
	}
	if kept, err := k.read(); err != nil || slices.Contains(idsOf(kept), g.ID) {
		t.Errorf("the file still has %v, %v", idsOf(kept), err)
	}
}

// A bridge that lives, and whose door does not answer, would write its file over ours.
func TestTheGrantsOfABridgeThatIsNotReachedAreNotRevoked(t *testing.T) {
	_, g := keeping(t)
	state := t.TempDir()
	k := grantBook{path: filepath.Join(state, "mcpx-bridge", "grants", "fs.json")}
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
	if kept, err := k.read(); err != nil || len(kept) != 1 {
		t.Errorf("the file has %v, %v", idsOf(kept), err)
	}
}

// A file that somebody else may have written says what runs unasked, so it counts for nothing,
// and neither does one that is none or has no end.
func TestAFileOfGrantsThatOthersCouldHaveWritten(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits say nothing there")
	}
	_, g := keeping(t)
	state := t.TempDir()
	k := grantBook{path: filepath.Join(state, "mcpx-bridge", "grants", "fs.json")}
	if err := k.write([]approval.Grant{g}); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o602, 0o620, 0o666} {
		if err := os.Chmod(k.path, mode); err != nil {
			t.Fatal(err)
		}
		if kept, _, err := k.current(); err == nil || kept != nil {
			t.Errorf("%04o: %v, %v", mode, kept, err)
		}
		if code, out, errs := typed(t, state, "grants", "list"); code != exitMisused || out != "" || !strings.Contains(errs, "fs.json") || !strings.Contains(errs, "hint: who can change it decides what runs unasked") {
			t.Errorf("%04o: exit code %d, %s%s", mode, code, out, errs)
		}
	}
	if err := os.Chmod(k.path, 0o600); err != nil {
		t.Fatal(err)
	}
	if kept, _, err := k.current(); err != nil || len(kept) != 1 {
		t.Errorf("ours alone: %v, %v", kept, err)
	}
	if err := os.Truncate(k.path, maxGrantsFile+1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.current(); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("without an end: %v", err)
	}
}

// What an earlier version kept as rules is not listed, and the command says so, and why.
func TestGrantsListSaysThatAnEarlierFileDoesNotCount(t *testing.T) {
	state := t.TempDir()
	k := grantBook{path: filepath.Join(state, "mcpx-bridge", "grants", "fs.json")}
	if err := k.write(nil); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(k.path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(k.beside(".yaml"), []byte("version: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := typed(t, state, "grants", "list")
	if code != 0 || out != "" || strings.Count(errs, "fs.yaml does not count any more") != 1 || !strings.Contains(errs, "asked about again") {
		t.Errorf("exit code %d, %q, %s", code, out, errs)
	}
}
