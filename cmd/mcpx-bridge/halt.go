package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

func (p *program) haltCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "halt [FLAGS] [BRIDGE…]",
		Short: "Stop everything at once, until resume",
		Long: `Let nothing start any more: on the bridges of this machine that are named, or that
are in a --topic, or on all of them.

Calls and proposals are refused at once, also those that a rule allows, that a
remembered answer covers, or that somebody agreed to a moment ago; their callers read
that the bridge is halted, by whom and why. Questions stay, and their time stands
still. A call that runs goes on, unless --cancel has the server told to end it.

It holds, over restarts too, until "resume" or R at its terminal; all is on record.`,
		Example: `  mcpx-bridge halt --reason "the agents delete what they should read"
  mcpx-bridge halt filesystem --cancel --reason "wrong directory"`,
		Args: help.InUTF8(help.Positional(0, -1), "reason"),
		RunE: func(cmd *cobra.Command, args []string) error { return p.halt(cmd.Context(), args) },
	}
	p.s.haltFlags(cmd.Flags(), "why, a `SENTENCE` for callers and the record; needed")
	cmd.Flags().BoolVar(&p.s.Cancel, "cancel", false, "end what runs, too: servers are told to stop, and nobody knows how far they came")
	return cmd
}

func (p *program) resumeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume [FLAGS] [BRIDGE…]",
		Short: "Go on after halt",
		Long: `Let calls start again: on the halted bridges of this machine that are named, or that
are in a --topic, or on all of them.

What was refused meanwhile stays refused. Questions go on with the time that they
had left. A bridge goes on once that is in its audit log.`,
		Example: `  mcpx-bridge resume --reason "the agents were replaced"
  mcpx-bridge resume filesystem`,
		Args: help.InUTF8(help.Positional(0, -1), "reason"),
		RunE: func(cmd *cobra.Command, args []string) error { return p.resume(cmd.Context(), args) },
	}
	p.s.haltFlags(cmd.Flags(), "why, a `SENTENCE` for the record")
	return cmd
}

func (s *settings) haltFlags(f *pflag.FlagSet, reason string) {
	f.StringVar(&s.Reason, "reason", "", reason)
	f.StringVar(&s.Topic, "topic", "", "only the bridges in this `TOPIC`")
}

// A haltEvent is what halt --json and resume --json print of each bridge.
type haltEvent struct {
	Bridge string        `json:"bridge"`
	Topic  string        `json:"topic"`
	Halted *inbox.Halted `json:"halted"` // null: it is not
}

// halt tries all that are meant, whatever becomes of one.
func (p *program) halt(ctx context.Context, named []string) error {
	if p.s.Reason == "" {
		return misused(`as in: mcpx-bridge halt --reason "the agents have gone mad"`, "halt needs a --reason, which callers read")
	}
	return p.eachMeant(ctx, named, func(c *socket.Client) error {
		how, err := c.Halt(ctx, inbox.Halt{Reason: p.s.Reason, Cancel: p.s.Cancel})
		if err != nil {
			return err
		}
		switch where := c.Known.ID + " in " + c.Known.Topic; {
		case p.s.JSON:
			return p.print(jsonLine(haltEvent{c.Known.ID, c.Known.Topic, &how}))
		case c.Known.Halted != nil:
			p.log.Info(where + " was halted already, " + how.Words(time.Now()))
		case c.Known.Elsewhere != "":
			p.log.Info(where + " is halted: nothing starts until R is pressed at its terminal (--answers terminal)")
		default:
			p.log.Info(where + " is halted: nothing starts until mcpx-bridge resume " + c.Known.ID)
		}
		return nil
	})
}

func (p *program) resume(ctx context.Context, named []string) error {
	return p.eachMeant(ctx, named, func(c *socket.Client) error {
		was := c.Known.Halted
		if was != nil {
			err := c.Resume(ctx, p.s.Reason)
			if r, is := errors.AsType[*inbox.Refusal](err); is && r.Reason == inbox.AnswersElsewhere {
				return fail(exitFailed, "press R there, at the terminal of the bridge", "it is halted still: with --answers terminal nobody resumes it from elsewhere, as an agent with a shell could")
			}
			if err != nil {
				return err
			}
		}
		switch where := c.Known.ID + " in " + c.Known.Topic; {
		case p.s.JSON:
			return p.print(jsonLine(haltEvent{c.Known.ID, c.Known.Topic, nil}))
		case was == nil:
			p.log.Info(where + " is not halted")
		default:
			p.log.Info(where + " goes on; it was halted " + was.Words(time.Now()))
		}
		return nil
	})
}

// eachMeant does something with each bridge that is meant, also where it cannot be done with
// others, and fails if one that may be meant does not answer. Which topic counts only if it
// stands on the command line: what stops everything must not stop less because of a variable.
func (p *program) eachMeant(ctx context.Context, named []string, do func(*socket.Client) error) error {
	dir, err := p.controlDir()
	if err != nil {
		return err
	}
	topic := ""
	if p.gave("topic") {
		topic = p.s.Topic
	}
	meant, silent, err := socket.Meant(ctx, dir, named, topic)
	var failed error
	if silent != nil {
		p.log.Warn("some bridges do not answer", "error", silent)
		failed = errors.New("not every bridge answers, and who does not goes on as before")
	}
	if err != nil {
		return err
	}
	for _, c := range meant {
		if err := do(c); err != nil {
			if failed != nil {
				p.log.Error(text.Line(failed.Error()))
			}
			failed = fmt.Errorf("%s: %w", c.Known.ID, err)
		}
	}
	return failed
}
