package report

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A Tool is what a policy is drafted from: what a server says of it.
type Tool struct {
	policy.Tool
	Description string
}

// Draft writes a policy that asks about every tool of the server of that name, and of which
// nothing that the server says is anywhere but in a comment or a pattern.
func Draft(server string, tools []Tool) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, draftHead, comment(server), text.Counted(len(tools), "tool"))
	reading, others := byTheirWord(tools)
	b.WriteString("rules:\n")
	draftRule(&b, draftReading, "The server says that these only read. Change ask to allow where you agree.", reading)
	draftRule(&b, draftOthers, "These may change something, as far as the server says.", others)
	b.WriteString("  # What is no tool call: lists pass, all else has to be named here or follows the default.\n")
	for _, m := range draftMethods {
		fmt.Fprintf(&b, "  - {name: %s, ask: [\"*\"], methods: [%s]}\n", m.name, strings.Join(m.methods, ", "))
	}
	b.WriteString(draftFoot)
	b.WriteString("tests:\n  - {call: {method: resources/read, args: {uri: \"file:///etc/passwd\"}}, want: ask, by: resources}\n")
	if len(tools) == 0 {
		return b.Bytes()
	}
	fmt.Fprintf(&b, "  - {call: {tool: %s}, want: ask}\n", quotedPattern(tools[0].Name))
	fmt.Fprintf(&b, "  - {call: {tool: %s}, want: ask, by: default}\n", unlisted(tools))
	return b.Bytes()
}

// unlisted is a name that the pattern of no listed tool fits, so that the draft's
// default decides about it. A pattern of ours fits names of its own length only, so
// there is one for each to be held against.
func unlisted(tools []Tool) string {
	const name = "some_new_tool"
	taken := map[int]bool{} // by how many _ are behind the name
	for _, t := range tools {
		pattern := toolPattern(t.Name)
		if more := len(pattern) - len(name); more >= 0 {
			fits, _ := path.Match(pattern, name+strings.Repeat("_", more)) // no pattern of ours is malformed
			taken[more] = taken[more] || fits
		}
	}
	more := 0
	for taken[more] {
		more++
	}
	return name + strings.Repeat("_", more)
}

// byTheirWord parts the tools that are said to only read from the others.
func byTheirWord(tools []Tool) (reading, others []Tool) {
	for _, t := range tools {
		if only := t.Hints.ReadOnly; only != nil && *only {
			reading = append(reading, t)
		} else {
			others = append(others, t)
		}
	}
	return reading, others
}

const (
	draftReading = "says-it-reads"
	draftOthers  = "the-rest"
)

// draftMethods are the rules for what is no tool call.
var draftMethods = []struct {
	name    string
	methods []string
}{
	{"resources", []string{"resources/read", "resources/subscribe", "resources/unsubscribe"}},
	{"prompts", []string{"prompts/get", "completion/complete"}},
	{"tasks", []string{`"tasks/*"`}},
}

const draftHead = `# A first policy for: %s
#
# Drafted from its list of %s. It asks about every call. Behind each tool
# stand its arguments and what the server says about it, which nobody has
# checked. After a change: mcpx-bridge policy check FILE, policy test FILE.
version: 1
default: ask                       # allow, ask or deny: for what no rule names

asks:
  default:
    of: [local]                    # who may agree: local is you, at this machine; others by their id
    need: 1                        # how many of them must
    within: 5m                     # no answer until then is a no
    remember: [once, session]      # how far a yes may reach

`

const draftFoot = `
  # A deny holds whatever the others say, and an allow can be tied to arguments:
  # - {name: never, deny: ["delete_*"], say: Ask me by mail.}
  # - {name: docs, allow: [read_file], args: {path: {under: /srv/docs}}}

redact: ["*token*", "*password*", "*secret*"]   # arguments hidden on the topic and in the audit log

`

func draftRule(b *bytes.Buffer, name, about string, tools []Tool) {
	if len(tools) == 0 {
		return
	}
	fmt.Fprintf(b, "  # %s\n  - name: %s\n    ask:\n", about, name)
	width := 0
	for _, t := range tools {
		width = max(width, len(quotedPattern(t.Name)))
	}
	for _, t := range tools {
		fmt.Fprintf(b, "      - %-*s  # %s\n", min(width, 40), quotedPattern(t.Name), comment(inShort(t)))
	}
}

// inShort is what the server says of a tool, in one line.
func inShort(t Tool) string {
	parts := []string{"(" + arguments.Words(t.InputSchema) + ")"}
	if about := text.Summary(t.Description); about != "" {
		parts = append(parts, about+";")
	}
	for _, word := range t.Hints.Words() {
		parts = append(parts, word+",")
	}
	return strings.TrimRight(strings.Join(parts, " "), ",;")
}

// comment is text that a stranger wrote, made fit to stand behind a #.
func comment(said string) string { return text.Line(strings.Join(strings.Fields(said), " ")) }

// oddInPattern are characters that have no place, or a meaning of their own, in
// a pattern of tools. A question mark stands for any one.
var oddInPattern = regexp.MustCompile(`[^A-Za-z0-9_./-]`)

// toolPattern is a pattern that fits a tool's name, and where the name is odd at
// most names very like it.
func toolPattern(name string) string { return oddInPattern.ReplaceAllString(name, "?") }

func quotedPattern(name string) string {
	return string(jsonrpc.AppendQuote(nil, toolPattern(name)))
}

// A Drafted policy is the draft as JSON, which is a policy file too.
type Drafted struct {
	Version int           `json:"version"`
	Default string        `json:"default"`
	Rules   []DraftedRule `json:"rules"`
}

// A DraftedRule is one rule of it.
type DraftedRule struct {
	Name    string   `json:"name"`
	Ask     []string `json:"ask"`
	Methods []string `json:"methods,omitempty"`
}

// DraftJSON is the draft as JSON.
func DraftJSON(tools []Tool) Drafted {
	d := Drafted{Version: 1, Default: "ask", Rules: []DraftedRule{}}
	reading, others := byTheirWord(tools)
	for _, part := range []struct {
		name  string
		tools []Tool
	}{{draftReading, reading}, {draftOthers, others}} {
		r := DraftedRule{Name: part.name}
		for _, t := range part.tools {
			r.Ask = append(r.Ask, toolPattern(t.Name))
		}
		if r.Ask != nil {
			d.Rules = append(d.Rules, r)
		}
	}
	for _, m := range draftMethods {
		r := DraftedRule{Name: m.name, Ask: []string{"*"}}
		for _, method := range m.methods {
			r.Methods = append(r.Methods, strings.Trim(method, `"`))
		}
		d.Rules = append(d.Rules, r)
	}
	return d
}
