package main

import (
	"context"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
)

// takePlace finds the gateway and who we are there, opens the record that is
// kept under that name, and joins the parts.
func (b *bridging) takePlace(ctx context.Context) (err error) {
	if err := b.door.Ready(ctx); err != nil {
		return err
	}
	if b.seat, err = b.door.Seat(); err != nil {
		return err
	}
	b.id = b.door.Join.ID
	if err := b.openDoor(b.id); err != nil {
		return err
	}
	if err := b.takeGrants(); err != nil {
		return err
	}
	b.opt.Told, b.opt.Remember = b.attendance.told, b.attendance.remember
	if b.audit, err = b.p.openAudit(b.door.Join.ID, &b.opt, b.about(), b.auditChanged); err != nil {
		return err
	}
	if err := b.recordRevoked(); err != nil {
		return err
	}
	if b.audit != nil {
		b.opt.Audit = b.audit
	}
	b.sidecar = bridge.New(b.opt)
	b.sidecar.Bind(seatOf{b.seat}, b.server)
	close(b.joined)
	return nil
}
