package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

func (p *program) callCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call [FLAGS] (PEER TOOL | NAME) [JSON | - | KEY=VALUE…]",
		Short: "Call a participant's tool",
		Long: `Call a participant's tool, and print what it answers.

Arguments are one JSON object, - to read that from stdin, or KEY=VALUE pairs.
A value is a string unless the tool's schema says number, integer, boolean,
object or array; KEY:=JSON forces JSON.

NAME is a tool as tools --format openai or anthropic and serve name it, peer__tool.
So what a model asks for can be called as it stands: arguments may also be a JSON
text that holds the object, as OpenAI's API sends them.

Prints the text of the answer, or with --json the whole answer as it came.
Progress goes to stderr. An interrupt cancels the call.

Exit codes: 0 the tool did it, 1 it says it failed, 8 the call was refused,
9 nobody answered in time.`,
		Example: `  mcpx-bridge call filesystem read_text_file path=/tmp/notes.txt
  mcpx-bridge call weather forecast '{"city":"Oslo","days":3}'
  mcpx-bridge call memory create_entities 'entities:=[{"name":"a","entityType":"b","observations":[]}]' --json
  mcpx-bridge call weather__forecast '"{\"city\":\"Oslo\",\"days\":3}"'`,
		Args: inUTF8(positional(1, -1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if name, rest, ok := exportedWords(args); ok {
				return p.callNamed(cmd.Context(), name, rest)
			}
			if err := positional(2, -1)(cmd, args); err != nil {
				return err
			}
			return p.call(cmd.Context(), args[0], args[1], args[2:])
		},
	}
	p.s.roomFlags(cmd.Flags())
	p.s.callFlags(cmd.Flags())
	return cmd
}

// call makes one call and turns what comes of it into output and exit code.
func (p *program) call(ctx context.Context, to, name string, args []string) error {
	given, err := arguments.Read(args, p.stdin)
	if err == nil {
		err = p.s.checkTimeout()
	}
	if err != nil {
		return err
	}
	q, err := p.takeSeat(ctx, client.Options{OnPresence: p.saysOf(func() string { return to })})
	if err != nil {
		return err
	}
	defer q.Close()
	if err := q.here(to); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.s.Timeout, client.ErrNoAnswer)
	defer cancel()
	if err := q.Greet(ctx, to, client.WithOne.Greet); err != nil {
		return noAnswer(to, name, err)
	}
	object, err := q.typed(ctx, to, name, given)
	if err != nil {
		return err
	}
	return p.callWith(ctx, q, to, name, object)
}

// callNamed is call for what has an exported name.
func (p *program) callNamed(ctx context.Context, name string, args []string) error {
	given, err := arguments.Read(args, p.stdin)
	if err == nil {
		err = p.s.checkTimeout()
	}
	if err != nil {
		return err
	}
	var asked atomic.Pointer[string] // nobody yet
	q, err := p.takeSeat(ctx, client.Options{OnPresence: p.saysOf(func() string {
		if to := asked.Load(); to != nil {
			return *to
		}
		return ""
	})})
	if err != nil {
		return err
	}
	defer q.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, p.s.Timeout, client.ErrNoAnswer)
	defer cancel()
	t, err := p.named(ctx, q, name)
	if err != nil {
		return noAnswer("the topic", name, err)
	}
	object, err := given.Object(arguments.TypesOf(t.InputSchema))
	if err != nil {
		return err
	}
	asked.Store(&t.Peer)
	return p.callWith(ctx, q, t.Peer, t.Name, object)
}

func (p *program) callWith(ctx context.Context, q *peer, to, name string, arguments []byte) error {
	a, err := q.Call(ctx, to, name, arguments, func(params []byte) { p.showProgress(to, params) })
	if err != nil {
		return noAnswer(to, name, err)
	}
	return p.showAnswer(to, name, a)
}

// showProgress prints one line on stderr: what a bridge says of an approval as it is, and
// what a server says, which could use the same words, as that of whom it is.
func (p *program) showProgress(from string, params []byte) {
	var s struct {
		Progress, Total json.Number
		Message         string
		Meta            struct {
			Approval json.RawMessage `json:"mcpx/approval"`
		} `json:"_meta"`
	}
	if json.Unmarshal(params, &s) != nil {
		return
	}
	text := string(s.Progress)
	switch {
	case s.Total != "":
		text += "/" + string(s.Total)
	case s.Message != "":
		text = "" // what is counted, and how far it goes, nobody says
	}
	text = strings.TrimSpace(text + " " + s.Message)
	if s.Meta.Approval == nil {
		text = from + ": " + text
	}
	p.log.Info(text)
}

// showAnswer prints a result and says with the exit code what it means.
func (p *program) showAnswer(to, name string, a answer) error {
	if a.Err != nil {
		if p.s.JSON {
			p.print(slices.Concat([]byte(`{"error":`), rawjson.OneLine(a.Err), []byte("}\n")))
		}
		return client.ErrorOf(to, name, a.Err)
	}
	r, bare := readResult(a.Result)
	out := r.text()
	if bare {
		out = bareText(a.Result)
		words := " with a bare value, which is shown as text"
		if len(out) == 0 {
			words = " without a value"
		}
		p.log.Info(visible(to) + " answered " + visible(name) + words)
	}
	if p.s.JSON {
		out = append(rawjson.OneLine(a.Result), '\n')
	}
	if err := p.print(out); err != nil {
		return err
	}
	if r.IsError {
		return fail(exitFailed, "", "%s says that %s failed", to, name)
	}
	return nil
}

// readResult reads the result of a tool. A bare one is none: native participants
// answer with whatever a function returned (FINDINGS D9).
func readResult(raw []byte) (r toolResult, bare bool) {
	var at map[string]json.RawMessage
	if json.Unmarshal(raw, &at) != nil || json.Unmarshal(raw, &r) != nil {
		return toolResult{}, true
	}
	for _, name := range []string{"structuredContent", "isError", "resultType"} {
		if at[name] != nil {
			return r, false
		}
	}
	list := bytes.TrimSpace(at["content"])
	return r, len(list) == 0 || list[0] != '['
}

// bareText is a bare value for people: a string as it reads, anything else as JSON.
func bareText(raw []byte) []byte {
	raw = bytes.TrimSpace(raw)
	switch string(raw) {
	case "", "{}", "null", `""`:
		return nil
	}
	if s, is := jsonrpc.Unquote(raw); is {
		return []byte(visibleLines(strings.TrimSuffix(s, "\n")) + "\n")
	}
	return []byte(visible(string(rawjson.OneLine(raw))) + "\n")
}

// A toolResult is what is read of a result to show it to people.
type toolResult struct {
	Content []struct {
		Type, Text, Data, MimeType, URI, Name string
		Resource                              struct{ URI, Text, MimeType, Blob string }
	}
	StructuredContent json.RawMessage
	IsError           bool
}

// text is the result for people: its text, and a word for what is none.
func (r *toolResult) text() []byte {
	var b bytes.Buffer
	for _, c := range r.Content {
		switch c.Type {
		case "text":
			fmt.Fprintln(&b, visibleLines(strings.TrimSuffix(c.Text, "\n")))
		case "image", "audio":
			fmt.Fprintf(&b, "[%s %s, %d bytes]\n", c.Type, visible(c.MimeType), base64.StdEncoding.DecodedLen(len(c.Data)))
		case "resource_link":
			fmt.Fprintf(&b, "[resource %s %s]\n", visible(c.URI), visible(c.Name))
		case "resource":
			fmt.Fprintf(&b, "[resource %s]\n", visible(c.Resource.URI))
			if c.Resource.Text != "" {
				fmt.Fprintln(&b, visibleLines(strings.TrimSuffix(c.Resource.Text, "\n")))
			}
		default:
			fmt.Fprintf(&b, "[%s]\n", visible(c.Type))
		}
	}
	if len(r.Content) == 0 && r.StructuredContent != nil {
		fmt.Fprintln(&b, visible(string(rawjson.OneLine(r.StructuredContent))))
	}
	return b.Bytes()
}

// noAnswer words what kept an answer from coming.
func noAnswer(to, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, client.ErrNoAnswer):
		return fail(exitNoAnswer, "--timeout gives it longer", "%s did not answer %s in time", to, what)
	case errors.Is(err, errSignalled), errors.Is(err, context.Canceled):
		return fail(exitFailed, "", "cancelled %s", what)
	}
	return err
}
