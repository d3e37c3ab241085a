package install

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A Verb says what a change is for.
type Verb string

const (
	Install Verb = "install" // our entry is made or renewed
	Wrap    Verb = "wrap"    // a bridge is put in front of a server
	Unwrap  Verb = "unwrap"  // and taken away again
	Undo    Verb = "undo"    // the last step is taken back
)

// A Change is what a file was when it was read, and what it is to become.
// Nothing has happened yet; [History.Apply] makes it so.
type Change struct {
	Place  Place
	Verb   Verb
	Undone Verb   // with Undo: what is taken back
	Server string // the entry

	file          target
	before, after content
	steps         []string // with Undo: what is taken back, and what was passed over
	forced        bool     // what is there is not what we left, and is to be kept aside
}

// Empty reports whether the file is already what it is to become.
func (c *Change) Empty() bool { return c.before.equal(c.after) }

// Diff shows the change in the unified form. It holds a few lines around it,
// and what stands there may be secret.
func (c *Change) Diff() []byte { return difference(c.Place.File, c.before, c.after) }

func difference(file string, before, after content) []byte {
	was, is := file, file
	if !before.there {
		was = "/dev/null"
	}
	if !after.there {
		is = "/dev/null"
	}
	text := diff.Diff(was, before.raw, is, after.raw)
	if _, rest, ok := bytes.Cut(text, []byte("\n")); ok && bytes.HasPrefix(text, []byte("diff ")) {
		return rest
	}
	return text
}

// Install makes or renews our entry: e.Command is our program, by its absolute
// path, because clients have little of a PATH. Of an entry of ours that is there
// only command and arguments change; one of another program is left alone, and
// an error. Where there is no file one is made, if the client's directory is
// there or force says so.
func (p Place) Install(e Entry, force bool) (*Change, error) {
	c, d, err := p.read(Install, OurName)
	if err != nil {
		return nil, err
	}
	if err := c.mayBeMade(force); err != nil {
		return nil, err
	}
	if err := written(slices.Concat(e.Args, e.Env, []string{e.Command})...); err != nil {
		return nil, p.named(err)
	}
	s := find(d.page, OurName)
	if s == nil {
		edits, err := d.page.add(OurName, p.Client.marks, e)
		if err != nil {
			return nil, p.named(err)
		}
		return c.edited(d, edits, e)
	}
	if s.wrong != "" || !s.entry.bridge(e.Command) {
		return nil, p.at(d, s, "there is another server of the name "+OurName, "rename that entry, or remove it")
	}
	if !slices.Equal(s.entry.Args, e.Args) && s.args.remarked(d.text, len(s.entry.Args), len(e.Args) == 0) {
		return nil, p.remarked(d, s)
	}
	return c.edited(d, s.put(p.Client.form, d.text, e, len(s.entry.Args)), e)
}

// Wrap puts a bridge in front of a server: exe is started, with flags for run,
// and starts the server as the client did. The rest of the entry, its variables
// among it, stays.
func (p Place) Wrap(exe string, flags []string, server string) (*Change, error) {
	c, d, s, err := p.lookup(Wrap, server)
	if err != nil {
		return nil, err
	}
	if err := written(slices.Concat(flags, []string{exe})...); err != nil {
		return nil, p.named(err)
	}
	if slices.Contains(flags, "--") {
		return nil, &Error{File: p.File, Msg: "what is before -- must be flags"} // else Unwrap could not tell whose is whose
	}
	if front := s.entry.front(exe); front > 0 {
		if !s.entry.freed(front).behind(exe, flags).equal(s.entry) {
			return nil, p.at(d, s, server+" has a bridge in front of it already", "remove it first: mcpx-bridge client unwrap "+p.Client.Name+" "+server+p.scoped())
		}
		return c.edited(d, nil, s.entry)
	}
	if s.entry.bridge(exe) {
		return nil, p.at(d, s, server+" is a bridge itself", "wrap the servers that others made")
	}
	e := s.entry.behind(exe, flags)
	return c.edited(d, s.put(p.Client.form, d.text, e, 0), e)
}

func (p Place) remarked(d document, s *slot) error {
	return p.at(d, s, "there is a comment among the arguments of "+s.name+", and it would be lost", "remove it first")
}

// lookup reads the file and finds a server that can be edited.
func (p Place) lookup(v Verb, server string) (*Change, document, *slot, error) {
	c, d, err := p.read(v, server)
	if err != nil {
		return nil, d, nil, err
	}
	if !c.before.there {
		return nil, d, nil, &Error{File: p.File, Msg: "there is no such file", Hint: "mcpx-bridge client list says which files there are", Absent: true}
	}
	s := find(d.page, server)
	const hint = "only a server with a command can have a bridge in front of it"
	switch {
	case s == nil:
		return nil, d, nil, p.absent(c, d, server)
	case s.wrong != "" && s.remote:
		return nil, d, nil, p.at(d, s, server+" is not started by the client: it has an address", hint)
	case s.wrong != "":
		return nil, d, nil, p.at(d, s, server+": "+s.wrong, hint)
	case v == Wrap && s.remote:
		return nil, d, nil, p.at(d, s, server+" has a command and an address, and only its client knows which of them counts", "remove one of the two first")
	case strings.TrimSpace(s.entry.Command) == "":
		return nil, d, nil, p.at(d, s, server+": its command is empty", hint)
	}
	return c, d, s, nil
}

// absent is the error about a server that is not there.
func (p Place) absent(c *Change, d document, server string) error {
	e := &Error{File: p.File, Msg: fmt.Sprintf("there is no server %q", server), Hint: listed(d.page), Absent: true}
	if p.Scope == Local {
		here := d.page.way()[1]
		e.Msg += " for " + here
		if dirs := p.Client.elsewhere(c.before.raw, here); len(dirs) > 0 {
			e.Hint += "; it has servers for " + text.Some(dirs) + " too, which are wrapped there"
		}
	}
	return e
}

// scoped is the flag that means the scope, "" where none is needed.
func (p Place) scoped() string {
	if p.Scope == p.Client.Scope[0] {
		return ""
	}
	return " --scope " + string(p.Scope)
}

// listed is a hint at what there is.
func listed(p page) string {
	var names []string
	for _, s := range p.slots() {
		names = append(names, s.name)
	}
	return "it lists " + cmp.Or(text.Some(names), "none")
}

// read begins a change.
func (p Place) read(v Verb, server string) (*Change, document, error) {
	c := &Change{Place: p, Verb: v, Server: server}
	var err error
	if c.file, c.before, err = load(p.File); err != nil {
		return nil, document{}, err
	}
	if p.Scope == Project && len(c.before.raw) > maxShared {
		return nil, document{}, &Error{File: p.File, Msg: fmt.Sprintf("it has over %d bytes, more than a file of a directory's servers has", maxShared)}
	}
	d, err := p.Client.open(c.before.raw, p.keys())
	return c, d, p.named(err)
}

func (c *Change) mayBeMade(force bool) error {
	if c.before.there || force || isDir(c.Place.root) {
		return nil
	}
	return &Error{File: c.Place.File, Msg: c.Place.Client.Title + " seems not to be here: there is no directory " + c.Place.root,
		Hint: "start it once, or add --force to make the directory and the file"}
}

func (c *Change) edited(d document, edits []edit, e Entry) (*Change, error) {
	c.after = c.before
	if len(edits) == 0 {
		return c, nil
	}
	raw, err := d.with(edits, c.Server, e)
	if err != nil {
		return nil, c.Place.named(err)
	}
	c.after = content{true, raw}
	return c, nil
}

// named puts the file's name to an error.
func (p Place) named(err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return fmt.Errorf("%s: %w", p.File, err)
	}
	named := *e
	named.File = p.File
	return &named
}

// at is an error about a server.
func (p Place) at(d document, s *slot, msg, hint string) error {
	line, column := lineColumn(d.text, s.at)
	return &Error{File: p.File, Line: line, Column: column, Msg: msg, Hint: hint}
}

// written refuses what no file can hold.
func written(words ...string) error {
	if slices.ContainsFunc(words, func(s string) bool { return !utf8.ValidString(s) }) {
		return &Error{Msg: "a command or an argument is not UTF-8, and cannot be written into it"}
	}
	return nil
}

// elsewhere are the directories but one that have servers of their own.
func (c Client) elsewhere(raw []byte, but string) (dirs []string) {
	tree, err := c.form.tree(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))
	if err != nil {
		return nil
	}
	all, _ := tree[projects].(map[string]any)
	for dir, of := range all {
		of, _ := of.(map[string]any)
		if servers, _ := of[c.table].(map[string]any); len(servers) > 0 && dir != but {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}
