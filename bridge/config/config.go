package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// An Entry is one key of a configuration file.
type Entry struct {
	Key    string
	At     string // line:column of the key
	Values []string
	List   bool // they stand in a list
}

// Max is the most bytes a configuration file may have.
const Max = 1 << 20

// Read reads a file, of [Max] bytes at most. It is not read where others than its owner could
// have written it: it may name a command that is run in the reader's name.
func Read(file string) ([]Entry, error) {
	text, err := private.Read(file, Max+1, private.Care{Check: private.Authored, Above: true})
	if err == nil && len(text) > Max {
		err = fmt.Errorf("%s has over %d bytes", file, Max)
	}
	switch {
	case errors.Is(err, private.ErrForeign):
		return nil, fault.New(fault.Misused, "make it yours (chown), or copy it to a folder of yours: it may name a command that runs as you", "--config: %w", err)
	case err != nil:
		return nil, fault.New(fault.Misused, "write a YAML file whose keys are names of flags", "--config: %w", err)
	}
	return Parse(file, text)
}

// Parse reads a mapping of keys to scalars or lists of scalars, in the order in which they
// stand. file is for errors alone.
func Parse(file string, text []byte) ([]Entry, error) {
	if refused := policy.OneBreak(text); refused != nil {
		return nil, fault.New(fault.Misused, refused.Suggestion, "%s:%d:%d: %s", file, refused.Line, refused.Column, refused.Message)
	}
	doc, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, notYAML(file, err)
	}
	var entries []Entry
	for _, d := range doc.Docs {
		if d.Body == nil {
			continue
		}
		pairs, err := mapping(d.Body)
		if err != nil {
			return nil, fault.New(fault.Misused, "write one setting per line, as key: value", "%s:%s: %w", file, place(d.Body), err)
		}
		for _, pair := range pairs {
			e := Entry{Key: keyText(pair.Key), At: place(pair.Key)}
			if slices.ContainsFunc(entries, func(x Entry) bool { return x.Key == e.Key }) {
				return nil, fault.New(fault.Misused, "keep one of them", "%s:%s: %s is there twice", file, e.At, e.Key)
			}
			if e.Values, e.List, err = scalars(pair.Value); err != nil {
				return nil, fault.New(fault.Misused, "write "+e.Key+": VALUE, or "+e.Key+": [VALUE, …] for what is repeatable", "%s:%s: %s: %w", file, e.At, e.Key, err)
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

func notYAML(file string, err error) error {
	at, what := "1:1", err.Error()
	if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
		p := e.GetToken().Position
		at, what = fmt.Sprintf("%d:%d", p.Line, p.Column), e.GetMessage()
	}
	return fault.New(fault.Misused, "write one setting per line, as key: value", "%s:%s: this is no YAML: %s", file, at, what)
}

func mapping(n ast.Node) ([]*ast.MappingValueNode, error) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, nil
	case *ast.CommentGroupNode:
		return nil, nil
	}
	return nil, fmt.Errorf("not a list of settings")
}

func keyText(key ast.MapKeyNode) string {
	if s, ok := key.(*ast.StringNode); ok {
		return s.Value
	}
	return key.String()
}

func scalars(n ast.Node) (values []string, list bool, err error) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		v, err := scalar(n)
		return []string{v}, false, err
	}
	for _, item := range seq.Values {
		v, err := scalar(item)
		if err != nil {
			return nil, true, err
		}
		values = append(values, v)
	}
	return values, true, nil
}

func scalar(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.NullNode:
		return "", fmt.Errorf("it has no value")
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	}
	return "", fmt.Errorf("neither a value nor a list of values")
}

func place(n ast.Node) string {
	pos := n.GetToken().Position
	return fmt.Sprintf("%d:%d", pos.Line, pos.Column)
}
