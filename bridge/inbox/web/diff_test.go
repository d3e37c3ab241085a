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
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, "config.yaml")
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
	link := func(name, to string) string {
		name = filepath.Join(home, name)
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		return name
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
		"by a link":      {map[string]any{"path": link("environ", "/proc/self/environ"), "content": "x"}, []string{"it is of the system"}},
		"a link":         {map[string]any{"path": link("innocent", file), "content": "x"}, []string{"which leads to", ">" + file + "<"}},
		"a link to none": {map[string]any{"path": link("dangling", file+".none"), "content": "x"}, []string{"It would make a file that is not there now", "which leads to", ">" + file + ".none<"}},
		"behind a link":  {map[string]any{"path": link("dir", filepath.Dir(file)) + "/new.yaml", "content": "x"}, []string{"which leads to", ">" + filepath.Dir(file) + "/new.yaml<"}},
		"every place":    {map[string]any{"file_path": file, "old_string": "a", "new_string": "o", "replace_all": true}, []string{`class="plus">+replicos: 2<`, `class="plus">+imoge: opp<`}},
		"growing":        {map[string]any{"file_path": file, "old_string": "a", "new_string": strings.Repeat("a", 200<<10), "replace_all": true}, []string{"too long to be compared"}},
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
		"two files":     {"path": file, "file_path": file + ".other", "content": "x"},
		"two texts":     {"path": file, "content": "x", "contents": "y"},
		"two pairs":     {"path": file, "oldText": "app", "newText": "app:2", "old_string": "image", "new_string": "exec"},
		"pair and list": {"path": file, "oldText": "app", "newText": "b", "edits": []any{map[string]any{"oldText": "app", "newText": "b"}}},
		"an odd edit":   {"path": file, "edits": []any{map[string]any{"oldText": "app", "newText": "b"}, map[string]any{"delete": "image"}}},
		"an odd text":   {"path": file, "content": "x", "contents": []any{"y"}},
		"an odd all":    {"path": file, "oldText": "app", "newText": "b", "replace_all": "yes"},
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

// Each change costs a look at the whole file, and a call may have hundreds of thousands.
func TestManyChangesAreNotCompared(t *testing.T) {
	h := inboxtest.New("notes")
	b := within(t, serve(t, source(h, "notes")))
	file := filepath.Join(t.TempDir(), "long")
	if err := os.WriteFile(file, []byte(strings.Repeat("b\n", 250<<10)+"a"), 0o600); err != nil {
		t.Fatal(err)
	}
	edits := strings.Repeat(`,{"oldText":"a","newText":"a"}`, 50_000)[1:]
	got := b.get("/q/notes/" + h.Ask(inboxtest.Write(`{"path":"`+file+`","edits":[`+edits+`]}`)))
	if !strings.Contains(got.body, "It has too many changes to be compared") {
		t.Errorf("%d: %.2000s", got.status, got.body)
	}
}
