package grants

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// aYes is one that is to last.
func aYes() approval.Grant {
	now := time.Now()
	return approval.Grant{ID: "0a1b2c3d", Keep: "always", Caller: "bob", Via: "request", Method: "tools/call", Tool: "write_file", Topic: "lobby", Dir: "/srv", Command: "c1", Fingerprint: "f1",
		Args: []byte(`{"path":"/a"}`), By: []approval.Who{{Door: approval.Local}}, Made: now, Until: now.Add(time.Hour)}
}

// keeping is a book of which there is nothing yet.
func keeping(t *testing.T) (*Keeper, approval.Grant) {
	t.Helper()
	return &Keeper{Book: In(t.TempDir(), "fs")}, aYes()
}

// fileOf is the file of some grants.
func fileOf(t *testing.T, all ...approval.Grant) []byte {
	t.Helper()
	text, err := approval.WriteGrants(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAYesTakenBackBeforeItWasWrittenDownIsNotWritten(t *testing.T) {
	k, g := keeping(t)
	if _, err := k.Drop(g.ID); err != nil {
		t.Fatal(err)
	}
	if err := k.Add(g); err != nil {
		t.Fatal(err)
	}
	if granted, err := k.read(); granted != nil || err != nil {
		t.Errorf("it is in the file, %v", err)
	}
}

func TestAYesThatCannotBeTakenBackIsNotSaidToBe(t *testing.T) {
	k, g := keeping(t)
	if err := k.Add(g); err != nil {
		t.Fatal(err)
	}
	file := k.path
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	own := strings.Replace(string(text), `"path": "/a"`, `"*": "/a"`, 1) // by hand
	if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	if ok, err := k.Drop(g.ID); ok || err == nil || !strings.Contains(err.Error(), "fs.json:4:5") {
		t.Errorf("it is said to be gone (%v, %v), and is still in the file", ok, err)
	}
	if now, err := os.ReadFile(file); string(now) != own {
		t.Errorf("what somebody wrote is overwritten, %v", err)
	}
}

// What was taken out of the file by hand stays out.
func TestAYesTakenOutOfTheFileByHandStaysOut(t *testing.T) {
	k, g := keeping(t)
	other := g
	other.ID, other.Args = "0b0b0b0b", []byte(`{"path":"/b"}`)
	for _, g := range []approval.Grant{g, other} {
		if err := k.Add(g); err != nil {
			t.Fatal(err)
		}
	}
	file := k.path
	if err := os.WriteFile(file, fileOf(t, other), 0o600); err != nil {
		t.Fatal(err)
	}
	third := g
	third.ID, third.Args = "0c0c0c0c", []byte(`{"path":"/c"}`)
	if err := k.Add(third); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); !bytes.Equal(text, fileOf(t, other, third)) {
		t.Errorf("%s, %v", text, err)
	}
}

// What has ended does not fill the file.
func TestAYesThatHasEndedLeavesTheFileWithTheNextOne(t *testing.T) {
	k, g := keeping(t)
	ended := g
	ended.ID, ended.Args, ended.Until = "0b0b0b0b", []byte(`{"path":"/b"}`), time.Now().Add(-time.Minute)
	for _, g := range []approval.Grant{ended, g} {
		if err := k.Add(g); err != nil {
			t.Fatal(err)
		}
	}
	file := k.path
	if text, err := os.ReadFile(file); !bytes.Equal(text, fileOf(t, g)) {
		t.Errorf("%s, %v", text, err)
	}
}

// A disk does something before a file gets its new text.
type disk struct {
	private.OS
	before func()
}

func (d disk) Rename(from, to string) error {
	d.before()
	return d.OS.Rename(from, to)
}

// Bridges of one id in two topics write one file. What was taken back at one of them, while the other
// wrote another yes down, was in the file again.
func TestAYesTakenBackWhileAnotherBridgeWritesStaysTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, g := keeping(t)
		if err := here.Add(g); err != nil {
			t.Fatal(err)
		}
		dropped := make(chan error, 1)
		there := &Keeper{Book: Book{here.path, disk{before: func() {
			go func() {
				_, err := here.Drop(g.ID)
				dropped <- err
			}()
			synctest.Wait() // it is done, or waits for its turn
		}}}}
		other := g
		other.ID, other.Args = "0b0b0b0b", []byte(`{"path":"/b"}`)
		if err := there.Add(other); err != nil {
			t.Fatal(err)
		}
		if err := <-dropped; err != nil {
			t.Fatal(err)
		}
		if kept, err := here.read(); err != nil || !slices.Equal(idsOf(kept), []string{other.ID}) {
			t.Errorf("kept are %v, %v", idsOf(kept), err)
		}
	})
}
