package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonc is JSON as editors write it: with comments and trailing commas, where
// somebody has put any. What is added has neither.
var jsonc = form{read: readJSON, tree: treeJSON, assign: func(key string) string { return quoted(key) + ": " }}

type jsonPage struct {
	text []byte
	root *hujson.Value // nil: there is nothing in the file
	last *hujson.Value // the innermost object of those that lead to the servers
	keys []string      // that lead to them
	had  int           // how many of the keys are there
	all  []slot
}

func (p *jsonPage) slots() []slot { return p.all }

func (p *jsonPage) way() []string { return p.keys }

func readJSON(text []byte, way keys) (page, error) {
	p := &jsonPage{text: text}
	for _, names := range way {
		p.keys = append(p.keys, names[0])
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return p, nil
	}
	if at := tooDeep(text); at >= 0 {
		return nil, wrongAt(text, at, "more than %d brackets stand in one another here", maxNesting)
	}
	root, err := hujson.Parse(text)
	if whole, ok := hujson.Parse(ended(text)); err != nil && ok == nil {
		root, err = whole, nil
	}
	if err != nil {
		return nil, notJSON(err)
	}
	p.root = &root
	if _, ok := root.Value.(*hujson.Object); !ok {
		return nil, wrongAt(text, root.StartOffset, "there should be an object, { … }")
	}
	p.last = &root
	for i, names := range way {
		found, err := p.step(names)
		if err != nil || found == nil {
			return p, err
		}
		p.keys[i], p.last, p.had = keyOf(found), &found.Value, i+1
	}
	for i := range object(p.last) {
		p.all = append(p.all, p.slot(&object(p.last)[i]))
	}
	return p, nil
}

// step finds the next object on the way to the servers; nil means that it is not there.
func (p *jsonPage) step(names []string) (*hujson.ObjectMember, error) {
	for _, name := range names {
		m, err := member(p.text, p.last, name)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		if _, ok := m.Value.Value.(*hujson.Object); !ok {
			return nil, wrongAt(p.text, m.Value.StartOffset, "%s should be an object, { … }", name)
		}
		return m, nil
	}
	return nil, nil
}

// ended is a copy of a text that ends in a newline: the parser takes no comment at
// the end without one. Nothing is added where anything is edited.
func ended(text []byte) []byte { return append(bytes.Clone(text), '\n') }

// notJSON takes the place out of the parser's words.
func notJSON(err error) error {
	e := wrong("this is no JSON: %v", err)
	if cause := errors.Unwrap(err); cause != nil {
		if n, _ := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &e.Line, &e.Column); n == 2 {
			e.Msg = "this is no JSON: " + cause.Error()
		}
	}
	return e
}

func object(v *hujson.Value) []hujson.ObjectMember { return v.Value.(*hujson.Object).Members }

func keyOf(m *hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// member finds a member of an object; nil means that there is none.
func member(text []byte, v *hujson.Value, key string) (*hujson.ObjectMember, error) {
	var found *hujson.ObjectMember
	for i := range object(v) {
		m := &object(v)[i]
		if keyOf(m) != key {
			continue
		}
		if found != nil {
			return nil, wrongAt(text, m.Name.StartOffset, "%q is there twice", key)
		}
		found = m
	}
	return found, nil
}

func (p *jsonPage) slot(m *hujson.ObjectMember) slot {
	s := slot{name: keyOf(m), at: m.Name.StartOffset}
	if _, ok := m.Value.Value.(*hujson.Object); !ok {
		s.wrong = "it should be an object, { … }"
		return s
	}
	for _, key := range []string{"url", "uri", "serverUrl", "httpUrl"} {
		if at, _ := member(p.text, &m.Value, key); at != nil {
			s.remote = true
		}
	}
	p.fill(&s, &m.Value, "command")
	return s
}

// fill reads command and arguments out of an object. Older entries of Zed have
// an object for a command, and both in it.
func (p *jsonPage) fill(s *slot, v *hujson.Value, key string) {
	command, err := member(p.text, v, key)
	args, err2 := member(p.text, v, "args")
	switch {
	case err != nil || err2 != nil:
		s.wrong = "its command or args are there twice"
		return
	case command == nil:
		s.wrong = "it has no command"
		return
	}
	if _, ok := command.Value.Value.(*hujson.Object); ok && key == "command" {
		p.fill(s, &command.Value, "path")
		return
	}
	text, ok := command.Value.Value.(hujson.Literal)
	if !ok || text.Kind() != '"' {
		s.wrong = "its command is no string"
		return
	}
	s.entry.Command, s.command = text.String(), span{command.Value.StartOffset, command.Value.EndOffset}
	s.lead = func() string {
		if white, alone := indent(p.text, command.Name.StartOffset); alone {
			return "," + newline(p.text) + white
		}
		return ", "
	}
	if args != nil {
		p.fillArgs(s, &args.Value)
	}
}

func (p *jsonPage) fillArgs(s *slot, v *hujson.Value) {
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		s.wrong = "its args are no list"
		return
	}
	s.args = &list{span: span{v.StartOffset, v.EndOffset}}
	for i := range array.Elements {
		item := &array.Elements[i]
		text, ok := item.Value.(hujson.Literal)
		if !ok || text.Kind() != '"' {
			s.wrong = "its args are no list of strings"
			return
		}
		s.entry.Args = append(s.entry.Args, text.String())
		s.args.items = append(s.args.items, span{item.StartOffset, item.EndOffset})
	}
}

func (p *jsonPage) add(name string, marks []pair, e Entry) ([]edit, error) {
	members := append(marks[:len(marks):len(marks)], pair{"command", quoted(e.Command)}, pair{"args", bracketed(e.Args)})
	if len(e.Env) > 0 {
		members = append(members, pair{"env", "{" + e.variables(": ") + "}"})
	}
	put := func(l layout) string { return quoted(name) + ": " + l.object(members) }
	for _, key := range slices.Backward(p.keys[p.had:]) {
		inner := put
		put = func(l layout) string { return quoted(key) + ": " + l.around(inner) }
	}
	l := p.layout()
	if p.root == nil {
		return []edit{insert(0, l.around(put)+l.end)}, nil
	}
	return l.into(p.text, p.last, put), nil
}

// A layout is how members of an object are set.
type layout struct {
	flat bool   // all in one line
	in   string // the white space before a member
	unit string // how much deeper the next level is
	end  string // the line end
}

// layout is how the file is set as a whole.
func (p *jsonPage) layout() layout {
	l := layout{unit: "  ", end: newline(p.text)}
	if p.root == nil || len(object(p.root)) == 0 {
		return l
	}
	if white, alone := indent(p.text, object(p.root)[0].Name.StartOffset); alone && white != "" {
		l.unit = white
	}
	return l
}

func (l layout) deeper() layout {
	l.in += l.unit
	return l
}

// object writes members, each in a line of its own unless all is flat. l is how
// the object itself is set.
func (l layout) object(members []pair) string {
	if l.flat {
		var all []string
		for _, m := range members {
			all = append(all, quoted(m.key)+": "+m.value)
		}
		return "{" + strings.Join(all, ", ") + "}"
	}
	var b strings.Builder
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(l.end + l.in + l.unit + quoted(m.key) + ": " + m.value)
	}
	return "{" + b.String() + l.end + l.in + "}"
}

// around is an object with one member.
func (l layout) around(member func(layout) string) string {
	if l.flat {
		return "{" + member(l) + "}"
	}
	return "{" + l.end + l.in + l.unit + member(l.deeper()) + l.end + l.in + "}"
}

// into puts a member behind all others of an object, and behind the comments
// that follow them.
func (l layout) into(text []byte, v *hujson.Value, member func(layout) string) []edit {
	inside := text[v.StartOffset+1 : v.EndOffset-1]
	end := v.StartOffset + 1 + len(bytes.TrimRight(inside, " \t\r\n"))
	members := object(v)
	if len(members) == 0 {
		l.in, _ = indent(text, v.StartOffset)
		closing := ""
		if !bytes.ContainsRune(text[end:v.EndOffset], '\n') {
			closing = l.end + l.in
		}
		l = l.deeper()
		return []edit{insert(end, l.end+l.in+member(l)+closing)}
	}
	last := &members[len(members)-1]
	white, alone := indent(text, last.Name.StartOffset)
	if !alone {
		white, alone = indent(text, members[0].Name.StartOffset)
	}
	if !alone {
		l.flat = true
		return []edit{insert(last.Value.EndOffset, ", "+member(l))}
	}
	l.in = white
	if last.Value.AfterExtra != nil { // only with a comma behind it
		return []edit{insert(end, l.end+l.in+member(l)+",")}
	}
	return []edit{insert(last.Value.EndOffset, ","), insert(end, l.end+l.in+member(l))}
}

func treeJSON(text []byte) (map[string]any, error) {
	tree := map[string]any{}
	if len(bytes.TrimSpace(text)) == 0 {
		return tree, nil
	}
	plain, err := hujson.Standardize(ended(text))
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	return tree, d.Decode(&tree)
}
