package install

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// A document is a file's text, and what a client's servers are there.
type document struct {
	client Client
	mark   []byte // the byte order mark, if there is one
	text   []byte // the rest
	page   page
}

// open reads a file's bytes. The error is an [*Error] without a file name.
func (c Client) open(raw []byte, way keys) (document, error) {
	d := document{client: c}
	if bytes.HasPrefix(raw, []byte("\xff\xfe")) || bytes.HasPrefix(raw, []byte("\xfe\xff")) {
		return d, &Error{Line: 1, Column: 1, Msg: "it is UTF-16", Hint: "save it as UTF-8"}
	}
	if bytes.HasPrefix(raw, []byte("\xef\xbb\xbf")) {
		d.mark = raw[:3]
	}
	d.text = raw[len(d.mark):]
	if at := invalid(d.text); at >= 0 {
		return d, wrongAt(d.text, at, "it is not UTF-8 here")
	}
	var err error
	d.page, err = c.form.read(d.text, way)
	return d, err
}

// invalid is where the first byte is that is no UTF-8; -1 means nowhere.
func invalid(text []byte) int {
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

// with returns the file's bytes after edits, having read them back: the server
// `name` must be e, and nothing else may say anything else than before.
func (d document) with(edits []edit, name string, e Entry) ([]byte, error) {
	raw := append(d.mark[:len(d.mark):len(d.mark)], splice(d.text, edits)...)
	after, err := d.client.open(raw, exactly(d.page.way()))
	if err != nil {
		return nil, fmt.Errorf("the new text of the file cannot be read: %w", err)
	}
	if s := find(after.page, name); s == nil || s.wrong != "" || !s.entry.equal(e) {
		return nil, &Error{Msg: "the new text of the file would not mean what it should", Hint: "edit the file by hand"}
	}
	fresh := find(d.page, name) == nil
	was, err := d.rest(name, fresh)
	if err != nil {
		return nil, err
	}
	is, err := after.rest(name, fresh)
	if err != nil {
		return nil, err
	}
	if was != is {
		return nil, &Error{Msg: "more than the one entry would change", Hint: "edit the file by hand"}
	}
	return raw, nil
}

// rest is what the document says beside the command and the arguments of one
// server, or beside all of it where it is fresh.
func (d document) rest(name string, fresh bool) (string, error) {
	tree, err := d.client.form.tree(d.text)
	if err != nil {
		return "", fmt.Errorf("it cannot be read back: %w", err)
	}
	levels := []map[string]any{tree}
	for _, key := range d.page.way() {
		next, _ := levels[len(levels)-1][key].(map[string]any)
		levels = append(levels, next)
	}
	servers := levels[len(levels)-1]
	if fresh {
		delete(servers, name)
	}
	if entry, ok := servers[name].(map[string]any); ok {
		strip(entry)
	}
	for i, key := range slices.Backward(d.page.way()) { // what holds nothing says nothing
		if len(levels[i+1]) == 0 {
			delete(levels[i], key)
		}
	}
	return fmt.Sprintf("%#v", tree), nil
}

func strip(entry map[string]any) {
	nested, _ := entry["command"].(map[string]any)
	for _, key := range []string{"path", "args"} {
		delete(nested, key)
	}
	maps.DeleteFunc(entry, func(key string, v any) bool {
		_, deeper := v.(map[string]any)
		return !deeper && (key == "command" || key == "cmd" || key == "args")
	})
}
