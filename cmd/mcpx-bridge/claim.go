package main

import (
	"context"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
)

// claim makes the id that serve was given ours alone on this machine. Two clients
// with one --id put each other out of the topic every half minute, for ever, and
// nobody said so (FINDINGS P18). At this machine's own gateway the second gets a
// number behind it; elsewhere a token may be for this very id, so it is told.
func (p *program) claim(ctx context.Context, d *connector) {
	if d.Derived {
		return // one at random is nobody's
	}
	state, err := stateHome(p.getenv)
	if err == nil {
		err = state.Open()
	}
	if err != nil {
		return // openInbox says so
	}
	free := func(id string) bool {
		ours, err := d.TryID(state, id)
		return err != nil || ours
	}
	id := d.Join.ID
	for began := time.Now(); !free(id); {
		if time.Since(began) > localgateway.ClaimTime || !pause.For(ctx, localgateway.FreeAgain) {
			break
		}
	}
	if d.HoldsID() {
		return
	}
	p.log.Warn("another program on this machine goes by the id " + id + " already")
	if d.Local == nil || d.Bears {
		p.log.Warn("hint: give each client its own --id: under one id they put each other out of the topic")
		return
	}
	for n := 2; ; n++ {
		if next := localgateway.Numbered(id, n); free(next) {
			d.Join.ID = next
			p.log.Warn("so this client is " + next + ", and questions for " + id + " are not put here")
			p.log.Warn("hint: --id gives it a name of its own")
			return
		}
	}
}
