package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client/export"
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
				return p.call(cmd.Context(), "", name, rest)
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

// call makes one call and turns what comes of it into output and exit code. Where name is
// an exported one, to is "".
func (p *program) call(ctx context.Context, to, name string, args []string) error {
	given, err := arguments.Read(args, p.stdin)
	if err == nil {
		err = p.s.checkTimeout()
	}
	if err != nil {
		return err
	}
	var asked atomic.Pointer[string]
	asked.Store(&to)
	q, err := p.takeTurn(ctx, client.Options{OnPresence: p.saysOf(&asked)})
	if err != nil {
		return err
	}
	defer q.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, p.s.Timeout, client.ErrNoAnswer)
	defer cancel()
	t, object, err := q.callee(ctx, to, name, given)
	if err != nil {
		return err
	}
	asked.Store(&t.Peer)
	a, err := q.Call(ctx, t.Peer, t.Name, object, func(params []byte) {
		if line := client.ProgressLine(t.Peer, params); line != "" {
			p.log.Info(line)
		}
	})
	if err != nil {
		return noAnswer(t.Peer, t.Name, err)
	}
	return p.showAnswer(t.Peer, t.Name, a)
}

// callee is whose tool is called, and makes one object of the arguments.
func (q *peer) callee(ctx context.Context, to, name string, given arguments.Arguments) (t tool, object []byte, err error) {
	if to == "" {
		if t, err = q.exported(ctx, name); err != nil {
			return t, nil, noAnswer("the topic", name, err)
		}
		object, err = given.Object(arguments.TypesOf(t.InputSchema))
		return t, object, err
	}
	if err = q.here(to); err != nil {
		return t, nil, err
	}
	if err = q.Greet(ctx, to, client.WithOne.Greet); err != nil {
		return t, nil, noAnswer(to, name, err)
	}
	object, err = q.typed(ctx, to, name, given)
	return tool{Peer: to, Name: name}, object, err
}

// exportedWords tells NAME ARGUMENTS from PEER TOOL ARGUMENTS: every exported name has
// two underscores in it, and what is an argument cannot be the name of a tool. How a name
// falls apart is not to be told from it.
func exportedWords(args []string) (name string, rest []string, ok bool) {
	if !strings.Contains(args[0], "__") || len(args) > 1 && !arguments.IsArgument(args[1]) {
		return "", nil, false
	}
	return args[0], args[1:], true
}

// exported finds the tool that has an exported name, as everybody here is now.
func (q *peer) exported(ctx context.Context, name string) (tool, error) {
	c, err := q.Census(ctx)
	if err != nil {
		return tool{}, err
	}
	t, err := export.Named(c.Tools, name)
	if errors.Is(err, export.ErrNoSuchName) && len(c.Silent) > 0 {
		return tool{}, fail(exitNoAnswer, "mcpx-bridge call PEER TOOL waits longer", "%w; %s", err, absentees(c))
	}
	return t, err
}

// showAnswer prints a result and says with the exit code what it means.
func (p *program) showAnswer(to, name string, a answer) error {
	if a.Err != nil {
		if p.s.JSON {
			p.print(slices.Concat([]byte(`{"error":`), rawjson.OneLine(a.Err), []byte("}\n")))
		}
		return client.ErrorOf(to, name, a.Err)
	}
	r, bare := client.ReadResult(a.Result)
	out := r.Text()
	if bare {
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
