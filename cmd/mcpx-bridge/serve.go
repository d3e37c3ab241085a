package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/events"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/serve"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

func (p *program) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [FLAGS]",
		Short: "Show a topic to an MCP client as one stdio MCP server",
		Long: `Show a topic to an MCP client as one stdio MCP server. The client starts it:
Claude Desktop, Cursor, VS Code and others speak to it over its stdin and stdout.
It takes a seat in the topic and ends when the client closes its input.

The client sees each tool in the topic as peer__tool. A name that cannot be written
so without loss, or not in --max-name bytes, ends in a short digest; a name never
changes and never means another tool. Prompts are named the same way, a resource
is mcpx://PEER/URI, and the page of an app ui://PEER/…. Clients that do not notice
changes always have mcpx_peers, mcpx_call, mcpx_approvals and mcpx_result. What
cannot be offered is left out; mcpx_peers and the log say why.

A call that waits for approval says so in its progress. After --patience it is
answered with a ticket, and mcpx_result or the same call again gets the answer: it
never runs twice. A refusal is an answer with isError.

The person at the client gets the questions that bridges put to --id, while a call
of the client is under way; mcpx-bridge approve shows them too. Nothing that the
model says answers them. Clients that show apps have a card, too.

In --include and --exclude, PATTERN is for PEER/NAME, and * stands for any
characters. stdout is the client's; all else, --json events too, goes to stderr.`,
		Example: `  mcpx-bridge serve --id alice
  mcpx-bridge serve --include 'filesystem/*' --exclude '*/delete_*'
  mcpx-bridge serve --gateway wss://gateway.example --topic team --id alice --token-file ~/.mcpx-token`,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.serve(cmd.Context()) },
	}
	f := cmd.Flags()
	p.s.roomFlags(f)
	timeFlag(f, &p.s.Patience, "patience", 50*time.Second, "how long a call may take before it is answered with a ticket, as a `TIME` like 50s")
	f.IntVar(&p.s.MaxName, "max-name", 46, "the most `BYTES` a name may have, 32 to 64")
	f.IntVar(&p.s.Limit, "limit", 0, "show at most `N` tools, the four mcpx_ tools included (default: all)")
	p.s.choiceFlags(f, "show")
	f.BoolVar(&p.s.NoCard, "no-card", false, "let nobody answer on a card (MCP Apps)")
	return cmd
}

// serve shows the topic until the client ends its input, or we are told to
// stop.
func (p *program) serve(ctx context.Context) error {
	if err := p.checkServe(); err != nil {
		return err
	}
	d, err := p.participant()
	if err != nil {
		return err
	}
	trace, err := p.trace("stdio", nil)
	if err != nil {
		return err
	}
	if terminal(p.stdin) != nil {
		p.log.Warn("this speaks MCP over stdin and stdout: it is for a client to start, and you are at a terminal")
		p.log.Warn("hint: mcpx-bridge client install NAME puts it into a client")
	}
	in, out := p.stdin, p.stdout
	if in == io.Reader(os.Stdin) { // else we are called, and are no process
		i, o, err := clientPipes()
		if err != nil {
			return err
		}
		defer i.Close()
		defer o.Close()
		in, out = i, o
	}
	e := p.newEvents(p.stderr)
	defer e.Close()
	d.ClaimID(ctx)
	var s *serve.Server
	s = serve.New(d.Connector, serve.Options{Shown: p.face(), Out: out, Log: p.log, Emit: e.Emit, Note: e.Note, Asked: e.EmitOf,
		Ready: func(tools int) { p.seesTopic(s, d, e, tools) }, Trace: trace})
	if err := s.Start(ctx); err != nil {
		return err
	}
	state, unreached := localgateway.OpenHome(p.getenv)
	if unreached == nil {
		unreached = s.OpenInbox(state.File("control")) // another client may have started us twice
	}
	if unreached != nil {
		p.log.Warn("mcpx-bridge approve does not reach this client's questions", "error", unreached)
	}
	err = s.Run(ctx, in)
	if errors.Is(err, errSignalled) || errors.Is(err, context.Canceled) || errors.Is(err, serve.ErrHungUp) {
		return nil
	}
	return err
}

// clientPipes are our stdin and stdout, in a form that can be waited for without holding a
// thread and be interrupted, where they are pipes. The caller closes both.
func clientPipes() (in, out *stdio.Descriptor, err error) {
	in, err = stdio.OpenDescriptor(0)
	if err == nil {
		if out, err = stdio.OpenDescriptor(1); err == nil {
			return in, out, nil
		}
		in.Close()
	}
	return nil, nil, fail(exitFailed, "a client starts this command and speaks to it over stdin and stdout", "%w", err)
}

// checkServe reports what is wrong with the flags that are serve's alone.
func (p *program) checkServe() error {
	switch {
	case p.s.Patience < time.Second:
		return misused("--patience 50s", "--patience must be a second or more")
	case p.s.MaxName < desktop.LeastName || p.s.MaxName > desktop.MaxName:
		return misused("--max-name 46", "--max-name must be from %d to %d", desktop.LeastName, desktop.MaxName)
	case p.s.Limit != 0 && p.s.Limit < desktop.LeastLimit:
		return misused("--limit 100", "--limit must be %d or more: four tools are always there", desktop.LeastLimit)
	}
	return p.s.checkChoice()
}

func (p *program) face() desktop.Config {
	return desktop.Config{Version: version(), NewID: uuid.NewString, Patience: p.s.Patience, MaxName: p.s.MaxName,
		Limit: p.s.Limit, Card: !p.s.NoCard, Include: p.s.Include, Exclude: p.s.Exclude}
}

// seesTopic says that the client sees what there is.
func (p *program) seesTopic(s *serve.Server, d *connector, e *events.Events, tools int) {
	url, _ := d.Where()
	id := cmp.Or(s.Client.Me(), d.Join.ID)
	first := e.Begin(jsonLine(struct {
		Event   string `json:"event"`
		ID      string `json:"id"`
		Topic   string `json:"topic"`
		Gateway string `json:"gateway"`
		Dialect string `json:"dialect,omitempty"`
		Tools   int    `json:"tools"`
		PID     int    `json:"pid"`
	}{"ready", id, d.Join.Topic, url, s.Client.Dialect().Protocol, tools, os.Getpid()}),
		"the client sees the topic "+d.Join.Topic+" through "+id)
	if first {
		go startIsOver()
	}
}
