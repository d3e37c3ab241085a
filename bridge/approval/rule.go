package approval

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// RulesHead begins a policy file of nothing but such rules as [Grant.Rule]
// writes. It allows what they name, and nothing else.
const RulesHead = "version: 1\ndefault: deny\nrules:\n"

// RuleName is what the grant is called as a rule of a policy file.
func (g *Grant) RuleName() string { return "granted-" + g.ID }

// Rule is the grant as one rule of a policy file, indented as a list below
// rules. It matches this caller, this tool and exactly these arguments, until
// the grant ends: each value that holds no others is compared, and everything
// that does is counted, so that nothing can be added.
//
// A rule cannot say how the tool was defined. Pinning does that (DESIGN 6).
func (g *Grant) Rule() string {
	var b strings.Builder
	var people []string
	for _, w := range g.By {
		people = append(people, Text(w.String()))
	}
	fmt.Fprintf(&b, "  # agreed by %s on %s", strings.Join(people, ", "), g.Made.UTC().Format(time.DateOnly))
	if len(g.Rules) > 0 {
		fmt.Fprintf(&b, ", asked by %s", Text(strings.Join(g.Rules, ", ")))
	}
	fmt.Fprintf(&b, "\n  - name: %s\n    allow: [%s]\n    from: [%s]\n    via: %s\n",
		g.RuleName(), plain(g.Tool), plain(g.Caller), plain(g.Via))
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

// maxRule is how many values a rule may compare and still be readable.
const maxRule = 64

var (
	ruleTool   = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,128}$`)
	ruleCaller = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	ruleNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?$`)
)

// writable reports whether Rule can say what the grant means and no more.
func (g *Grant) writable() bool {
	if g.Method != "tools/call" || !ruleTool.MatchString(g.Tool) || strings.HasPrefix(g.Tool, "re:") || !ruleCaller.MatchString(g.Caller) {
		return false
	}
	values, sizes := g.conditions()
	return values != nil && sizes != nil && len(values)+len(sizes) <= maxRule
}

// conditions are the tests of args and the counts that together mean exactly
// g.Args; nil if they cannot be written.
func (g *Grant) conditions() (values, sizes []string) {
	values, ok := []string{}, true
	var walk func(pointer, cel string, i int)
	walk = func(pointer, cel string, i int) {
		inArray := g.Args[i] == '['
		items := members(g.Args, i)
		if inArray {
			items = elements(g.Args, i)
		}
		n, at := 0, len(sizes)
		sizes = append(sizes, "")
		for item := range items {
			name, key := item.name, plain(item.name)
			if inArray {
				name = strconv.Itoa(n)
				key = name
			}
			n++
			if ok = ok && name != "" && name != "*" && len(sizes)+len(values) <= maxRule; !ok {
				return
			}
			inner := pointerTo(pointer, name)
			kind := map[byte]string{'{': "object", '[': "array"}[g.Args[item.start]]
			if kind != "" {
				values = append(values, plain(inner)+": {type: "+kind+"}")
				walk(inner, cel+"["+key+"]", item.start)
				continue
			}
			value, fits := literal(g.Args[item.start:item.end])
			ok = ok && fits
			values = append(values, plain(inner)+": {is: "+value+"}")
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

// plain writes a string in double quotes and ASCII, as both YAML and CEL read
// it.
func plain(s string) string {
	b := []byte{'"'}
	for _, r := range s {
		switch c := short(r); {
		case c != 0:
			b = append(b, '\\', c)
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
