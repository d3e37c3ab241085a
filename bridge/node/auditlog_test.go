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
	path := filepath.Join(t.TempDir(), "fs.jsonl")
	recorded(t, path, `{"event":"decided","call":"c1","verdict":"allow"}`, `{"event":"started","call":"c1"}`, `{"event":"tick"}`)
	removeFull(t, path)
	if text := reopened(t, path); !strings.Contains(text, `"event":"ended","call":"c1","env":"","executed":"unknown"`) {
		t.Error(text)
	}
}

// Of a call that ran, and has its last word in a file that is removed, the server's late answer may be left.
func TestACallThatEndedHasNoOtherLastWord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fs.jsonl")
	recorded(t, path, `{"event":"decided","call":"c1","verdict":"allow"}`, `{"event":"started","call":"c1"}`, `{"event":"ended","call":"c1"}`)
	removeFull(t, path)
	recorded(t, path, `{"event":"late","call":"c1","env":"e1","from":"ana"}`)
	if text := reopened(t, path); !strings.Contains(text, `"event":"late"`) || strings.Contains(text, `"event":"rejected"`) {
		t.Error(text)
	}
}

// recorded opens the log at path, writes records into it, and closes it. No file takes two of them.
func recorded(t *testing.T, path string, records ...string) {
	t.Helper()
	log, _, err := audit.Open(path, audit.Options{MaxSize: 400})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := log.Append([]byte(r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func removeFull(t *testing.T, path string) {
	t.Helper()
	files, err := audit.Files(path)
	if err != nil || len(files) < 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, full := range files[:len(files)-1] {
		if err := os.Remove(full); err != nil {
			t.Fatal(err)
		}
	}
}

// reopened is all that is on record once the bridge has opened the log at path.
func reopened(t *testing.T, path string) string {
	t.Helper()
	rules, err := policy.Load("p", []byte("version: 1\ndefault: deny\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := &plan{o: Options{Log: slog.New(slog.DiscardHandler), Record: RecordOptions{File: path}}}
	p.engine.Policy = rules
	log, err := p.openAudit("fs", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	files, err := audit.Files(path)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
