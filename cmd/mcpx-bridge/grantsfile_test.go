package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// keeping is a run of which there is nothing but the file of grants.
func keeping(t *testing.T) (*attendance, approval.Grant) {
	t.Helper()
	home := t.TempDir()
	b := &bridging{id: "fs", p: &program{env: env{getenv: func(key string) string { return map[string]string{"XDG_STATE_HOME": home}[key] }}},
		sidecar: bridge.New(bridge.Options{Engine: bridge.Config{NewID: newSession, Random: fresh128}})}
	b.local = &attendance{b: b}
	now := time.Now()
	g := approval.Grant{ID: "0a1b2c3d", Keep: "always", Caller: "bob", Via: "request", Method: "tools/call", Tool: "write_file",
		Args: []byte(`{"path":"/a"}`), By: []approval.Who{{Door: approval.Local}}, Made: now, Until: now.Add(time.Hour)}
	return b.local, g
}

func TestAYesTakenBackBeforeItWasWrittenDownIsNotWritten(t *testing.T) {
	l, g := keeping(t)
	if _, err := l.Revoke(g.ID); err != nil {
		t.Fatal(err)
	}
	if err := l.b.addGrant(g); err != nil {
		t.Fatal(err)
	}
	if granted, err := l.b.readGrants(); granted != nil || err != nil {
		t.Errorf("it is in the file, %v", err)
	}
}

func TestAYesThatCannotBeTakenBackIsNotSaidToBe(t *testing.T) {
	l, g := keeping(t)
	if err := l.b.addGrant(g); err != nil {
		t.Fatal(err)
	}
	file, err := l.b.grantsFile()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	own := strings.Replace(string(text), "default: deny", "default:  deny", 1) // as somebody else would write it
	if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	ok, err := l.Revoke(g.ID)
	granted, _ := l.b.readGrants()
	if (ok || err == nil) && granted != nil {
		t.Errorf("it is said to be gone (%v, %v), and is still in the file", ok, err)
	}
}
