package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A setting's value comes from the command line, else from the environment,
// else from the configuration file, else it is the flag's default. A list is
// taken whole from the first of them that has it.

// settle fills in what the command line left open.
func (p *program) settle(cmd *cobra.Command) error {
	open := map[string]*pflag.Flag{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Changed:
			p.given = append(p.given, f)
		case !isHelp(f):
			open[f.Name] = f
		}
	})
	for _, name := range sortedKeys(open) {
		if taken, err := p.fromEnv(cmd.Flags(), open[name]); err != nil {
			return err
		} else if taken {
			delete(open, name)
		}
	}
	for _, f := range p.given {
		if why := saysNothing(f); why != "" {
			return misused(emptyHint, "--%s %s", f.Name, why).Also(flagHint(f))
		}
	}
	if p.s.Config == "" {
		return nil
	}
	return fromFile(p.s.Config, cmd.Flags(), open, knownFlags(cmd.Root()))
}

// saysNothing is what is wrong with a flag that was set to nothing. As if it were not
// there, a policy or the digest of what was looked at would be missing without a
// word. Where a number is 0 by default, that is how "not given" is spelled.
func saysNothing(f *pflag.Flag) string {
	values := []string{f.Value.String()}
	if many, ok := f.Value.(pflag.SliceValue); ok {
		values = many.GetSlice()
	}
	switch {
	case len(values) == 0 || slices.Contains(values, ""):
		return "is empty"
	case (f.DefValue == "0" || f.DefValue == "0s") && values[0] == f.DefValue:
		return "must be more than nothing"
	}
	return ""
}

// fromEnv sets a flag from its variable, if there is one.
func (p *program) fromEnv(flags *pflag.FlagSet, f *pflag.Flag) (bool, error) {
	key := flagEnv(f.Name)
	text := p.getenv(key)
	if text == "" {
		return false, nil
	}
	for _, value := range listed(f, text) {
		if err := flags.Set(f.Name, value); err != nil {
			return false, misused(flagHint(f), "%s in the environment: %s", key, reason(err))
		}
	}
	if why := saysNothing(f); why != "" {
		return false, misused(flagHint(f), "%s in the environment: it %s", key, why)
	}
	return true, nil
}

// listed splits the variable of a repeatable flag: at line ends, else at commas.
// The values of --env may have commas, so there only line ends count.
func listed(f *pflag.Flag, text string) []string {
	sep := ","
	switch {
	case f.Value.Type() != "stringArray":
		return []string{text}
	case f.Name == "env", strings.Contains(text, "\n"):
		sep = "\n"
	}
	var values []string
	for v := range strings.SplitSeq(text, sep) {
		if v = strings.TrimSpace(v); v != "" {
			values = append(values, v)
		}
	}
	return values
}

// strays names variables that look like ours but are none: spelling mistakes,
// and flags whose variable has another name.
func (p *program) strays(root *cobra.Command) {
	known := map[string]string{"AUTH_TOKEN": "AUTH_TOKEN"} // what is likely to be written -> what is meant
	for name := range knownFlags(root) {
		ours := strings.TrimPrefix(flagEnv(name), "MCPX_")
		known[ours], known[upperSnake(name)] = ours, ours
	}
	for _, kv := range p.environ() {
		key, _, _ := strings.Cut(kv, "=")
		name, ours := strings.CutPrefix(key, "MCPX_")
		if !ours || known[name] == name {
			continue
		}
		if meant := known[policy.Nearest(name, sortedKeys(known))]; meant != "" {
			p.log.Warn("the environment has "+visible(key)+", which is not ours", "meant", "MCPX_"+meant)
		}
	}
}

// maxConfig is the most bytes a configuration file may have.
const maxConfig = 1 << 20

// fromFile sets the open flags from a YAML file. Keys of flags that this
// command does not have are left for the commands that do; keys that no
// command has are errors.
func fromFile(file string, flags *pflag.FlagSet, open, known map[string]*pflag.Flag) error {
	text, err := private.Read(file, maxConfig+1, private.Care{Check: private.Authored, Above: true})
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("%s has over %d bytes", file, maxConfig)
	}
	switch {
	case errors.Is(err, private.ErrForeign):
		return misused("it may name a command that is run in your name: give it to yourself (chown), or copy it to a folder of yours", "--config: %w", err)
	case err != nil:
		return misused("it is a YAML file, whose keys are the names of flags", "--config: %w", err)
	}
	entries, err := readYAML(file, text)
	if err != nil {
		return err
	}
	for _, e := range entries {
		f, ok := known[e.key]
		if !ok || e.key == "config" {
			return misused(unknownKeyHint(e.key, known), "%s:%s: unknown key %q", file, e.at, e.key)
		}
		if e.list && f.Value.Type() != "stringArray" && f.Value.Type() != "stringSlice" {
			return misused("give it one value", "%s:%s: %s takes no list", file, e.at, e.key)
		}
		if open[e.key] == nil {
			continue
		}
		for _, value := range e.values {
			if err := flags.Set(e.key, value); err != nil {
				return misused(flagHint(f), "%s:%s: %s: %s", file, e.at, e.key, reason(err))
			}
		}
		if why := saysNothing(open[e.key]); why != "" && len(e.values) > 0 {
			return misused(flagHint(f), "%s:%s: %s %s", file, e.at, e.key, why)
		}
	}
	return nil
}

func unknownKeyHint(key string, known map[string]*pflag.Flag) string {
	if key == "token" {
		return tokenHint
	}
	if meant := policy.Nearest(strings.ReplaceAll(key, "_", "-"), sortedKeys(known)); meant != "" {
		return "did you mean " + meant + "?"
	}
	return "keys are the names of flags, without the dashes"
}

// An entry is one key of a configuration file.
type entry struct {
	key    string
	at     string // line:column of the key
	values []string
	list   bool
}

// readYAML reads a mapping of keys to scalars or lists of scalars.
func readYAML(file string, text []byte) ([]entry, error) {
	if refused := policy.OneBreak(text); refused != nil {
		return nil, misused(refused.Suggestion, "%s:%d:%d: %s", file, refused.Line, refused.Column, refused.Message)
	}
	doc, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, notYAML(file, err)
	}
	var entries []entry
	for _, d := range doc.Docs {
		if d.Body == nil {
			continue
		}
		pairs, err := mapping(d.Body)
		if err != nil {
			return nil, misused("write one setting per line, as key: value", "%s:%s: %w", file, place(d.Body), err)
		}
		for _, pair := range pairs {
			e := entry{key: keyText(pair.Key), at: place(pair.Key)}
			if slices.ContainsFunc(entries, func(x entry) bool { return x.key == e.key }) {
				return nil, misused("keep one of them", "%s:%s: %s is there twice", file, e.at, e.key)
			}
			if e.values, e.list, err = scalars(pair.Value); err != nil {
				return nil, misused("write "+e.key+": VALUE, or "+e.key+": [VALUE, …] for what is repeatable", "%s:%s: %s: %w", file, e.at, e.key, err)
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
	return misused("write one setting per line, as key: value", "%s:%s: this is no YAML: %s", file, at, what)
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
