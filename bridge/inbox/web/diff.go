package web

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
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
	mostPairs    = 200  // changes, each of which looks through the file
)

// Names under which servers that write files take which file, what shall stand in it, and, in
// pairs, what takes the place of what.
var (
	namesOfFile  = []string{"path", "file_path", "filePath", "filename", "file_name", "target_file"}
	namesOfWhole = []string{"content", "contents", "file_text"}
	namesOfAll   = []string{"replace_all", "replaceAll"}
	namesOfPair  = [][2]string{{"oldText", "newText"}, {"old_text", "new_text"}, {"oldString", "newString"}, {"old_string", "new_string"}, {"old_str", "new_str"}}
)

// A rewriting is what a call seems to make of a file.
type rewriting struct {
	file  string
	whole *string // what shall stand in it; nil: pairs
	pairs []pair  // one after the other
}

// A pair is a text and what takes its place, where it stands first or everywhere.
type pair struct {
	of, by string
	all    bool
}

// rewrites reads that of arguments; nil if they seem to write no file, or say it in two ways,
// of which only the server knows the one that counts.
func rewrites(args []byte) *rewriting {
	files, wholes, edits := named(args, namesOfFile), named(args, namesOfWhole), rawjson.At(args, "/edits")
	pairs, clear := pairsIn(args)
	ways := len(wholes) + len(pairs)
	if edits != nil {
		pairs = listed(edits)
		ways++
	}
	if len(files) != 1 || ways != 1 || !clear {
		return nil
	}
	file, ok := jsonrpc.Unquote(files[0])
	w := &rewriting{file: file, pairs: pairs}
	if len(wholes) == 1 {
		whole, is := jsonrpc.Unquote(wholes[0])
		w.whole, ok = &whole, ok && is
	}
	if !ok || w.whole == nil && w.pairs == nil {
		return nil
	}
	return w
}

// named are the values that an object has under some names.
func named(object []byte, names []string) (all [][]byte) {
	for _, name := range names {
		if v := rawjson.At(object, jsontext.Pointer("/"+name)); v != nil {
			all = append(all, v)
		}
	}
	return all
}

// listed are the pairs of a list; nil if anything else is in it.
func listed(edits []byte) (all []pair) {
	if edits[0] != '[' {
		return nil
	}
	for one := range rawjson.Parts(edits, 0) {
		its, clear := pairsIn(one.Of(edits))
		if len(its) != 1 || !clear {
			return nil
		}
		all = append(all, its[0])
	}
	return all
}

// pairsIn are the pairs that stand in an object. It is not clear where half of one does, or
// where it shall be replaced.
func pairsIn(object []byte) (all []pair, clear bool) {
	if len(object) == 0 || object[0] != '{' {
		return nil, true
	}
	everywhere := false
	for _, v := range named(object, namesOfAll) {
		if everywhere = string(v) == "true"; !everywhere && string(v) != "false" {
			return nil, false
		}
	}
	for _, names := range namesOfPair {
		its := named(object, names[:])
		if its == nil {
			continue
		}
		of, ok := jsonrpc.Unquote(its[0])
		by, also := jsonrpc.Unquote(its[len(its)-1])
		if !ok || !also || len(its) != 2 {
			return nil, false
		}
		all = append(all, pair{of, by, everywhere})
	}
	return all, true
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
	if w == nil || !filepath.IsAbs(w.file) || elsewhere(w.file) {
		return nil
	}
	shown, as := w.compare()
	to := leadsTo(w.file)
	return element("section", attribute{"aria-labelledby", "changes"}, element("h2", id("changes"), words("What that may change")),
		element("p", class("calm"), words(as), words(" "), name(w.file), when(to != "", pieces{words(", which leads to "), name(to)}), words(".")), shown,
		element("p", class("calm small"), words("Shown as the bridge reads the file now, at "), clock(now, now), words(". It may be another when the call runs, and only the server knows what it does.")))
}

// elsewhere reports whether opening a file may log this user in at another machine, or open a
// pipe: on Windows any absolute path may that does not begin with a drive.
func elsewhere(file string) bool { return len(filepath.VolumeName(file)) > len("C:") }

// compare shows the file before and after, and says what is compared with it.
func (w *rewriting) compare() (shown piece, as string) {
	was, err := readable(w.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "It would make a file that is not there now,"
	case err != nil:
		return element("p", words("The file cannot be compared: "+err.Error()+".")), "It would write"
	}
	now, missing, err := w.after(was)
	switch {
	case err != nil:
		return element("p", words(sentence(err))), "It would change"
	case missing != "":
		return pieces{element("p", class("warn"), words("The file does not hold what the call would replace:")), block(missing)}, "It would change"
	case now == was:
		return element("p", words("The file says that already.")), "It would write"
	case len(now) > mostCompared:
		return element("p", words(sentence(errLongThen))), "It would write"
	}
	of := diff.Diff("now", []byte(was), "then", []byte(now))
	return lines(bytes.TrimPrefix(of, []byte("diff now then\n--- now\n+++ then\n"))), "It would change"
}

// after is what would stand in the file; missing is what should and does not, to be replaced.
func (w *rewriting) after(was string) (now, missing string, err error) {
	if w.whole != nil {
		return *w.whole, "", nil
	}
	if len(w.pairs) > mostPairs {
		return "", "", errTooMany
	}
	for _, p := range w.pairs {
		if p.of == "" || !strings.Contains(was, p.of) {
			return "", p.of, nil
		}
		n := 1
		if p.all {
			n = strings.Count(was, p.of)
		}
		if len(was)+n*(len(p.by)-len(p.of)) > mostCompared {
			return "", "", errLongThen
		}
		was = strings.Replace(was, p.of, p.by, n)
	}
	return was, "", nil
}

var (
	errTooLong = errors.New("it is too long")
	errNoText  = errors.New("it is no text")
	errSystem  = errors.New("it is of the system")

	errTooMany  = errors.New("it has too many changes to be compared")
	errLongThen = errors.New("what it would say is too long to be compared")
)

// leadsTo is which file somebody names who names another, "" for the file itself: links lead
// from a name that looks harmless to one that is not.
func leadsTo(file string) string {
	at, err := filepath.EvalSymlinks(file)
	if err != nil { // it is not there, but where it would be may be
		dir, err := filepath.EvalSymlinks(file[:strings.LastIndexByte(file, filepath.Separator)+1])
		if err != nil {
			return ""
		}
		at = filepath.Join(dir, filepath.Base(file))
		switch to, err := os.Readlink(at); {
		case err != nil:
		case filepath.IsAbs(to):
			at = filepath.Clean(to)
		default:
			at = filepath.Join(dir, to)
		}
	}
	if at == filepath.Clean(file) {
		return ""
	}
	return at
}

// readable reads a text file that somebody else named: no device, nothing that is made while one
// reads it, and nothing long.
func readable(file string) (string, error) {
	at, to := filepath.Clean(file), leadsTo(file)
	for _, of := range []string{"/proc", "/sys", "/dev"} {
		for _, at := range []string{at, to} {
			if at == of || strings.HasPrefix(at, of+"/") {
				return "", errSystem
			}
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
