package approval

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// RulesHead begins a file of nothing but such rules as [Grant.Rule] writes. It
// allows what they name, and nothing else.
const RulesHead = "version: 1\ndefault: deny\nrules:\n"

const ruleStem = "granted-"

// RuleName is what the grant is called as a rule.
func (g *Grant) RuleName() string { return ruleStem + g.ID }

// Rule is the grant as one rule of a file of grants, indented as a list below
// rules. It matches this caller, this tool and exactly these arguments, until
// the grant ends: each value that holds no others is compared, and everything
// that does is counted, so that nothing can be added. What a rule cannot say
// stands under granted: who agreed when, in which room, and to which definition of
// which server's tool.
func (g *Grant) Rule() string {
	var b strings.Builder
	var people []string
	for _, w := range g.By {
		people = append(people, w.String())
	}
	fmt.Fprintf(&b, "  - name: %s\n    granted:\n      by: %s\n      on: %s\n", g.RuleName(), plainList(people), plain(g.Made.UTC().Format(time.RFC3339)))
	if len(g.Rules) > 0 {
		fmt.Fprintf(&b, "      asked: %s\n", plainList(g.Rules))
	}
	for _, said := range []struct{ key, value string }{{"topic", g.Topic}, {"gateway", g.Gateway}, {"server", g.Server}, {"dir", g.Dir}, {"command", g.Command}, {"definition", g.Fingerprint}, {"args", string(g.Args)}} {
		if said.value != "" {
			fmt.Fprintf(&b, "      %s: %s\n", said.key, plain(said.value))
		}
	}
	fmt.Fprintf(&b, "    allow: [%s]\n    from: [%s]\n    via: %s\n", plain(g.Tool), plain(g.Caller), plain(g.Via))
	values, sizes := g.conditions()
	if len(values) > 0 {
		b.WriteString("    args:\n")
	}
	for _, v := range values {
		b.WriteString("      " + v + "\n")
	}
	fmt.Fprintf(&b, "    when: %s\n    until: %s\n", plain(strings.Join(sizes, " && ")), plain(g.Until.UTC().Format(time.RFC3339)))
	return b.String()
}

// ReadGrants reads a file of such rules back, for [Options.Grants]. unbound are
// the rules of files that earlier versions wrote: they do not say all that a yes is
// bound to, so they stand for nothing any more. A rule that does not say what
// stands under its granted is an error, a *policy.LoadError like all others.
func ReadGrants(name string, text []byte) (grants []Grant, unbound []policy.Granted, err error) {
	_, all, err := policy.LoadGrants(name, text)
	if err != nil {
		return nil, nil, err
	}
	for _, of := range all {
		if of.By == nil || of.Dir == "" || of.Command == "" {
			unbound = append(unbound, of)
			continue
		}
		g, ok := grantOf(of)
		if !ok {
			return nil, nil, &policy.LoadError{File: name, Line: of.Line, Column: of.Column,
				Message:    "the rule " + of.Rule + " is not as it was written: what it allows is not what was agreed to",
				Suggestion: "delete it, and the call is asked about again; what is to hold for more than one call belongs into a policy"}
		}
		grants = append(grants, g)
	}
	return grants, unbound, nil
}

// grantOf is the grant that a rule stands for, if it is what Rule makes of it.
func grantOf(of policy.Granted) (g Grant, ok bool) {
	g = Grant{Keep: "always", Caller: of.Caller, Via: of.Via, Method: "tools/call", Tool: of.Tool, Topic: of.Topic, Gateway: of.Gateway, Server: of.Server, Dir: of.Dir, Command: of.Command, Fingerprint: of.Definition,
		Args: []byte(of.Args), Made: of.On, Until: of.Until, Rules: of.Asked}
	if g.ID, ok = strings.CutPrefix(of.Rule, ruleStem); !ok || len(of.Args) == 0 || of.Args[0] != '{' || jsonrpc.Scan(g.Args, jsonrpc.Judged, nil, nil) != nil {
		return g, false
	}
	for _, who := range of.By {
		g.By = append(g.By, named(who))
	}
	if !g.writable() {
		return g, false
	}
	_, again, err := policy.LoadGrants("", []byte(RulesHead+g.Rule()))
	return g, err == nil && again[0].Said == of.Said
}

// maxRule is how many values a rule may compare and still be readable.
const maxRule = 64

// Lengths are looked at apart: a pattern with a count is that many patterns.
var (
	ruleTool   = regexp.MustCompile(`^[A-Za-z0-9_.:/-]+$`)
	ruleCaller = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)
	ruleNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?$`)
)

// writable reports whether Rule can say what the grant means and no more.
func (g *Grant) writable() bool {
	if len(g.Beside) > 0 || g.Proposer != "" || g.Unverified || g.Topic == "" || g.Dir == "" || g.Command == "" || !utf8.ValidString(g.Dir) || g.Fingerprint == "" || len(g.By) == 0 {
		return false
	}
	if g.Method != "tools/call" || len(g.Tool) > 128 || !ruleTool.MatchString(g.Tool) || strings.HasPrefix(g.Tool, "re:") {
		return false
	}
	if len(g.Caller) > 64 || !ruleCaller.MatchString(g.Caller) {
		return false
	}
	values, sizes := g.conditions()
	return values != nil && sizes != nil && len(values)+len(sizes) <= maxRule
}

// conditions are the tests of args and the counts that together mean exactly
// g.Args; nil if they cannot be written.
func (g *Grant) conditions() (values, sizes []string) {
	values, ok := []string{}, true
	var walk func(pointer jsontext.Pointer, cel string, i int)
	walk = func(pointer jsontext.Pointer, cel string, i int) {
		n, at := 0, len(sizes)
		sizes = append(sizes, "")
		for item := range rawjson.Parts(g.Args, i) {
			name, key := item.Name, item.Name
			if g.Args[i] == '{' {
				key = plain(name)
			}
			n++
			if ok = ok && name != "" && name != "*" && len(sizes)+len(values) <= maxRule; !ok {
				return
			}
			inner := pointer.AppendToken(name)
			kind := map[byte]string{'{': "object", '[': "array"}[g.Args[item.Start]]
			if kind != "" {
				values = append(values, plain(string(inner))+": {type: "+kind+"}")
				walk(inner, cel+"["+key+"]", item.Start)
				continue
			}
			value, fits := literal(item.Of(g.Args))
			ok = ok && fits
			values = append(values, plain(string(inner))+": {is: "+value+"}")
		}
		sizes[at] = "size(" + cel + ") == " + strconv.Itoa(n)
	}
	walk("", "args", 0)
	if !ok {
		return nil, nil
	}
	return values, sizes
}

// literal writes a primitive as YAML that every reader takes for the same.
func literal(raw []byte) (text string, ok bool) {
	if s, ok := jsonrpc.Unquote(raw); ok {
		return plain(s), len(s) <= compactBytes
	}
	text = string(raw)
	return text, slices.Contains([]string{"true", "false", "null"}, text) || ruleNumber.MatchString(text)
}

func plainList(all []string) string {
	var quoted []string
	for _, s := range all {
		quoted = append(quoted, plain(s))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// plain writes a string in double quotes and ASCII, as both YAML and CEL read
// it.
func plain(s string) string {
	b := []byte{'"'}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r < unicode.MaxASCII && r >= ' ':
			b = append(b, byte(r))
		case r <= 0xFFFF:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
	}
	return string(append(b, '"'))
}
