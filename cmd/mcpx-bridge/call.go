package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func (p *program) callCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "call [FLAGS] PEER TOOL [JSON | - | KEY=VALUE…]",
		Short: "Call a participant's tool",
		Long: `Call a participant's tool, and print what it answers.

Arguments are one JSON object, - to read that from stdin, or KEY=VALUE pairs.
A value is a string unless the tool's schema says number, integer, boolean,
object or array; KEY:=JSON forces JSON.

Prints the text of the answer, or with --json the whole answer as it came.
Progress goes to stderr. An interrupt cancels the call.

Exit codes: 0 the tool did it, 1 it says it failed, 8 the call was refused,
9 nobody answered in time.`,
		Example: `  mcpx-bridge call filesystem read_text_file path=/tmp/notes.txt
  mcpx-bridge call weather forecast '{"city":"Oslo","days":3}'
  mcpx-bridge call memory create_entities 'entities:=[{"name":"a","entityType":"b","observations":[]}]' --json`,
		Args: inUTF8(arguments(2, -1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.call(cmd.Context(), args[0], args[1], args[2:])
		},
	}
	p.s.roomFlags(cmd.Flags())
	p.s.callFlags(cmd.Flags())
	return cmd
}

// call makes one call and turns what comes of it into output and exit code.
func (p *program) call(ctx context.Context, to, name string, args []string) error {
	given, err := p.readArguments(args)
	if err == nil {
		err = p.s.checkTimeout()
	}
	if err != nil {
		return err
	}
	q, err := p.takeSeat(ctx, func(q *peer) { q.onMove = p.saysOf(to) })
	if err != nil {
		return err
	}
	defer q.close()
	if err := q.here(to); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.s.Timeout, errNoAnswer)
	defer cancel()
	if err := q.greet(ctx, to, withOne.greet); err != nil {
		return noAnswer(to, name, err)
	}
	object, err := q.typed(ctx, to, name, given)
	if err != nil {
		return err
	}
	params := slices.Concat([]byte(`{"name":`), jsonrpc.AppendQuote(nil, name), []byte(`,"arguments":`), object, []byte(`}`))
	a, err := q.ask(ctx, to, "tools/call", params, p.showProgress)
	if err != nil {
		return noAnswer(to, name, err)
	}
	return p.showAnswer(to, name, a)
}

// A pair is one argument given as KEY=VALUE, or as KEY:=JSON.
type pair struct {
	key, value string
	raw        bool
}

// callArguments are the arguments of a call as they were given: a JSON object,
// or pairs whose types only the tool's schema knows.
type callArguments struct {
	object []byte
	pairs  []pair
}

func (p *program) readArguments(args []string) (callArguments, error) {
	switch {
	case len(args) == 0:
		return callArguments{object: []byte("{}")}, nil
	case args[0] == "-" && len(args) == 1:
		text, err := io.ReadAll(io.LimitReader(p.stdin, jsonrpc.MaxSize+1))
		if err != nil {
			return callArguments{}, fail(exitFailed, "", "stdin: %w", err)
		}
		return jsonArguments("stdin", text)
	case strings.HasPrefix(strings.TrimSpace(args[0]), "{") && len(args) == 1:
		return jsonArguments("the arguments", []byte(args[0]))
	}
	var given callArguments
	for _, a := range args {
		key, value, ok := strings.Cut(a, "=")
		one := pair{key: key, value: value}
		if bare, forced := strings.CutSuffix(key, ":"); forced {
			one.key, one.raw = bare, true
		}
		if !ok || one.key == "" {
			return given, misused("write KEY=VALUE, KEY:=JSON, one JSON object, or - for stdin", "%q is no argument", a)
		}
		if slices.ContainsFunc(given.pairs, func(have pair) bool { return have.key == one.key }) {
			return given, misused("give it once; a list is "+one.key+":='[…]'", "%s is given twice", one.key)
		}
		if one.raw && !json.Valid([]byte(value)) {
			return given, misused("a string is "+one.key+"=…, without the colon", "%s: what stands behind := is no JSON", one.key)
		}
		given.pairs = append(given.pairs, one)
	}
	return given, nil
}

// jsonArguments checks an object as strictly as the topic will.
func jsonArguments(source string, text []byte) (callArguments, error) {
	text = bytes.TrimSpace(text)
	rules := jsonrpc.Called
	rules.Depth -= 4 // an envelope, a message and its params go around it
	if err := jsonrpc.Scan(text, rules, nil, nil); err != nil {
		return callArguments{}, misused("arguments are one JSON object: '{\"key\": \"value\"}'", "%s: %w", source, err)
	}
	return callArguments{object: text}, nil
}

// typed makes one JSON object of the arguments. Only pairs need the schema.
func (q *peer) typed(ctx context.Context, to, name string, given callArguments) ([]byte, error) {
	if given.object != nil {
		return given.object, nil
	}
	types := map[string][]string{}
	if slices.ContainsFunc(given.pairs, func(p pair) bool { return !p.raw }) {
		listing, cancel := context.WithTimeoutCause(ctx, listTime, errNoAnswer)
		defer cancel()
		tools, err := q.tools(listing, to, withOne)
		if errors.Is(err, errNoAnswer) {
			return nil, fail(exitNoAnswer, "give them as JSON: '{\"key\":\"value\"}'", "%s does not say what arguments %s takes: it did not answer tools/list in time", to, name)
		}
		if err != nil {
			return nil, noAnswer(to, "tools/list", err)
		}
		i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == name })
		if i < 0 {
			return nil, noSuchTool(to, name, tools)
		}
		types = schemaTypes(tools[i].InputSchema)
	}
	return given.withTypes(types)
}

// withTypes makes one JSON object of the pairs, with the types of a schema.
func (given callArguments) withTypes(types map[string][]string) ([]byte, error) {
	object := []byte{'{'}
	for i, p := range given.pairs {
		if i > 0 {
			object = append(object, ',')
		}
		value, err := p.json(types[p.key])
		if err != nil {
			return nil, err
		}
		object = append(append(jsonrpc.AppendQuote(object, p.key), ':'), value...)
	}
	checked, err := jsonArguments("the arguments", append(object, '}'))
	return checked.object, err
}

func noSuchTool(to, name string, tools []tool) error {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	hint := "mcpx-bridge tools " + to + " lists them"
	if meant := nearest(name, names); meant != "" {
		hint = "did you mean " + meant + "?"
	}
	return fail(exitFailed, hint, "%s has no tool %q", to, name)
}

// schemaTypes are the types of a schema's properties, as far as it says them
// outright.
func schemaTypes(schema []byte) map[string][]string {
	var s struct {
		Properties map[string]struct{ Type json.RawMessage }
	}
	types := map[string][]string{}
	if json.Unmarshal(schema, &s) != nil {
		return types
	}
	for name, property := range s.Properties {
		var one string
		var many []string
		if json.Unmarshal(property.Type, &one) == nil {
			many = []string{one}
		} else if json.Unmarshal(property.Type, &many) != nil {
			continue
		}
		types[name] = many
	}
	return types
}

// json is the argument as JSON of one of the types. A string stays one
// wherever the schema allows it.
func (p pair) json(types []string) ([]byte, error) {
	if p.raw {
		return []byte(p.value), nil
	}
	if len(types) == 0 || slices.Contains(types, "string") {
		return jsonrpc.AppendQuote(nil, p.value), nil
	}
	if !json.Valid([]byte(p.value)) || !slices.Contains(types, jsonType(p.value)) && !(slices.Contains(types, "number") && jsonType(p.value) == "integer") {
		return nil, misused("force a value with "+p.key+":=JSON", "%s should be %s, and %q is not", p.key, strings.Join(types, " or "), p.value)
	}
	return []byte(strings.TrimSpace(p.value)), nil
}

// jsonType is the schema's word for a JSON value.
func jsonType(value string) string {
	value = strings.TrimSpace(value)
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if strings.ContainsAny(value, ".eE") {
		return "number"
	}
	return "integer"
}

// showProgress prints one line on stderr.
func (p *program) showProgress(params []byte) {
	var s struct {
		Progress, Total json.Number
		Message         string
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
	p.log.Info(strings.TrimSpace(text + " " + s.Message))
}

// showAnswer prints a result and says with the exit code what it means.
func (p *program) showAnswer(to, name string, a answer) error {
	if a.Err != nil {
		if p.s.JSON {
			p.print(slices.Concat([]byte(`{"error":`), oneLine(a.Err), []byte("}\n")))
		}
		return rpcError(to, name, a.Err)
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
		out = append(oneLine(a.Result), '\n')
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
	return []byte(visible(string(oneLine(raw))) + "\n")
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
		fmt.Fprintln(&b, visible(string(oneLine(r.StructuredContent))))
	}
	return b.Bytes()
}

// rpcError is a JSON-RPC error with the exit code it stands for. Ours are
// those of DESIGN section 9.
func rpcError(to, what string, raw []byte) error {
	var e struct {
		Code    int
		Message string
		Data    struct{ Reason, Say, By string }
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		// data may be anything; code and message are what counts.
		var bare struct {
			Code    int
			Message string
		}
		if json.Unmarshal(raw, &bare) != nil {
			return fail(exitFailed, "", "%s answers %s with an error that cannot be read", to, what)
		}
		e.Code, e.Message = bare.Code, bare.Message
	}
	said := e.Data.Say
	if said != "" && e.Data.By != "" {
		said = e.Data.By + " says: " + said
	}
	switch exit := rpcExit(e.Code); exit {
	case exitRefused:
		return fail(exit, said, "%s refused %s: %s (%s)", to, what, e.Message, e.Data.Reason)
	case exitNoAnswer:
		return fail(exit, said, "%s gave no answer to %s: %s (%s)", to, what, e.Message, e.Data.Reason)
	default:
		if e.Code == -32601 && what == "tools/list" {
			return fail(exit, "", "%s %w: %s (%d)", to, errServesNone, e.Message, e.Code)
		}
		return fail(exit, "", "%s answers %s with an error: %s (%d)", to, what, e.Message, e.Code)
	}
}

func rpcExit(code int) int {
	switch {
	case code == -31002, code == -31008, code == -31010: // expired, outcome_unknown, call_timeout
		return exitNoAnswer
	case code <= -31001 && code >= -31099:
		return exitRefused
	}
	return exitFailed
}

// noAnswer words what kept an answer from coming.
func noAnswer(to, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNoAnswer):
		return fail(exitNoAnswer, "--timeout gives it longer", "%s did not answer %s in time", to, what)
	case errors.Is(err, errSignalled), errors.Is(err, context.Canceled):
		return fail(exitFailed, "", "cancelled %s", what)
	}
	return err
}
