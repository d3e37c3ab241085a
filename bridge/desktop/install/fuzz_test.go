package install

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// A subsequence of text is what is left when some of it is taken out.
func subsequence(sub, text []byte) bool {
	for _, c := range text {
		if len(sub) > 0 && sub[0] == c {
			sub = sub[1:]
		}
	}
	return len(sub) == 0
}

// try holds what must hold of any bytes in a file of c: they cannot be read, and
// then it is said where, or what is not meant stays what it is.
func try(t *testing.T, c Client, way keys, raw []byte) {
	t.Helper()
	d, err := c.open(raw, way)
	if err != nil {
		if e, ok := err.(*Error); !ok || e.Msg == "" {
			t.Fatalf("%s: %q: %v", c.Name, raw, err)
		}
		return
	}
	tryAdd(t, d, raw)
	for _, s := range d.page.slots() {
		if s := find(d.page, s.name); s.wrong == "" {
			tryWrap(t, d, raw, *s)
		}
	}
}

func tryAdd(t *testing.T, d document, raw []byte) {
	t.Helper()
	c := d.client
	if find(d.page, OurName) != nil {
		return
	}
	e := Entry{Command: "/b/mcpx-bridge", Args: []string{"serve", "\"\\\u2028\x7f\x00é😀\t"}, Env: []string{"A b=c\nd"}}
	edits, err := d.page.add(OurName, c.marks, e)
	if err != nil {
		return
	}
	after, err := d.with(edits, OurName, e)
	if err != nil {
		return // the check caught it: nothing would be written
	}
	if braces := c.form.assign("") == ": " && bytes.Contains(raw, []byte("{")); !braces && !subsequence(raw, after) {
		t.Fatalf("%s: %q: something was taken away: %q", c.Name, raw, after)
	}
	again, err := c.open(after, exactly(d.page.way()))
	if err != nil {
		t.Fatalf("%s: %q became %q: %v", c.Name, raw, after, err)
	}
	if s := find(again.page, OurName); s == nil || len(s.put(c.form, again.text, e, len(s.entry.Args))) > 1 {
		t.Fatalf("%s: %q became %q: installed twice", c.Name, raw, after)
	}
}

func tryWrap(t *testing.T, d document, raw []byte, s slot) {
	t.Helper()
	c := d.client
	e := s.entry.behind("/b/mcpx-bridge", []string{"--topic=x"})
	wrapped, err := d.with(s.put(c.form, d.text, e, 0), s.name, e)
	if err != nil {
		return
	}
	was := s.stretch()
	w, _ := c.open(wrapped, exactly(d.page.way()))
	ws := find(w.page, s.name)
	is := ws.stretch()
	if !bytes.Equal(d.text[:was.from], w.text[:is.from]) || !bytes.Equal(d.text[was.to:], w.text[is.to:]) {
		t.Fatalf("%s: %q: more changed than the entry of %s: %q", c.Name, raw, s.name, wrapped)
	}
	back, err := w.with([]edit{{is, was.of(d.text)}}, s.name, s.entry)
	if err != nil || !bytes.Equal(back, raw) {
		t.Fatalf("%s: %q: wrapped and unwrapped it is %q, %v", c.Name, raw, back, err)
	}
	front := ws.entry.front("/b/mcpx-bridge")
	if !ws.entry.freed(front).equal(s.entry) {
		t.Fatalf("%s: %q: %v came back as %v", c.Name, raw, s.entry, ws.entry.freed(front))
	}
	if _, err := w.with(ws.put(c.form, w.text, s.entry, front), s.name, s.entry); err != nil {
		t.Fatalf("%s: %q: unwrapping without memory: %v", c.Name, wrapped, err)
	}
}

func usual(name string) keys { return keys{{client(name).table}} }

// ofOneDirectory leads to the servers of a directory with two names.
var ofOneDirectory = keys{{projects}, {"/p", "/q"}, {"mcpServers"}}

func client(name string) Client {
	for _, c := range Clients() {
		if c.Name == name {
			return c
		}
	}
	panic(name)
}

// seeds are the files of testdata that a client may have.
func seeds(f *testing.F, name string) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatal("there is no testdata", err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if strings.HasPrefix(string(a.Comment), name) {
			for _, text := range a.Files {
				f.Add(text.Data)
			}
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, name := range []string{"cursor", "claude", "windsurf", "gemini"} {
		seeds(f, name)
	}
	f.Add([]byte(`{"mcpServers":{"a":{"command":"x","args":["b",/*c*/]}, "a b":{"command":"y"},},}//`))
	f.Add([]byte(`{"projects": {"/q": {"x": [1]}, "/p": {"mcpServers": {"a": {"command": "x"}}}}, "mcpServers": {"a": {"command": "y"}}}`))
	f.Add([]byte(`{"projects":{"/q":{"mcpServers":{"a":{"command":"x","args":["b"]}},},/*c*/}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		try(t, client("cursor"), usual("cursor"), raw)
		try(t, client("claude-code"), ofOneDirectory, raw)
	})
}

func FuzzTOML(f *testing.F) {
	seeds(f, "codex")
	f.Add([]byte("mcp_servers = {a = {command = 'x'}}"))
	f.Add([]byte("[[mcp_servers.a]]\ncommand=\"x\"\n[mcp_servers]\n"))
	f.Fuzz(func(t *testing.T, raw []byte) { try(t, client("codex"), usual("codex"), raw) })
}

func FuzzYAML(f *testing.F) {
	seeds(f, "goose")
	f.Add([]byte("extensions: {a: {cmd: x, args: [b, 'c']}, b: {cmd: \"y\"}}"))
	f.Add([]byte("a: 1\nextensions:\n  # none\n"))
	f.Add([]byte("extensions: {}\r\nx: y\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) { try(t, client("goose"), usual("goose"), raw) })
}

// A writer makes up configuration that is right, in the oddest of layouts.
type writer struct {
	*rand.Rand
	strings.Builder
}

func (w *writer) one(of ...string) string { return of[w.IntN(len(of))] }

// gap is white space and comments.
func (w *writer) gap() {
	for range w.IntN(3) {
		w.WriteString(w.one(" ", "\t", "\n", "\r\n", "  ", "/* , ] } */", "// { \"\n", "/**/"))
	}
}

func (w *writer) str() {
	w.WriteString(w.one(`"a"`, `"command"`, `"é😀"`, `"\u0061\\\""`, `"//"`, `"x y"`, `"--"`, `"--stdio"`, `"run"`, `""`))
}

func (w *writer) list(open, end string, n int, item func(int)) {
	w.WriteString(open)
	for i := range n {
		w.gap()
		item(i)
		w.gap()
		if i+1 < n || w.IntN(4) == 0 {
			w.WriteString(",")
		}
	}
	w.gap()
	w.WriteString(end)
}

func (w *writer) member(key string, value func()) {
	w.WriteString(`"` + key + `"`)
	w.gap()
	w.WriteString(":")
	w.gap()
	value()
}

func (w *writer) args() { w.list("[", "]", w.IntN(4), func(int) { w.str() }) }

func (w *writer) server() {
	keys := []func(){
		func() { w.member("command", w.str) },
		func() { w.member("args", w.args) },
		func() { w.member("env", func() { w.WriteString(`{"command": "no", "args": [1.50]}`) }) },
		func() { w.member("timeout", func() { w.WriteString("1e3") }) },
	}
	w.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	keys = keys[:1+w.IntN(len(keys))]
	w.list("{", "}", len(keys), func(i int) { keys[i]() })
}

func (w *writer) file() {
	w.gap()
	keys := []func(){
		func() { w.member("theme", w.str) },
		func() {
			w.member("mcpServers", func() {
				w.list("{", "}", w.IntN(4), func(i int) { w.member(fmt.Sprintf("s%d", i), w.server) })
			})
		},
		func() { w.member("n", func() { w.WriteString("12345678901234567890") }) },
	}
	w.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	keys = keys[:w.IntN(len(keys)+1)]
	w.list("{", "}", len(keys), func(i int) { keys[i]() })
	w.gap()
}

// directories is a file of Claude Code's, with servers for each of several directories.
func (w *writer) directories() {
	w.gap()
	w.list("{", "}", 1+w.IntN(2), func(i int) {
		if i > 0 {
			w.member("n", func() { w.WriteString("12345678901234567890") })
			return
		}
		names := []string{"/a", "/q"}
		w.member("projects", func() { w.list("{", "}", len(names), func(i int) { w.member(names[i], w.file) }) })
	})
	w.gap()
}

// What is right can be read, edited and given back, whatever it looks like: here
// no check may come to the rescue.
func TestAnyLayout(t *testing.T) {
	for name, write := range map[string]func(*writer){"cursor": (*writer).file, "claude-code": (*writer).directories, "codex": (*writer).toml, "goose": (*writer).yaml} {
		way := usual(name)
		if name == "claude-code" {
			way = ofOneDirectory
		}
		wrapped := 0
		for seed := range uint64(1000) {
			w := &writer{Rand: rand.New(rand.NewPCG(seed, 1))}
			write(w)
			text := w.String()
			if client(name).table != "mcpServers" && seed%2 == 1 {
				text = strings.ReplaceAll(text, "\n", "\r\n")
			}
			wrapped += editAll(t, client(name), way, []byte(text))
		}
		if wrapped < 400 {
			t.Errorf("%s: only %d servers were wrapped", name, wrapped)
		}
	}
}

// editAll adds our entry and wraps every server, each for itself, and returns
// how many there were.
func editAll(t *testing.T, c Client, way keys, raw []byte) (wrapped int) {
	t.Helper()
	d, err := c.open(raw, way)
	if err != nil {
		t.Fatalf("%s: %q: %v", c.Name, raw, err)
	}
	e := Entry{Command: "/b/mcpx-bridge", Args: []string{"serve"}}
	edits, err := d.page.add(OurName, c.marks, e)
	if err != nil {
		t.Fatalf("%s: %q: %v", c.Name, raw, err)
	}
	if _, err := d.with(edits, OurName, e); err != nil {
		t.Fatalf("%s: %q: %v", c.Name, raw, err)
	}
	for _, s := range d.page.slots() {
		if s.wrong != "" {
			continue
		}
		wrapped++
		e := s.entry.behind("/b/mcpx-bridge", nil)
		if _, err := d.with(s.put(c.form, d.text, e, 0), s.name, e); err != nil {
			t.Fatalf("%s: %q: %s: %v", c.Name, raw, s.name, err)
		}
	}
	try(t, c, way, raw)
	return wrapped
}
