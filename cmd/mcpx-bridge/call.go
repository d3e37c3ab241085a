package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client/export"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
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

NAME is a tool's name in serve and in tools --format openai or anthropic:
peer__tool. A model's call can be pasted as it is: the arguments may also be a
JSON text that holds the object, as OpenAI's API sends them.

It prints the text of the answer, or with --json the whole answer as it came. If
there is none, --json prints {"error":{"message":…,"exit":…}} with the exit code.
stderr has the progress, and says who is asked if people have to agree. The call
waits for them as long as the question does, and its time begins when they have
decided; with --timeout it ends earlier. An interrupt cancels the call.

Exit codes: 0 the tool did it, 1 the tool says it failed, 8 the call was refused,
9 nobody decided or answered in time, 130 interrupted.`,
		Example: `  mcpx-bridge call filesystem read_text_file path=/tmp/notes.txt
  mcpx-bridge call weather forecast '{"city":"Oslo","days":3}'
  mcpx-bridge call memory create_entities 'entities:=[{"name":"a","entityType":"b","observations":[]}]' --json
  mcpx-bridge call weather__forecast '"{\"city\":\"Oslo\",\"days\":3}"'`,
		Args: help.InUTF8(help.Positional(1, -1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.s.Bounded, p.promised = cmd.Flags().Changed("timeout"), true
			if name, rest, ok := exportedWords(args); ok {
				return p.call(cmd.Context(), "", name, rest)
			}
			if err := help.Positional(2, -1)(cmd, args); err != nil {
				return err
			}
			return p.call(cmd.Context(), args[0], args[1], args[2:])
		},
	}
	p.s.roomFlags(cmd.Flags())
	p.s.callFlags(cmd.Flags())
	cmd.Flags().StringVar(&p.s.Offer.Why, "why", "", "why, in a `SENTENCE` for the approvers; it goes on record too")
	cmd.Flags().Lookup("timeout").Usage = "how long to wait in all, as a `TIME` like 90s, by default without the time that people take to decide"
	return cmd
}

// limit is how long a call is waited for that began at some time.
func (p *program) limit(began time.Time, whose string) client.Limit {
	l := client.Limit{Time: p.s.Timeout, Waits: p.waits, Progress: func(said refusal.Progress) { p.log.Info(said.Line(whose)) }}
	if p.s.Bounded {
		l.From = began
	}
	return l
}

// waits says who has to decide: once, or at a terminal for as long as they take.
func (p *program) waits(w refusal.Waiting) {
	switch {
	case p.countdown == nil && w.Digest != "":
		p.log.Info(w.Words(time.Now()))
	case p.countdown == nil:
	case w.Digest == "":
		p.countdown.Hide()
	case w.Halted: // no time passes
		p.countdown.Hide()
		p.log.Info(w.Words(time.Now()))
	default:
		p.countdown.Show(w.Digest, refusal.Waiting{Of: w.Of, Need: w.Need}.Words(time.Now()), w.Until)
	}
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
	client.WarnOfSecret(p.log, "--why", p.s.Offer.Why, "the approvers read it")
	began := time.Now()
	t, object, err := p.callee(ctx, q, to, name, given)
	if err != nil {
		return err
	}
	asked.Store(&t.Peer)
	a, err := q.CallWithin(ctx, t.Peer, t.Name, object, p.s.Offer.Why, p.limit(began, t.Peer))
	if err != nil {
		return unanswered(t, err)
	}
	err = p.showAnswer(t.Peer, t.Name, a)
	if a.NoSuchTool() {
		err = cmp.Or(q.Lacks(ctx, t.Peer, t.Name), err)
	}
	return err
}

// unanswered words what kept a call from being answered, and whether it may have run.
func unanswered(t tool, err error) error {
	f, known := errors.AsType[*failure](noAnswer(t.Peer, t.Name, err))
	if _, undecided := errors.AsType[*client.UndecidedError](err); undecided || !known || f.Exit != exitNoAnswer && f.Exit != exitInterrupted {
		return noAnswer(t.Peer, t.Name, err)
	}
	f.Err = fmt.Errorf("%w; it may or may not have run", f.Err)
	return f
}

// callee is whose tool is called, and makes one object of the arguments.
func (p *program) callee(ctx context.Context, q *peer, to, name string, given arguments.Arguments) (t tool, object []byte, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.s.Timeout, client.ErrNoAnswer)
	defer cancel()
	if to == "" {
		if t, err = q.exported(ctx, name); err != nil {
			return t, nil, noAnswer("the topic", name, err)
		}
		object, err = given.Object(arguments.TypesOf(t.InputSchema))
		return t, object, err
	}
	if err = q.Await(ctx, to); err != nil {
		return t, nil, err
	}
	if err = q.Greet(ctx, to, client.WithOne.Greet); err != nil {
		return t, nil, noAnswer(to, name, err)
	}
	object, err = q.Typed(ctx, to, name, given)
	return tool{Peer: to, Name: name}, object, noAnswer(to, "tools/list", err)
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
	if errors.Is(err, export.ErrNoSuchName) && c.Absent() != "" {
		return tool{}, fail(exitNoAnswer, "mcpx-bridge call PEER TOOL waits longer", "%w; %s", err, c.Absent())
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
		p.log.Info(text.Line(to) + " answered " + text.Line(name) + words)
	}
	if p.s.JSON {
		out = append(rawjson.OneLine(a.Result), '\n')
	}
	if err := p.print(out); err != nil {
		return err
	}
	switch {
	case r.IsError:
		return fail(exitFailed, "", "%s says that %s failed", to, name)
	case r.ResultType != "" && r.ResultType != "complete":
		return fail(exitFailed, "", "%s answers %s with %.80s, which is no result and is not taken up here; it may or may not have run", to, name, r.ResultType)
	}
	return nil
}
