package web

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/diff"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// What a call would change in a file is a guess from the names of its arguments, of a file that
// may be another when the call runs. It is shown beside the arguments, never in their place.

// Bounds of what is compared, in bytes, and of what is shown of it.
const (
	mostCompared = 512 << 10
	mostChanged  = 1000 // lines
)

// Names under which servers that write files take which file, what shall stand in it, and, in
// pairs, what takes the place of what.
var (
	namesOfFile  = []string{"path", "file_path", "filePath", "filename", "file_name", "target_file"}
	namesOfWhole = []string{"content", "contents", "file_text"}
	namesOfPair  = [][2]string{{"oldText", "newText"}, {"old_text", "new_text"}, {"oldString", "newString"}, {"old_string", "new_string"}, {"old_str", "new_str"}}
)

// A rewriting is what a call seems to make of a file.
type rewriting struct {
	file  string
	whole *string     // what shall stand in it; nil: pairs
	pairs [][2]string // old and new, one after the other
}

// rewrites reads that of arguments; nil if they seem to write no file.
func rewrites(args []byte) *rewriting {
	w := &rewriting{file: textNamed(args, namesOfFile)}
	for _, name := range namesOfWhole {
		if s, ok := jsonrpc.Unquote(rawjson.At(args, jsontext.Pointer("/"+name))); ok {
			w.whole = &s
		}
	}
	w.pairs = pairsIn(args)
	if edits := rawjson.At(args, "/edits"); len(edits) > 0 && edits[0] == '[' {
		for one := range rawjson.Parts(edits, 0) {
			w.pairs = append(w.pairs, pairsIn(one.Of(edits))...)
		}
	}
	if w.file == "" || w.whole == nil && w.pairs == nil || w.whole != nil && w.pairs != nil {
		return nil
	}
	return w
}

func textNamed(args []byte, names []string) string {
	for _, name := range names {
		if s, ok := jsonrpc.Unquote(rawjson.At(args, jsontext.Pointer("/"+name))); ok {
			return s
		}
	}
	return ""
}

// pairsIn is the pair that stands in an object, if one does.
func pairsIn(object []byte) [][2]string {
	if len(object) == 0 || object[0] != '{' {
		return nil
	}
	for _, names := range namesOfPair {
		of, ok := jsonrpc.Unquote(rawjson.At(object, jsontext.Pointer("/"+names[0])))
		by, also := jsonrpc.Unquote(rawjson.At(object, jsontext.Pointer("/"+names[1])))
		if ok && also {
			return [][2]string{{of, by}}
		}
	}
	return nil
}

// changes shows what a call would change in a file of this machine; nil where it seems to write
// none, or its server says that it only reads.
func changes(v *approval.View, now time.Time) piece {
	if v.Args == nil || v.AboutPolicy || slices.Contains(v.Hints, policy.OnlyReads) {
		return nil
	}
	args := v.Args[rawjson.Space(v.Args, 0):]
	if args[0] != '{' {
		return nil
	}
	w := rewrites(args)
	if w == nil || !filepath.IsAbs(w.file) {
		return nil
	}
	shown, as := w.compare()
	return element("section", attribute{"aria-labelledby", "changes"}, element("h2", id("changes"), words("What that may change")),
		element("p", class("calm"), words(as), words(" "), name(w.file), words(".")), shown,
		element("p", class("calm small"), words("Shown as the bridge reads the file now, at "), clock(now, now), words(". It may be another when the call runs, and only the server knows what it does.")))
}

// compare shows the file before and after, and says what is compared with it.
func (w *rewriting) compare() (shown piece, as string) {
	was, err := readable(w.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "It would make a file that is not there now,"
	case err != nil:
		return element("p", words("The file cannot be compared: "+err.Error()+".")), "It would write"
	}
	now, missing := w.after(was)
	switch {
	case missing != "":
		return pieces{element("p", class("warn"), words("The file does not hold what the call would replace:")), block(missing)}, "It would change"
	case now == was:
		return element("p", words("The file says that already.")), "It would write"
	case len(now) > mostCompared:
		return element("p", words("What it would say is too long to be compared.")), "It would write"
	}
	of := diff.Diff("now", []byte(was), "then", []byte(now))
	return lines(bytes.TrimPrefix(of, []byte("diff now then\n--- now\n+++ then\n"))), "It would change"
}

// after is what would stand in the file; missing is what should and does not, to be replaced.
func (w *rewriting) after(was string) (now, missing string) {
	if w.whole != nil {
		return *w.whole, ""
	}
	for _, pair := range w.pairs {
		if pair[0] == "" || !strings.Contains(was, pair[0]) {
			return "", pair[0]
		}
		was = strings.Replace(was, pair[0], pair[1], 1)
	}
	return was, ""
}

var (
	errTooLong = errors.New("it is too long")
	errNoText  = errors.New("it is no text")
	errSystem  = errors.New("it is of the system")
)

// readable reads a text file that somebody else named: no device, nothing that is made while one
// reads it, and nothing long.
func readable(file string) (string, error) {
	for _, of := range []string{"/proc", "/sys", "/dev"} {
		if at := filepath.Clean(file); at == of || strings.HasPrefix(at, of+"/") {
			return "", errSystem
		}
	}
	text, err := private.Read(file, mostCompared+1, private.Care{})
	switch {
	case err != nil:
		return "", err
	case len(text) > mostCompared:
		return "", errTooLong
	case !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0:
		return "", errNoText
	}
	return string(text), nil
}

// lines shows a difference, without the lines that name what is compared.
func lines(of []byte) piece {
	var all pieces
	for line := range strings.Lines(string(of)) {
		if len(all) == mostChanged {
			all = append(all, element("span", class("at"), words("… and more, which is in the arguments")))
			break
		}
		line = strings.TrimSuffix(line, "\n")
		look := map[byte]string{'+': "plus", '-': "minus", '@': "at", '\\': "at"}[line[0]]
		all = append(all, element("span", class(look), verbatim(line[:1]), seen(line[1:])))
	}
	return element("pre", class("diff"), all)
}
