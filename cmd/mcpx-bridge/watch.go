package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

func (p *program) watchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [FLAGS]",
		Short: "Show what is said in a topic",
		Long: `Show what is said in a topic, one line per frame, until interrupted.

With --json each frame is shown as it came. Tokens are blotted out in both, and
control characters are shown as \u{…} where people read them.`,
		Example: "  mcpx-bridge watch\n  mcpx-bridge watch --topic team --json | jq .kind",
		Args:    positional(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.watch(cmd.Context()) },
	}
	p.s.roomFlags(cmd.Flags())
	return cmd
}

// watch prints until it is told to stop, the seat is lost for good, or nobody
// reads any more.
func (p *program) watch(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	show := func(line []byte) {
		if err := p.print(line); err != nil {
			stop(errSignalled)
		}
	}
	d, err := p.newConnector(cmp.Or(p.s.ID, randomID()), false)
	if err != nil {
		return err
	}
	o := client.Options{OnFrame: func(e *wire.Envelope) { show(frameLine(e)) }, OnSeat: func(what, detail string) { show(seatLine(what, detail)) }}
	if p.s.JSON {
		o = client.Options{}
		d.see(func(dir string, frame []byte) {
			if dir == "recv" {
				show(rawLine(frame))
			}
		})
	}
	q, err := p.sit(ctx, d, o)
	if err != nil {
		return err
	}
	defer q.Close()
	select {
	case <-ctx.Done():
		return nil
	case <-q.Done():
		return q.Err()
	}
}

// rawLine is a frame on one line. What is no JSON becomes a JSON string.
func rawLine(frame []byte) []byte {
	if json.Valid(frame) {
		return append(rawjson.OneLine(frame), '\n')
	}
	return jsonLine(struct {
		Raw string `json:"raw"`
	}{string(frame)})
}

// frameLine is a frame for people: when, who to whom, what.
func frameLine(e *wire.Envelope) []byte {
	to := "all"
	if len(e.To) > 0 {
		to = strings.Join(e.To, ",")
	}
	return fmt.Appendf(nil, "%s %s -> %s  %s  %s\n", time.Now().Format(time.TimeOnly), visible(cmp.Or(e.From, "-")), visible(to), visible(whatFor(e)), brief(e))
}

// whatFor is what a frame is for: its kind as it is spelled, or what becomes of
// a proposal, in the same words for all spellings.
func whatFor(e *wire.Envelope) string {
	switch n, _ := e.Ending(); e.Kind {
	case wire.Proposal:
		return strings.TrimSpace("proposes "+e.Method+" "+e.Key) + " as " + e.ID
	case wire.Withdraw:
		return "withdraws " + n.Of
	case wire.Reject:
		return "rejects " + n.Of
	}
	what := e.Spelled
	for _, more := range []string{e.Method, e.Key} {
		if more != "" && !strings.Contains(what, more) {
			what += " " + more
		}
	}
	if len(e.Corr) > 0 {
		what += " re " + strings.Join(e.Corr, ",")
	}
	return what
}

// hintsOf is what a proposal asks for beside the call.
func hintsOf(e *wire.Envelope) string {
	o, err := e.Offer()
	if err != nil {
		return " malformed: " + err.Error()
	}
	var text string
	if len(o.Preferred) > 0 {
		wait := fmt.Sprintf(", others after %v", o.FallbackAfter)
		if o.Exclusive {
			wait = fmt.Sprintf(", others after %v", o.ExclusiveFor)
			if !o.FallbackToBroadcast {
				wait = " alone"
			}
		}
		text = " for " + strings.Join(o.Preferred, ",") + wait
	}
	if o.TTL > 0 {
		text += fmt.Sprintf(" within %v", o.TTL)
	}
	return text
}

// brief is what a frame carries, in one line of bounded length.
func brief(e *wire.Envelope) string {
	text, after := e.Payload, ""
	switch e.Kind {
	case wire.Chat:
		text = []byte(e.ChatText())
	case wire.Request, wire.Notification:
		text = e.Message.Get(jsonrpc.Params)
	case wire.Proposal:
		text = e.Message.Get(jsonrpc.Params)
		after = visible(hintsOf(e))
	case wire.Withdraw, wire.Reject:
		n, _ := e.Ending()
		text = []byte(n.Reason)
		if n.Detail != "" && n.Detail != n.Reason {
			text = fmt.Appendf(text, " (%s)", n.Detail)
		}
	case wire.Response:
		if text = e.Message.Get(jsonrpc.Result); text == nil {
			text = e.Message.Get(jsonrpc.Err)
		}
	}
	return client.Brief(text) + after
}

func seatLine(what, detail string) []byte {
	return fmt.Appendf(nil, "%s * %s %s\n", time.Now().Format(time.TimeOnly), what, visible(detail))
}
