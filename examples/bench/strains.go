package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// A strain is an input and what it is judged by: the two that take long together.
// The tool's name is large.
type strain struct {
	of, name string        // which part of the judgement, and what is special
	rules    string        // of the policy, beside one that allows the small call
	top      string        // another member of the policy
	schema   string        // of the tool; "" for none
	kind     string        // "": a call; what else has the payload in it: see frame
	payload  func() string // the arguments, or a text, as the uri of a resources/read or the reason of a proposal
}

// policyText is what a bridge has for rules while it is strained.
func (s strain) policyText() string {
	rules := ", " + s.rules
	if s.rules == "" {
		rules = ""
	}
	return "version: 1\ndefault: deny\nasks: {alice: {of: [alice], within: 60s}}\nrules: [{allow: clock}" + rules + "]\n" + s.top + "\n"
}

// tool is how the server lists it.
func (s strain) tool() string {
	if s.schema == "" {
		return `{"name":"large"}`
	}
	return `{"name":"large","inputSchema":` + s.schema + `}`
}

// frame is the input as somebody says it to fs.
func (s strain) frame(from, id, payload string) []byte {
	kind, body := "mcp/request:tools/call:large", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"large","arguments":`+payload+`}}`
	switch s.kind {
	case "uri":
		kind, body = "mcp/request:resources/read", `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"`+payload+`"}}`
	case "proposal":
		kind, body = "mcp/proposal:tools/call:large", `{"method":"tools/call","params":{"name":"large","arguments":`+payload+`}}`
	case "reason":
		kind, body = "mcp/proposal:tools/call:large", `{"method":"tools/call","params":{"name":"large","arguments":{}},"reason":"`+payload+`"}`
	case "name":
		kind, body = "mcp/request:tools/call", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"`+payload+`","arguments":{}}}`
	case "initialize":
		kind, body = "mcp/request:initialize", `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"`+payload+`"}}`
	case "beside":
		body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"large","arguments":{},"task":"` + payload + `"}}`
	case "withdraw":
		kind, body = `mcp/withdraw","correlation_id":"large`, `{"reason":"`+payload+`"}`
	case "presence":
		from, kind, body = "system:gateway", "system/presence", `{"event":"join","participant":{"id":"zed","name":"`+payload+`","capabilities":["mcp/*"]}}`
	}
	return []byte(`{"protocol":"mcpx/v0.1","id":"` + id + `","ts":"2026-01-01T00:00:00Z","from":"` + from + `","to":["fs"],"kind":"` + kind + `","payload":` + body + `}`)
}

// room is what arguments may have of the 16 MiB that a frame may have.
const room = 15 << 20

// fill repeats one until it has so many bytes, with commas between.
func fill(one string, bytes int) string { return times(one, bytes/(len(one)+1)) }

func times(one string, n int) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }

func text(key, value string) string { return `{"` + key + `":"` + value + `"}` }

func list(key, items string) string { return `{"` + key + `":[` + items + `]}` }

// rule is a deny and an allow with one condition, so that both sides of it are judged.
func rule(condition string) string {
	return "{deny: large, " + condition + "}, {allow: large, " + condition + "}"
}

// twoPatterns let what is only A pass, at the end.
const twoPatterns = `{"properties":{"a":{"pattern":".*A[0-9A-Z]{30}b|A$"},"b":{"pattern":".*A[0-9A-Z]{30}b|A$"}}}`

// twice begins arguments with so much for each of them.
func twice(n int) string {
	return `{"a":"` + strings.Repeat("A", n) + `","b":"` + strings.Repeat("A", n) + `"`
}

// strains are what was found to take long (FINDINGS M3), and what fits just
// within the bounds that were set to that. Each subject has several: which is the
// worst changes with the code.
func strains() []strain {
	return slices.Concat(pathStrains(), regexStrains(), celStrains(), schemaStrains(), askedStrains(), otherStrains(), wordStrains())
}

func pathStrains() []strain {
	escaped := strings.Repeat("/aé%41", 8<<10)
	return []strain{
		{of: "paths", name: "a path of 4.7 MB", rules: rule(`args: {path: {under: /srv}}`), payload: func() string { return text("path", strings.Repeat("/a", 4_700_000/2)) }},
		{of: "paths", name: "2000 paths of 2 KB", rules: rule(`args: {"/paths/*": {under: /srv}}`), payload: func() string { return list("paths", times(`"`+escaped[:2100]+`"`, 2000)) }},
		{of: "paths", name: "a path of 32 KiB, escaped", rules: rule(`args: {path: {under: [/srv, /home]}}`), payload: func() string { return text("path", escaped[:32<<10]) }},
		{of: "paths", name: "49 000 short paths", rules: rule(`args: {"/paths/*": {under: /srv}}`), payload: func() string { return list("paths", times(`"/%41é"`, 49_000)) }},
		{of: "paths", name: "15 MiB of paths", rules: rule(`args: {"/paths/*": {under: /srv}}`), payload: func() string { return list("paths", fill(`"`+strings.Repeat("/a", 200)+`"`, room)) }},
		{of: "globs", name: "2000 paths of 2 KB", rules: rule(`args: {"/paths/*": {glob: ["**/.ssh/**"]}}`), payload: func() string { return list("paths", times(`"`+escaped[:2100]+`"`, 2000)) }},
		{of: "globs", name: "200 patterns, 1000 paths", rules: rule(`args: {"/paths/*": {glob: [` + times(`"**/a*b*c*d/**/e"`, 200) + `]}}`), payload: func() string { return list("paths", times(`"`+strings.Repeat("/a", 100)+`"`, 1000)) }},
		{of: "globs", name: "stars against one name of 32 KB", rules: rule(`args: {path: {glob: ["**/` + strings.Repeat("*a", 20) + `b"]}}`), payload: func() string { return text("path", "/"+strings.Repeat("a", 30<<10)) }},
		{of: "globs", name: "a path of 30 KB, 10 patterns", rules: rule(`args: {path: {glob: [` + times(`"**/.ssh/**/a*b*c"`, 10) + `]}}`), payload: func() string { return text("path", strings.Repeat("/aé", 7<<10)) }},
	}
}

func regexStrains() []strain {
	twelve := []string{}
	for i := range 12 {
		twelve = append(twelve, fmt.Sprintf(`".*%c[0-9a-z]{30}%d.*"`, 'a'+i, i))
	}
	return []strain{
		{of: "regex", name: "12 patterns, 5 MB", rules: rule(`args: {text: {regex: [` + strings.Join(twelve, ",") + `]}}`), payload: func() string { return text("text", strings.Repeat("a", 5_000_000)) }},
		{of: "regex", name: "12 patterns, texts of 1 KB", rules: rule(`args: {"/t/*": {regex: [` + strings.Join(twelve, ",") + `]}}`), payload: func() string { return list("t", fill(`"`+strings.Repeat("a", 1000)+`"`, room)) }},
		{of: "regex", name: "400 places open, 9 KB", rules: rule(`args: {text: {regex: ".*A[0-9A-Z]{400}b.*"}}`), payload: func() string { return text("text", strings.Repeat("A", 9300)) }},
		{of: "regex", name: "a simple one, 256 KiB", rules: rule(`args: {text: {regex: ".*(é|ü)x.*"}}`), payload: func() string { return text("text", strings.Repeat("é", 128<<10)) }},
		{of: "regex", name: "has, 15 MiB", rules: rule(`args: {text: {has: [aaaaaaaab]}}`), payload: func() string { return text("text", strings.Repeat("a", room)) }},
	}
}

func celStrains() []strain {
	return []strain{
		{of: "CEL", name: "exists, 6 MB", rules: rule(`when: 'args.tags.exists(t, t == args.title)'`), payload: func() string {
			return `{"tags":[` + times(`"x"`, 40_000) + `],"title":"` + strings.Repeat("a", 6_000_000) + `"}`
		}},
		{of: "CEL", name: "exists, 250 KB and 60 000", rules: rule(`when: 'args.tags.exists(t, t == args.title)'`), payload: func() string {
			return `{"tags":[` + times(`"x"`, 60_000) + `],"title":"` + strings.Repeat("a", 250_000) + `"}`
		}},
		{of: "CEL", name: "exists, 60 KB and 49 000", rules: rule(`when: 'args.tags.exists(t, t == args.title)'`), payload: func() string {
			return `{"tags":[` + times(`"`+strings.Repeat("a", 200)+`"`, 49_000) + `],"title":"` + strings.Repeat("a", 60_000) + `"}`
		}},
		{of: "CEL", name: "size and +, 5 MB", rules: rule(`when: 'size(args.title + args.title + args.title) > 3'`), payload: func() string { return text("title", strings.Repeat("a", 5_000_000)) }},
		{of: "CEL", name: "size, 60 KB and 40 000", rules: rule(`when: 'args.tags.all(t, size(args.title) > 3)'`), payload: func() string {
			return `{"tags":[` + times(`"x"`, 40_000) + `],"title":"` + strings.Repeat("é", 30_000) + `"}`
		}},
		{of: "CEL", name: "joined, 60 KB and 20 000", rules: rule(`when: 'size(args.tags.map(t, args.title).join("")) > 4'`), payload: func() string {
			return `{"tags":[` + times(`"x"`, 20_000) + `],"title":"` + strings.Repeat("a", 60_000) + `"}`
		}},
		{of: "CEL", name: "lists compared", rules: rule(`when: 'args.a.exists(t, args.a != args.b)'`), payload: func() string {
			return `{"a":[` + times(`"x"`, 20_000) + `],"b":[` + times(`"x"`, 20_000) + `]}`
		}},
		{of: "CEL", name: "numbers", rules: rule(`when: 'args.a.all(n, n > 1)'`), payload: func() string { return list("a", times("1."+strings.Repeat("3", 380), 40_000)) }},
		{of: "CEL", name: "keys beyond ASCII", rules: rule(`when: 'args.a.all(o, o.name == "x")'`), payload: func() string { return list("a", times(`{"nåme":"x","name":"y"}`, 15_000)) }},
	}
}

func schemaStrains() []strain {
	alternatives := []string{}
	for i := range 200 {
		alternatives = append(alternatives, fmt.Sprintf(`{"type":"object","required":["k%d"]}`, i))
	}
	oneOf := `{"properties":{"a":{"items":{"oneOf":[` + strings.Join(alternatives, ",") + `]}}}}`
	byAddress := `{"$id":"https://x/r","$ref":"r#/$defs/n","$defs":{"n":{"anyOf":[{"properties":{"x":{"$ref":"r#/$defs/n"}},"required":["a"]},{"properties":{"x":{"$ref":"r#/$defs/n"}},"required":["b"]}]}}}`
	return []strain{
		{of: "schema", name: "a pattern, 4 MB", schema: `{"properties":{"a":{"pattern":".*A[0-9A-Z]{30}b"}}}`, payload: func() string { return text("a", strings.Repeat("A", 4<<20)) }},
		{of: "schema", name: "a pattern, 140 KB", schema: `{"properties":{"a":{"pattern":".*A[0-9A-Z]{30}b"}}}`, payload: func() string { return text("a", strings.Repeat("A", 140_000)) }},
		{of: "schema", name: "200 alternatives, 20 000 things", schema: oneOf, payload: func() string { return list("a", times(`{}`, 20_000)) }},
		{of: "schema", name: "200 alternatives, 230 things", schema: oneOf, payload: func() string { return list("a", times(`{}`, 230)) }},
		{of: "schema", name: "leads to itself by its address, twice", schema: byAddress, payload: func() string { return strings.Repeat(`{"x":`, 20) + "{}" + strings.Repeat("}", 20) }},
		{of: "schema", name: "250 000 numbers", schema: `{"properties":{"a":{"items":{"type":"integer"}}}}`, payload: func() string { return list("a", times(`1`, 250_000)) }},
		{of: "schema", name: "40 000 numbers", schema: `{"properties":{"a":{"items":{"type":"integer"}}}}`, payload: func() string { return list("a", times(`1`, 40_000)) }},
		{of: "schema", name: "15 MiB of escapes", schema: `{"properties":{"a":{"maxLength":9}}}`, payload: func() string { return text("a", strings.Repeat(`\u00e9`, room/6)) }},
		{of: "schema", name: "100 000 unknown keys", schema: `{"additionalProperties":false}`, payload: func() string { return keys("k", 100_000) }},
		{of: "schema", name: "twins", schema: `{"properties":{"a":{"uniqueItems":true}}}`, payload: func() string { return list("a", times(`{"l":[`+times("1", 10_000)+`]}`, 19)) }},
	}
}

// readable is what somebody may be asked about.
const readable = approval.MaxAsked - 16

const asksAlice = "{ask: large, as: alice}"

func askedStrains() []strain {
	return []strain{
		{of: "redaction", name: "8000 long keys", rules: asksAlice, top: `redact: ["*a*b*c*token*", "/x/*/y"]`, payload: func() string { return list("a", times(`{"`+strings.Repeat("ab", 62)+`":1}`, 8000)) }},
		{of: "redaction", name: "8000 secrets", rules: asksAlice, payload: func() string { return list("a", times(`{"token":"x"}`, 8000)) }},
		{of: "redaction", name: "8000 keys beyond ASCII", rules: asksAlice, payload: func() string { return list("a", times(`{"`+strings.Repeat("é", 15)+`":1}`, 8000)) }},
		{of: "redaction", name: "reason of a proposal", rules: asksAlice, kind: "reason", payload: func() string { return strings.Repeat("token=a ", room/8) }},
		{of: "asked", name: "15 MiB of text", rules: asksAlice, payload: func() string { return text("a", strings.Repeat("a", room)) }},
		{of: "asked", name: "15 MiB that nobody sees", rules: asksAlice, payload: func() string { return text("a", strings.Repeat("\u200b", room/3)) }},
		{of: "asked", name: "250 000 things", rules: asksAlice, payload: func() string { return list("a", times(`{}`, 250_000)) }},
		{of: "asked", name: "1 MiB of text", rules: asksAlice, payload: func() string { return text("a", strings.Repeat("a", readable)) }},
		{of: "asked", name: "1 MiB of escapes", rules: asksAlice, payload: func() string { return text("a", strings.Repeat(`\u00e9`, readable/6)) }},
		{of: "asked", name: "1 MiB of line breaks", rules: asksAlice, payload: func() string { return text("a", strings.Repeat(`\n`, readable/2)) }},
		{of: "asked", name: "1 MiB beyond ASCII", rules: asksAlice, payload: func() string { return text("a", strings.Repeat("é", readable/2)) }},
		{of: "asked", name: "1 MiB that nobody sees", rules: asksAlice, payload: func() string { return text("a", strings.Repeat("\u200b", readable/3)) }},
		{of: "asked", name: "16 000 keys", rules: asksAlice, payload: func() string { return keys("k", 16_000) }},
		{of: "asked", name: "16 000 keys beyond ASCII", rules: asksAlice, payload: func() string { return keys("ключ", 16_000) }},
		{of: "asked", name: "a proposal, 1 MiB", rules: asksAlice, kind: "proposal", payload: func() string { return text("a", strings.Repeat(`\u200b`, readable/6)) }},
		{of: "asked", name: "a proposal, 15 MiB", rules: asksAlice, kind: "proposal", payload: func() string { return text("a", strings.Repeat("a", room)) }},
		{of: "asked", name: "a proposal, 250 000 things", rules: asksAlice, kind: "proposal", payload: func() string { return list("a", times(`{}`, 250_000)) }},
	}
}

func otherStrains() []strain {
	return []strain{
		{of: "long number", name: "15 MiB of digits, min", rules: rule(`args: {n: {min: 5}}`), payload: func() string { return `{"n":` + strings.Repeat("7", room) + `}` }},
		{of: "long number", name: "15 MiB of digits, schema", schema: `{"properties":{"n":{"type":"integer","maximum":5}}}`, payload: func() string { return `{"n":` + strings.Repeat("7", room) + `}` }},
		{of: "long number", name: "15 MiB of digits, asked", rules: asksAlice, payload: func() string { return `{"n":` + strings.Repeat("7", room) + `}` }},
		{of: "long number", name: "15 MiB of digits, CEL", rules: rule(`when: 'args.n > 5'`), payload: func() string { return `{"n":` + strings.Repeat("7", room) + `}` }},
		{of: "long number", name: "2000 of 400 digits", rules: rule(`args: {"/n/*": {min: 5}}`), payload: func() string { return list("n", times(`1.`+strings.Repeat("3", 380)+`e-390`, 2000)) }},
		{of: "any rule", name: "15 MiB of escapes", rules: rule(`args: {a: {is: x}}`), payload: func() string { return text("b", strings.Repeat(`\u00e9`, room/6)) }},
		{of: "any rule", name: "15 MiB beyond ASCII", rules: rule(`args: {a: {is: x}}`), payload: func() string { return text("b", strings.Repeat("é", room/2)) }},
		{of: "any rule", name: "250 000 things", rules: rule(`args: {a: {is: x}}`), payload: func() string { return list("b", times("{}", 250_000)) }},
		{of: "any rule", name: "keys beyond ASCII", rules: rule(`args: {a: {is: x}}`), payload: func() string { return keys("é", 20_000) }},
		{of: "any rule", name: "every string, 49 000", rules: rule(`args: {"**": {has: [xyz]}}`), payload: func() string { return list("b", times(`"`+strings.Repeat("a", 300)+`"`, 49_000)) }},
		{of: "any rule", name: "a uri of 15 MiB", rules: `{deny: "file*x*", methods: [resources/read]}, {ask: "*", methods: [resources/read], as: alice}`, kind: "uri", payload: func() string { return strings.Repeat("a", room) }},
		{of: "together", name: "schema, regex, escapes", schema: twoPatterns, rules: rule(`args: {a: {regex: ".*A[0-9A-Z]{60}b.*"}}`), payload: func() string {
			return twice(43_000) + `,"c":"` + strings.Repeat(`\u00e9`, 700_000) + `"}`
		}},
		{of: "together", name: "schema, regex, beyond ASCII", schema: twoPatterns, rules: rule(`args: {a: {regex: ".*A[0-9A-Z]{60}b.*"}}`), payload: func() string {
			return twice(35_000) + `,"c":"` + strings.Repeat("é", (room-70_000)/2) + `"}`
		}},
		{of: "together", name: "schema, regex, redaction, asked", schema: twoPatterns, rules: `{allow: large, args: {a: {regex: ".*A[0-9A-Z]{60}b.*"}}}, ` + asksAlice, payload: func() string {
			return twice(28_000) + `,"c":[` + times(`{"`+strings.Repeat("é", 15)+`":1}`, 8000) + `]}`
		}},
		{of: "no rule", name: "15 MiB of text", payload: func() string { return text("a", strings.Repeat("a", room)) }},
		{of: "no rule", name: "250 000 things", payload: func() string { return list("a", times(`{}`, 250_000)) }},
		{of: "no rule", name: "a proposal, 250 000 things", kind: "proposal", payload: func() string { return list("a", times(`{}`, 250_000)) }},
		{of: "no rule", name: "a proposal, 15 MiB of escapes", kind: "proposal", payload: func() string { return text("a", strings.Repeat(`\u00e9`, room/6)) }},
	}
}

// wordStrains are long where nobody expects it, and written with escapes: these take
// longer to read than anything else of that length.
func wordStrains() (all []strain) {
	for _, text := range []struct{ name, one string }{{"letters", "a"}, {"line breaks", `\n`}, {"quotes", `\"`}, {"escapes", `\u00e9`}, {"U+2028", "\u2028"}} {
		payload := func() string { return strings.Repeat(text.one, room/len(text.one)) }
		arguments := func() string { return `{"b":"` + payload() + `"}` }
		for _, kind := range []string{"name", "initialize", "withdraw", "presence", "uri", "reason"} {
			all = append(all, strain{of: "words", name: "a " + kind + " of " + text.name, kind: kind, payload: payload})
		}
		all = append(all,
			strain{of: "words", name: "allowed, " + text.name, rules: "{allow: large}", payload: arguments},
			strain{of: "words", name: "beside, " + text.name, rules: "{allow: large}", kind: "beside", payload: payload},
			strain{of: "words", name: "any rule, " + text.name, rules: rule(`args: {a: {is: x}}`), payload: arguments},
			strain{of: "words", name: "a schema, " + text.name, schema: `{"properties":{"a":{"maxLength":9}}}`, payload: arguments},
			strain{of: "words", name: "a proposal, " + text.name, rules: "{allow: large}", top: "proposals: {fulfil: policy}", kind: "proposal", payload: arguments})
	}
	return all
}

// keys are so many members of an object.
func keys(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%s%d":0`, prefix, i)
	}
	return "{" + b.String()[1:] + "}"
}
