package install

import (
	"bytes"
	"errors"
	"strings"

	pelletier "github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

var toml = form{read: readTOML, tree: treeTOML, assign: func(key string) string { return key + " = " }}

type tomlPage struct {
	text   []byte
	key    string
	closed bool // the servers are one inline table, to which nothing can be added
	all    []*slot
	named  map[string]*slot
}

func (p *tomlPage) slots() []slot {
	var all []slot
	for _, s := range p.all {
		if s.command == (span{}) && s.wrong == "" {
			s.wrong = "it has no command"
		}
		all = append(all, *s)
	}
	return all
}

// slot returns the one of a name; a server may be written in several places.
func (p *tomlPage) slot(name string, at int) *slot {
	s := p.named[name]
	if s == nil {
		s = &slot{name: name, at: at}
		p.named[name] = s
		p.all = append(p.all, s)
	}
	return s
}

func (p *tomlPage) way() []string { return []string{p.key} }

func readTOML(text []byte, way keys) (page, error) {
	key := way[0][0]
	p := &tomlPage{text: text, key: key, named: map[string]*slot{}}
	if bytes.Count(text, []byte("="))+bytes.Count(text, []byte("[")) > maxTokens {
		return nil, wrong("it has more than %d keys and tables", maxTokens)
	}
	tree, err := treeTOML(text) // the whole of TOML's rules, such as nothing being there twice
	if err != nil {
		return nil, notTOML(err)
	}
	if servers, ok := tree[key]; ok {
		if _, ok := servers.(map[string]any); !ok {
			return nil, wrong("%s should be a table", key)
		}
	}
	var table []string
	reader := &unstable.Parser{}
	reader.Reset(text)
	for reader.NextExpression() {
		switch e := reader.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = words(e.Key())
			if len(table) > 1 && table[0] == key {
				p.slot(table[1], int(e.Child().Raw.Offset))
			}
		case unstable.KeyValue:
			p.value(table, e, false)
		}
	}
	return p, reader.Error()
}

func notTOML(err error) error {
	e := wrong("this is no TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
	if at, ok := errors.AsType[*pelletier.DecodeError](err); ok {
		e.Line, e.Column = at.Position()
	}
	return e
}

func words(keys unstable.Iterator) []string {
	var all []string
	for keys.Next() {
		all = append(all, string(keys.Node().Data))
	}
	return all
}

// value notes what a key and its value say about a server, if anything.
func (p *tomlPage) value(table []string, kv *unstable.Node, inline bool) {
	path := append(table[:len(table):len(table)], words(kv.Key())...)
	if path[0] != p.key {
		return
	}
	if len(path) == 1 {
		p.closed = true
	}
	if len(path) > 1 {
		s := p.slot(path[1], int(kv.Raw.Offset))
		if len(path) == 3 {
			p.field(s, path[2], kv, inline)
		}
	}
	if v := kv.Value(); v.Kind == unstable.InlineTable && len(path) < 3 {
		for members := v.Children(); members.Next(); {
			if m := members.Node(); m.Kind == unstable.KeyValue {
				p.value(path, m, true)
			}
		}
	}
}

func (p *tomlPage) field(s *slot, key string, kv *unstable.Node, inline bool) {
	v := kv.Value()
	last := lastKey(kv)
	whole := span{int(kv.Raw.Offset), int(kv.Raw.Offset + kv.Raw.Length)}
	switch key {
	case "url", "uri", "serverUrl", "httpUrl":
		s.remote = true
	case "command":
		if v.Kind != unstable.String {
			s.wrong = "its command is no string"
			return
		}
		s.entry.Command, s.command = string(v.Data), rawSpan(v)
		s.lead = func() string {
			if inline {
				return ", "
			}
			white, _ := indent(p.text, whole.from) // the same dotted key, should it be one
			return newline(p.text) + white + string(p.text[whole.from:last.from])
		}
	case "args":
		p.args(s, v, span{p.valueStart(last.to), whole.to})
	}
}

func lastKey(kv *unstable.Node) span {
	var last span
	for keys := kv.Key(); keys.Next(); {
		last = rawSpan(keys.Node())
	}
	return last
}

func rawSpan(n *unstable.Node) span {
	return span{int(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)}
}

// valueStart is where the value begins that belongs to a key.
func (p *tomlPage) valueStart(key int) int {
	rest := p.text[key:]
	return key + len(rest) - len(bytes.TrimLeft(rest, " \t="))
}

func (p *tomlPage) args(s *slot, v *unstable.Node, whole span) {
	if v.Kind != unstable.Array {
		s.wrong = "its args are no list"
		return
	}
	s.args = &list{span: whole}
	for items := v.Children(); items.Next(); {
		item := items.Node()
		if item.Kind != unstable.String {
			s.wrong = "its args are no list of strings"
			return
		}
		s.entry.Args = append(s.entry.Args, string(item.Data))
		s.args.items = append(s.args.items, rawSpan(item))
	}
}

func (p *tomlPage) add(name string, marks []pair, e Entry) ([]edit, error) {
	if p.closed {
		return nil, &Error{Msg: p.key + " is an inline table, to which nothing can be added", Hint: "write its servers as [" + p.key + ".NAME] first"}
	}
	end := newline(p.text)
	lines := []string{"[" + p.key + "." + name + "]"}
	for _, m := range append(marks[:len(marks):len(marks)], pair{"command", quoted(e.Command)}, pair{"args", bracketed(e.Args)}) {
		lines = append(lines, m.key+" = "+m.value)
	}
	if len(e.Env) > 0 {
		lines = append(lines, "env = { "+e.variables(" = ")+" }")
	}
	before := ""
	if len(p.text) > 0 {
		before = end
		if !bytes.HasSuffix(p.text, []byte("\n")) {
			before += end
		}
	}
	return []edit{insert(len(p.text), before+strings.Join(lines, end)+end)}, nil
}

func treeTOML(text []byte) (map[string]any, error) {
	tree := map[string]any{}
	return tree, pelletier.Unmarshal(text, &tree)
}
