package report_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
)

// A call is found in whichever log has it, by our name or by its envelope's id, with its own
// records alone, though callers may choose the same ids; lines that nobody can read are none
// of it.
func TestACallOnRecordIsFound(t *testing.T) {
	line := func(n int, rest string) string {
		return fmt.Sprintf(`{"seq":%d,"ts":"2026-03-02T10:00:0%d.000000Z",%s}`+"\n", n, n, rest)
	}
	logs := []string{filepath.Join(t.TempDir(), "a.jsonl"), filepath.Join(t.TempDir(), "b.jsonl")}
	for i, text := range []string{
		line(1, `"event":"decided","call":"a-1","env":"e","from":"ann","method":"tools/call","tool":"read","via":"request","args":{}`),
		line(1, `"event":"asked","call":"b-1","env":"1","from":"bob","method":"tools/call","tool":"write","via":"request","args":{"n":1}`) +
			line(2, `"event":"decided","call":"b-2","env":"1","from":"cat","method":"tools/call","tool":"read","via":"request","args":{}`) +
			line(3, `"event":"answer","call":"b-1","by":["local"]`) + `{"call":"b-1", no record` + "\n" +
			line(4, `"event":"decided","call":"b-1","env":"1","from":"bob","method":"tools/call","tool":"write","via":"request"`),
	} {
		if err := os.WriteFile(logs[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"b-1", "1"} {
		found, err := report.FindCall(t.Context(), name, logs)
		if err != nil {
			t.Fatal(err)
		}
		var events []string
		for _, r := range found.Records {
			events = append(events, r.Event)
		}
		c, err := found.Call("p.yaml")
		if err != nil || c.From != "bob" || string(c.Args) != `{"n":1}` || fmt.Sprint(events) != "[asked answer decided]" {
			t.Errorf("%s: %q of %+v, %v", name, events, c, err)
		}
	}
	if _, err := report.FindCall(t.Context(), "b-3", logs); !errors.Is(err, report.ErrNotRecorded) {
		t.Error(err)
	}
}
