package web_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func TestWhatAFileWouldSayIsComparedWithWhatItSaysNow(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	file := filepath.Join(t.TempDir(), "config.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shown := func(hints policy.Hints, args map[string]any) string {
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		q := inboxtest.Write(string(raw))
		q.Hints = hints
		id := h.Ask(q)
		defer h.Withdraw(id)
		_, section, _ := strings.Cut(b.get("/q/notes/"+id).body, `<h2 id="changes">`)
		section, _, _ = strings.Cut(section, "</section>")
		return section
	}
	write("replicas: 2\nimage: app\n<b>\n")
	for name, c := range map[string]struct {
		args map[string]any
		want []string
	}{
		"whole":                  {map[string]any{"path": file, "content": "replicas: 3\nimage: app\n<b>\n"}, []string{`class="minus">-replicas: 2<`, `class="plus">+replicas: 3<`, "as the bridge reads the file now", "&lt;b&gt;"}},
		"what looks like a head": {map[string]any{"path": file, "content": "++ then x\n-- now\n"}, []string{`class="plus">+++ then x<`, `class="plus">+-- now<`}},
		"edits": {map[string]any{"path": file, "edits": []any{map[string]any{"oldText": "replicas: 2", "newText": "replicas: \u202e3"}, map[string]any{"oldText": "app", "newText": "app:2"}}},
			[]string{`class="plus">+replicas: <mark>U+202E</mark>3<`, `class="plus">+image: app:2<`}},
		"one pair":       {map[string]any{"file_path": file, "old_string": "app", "new_string": "b"}, []string{`class="plus">+image: b<`}},
		"what is not in": {map[string]any{"path": file, "oldText": "nowhere", "newText": "x"}, []string{"does not hold what the call would replace", "nowhere"}},
		"the same":       {map[string]any{"path": file, "content": "replicas: 2\nimage: app\n<b>\n"}, []string{"The file says that already"}},
		"a new file":     {map[string]any{"path": file + ".new", "content": "x"}, []string{"It would make a file that is not there now"}},
		"a directory":    {map[string]any{"path": filepath.Dir(file), "content": "x"}, []string{"cannot be compared", "a directory"}},
		"the system's":   {map[string]any{"path": "/proc/self/environ", "content": "x"}, []string{"it is of the system"}},
		"by another way": {map[string]any{"path": "/tmp/../proc/self/environ", "content": "x"}, []string{"it is of the system"}},
	} {
		got := shown(policy.Hints{}, c.args)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in\n%s", name, want, got)
			}
		}
	}
	for name, args := range map[string]map[string]any{
		"no text":       {"path": file},
		"no file":       {"content": "x"},
		"relative":      {"path": "config.yaml", "content": "x"},
		"no strings":    {"path": 1, "content": "x"},
		"both ways":     {"path": file, "content": "x", "oldText": "a", "newText": "b"},
		"nothing":       {},
		"odd edits":     {"path": file, "edits": []any{1, nil, "x", []any{}, map[string]any{"oldText": 1, "newText": "x"}}},
		"edits as text": {"path": file, "edits": "oldText"},
	} {
		if got := shown(policy.Hints{}, args); got != "" {
			t.Errorf("%s is compared:\n%s", name, got)
		}
	}
	if got := shown(policy.Hints{ReadOnly: new(true)}, map[string]any{"path": file, "content": "x"}); got != "" {
		t.Errorf("a call that only reads is said to change\n%s", got)
	}
	write(string([]byte{'a', 0, 'b'}))
	if got := shown(policy.Hints{}, map[string]any{"path": file, "content": "x"}); !strings.Contains(got, "it is no text") {
		t.Errorf("%s", got)
	}
	write(strings.Repeat("x", 600<<10))
	if got := shown(policy.Hints{}, map[string]any{"path": file, "content": "x"}); !strings.Contains(got, "it is too long") {
		t.Errorf("%s", got)
	}
}
