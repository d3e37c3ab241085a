package main

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/asyncwriter"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plainlog"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
)

func (p *program) approveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approve [FLAGS] [BRIDGE…]",
		Short: "Answer questions in the terminal",
		Long: `Answer questions in the terminal: those of the bridges on this machine, or of
the named ones alone. With --id or a token: those put to that participant.

A question is shown whole; Space goes through a long one. Then

  a  allows the call, once the first two characters of its digest are typed
  d  denies it, with a reason         n p  go to the next and the one before
  e  changes what may be changed      l    lists all
  g  lets somebody else decide        r    remembers the answer
  R  has a halted bridge go on        q    quits

In the list, D denies all questions of one caller that it shows.

Keys typed before a question is on the screen decide nothing. A key that means
nothing locks the answers until you have typed nothing for a second: it may have
been meant for another window. You are told when somebody else answers first, or
when time runs out.

Without a terminal, answers are lines on stdin that repeat the digest of their
question, or its id: "allow DIGEST", "deny DIGEST WHY", "delegate DIGEST TO".`,
		Example: `  mcpx-bridge approve
  mcpx-bridge approve --gateway wss://gateway.example --topic team --token-file alice.token`,
		Args: help.Positional(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.approve(cmd.Context(), args) },
	}
	p.s.roomFlags(cmd.Flags())
	cmd.Flags().Lookup("id").Usage = "answer what is put to this participant `ID` of the topic"
	return cmd
}

func (p *program) approve(ctx context.Context, named []string) error {
	if p.s.ID != "" || p.bearsToken() {
		return p.approveAs(ctx, named)
	}
	if p.s.Gateway != "" {
		return misused("add --token-file FILE, or --id ME if the gateway needs no token", "--gateway needs your id in the topic")
	}
	dir, err := p.controlDir()
	if err != nil {
		return err
	}
	return p.ask(ctx, prompt.Bridges(dir, func(s inbox.Status) bool {
		return len(named) == 0 || slices.Contains(named, s.ID)
	}))
}

// approveAs answers as a participant of a topic.
func (p *program) approveAs(ctx context.Context, named []string) error {
	if len(named) > 0 {
		return misused("", "%q: leave out the names of bridges with --id or a token: it shows the questions of the whole topic", named[0])
	}
	s := &client.ApprovalInbox{}
	d, err := p.participant()
	if err != nil {
		return err
	}
	defer d.HoldApprover(ctx).Close()
	q, err := p.sit(ctx, d, client.Options{Approvals: s})
	if err != nil {
		return err
	}
	defer q.Close()
	defer s.Close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-q.Done():
			stop(q.Err())
		case <-ctx.Done():
		}
	}()
	err = p.ask(ctx, prompt.Only(&prompt.Found{Inbox: s, Name: "topic", Label: q.way.Join.Topic + " as " + s.Me()}))
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, errSignalled) && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// ask puts questions before whoever is at stdin.
func (p *program) ask(ctx context.Context, find prompt.Finder) error {
	if p.prompt != nil {
		return p.prompt.Run(ctx, find)
	}
	return (&prompt.Lines{In: p.stdin, Out: p.stdout, Find: find}).Run(ctx)
}

// attend has whoever sits at our terminal asked right there: beside what is
// logged by a bridge, if it is resident. The log then goes above the question.
func (p *program) attend(resident bool) {
	out, log := terminal(p.stdout), terminal(p.stderr)
	if resident {
		out = log
	}
	in := terminal(p.stdin)
	if in == nil || out == nil || p.getenv("TERM") == "dumb" {
		return
	}
	p.prompt = prompt.New(prompt.Options{In: in, Out: out, Resident: resident, Plain: p.getenv("NO_COLOR") != ""})
	if log != nil {
		p.stderr = p.prompt.Above()
	}
	if !resident { // who leaves a topic must not wait for the terminal to take the log; what run says never does
		p.errors = asyncwriter.New(p.stderr, logLinesLost)
		p.stderr = p.errors
	}
}

// countDown has what a call waits for shown on a line below the log, if that is at a terminal
// where nobody else writes.
func (p *program) countDown() {
	log := terminal(p.stderr)
	if log == nil || p.getenv("TERM") == "dumb" || p.s.LogFormat != "text" || !prompt.InForeground(log) {
		return
	}
	p.countdown = plainlog.NewCountdown(log, func() int { return prompt.Columns(log) })
	p.stderr = p.countdown
}

// keepAsking asks the person at the terminal of run until ctx ends.
func (p *program) keepAsking(ctx context.Context, n *node.Node, page *inboxPage) error {
	if p.prompt != nil {
		if err := p.prompt.Run(ctx, prompt.Only(&prompt.Found{Inbox: n.Inbox(), Name: "own", Label: n.ID() + " in " + n.Topic(), Page: page.Links()})); err != nil {
			p.log.Warn("questions cannot be asked here; mcpx-bridge approve asks them elsewhere", "error", err)
		}
	}
	<-ctx.Done()
	return nil
}

// terminal is the file that f is, if that is a terminal; else nil.
func terminal(f any) *os.File {
	file, ok := f.(*os.File)
	if !ok || !prompt.IsTerminal(file) {
		return nil
	}
	return file
}
