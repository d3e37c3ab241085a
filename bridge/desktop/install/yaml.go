package install

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	goccy "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
)

var yaml = form{read: readYAML, tree: treeYAML, assign: func(key string) string { return key + ": " }}

type yamlPage struct {
	text  []byte
	lines []int // where each begins
	key   string
	all   []slot
	seen  struct{ line, column, at int } // the place that was asked for last

	table *ast.MappingValueNode // nil: there are no servers
	next  int                   // where what follows the servers begins: the next key, or the end
	end   int                   // where the document ends
	empty bool                  // the table is there, with nothing in it
	flow  bool                  // the table is written in braces
	open  int                   // with flow, or empty: behind the brace, or behind the key's colon
	shut  int                   // with flow and empty: behind the closing brace
}

func (p *yamlPage) slots() []slot { return p.all }

func (p *yamlPage) way() []string { return []string{p.key} }

func readYAML(text []byte, way keys) (page, error) {
	p := &yamlPage{text: text, key: way[0][0], next: len(text), end: len(text), lines: lineStarts(text)}
	if at := loneReturn(text); at >= 0 {
		return nil, wrongAt(text, at, "a line ends in a carriage return alone here")
	}
	// The parser counts \r\n twice in places, so it is not shown any.
	tokens := lexer.Tokenize(string(unix(text)))
	if err := bounded(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, notYAML(err)
	}
	var body ast.Node
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil || d.End != nil && !p.ends(d.End.Position.Line) {
			return nil, wrongAt(text, p.offset(d.Body), "there is more than one document in the file")
		}
		body = d.Body
	}
	if body == nil || body.Type() == ast.CommentType {
		return p, nil
	}
	pairs, flow, ok := mapping(body)
	if !ok || flow {
		return nil, wrongAt(text, p.offset(body), "there should be keys, each in a line of its own")
	}
	return p, p.find(pairs)
}

// ends reports whether the ... of a line ends the whole file, with comments behind
// it at most. Nothing is put behind it then.
func (p *yamlPage) ends(line int) bool {
	at := p.offsetOf(line, 1)
	for rest := range bytes.Lines(p.text[min(at+len("..."), len(p.text)):]) {
		if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '#' {
			return false
		}
	}
	p.next, p.end = at, at
	return true
}

func unix(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }

func loneReturn(text []byte) int {
	for at, c := range text {
		if c == '\r' && (at+1 == len(text) || text[at+1] != '\n') {
			return at
		}
	}
	return -1
}

func lineStarts(text []byte) []int {
	starts := []int{0}
	for at, c := range text {
		if c == '\n' {
			starts = append(starts, at+1)
		}
	}
	return starts
}

func notYAML(err error) error {
	e := wrong("this is no YAML: %v", err)
	if at, ok := errors.AsType[goccy.Error](err); ok && at.GetToken() != nil {
		e.Line, e.Column, e.Msg = at.GetToken().Position.Line, at.GetToken().Position.Column, "this is no YAML: "+at.GetMessage()
	}
	return e
}

// offset is where a node begins.
func (p *yamlPage) offset(n ast.Node) int {
	at := n.GetToken().Position
	return p.offsetOf(at.Line, at.Column)
}

func (p *yamlPage) offsetOf(line, column int) int {
	if line < 1 || line > len(p.lines) {
		return len(p.text)
	}
	if line != p.seen.line || column < p.seen.column {
		p.seen.line, p.seen.column, p.seen.at = line, 1, p.lines[line-1]
	}
	for ; p.seen.column < column; p.seen.column++ {
		_, n := utf8.DecodeRune(p.text[p.seen.at:])
		p.seen.at += n
	}
	return p.seen.at
}

func mapping(n ast.Node) (pairs []*ast.MappingValueNode, flow, ok bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, n.IsFlowStyle, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, false, true
	}
	return nil, false, false
}

func keyText(m *ast.MappingValueNode) string {
	if s, ok := m.Key.(*ast.StringNode); ok {
		return s.Value
	}
	return m.Key.String()
}

// find looks for the table among the keys of the file.
func (p *yamlPage) find(pairs []*ast.MappingValueNode) error {
	for i, m := range pairs {
		if keyText(m) != p.key {
			continue
		}
		if p.table != nil {
			return wrongAt(p.text, p.offset(m.Key), "%s is there twice", p.key)
		}
		p.table = m
		if i+1 < len(pairs) {
			p.next = lineStart(p.text, p.offset(pairs[i+1].Key))
		}
	}
	if p.table == nil {
		return nil
	}
	if n, ok := p.table.Value.(*ast.NullNode); ok {
		p.empty, p.open = true, p.offset(p.table)+1
		p.shut = p.open
		if at := p.offset(n); at >= p.open { // it may be written, as ~ or null, or not
			for _, word := range []string{"~", "null", "Null", "NULL"} {
				if bytes.HasPrefix(p.text[at:], []byte(word)) {
					p.shut = at + len(word)
				}
			}
		}
		return nil
	}
	servers, flow, ok := mapping(p.table.Value)
	if !ok {
		return wrongAt(p.text, p.offset(p.table.Value), "%s should be keys, each with a server", p.key)
	}
	p.flow, p.empty = flow, len(servers) == 0
	if flow {
		n := p.table.Value.(*ast.MappingNode)
		p.open, p.shut = p.offset(n)+1, p.offsetOf(n.End.Position.Line, n.End.Position.Column)+1
	}
	for _, m := range servers {
		p.all = append(p.all, p.slot(m))
	}
	return nil
}

func (p *yamlPage) slot(m *ast.MappingValueNode) slot {
	s := slot{name: keyText(m), at: p.offset(m.Key), wrong: "it has no cmd"}
	members, flow, ok := mapping(m.Value)
	if !ok {
		s.wrong = "it should be keys and values"
		return s
	}
	var args *ast.MappingValueNode
	for _, f := range members {
		switch keyText(f) {
		case "uri", "url", "serverUrl", "httpUrl":
			s.remote = true
		case "cmd":
			p.command(&s, f, flow)
		case "args":
			args = f
		}
	}
	if args != nil && s.wrong == "" {
		p.args(&s, args)
	}
	return s
}

func (p *yamlPage) command(s *slot, f *ast.MappingValueNode, flow bool) {
	at, text, ok := p.scalar(f.Value)
	if !ok {
		s.wrong = "its cmd is no string in one line"
		return
	}
	s.wrong, s.entry.Command, s.command = "", text, at
	s.lead = func() string {
		if flow {
			return ", "
		}
		key := p.offset(f.Key)
		return newline(p.text) + strings.Repeat(" ", key-lineStart(p.text, key))
	}
}

// scalar is where a string stands, if it does so in one line.
func (p *yamlPage) scalar(n ast.Node) (span, string, bool) {
	s, ok := n.(*ast.StringNode)
	if !ok {
		return span{}, "", false
	}
	at := p.offset(n)
	line, _, _ := bytes.Cut(p.text[at:], []byte("\n"))
	to := len(inQuotes.Find(line))
	if len(line) > 0 && line[0] != '"' && line[0] != '\'' && bytes.HasPrefix(line, []byte(s.Value)) {
		to = len(s.Value)
	}
	return span{at, at + to}, s.Value, to > 0
}

// inQuotes finds a string in quotes that ends where a line goes on.
var inQuotes = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')`)

func (p *yamlPage) args(s *slot, f *ast.MappingValueNode) {
	seq, ok := f.Value.(*ast.SequenceNode)
	if !ok {
		s.wrong = "its args are no list"
		return
	}
	l := &list{block: !seq.IsFlowStyle, span: span{from: p.offset(seq)}, key: p.offset(f) + 1}
	for _, v := range seq.Values {
		at, text, ok := p.scalar(v)
		if !ok || l.block && !p.dashed(&at) {
			s.wrong = "its args are no list of strings, each in one line"
			return
		}
		s.entry.Args = append(s.entry.Args, text)
		l.items = append(l.items, at)
		l.to = at.to
	}
	if seq.IsFlowStyle {
		l.to = p.offsetOf(seq.End.Position.Line, seq.End.Position.Column) + 1
	}
	s.args = l
}

// dashed reports whether an item stands behind a dash in its line.
func (p *yamlPage) dashed(item *span) bool {
	before := string(p.text[lineStart(p.text, item.from):item.from])
	return strings.TrimLeft(before, " ") != "" && strings.Trim(before, " ") == "-"
}

func (p *yamlPage) add(name string, marks []pair, e Entry) ([]edit, error) {
	members := append(marks[:len(marks):len(marks)], pair{"cmd", quoted(e.Command)}, pair{"args", bracketed(e.Args)}, pair{"envs", "{" + e.variables(": ") + "}"})
	commented := p.empty && bytes.IndexByte(p.text[p.open:p.shut], '#') >= 0
	switch {
	case p.flow && (!p.empty || commented): // behind the brace, before any comment
		var all []string
		for _, m := range members {
			all = append(all, m.key+": "+m.value)
		}
		return []edit{insert(p.open, name+": {"+strings.Join(all, ", ")+"}, ")}, nil
	case commented: // beside a null, which is replaced whole
		wrong := wrongAt(p.text, p.open, "there is a comment in %s, which is empty, and it would be lost", p.key)
		wrong.Hint = "remove it first"
		return nil, wrong
	}
	end, in := newline(p.text), "  "
	if len(p.all) > 0 {
		in = strings.Repeat(" ", p.all[0].at-lineStart(p.text, p.all[0].at))
	}
	lines := []string{in + name + ":"}
	for _, m := range members {
		lines = append(lines, in+"  "+m.key+": "+m.value)
	}
	block := strings.Join(lines, end)
	switch {
	case p.table == nil:
		return []edit{p.append(p.key + ":" + end + block + end)}, nil
	case p.empty && p.flow:
		return []edit{{span{p.open - 1, p.shut}, end + block}}, nil
	case p.empty:
		return []edit{{span{p.open, p.shut}, end + block}}, nil
	}
	return []edit{p.behind(block + end)}, nil
}

// append puts lines at the end of the file.
func (p *yamlPage) append(lines string) edit {
	if p.end > 0 && !bytes.HasSuffix(p.text[:p.end], []byte("\n")) {
		lines = newline(p.text) + lines
	}
	return insert(p.end, lines)
}

// behind puts lines behind the last server, before the blank lines and the
// comments that belong to what follows.
func (p *yamlPage) behind(lines string) edit {
	at := p.next
	for at > 0 {
		start := lineStart(p.text, at-1)
		line := p.text[start:at]
		if white := bytes.TrimLeft(line, " \t\r\n"); len(white) > 0 && (white[0] != '#' || len(white) < len(line)) {
			break
		}
		at = start
	}
	if at == len(p.text) {
		return p.append(lines)
	}
	return insert(at, lines)
}

func treeYAML(text []byte) (map[string]any, error) {
	tree := map[string]any{}
	if err := goccy.Unmarshal(unix(text), &tree); err != nil {
		return nil, fmt.Errorf("this is no YAML: %w", err)
	}
	if tree == nil { // there is nothing in it but comments
		tree = map[string]any{}
	}
	return tree, nil
}
