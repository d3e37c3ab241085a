package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/grants"
)

// stopped is the book of a bridge "fs" that does not run, and the file, in which there are some yeses.
func stopped(t *testing.T, state string, all ...approval.Grant) (k grants.Book, file string) {
	t.Helper()
	dir := filepath.Join(state, "mcpx-bridge", "grants")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "fs.json")
	text, err := approval.WriteGrants(all)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return grants.In(dir, "fs"), file
}

// aYes is one that is to last.
func aYes() approval.Grant {
	now := time.Now()
	return approval.Grant{ID: "0a1b2c3d", Keep: "always", Caller: "bob", Via: "request", Method: "tools/call", Tool: "write_file", Topic: "lobby", Dir: "/srv", Command: "c1", Fingerprint: "f1",
		Args: []byte(`{"path":"/a"}`), By: []approval.Who{{Door: approval.Local}}, Made: now, Until: now.Add(time.Hour)}
}

func idsOf(grants []approval.Grant) (ids []string) {
	for _, g := range grants {
		ids = append(ids, g.ID)
	}
	return ids
}

// A machine that fails between the note that a yes was taken back and the file of those that
// are kept leaves both: it counts no more, whoever looks (FINDINGS C2).
func TestAYesThatWasTakenBackAndIsStillInTheFileDoesNotCount(t *testing.T) {
	g := aYes()
	other, ended := g, g
	other.ID, other.Caller = "ffffffff", "carol"
	ended.ID, ended.Caller, ended.Made, ended.Until = "eeeeeeee", "dave", g.Made.Add(-2*time.Hour), g.Made.Add(-time.Hour)
	state := t.TempDir()
	k, _ := stopped(t, state, g, other, ended)
	if err := k.Revoke(g.ID); err != nil {
		t.Fatal(err)
	}
	stopped(t, state, g, other, ended) // as it was before
	if code, out, errs := typed(t, state, "grants", "list"); code != 0 || strings.Contains(out, g.ID) || strings.Contains(out, ended.ID) || !strings.Contains(out, other.ID) {
		t.Errorf("listed, %d: %s%s", code, out, errs)
	}
	for _, gone := range []string{g.ID, ended.ID} {
		if code, _, errs := typed(t, state, "grants", "revoke", gone); code != exitFailed || !strings.Contains(errs, "0 remembered answers") {
			t.Errorf("revoked, %d: %s", code, errs)
		}
	}
	held, kept, revoked, err := k.Open()
	if err != nil || len(revoked) != 1 || slices.Contains(idsOf(kept), g.ID) || !slices.Contains(idsOf(kept), other.ID) {
		t.Fatalf("%v count, %v", idsOf(kept), err)
	}
	held.Close()
	if kept, _, err := k.Look(); err != nil || slices.Contains(idsOf(kept), g.ID) {
		t.Errorf("the file still has %v, %v", idsOf(kept), err)
	}
}

// A bridge that lives, and whose door does not answer, would write its file over ours.
func TestTheGrantsOfABridgeThatIsNotReachedAreNotRevoked(t *testing.T) {
	g := aYes()
	state := t.TempDir()
	k, _ := stopped(t, state, g)
	lives, _, _, err := k.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer lives.Close()
	if code, _, errs := typed(t, state, "grants", "revoke", g.ID); code != exitFailed || !strings.Contains(errs, "the bridge fs cannot be reached") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if kept, _, err := k.Look(); err != nil || len(kept) != 1 {
		t.Errorf("the file has %v, %v", idsOf(kept), err)
	}
}

// A file that somebody else may have written says what runs unasked, so it counts for nothing,
// and neither does one that is none or has no end.
func TestAFileOfGrantsThatOthersCouldHaveWritten(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("mode bits say nothing there")
	}
	g := aYes()
	state := t.TempDir()
	k, file := stopped(t, state, g)
	for _, mode := range []os.FileMode{0o602, 0o620, 0o666} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if kept, _, err := k.Look(); err == nil || kept != nil {
			t.Errorf("%04o: %v, %v", mode, kept, err)
		}
		if code, out, errs := typed(t, state, "grants", "list"); code != exitMisused || out != "" || !strings.Contains(errs, "fs.json") || !strings.Contains(errs, "hint: if it says what you agreed to, chmod 600 it") {
			t.Errorf("%04o: exit code %d, %s%s", mode, code, out, errs)
		}
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if kept, _, err := k.Look(); err != nil || len(kept) != 1 {
		t.Errorf("ours alone: %v, %v", kept, err)
	}
	if err := os.Truncate(file, 16<<20+1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.Look(); err == nil || !strings.Contains(err.Error(), "bytes") {
		t.Errorf("without an end: %v", err)
	}
}

// What an earlier version kept as rules is not listed, and the command says so, and why.
func TestGrantsListSaysThatAnEarlierFileDoesNotCount(t *testing.T) {
	state := t.TempDir()
	_, file := stopped(t, state)
	if err := os.Rename(file, strings.TrimSuffix(file, ".json")+".yaml"); err != nil {
		t.Fatal(err)
	}
	code, out, errs := typed(t, state, "grants", "list")
	if code != 0 || out != "" || strings.Count(errs, "fs.yaml does not count any more") != 1 || !strings.Contains(errs, "asked about again") {
		t.Errorf("exit code %d, %q, %s", code, out, errs)
	}
}
