package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client/view"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

func (p *program) watchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "watch [FLAGS]",
		Short: "Show what happens in a topic",
		Long: `Show what happens in a topic until interrupted: one line per call when it is over,
and one more while people decide about it; proposals, and what is said in chats.

--json shows each frame as it came, with arguments and results, and with greetings
and lists, which are left out otherwise. Tokens are always blotted out. For people,
control characters are shown as \u{…}.`,
		Example: "  mcpx-bridge watch\n  mcpx-bridge watch --topic team --json | jq .kind",
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.watch(cmd.Context()) },
	}
	p.s.roomFlags(cmd.Flags())
	p.s.wideFlag(cmd.Flags())
	return cmd
}

// watch prints until it is told to stop, the seat is lost for good, or nobody
// reads any more.
func (p *program) watch(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	show := func(line []byte) {
		if line == nil {
			return
		}
		if err := p.print(line); err != nil {
			stop(errSignalled)
		}
	}
	d, err := p.participant()
	if err != nil {
		return err
	}
	w := view.Watch{Columns: p.columns}
	o := client.Options{OnFrame: func(e *wire.Envelope) { show(w.Line(e, time.Now())) }, OnSeat: func(what, detail string) { show(seatLine(what, detail)) }}
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

func seatLine(what, detail string) []byte {
	return fmt.Appendf(nil, "%s * %s %s\n", time.Now().Format(time.TimeOnly), what, text.Line(detail))
}
