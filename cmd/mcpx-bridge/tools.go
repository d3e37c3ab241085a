package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// listTime is how long a participant may take to list its tools, once it has begun.
const listTime = 10 * time.Second

func (p *program) toolsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tools [FLAGS] [PEER]",
		Short: "List the tools of the topic, or of one participant",
		Long: `List the tools of the topic, or of one participant.

Formats:
  table      for people
  json       one tool per line, as its server defines it, with its peer
  openai     a list for the "tools" of OpenAI's API, named peer__tool
  anthropic  the same for Anthropic's API

A name that cannot be written as peer__tool without loss gets a short digest
behind it. It stays the same as long as peer and tool keep their names; it is the
one that serve shows, and call takes it. The last two leave out what a server says
is for its app and not for models.

In --include and --exclude, PATTERN is for PEER/NAME, and * stands for any
characters. How many tools are left out stands on stderr.`,
		Example: `  mcpx-bridge tools
  mcpx-bridge tools filesystem --json
  mcpx-bridge tools --format openai --limit 128 --exclude '*/delete_*' > tools.json`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.listTools(cmd.Context(), args) },
	}
	p.s.roomFlags(cmd.Flags())
	p.s.callFlags(cmd.Flags())
	cmd.Flags().StringVar(&p.s.Format, "format", "table", "the `FORMAT`: table, json, openai or anthropic")
	cmd.Flags().IntVar(&p.s.Limit, "limit", 0, "list at most `N` tools, peer by peer in turn (default: all)")
	p.s.choiceFlags(cmd.Flags(), "list")
	return cmd
}

// formats say how a list of tools is written.
var formats = map[string]func([]tool) []byte{
	"table":     toolsTable,
	"json":      toolsJSON,
	"openai":    toolsOpenAI,
	"anthropic": toolsAnthropic,
}

func (p *program) listTools(ctx context.Context, args []string) error {
	if p.s.JSON && p.s.Format == "table" {
		p.s.Format = "json"
	}
	write := formats[p.s.Format]
	if write == nil {
		return misused("it is one of "+strings.Join(sortedKeys(formats), ", "), "--format: there is no format %q", p.s.Format)
	}
	if err := cmp.Or(p.s.checkTimeout(), p.s.checkChoice()); err != nil {
		return err
	}
	if p.s.Limit < 0 {
		return misused("--limit 128", "--limit must be 1 or more, or 0 for all")
	}
	q, err := p.takeSeat(ctx, nil)
	if err != nil {
		return err
	}
	defer q.close()
	ctx, cancel := context.WithTimeoutCause(ctx, p.s.Timeout, errNoAnswer)
	defer cancel()
	if len(args) == 1 {
		all, err := q.toolsOf(ctx, args[0])
		if err != nil {
			return err
		}
		return p.print(write(p.chosen(all)))
	}
	c, err := p.everybodysTools(ctx, q)
	if err != nil {
		return err
	}
	return cmp.Or(p.print(write(p.chosen(c.tools))), p.tellAbsentees(&c))
}

// toolsOf lists the tools of somebody who must be here.
func (q *peer) toolsOf(ctx context.Context, of string) ([]tool, error) {
	if err := q.here(of); err != nil {
		return nil, err
	}
	tools, err := q.tools(ctx, of, withOne)
	return tools, noAnswer(of, "tools/list", err)
}

// A census is what everybody said of their tools when all were asked.
type census struct {
	tools  []tool
	heard  int      // how many answered
	silent []string // who did not
}

// everybodysTools asks all at once, and waits a short time for each. Who serves
// nothing says so.
func (p *program) everybodysTools(ctx context.Context, q *peer) (census, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTime, errNoAnswer)
	defer cancel()
	others := slices.DeleteFunc(q.others(), func(other wire.Participant) bool {
		return !other.Caps.Permits(&wire.Envelope{Kind: wire.Response, Method: "tools/list"}) // it could not answer (WIRE 9.3)
	})
	lists, errs := make([][]tool, len(others)), make([]error, len(others))
	var asking sync.WaitGroup
	for i, other := range others {
		asking.Go(func() { lists[i], errs[i] = q.tools(ctx, other.ID, withAll) })
	}
	asking.Wait()
	if err := context.Cause(ctx); err != nil && err != errNoAnswer {
		return census{}, err
	}
	c := census{tools: slices.Concat(lists...)}
	for i, err := range errs {
		if errors.Is(err, errNoAnswer) {
			c.silent = append(c.silent, others[i].ID)
			continue
		}
		c.heard++
		if err != nil && !errors.Is(err, errServesNone) {
			p.log.Warn("no tools from "+others[i].ID, "why", err)
		}
	}
	return c, nil
}

// mostNamed is how many of those who keep silent are named.
const mostNamed = 20

// absentees names who did not answer, "" if everybody did (FINDINGS D20).
func (c *census) absentees() string {
	if len(c.silent) == 0 {
		return ""
	}
	words := strings.Join(c.silent[:min(len(c.silent), mostNamed)], ", ")
	if more := len(c.silent) - mostNamed; more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	return words + " did not answer tools/list"
}

// tellAbsentees says who did not answer. That nobody did is an error.
func (p *program) tellAbsentees(c *census) error {
	const hint = "mcpx-bridge tools PEER waits longer; who serves nothing may never answer"
	words := c.absentees()
	switch {
	case words == "":
		return nil
	case c.heard == 0:
		return fail(exitNoAnswer, hint, "%s", words)
	}
	p.log.Warn(words)
	p.log.Info("hint: " + hint)
	return nil
}

// A tool is one of a peer's, with the bytes of its definition.
type tool struct {
	Peer        string          `json:"-"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Raw         json.RawMessage `json:"-"`
}

// maxPages ends a list that never does.
const maxPages = 200

// errServesNone is why somebody who answers lists no tools.
var errServesNone = errors.New("serves no tools")

// tools lists a peer's tools, all pages of them, no more than serve takes of one. With an
// error come those of the pages before.
func (q *peer) tools(ctx context.Context, of string, as askTimes) ([]tool, error) {
	if err := q.greet(ctx, of, as.greet); err != nil {
		return nil, err
	}
	var all []tool
	params, seen, size := []byte(nil), map[string]bool{}, 0
	for range maxPages {
		a, err := q.askWithin(ctx, as.first, of, "tools/list", params)
		if err != nil {
			return all, err
		}
		as.first = 0 // who has begun is waited for
		if a.Err != nil {
			return all, rpcError(of, "tools/list", a.Err)
		}
		page, next, err := readTools(of, a.Result)
		if err != nil {
			return all, err
		}
		for _, t := range page {
			if size += len(t.Raw); len(all) == desktop.MaxTools || size > desktop.MaxListSize {
				q.tellRest(of, t.Name)
				return all, nil
			}
			all = append(all, t)
		}
		if next == "" || seen[next] {
			return all, nil
		}
		if size += len(next); size > desktop.MaxListSize { // which is kept too
			q.tellRest(of, "the next page")
			return all, nil
		}
		seen[next] = true
		params = slices.Concat([]byte(`{"cursor":`), jsonrpc.AppendQuote(nil, next), []byte(`}`))
	}
	return all, nil
}

// tellRest says from where on a list is not taken.
func (q *peer) tellRest(of, from string) {
	q.log.Warn(fmt.Sprintf("%s lists more than %d tools, or more than %d MiB: what comes from %s on is left out", of, desktop.MaxTools, desktop.MaxListSize>>20, text.Quote(from, 80)))
}

// askWithin is ask with a time of its own, 0 for none.
func (q *peer) askWithin(ctx context.Context, most time.Duration, to, method string, params []byte) (answer, error) {
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, most, errNoAnswer)
		defer cancel()
	}
	return q.ask(ctx, to, method, params, nil)
}

func readTools(of string, result []byte) (tools []tool, next string, err error) {
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor string            `json:"nextCursor"`
	}
	if err := json.Unmarshal(result, &page); err != nil {
		return nil, "", fail(exitFailed, "the fault is there: mcpx-bridge watch --json shows what it says", "%s answers tools/list with something else: %w", of, err)
	}
	for _, raw := range page.Tools {
		t := tool{Peer: of, Raw: raw}
		if err := json.Unmarshal(raw, &t); err != nil || t.Name == "" {
			continue // one malformed tool does not hide the others
		}
		tools = append(tools, t)
	}
	return tools, page.NextCursor, nil
}

func toolsTable(all []tool) []byte {
	rows := [][]string{{"PEER", "TOOL", "ARGUMENTS", "DESCRIPTION"}}
	for _, t := range all {
		rows = append(rows, []string{t.Peer, t.Name, argumentWords(t.InputSchema), summary(t.Description)})
	}
	return table(rows)
}

// argumentWords are the properties of a schema: name, or [name] if it need not
// be given.
func argumentWords(schema json.RawMessage) string {
	var s struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if json.Unmarshal(schema, &s) != nil {
		return "?"
	}
	words := slices.Clone(s.Required)
	for _, name := range sortedKeys(s.Properties) {
		if !slices.Contains(s.Required, name) {
			words = append(words, "["+name+"]")
		}
	}
	return strings.Join(words, " ")
}

// summary is the first sentence or line of a description, cut to a line's
// length.
func summary(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i]
	}
	if r := []rune(text); len(r) > 80 {
		text = string(r[:79]) + "…"
	}
	return text
}

func toolsJSON(all []tool) []byte {
	var out []byte
	for _, t := range all {
		out = append(out, `{"peer":`...)
		out = append(out, bytes.TrimSuffix(jsonLine(t.Peer), []byte("\n"))...)
		out = append(out, `,"tool":`...)
		out = append(out, text.EscapeJSON(oneLine(t.Raw))...)
		out = append(out, '}', '\n')
	}
	return out
}

// oneLine is raw JSON without line breaks, which can stand between tokens only.
func oneLine(raw []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, raw)
}

func indented(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		panic(err) // raw parts were valid JSON when they were read
	}
	return text.EscapeJSON(b.Bytes())
}
