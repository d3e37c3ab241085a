package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client/export"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client/view"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

func (p *program) toolsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tools [FLAGS] [PEER]",
		Short: "List the tools of the topic, or of one participant",
		Long: `List the tools of the topic, or of one participant. FOR YOU says what the rules
make of calls by --id: allow, ask (somebody has to agree first), deny, or depends (on
arguments or limits). With a * some arguments are denied.

Formats:
  table      for people; at a terminal it is cut to fit, unless --wide is given
  json       one per line, as its server has it, with peer, for_you, some_denied
  openai     a list for the "tools" of OpenAI's API, named peer__tool
  anthropic  the same for Anthropic's API

A name that cannot be written as peer__tool without loss ends in a short digest. It
stays the same as long as peer and tool keep their names; serve shows it too, and
call takes it. openai and anthropic leave out tools that a server has for its app
and not for models.

In --include and --exclude, PATTERN is for PEER/NAME, and * stands for any
characters. stderr says how many tools are left out.`,
		Example: `  mcpx-bridge tools
  mcpx-bridge tools filesystem --json
  mcpx-bridge tools --format openai --limit 128 --exclude '*/delete_*' > tools.json`,
		Args: help.Positional(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.listTools(cmd.Context(), args) },
	}
	p.s.roomFlags(cmd.Flags())
	p.s.callFlags(cmd.Flags())
	cmd.Flags().StringVar(&p.s.Format, "format", "table", "the `FORMAT`: table, json, openai or anthropic")
	cmd.Flags().IntVar(&p.s.Limit, "limit", 0, "list at most `N` tools, peer by peer in turn (default: all)")
	p.s.choiceFlags(cmd.Flags(), "list")
	p.s.wideFlag(cmd.Flags())
	return cmd
}

// formats say how a list of tools is written; a table is drawn, and json says how we stand with each.
var formats = map[string]func([]tool) []byte{
	"table":     nil,
	"json":      nil,
	"openai":    export.OpenAI,
	"anthropic": export.Anthropic,
}

func (p *program) listTools(ctx context.Context, args []string) error {
	if p.s.JSON && p.s.Format == "table" {
		p.s.Format = "json"
	}
	write, known := formats[p.s.Format]
	if !known {
		return misused("it is one of "+strings.Join(sortedKeys(formats), ", "), "--format: there is no format %q", p.s.Format)
	}
	if err := cmp.Or(p.s.checkTimeout(), p.s.checkChoice()); err != nil {
		return err
	}
	if p.s.Limit < 0 {
		return misused("--limit 128", "--limit must be 1 or more, or 0 for all")
	}
	q, err := p.takeTurn(ctx, client.Options{})
	if err != nil {
		return err
	}
	defer q.Close()
	ctx, cancel := context.WithTimeoutCause(ctx, p.s.Timeout, client.ErrNoAnswer)
	defer cancel()
	var c client.Census
	if len(args) == 1 {
		c.Tools, err = q.toolsOf(ctx, args[0])
	} else {
		c, err = q.Census(ctx)
	}
	if err != nil {
		return err
	}
	shown := p.chosen(c.Tools)
	switch {
	case write != nil:
		err = p.print(write(shown))
	case p.s.Format == "json":
		err = p.print(export.JSON(shown, q.Standings(ctx, shown)))
	default:
		rows, note := view.Tools(shown, q.Standings(ctx, shown))
		if len(args) == 1 && p.columns() > 0 {
			rows = view.OfOne(rows)
		}
		err = p.draw(rows, 2)
		if note != "" {
			p.log.Info(note)
		}
	}
	return cmp.Or(err, p.tellAbsentees(c))
}

// chosen are the tools that are to be listed. How many are not is said.
func (p *program) chosen(all []tool) []tool {
	models := p.s.Format == "openai" || p.s.Format == "anthropic"
	shown, left := export.Choice{Include: p.s.Include, Exclude: p.s.Exclude, Models: models, Limit: p.s.Limit}.Of(all)
	for _, l := range left {
		p.log.Info("left out: " + text.Counted(l.Count, "tool") + " " + l.Why)
	}
	if p.s.Format == "openai" && len(shown) > export.MostFunctions {
		p.log.Warn(fmt.Sprintf("these are %d functions, and OpenAI's API takes %d", len(shown), export.MostFunctions))
		p.log.Info("hint: --limit 128, --include and --exclude choose")
	}
	return shown
}

// toolsOf lists the tools of somebody who must be here.
func (q *peer) toolsOf(ctx context.Context, of string) ([]tool, error) {
	if err := q.Await(ctx, of); err != nil {
		return nil, err
	}
	tools, err := q.Tools(ctx, of, client.WithOne)
	return tools, noAnswer(of, "tools/list", err)
}

// tellAbsentees says who did not answer. That nobody did is an error.
func (p *program) tellAbsentees(c client.Census) error {
	const hint = "mcpx-bridge tools PEER waits longer; a participant that serves nothing may never answer"
	words := c.Absent()
	switch {
	case words == "":
		return nil
	case c.Heard == 0:
		return fail(exitNoAnswer, hint, "%s", words)
	}
	p.log.Warn(words)
	p.log.Info("hint: " + hint)
	return nil
}
