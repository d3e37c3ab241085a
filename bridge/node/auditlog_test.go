package node

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// What is to be kept reaches the record, and what limits and the memory of calls are read
// back from stays there whatever was said.
func TestTheRecordIsKeptAsItWasSaid(t *testing.T) {
	rules, err := policy.Load("p", []byte("version: 1\ndefault: deny\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := &plan{o: Options{Record: RecordOptions{Sync: audit.Always, KeepSize: 20 << 20, KeepFor: 12 * time.Hour}}}
	p.engine.Policy = rules
	o := p.auditOptions("fs")
	if o.KeepSize != 20<<20 || o.KeepFor != 12*time.Hour || o.Least != 15*time.Minute || !o.Mode.Waits(false) {
		t.Errorf("%+v", o)
	}
	if neededFor(0) != 15*time.Minute || neededFor(time.Hour) != time.Hour {
		t.Error("what limits and the memory of calls need may be removed")
	}
}

// The beginning of a call that ran as its bridge was killed may be in a file that is removed.
func TestACallWhoseBeginningIsGoneHasItsLastWord(t *testing.T) {
	rules, err := policy.Load("p", []byte("version: 1\ndefault: deny\n"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "fs.jsonl")
	log, _, err := audit.Open(path, audit.Options{MaxSize: 400})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []string{`{"event":"decided","call":"c1","verdict":"allow"}`, `{"event":"started","call":"c1"}`, `{"event":"tick"}`} {
		if err := log.Append([]byte(r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := audit.Files(path)
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, full := range files[:len(files)-1] {
		if err := os.Remove(full); err != nil {
			t.Fatal(err)
		}
	}
	p := &plan{o: Options{Log: slog.New(slog.DiscardHandler), Record: RecordOptions{File: path}}}
	p.engine.Policy = rules
	if log, err = p.openAudit("fs", nil); err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), `"event":"ended","call":"c1","env":"","executed":"unknown"`) {
		t.Errorf("%v\n%s", err, text)
	}
}
