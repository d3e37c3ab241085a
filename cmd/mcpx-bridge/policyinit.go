package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/commandline"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func (p *program) policyInitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init [FLAGS] --from -- CMD [ARG…]",
		Short: "Draft a policy from the tools of a server",
		Long: `Draft a policy from the tools of a server, and print it.

The server is started, asked for its tools, and stopped; no tool is called. The
draft asks about every call, and about reading resources, getting prompts and all
else that is no list; a rule for each says so. What the server says about its own
tools stands in comments beside their names: it is the server's word, so it
loosens nothing. Move a tool to the rule that allows when you have read what it does.`,
		Example: `  mcpx-bridge policy init --from -- npx -y @modelcontextprotocol/server-filesystem /tmp > policy.yaml
  mcpx-bridge policy check policy.yaml -- npx -y @modelcontextprotocol/server-filesystem /tmp`,
		Args: positional(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.initPolicy(cmd, args) },
	}
	f := cmd.Flags()
	f.String("from", "", "draft `FROM` the server behind --, which is the only way there is")
	f.Lookup("from").NoOptDefVal = "server" // so that it does not take the -- for its value
	p.s.serverFlags(f)
	return cmd
}

func (p *program) initPolicy(cmd *cobra.Command, args []string) error {
	stray, argv := behindDash(cmd, args)
	if len(stray) > 0 {
		return misused("usage: "+cmd.UseLine(), "policy init: put -- before %q", stray[0])
	}
	if len(argv) == 0 && p.s.Server == "" {
		return misused("usage: "+cmd.UseLine(), "policy init needs the command of a server")
	}
	argv, err := p.command(argv)
	if err != nil {
		return err
	}
	tools, err := p.serverTools(cmd.Context(), argv)
	if err != nil {
		return err
	}
	text := draft(commandline.ID(argv), tools)
	if _, err := policy.Load("the draft", text); err != nil {
		return fail(exitFailed, "please report this, with the list of the tools", "the tools of this server make no policy: %w", err)
	}
	if p.s.JSON {
		text = jsonLine(newDrafted(tools))
	}
	if err := p.print(text); err != nil {
		return &failure{Exit: exitFailed}
	}
	p.log.Info("a draft with " + counted(len(tools), "tool") + "; save it, read it, change it, then: mcpx-bridge run --policy FILE")
	return nil
}

// draft writes a policy that asks about every tool.
func draft(server string, tools []tool) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, draftHead, comment(server), counted(len(tools), "tool"))
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
func unlisted(tools []tool) string {
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
func byTheirWord(tools []tool) (reading, others []tool) {
	for _, t := range tools {
		if only := hintsIn(t).ReadOnly; only != nil && *only {
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

func draftRule(b *bytes.Buffer, name, about string, tools []tool) {
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
func inShort(t tool) string {
	parts := []string{"(" + arguments.Words(t.InputSchema) + ")"}
	if text := summary(t.Description); text != "" {
		parts = append(parts, text+";")
	}
	h := hintsIn(t)
	if h.ReadOnly != nil && *h.ReadOnly {
		h.Destructive, h.Idempotent = nil, nil // they mean nothing then
	}
	for _, word := range []string{
		claim(h.ReadOnly, "only reads", "writes"),
		claim(h.Destructive, "may destroy", "destroys nothing"),
		claim(h.Idempotent, "twice is like once", ""),
		claim(h.OpenWorld, "reaches beyond its own data", "stays within its own data"),
	} {
		if word != "" {
			parts = append(parts, word+",")
		}
	}
	return strings.TrimRight(strings.Join(parts, " "), ",;")
}

// claim is the word for a hint, none where the server gives none.
func claim(hint *bool, yes, no string) string {
	switch {
	case hint == nil:
		return ""
	case *hint:
		return yes
	}
	return no
}

// comment is text that a stranger wrote, made fit to stand behind a #.
func comment(text string) string { return visible(strings.Join(strings.Fields(text), " ")) }

// oddInPattern are characters that have no place, or a meaning of their own, in
// a pattern of tools. A question mark stands for any one.
var oddInPattern = regexp.MustCompile(`[^A-Za-z0-9_./-]`)

// toolPattern is a pattern that fits a tool's name, and where the name is odd at
// most names very like it.
func toolPattern(name string) string { return oddInPattern.ReplaceAllString(name, "?") }

func quotedPattern(name string) string {
	return string(jsonrpc.AppendQuote(nil, toolPattern(name)))
}

// A drafted policy is the draft with --json. It is a policy file too.
type drafted struct {
	Version int           `json:"version"`
	Default string        `json:"default"`
	Rules   []draftedRule `json:"rules"`
}

type draftedRule struct {
	Name    string   `json:"name"`
	Ask     []string `json:"ask"`
	Methods []string `json:"methods,omitempty"`
}

func newDrafted(tools []tool) drafted {
	d := drafted{Version: 1, Default: "ask", Rules: []draftedRule{}}
	reading, others := byTheirWord(tools)
	for _, part := range []struct {
		name  string
		tools []tool
	}{{draftReading, reading}, {draftOthers, others}} {
		r := draftedRule{Name: part.name}
		for _, t := range part.tools {
			r.Ask = append(r.Ask, toolPattern(t.Name))
		}
		if r.Ask != nil {
			d.Rules = append(d.Rules, r)
		}
	}
	for _, m := range draftMethods {
		r := draftedRule{Name: m.name, Ask: []string{"*"}}
		for _, method := range m.methods {
			r.Methods = append(r.Methods, strings.Trim(method, `"`))
		}
		d.Rules = append(d.Rules, r)
	}
	return d
}
