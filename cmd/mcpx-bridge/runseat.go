package main

import (
	"errors"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// warnUnverified says, at the first welcome, that the gateway does not make sure who
// speaks, and what that means for what the rules ask about: otherwise every ask would end
// in -31003, or forged answers count, without a word (WIRE 7.2, FINDINGS C3).
func (b *bridging) warnUnverified(d wire.Dialect) {
	warning, hint := b.unverifiedIn(d)
	if warning == "" {
		return
	}
	b.unverified.Do(func() {
		b.p.log.Warn(warning)
		b.p.log.Warn("hint: " + hint)
	})
}

// unverifiedIn is what warnUnverified says; "" where the gateway makes sure who speaks.
// This machine's own does, whatever it speaks.
func (b *bridging) unverifiedIn(d wire.Dialect) (warning, hint string) {
	if d.Verified() || b.door.Local != nil {
		return "", ""
	}
	warning = "gateways that speak " + d.Protocol + " do not verify who speaks: anybody in the topic can call, and answer, in anybody's name"
	if b.p.s.TrustUnverified {
		return warning, "--trust-unverified-from is given, so approvers in the topic are asked, and a forged answer counts as theirs; leave it out to ask at this machine alone"
	}
	return warning, "so approvers in the topic are not asked; what the rules ask about is for the person at this machine (of: [local]), or else refused with -31003; " +
		"--trust-unverified-from asks them all the same, where everybody in the topic is trusted"
}

// seatOf makes the seat's errors those that package bridge asks for.
type seatOf struct{ *topic.Seat }

func (s seatOf) Send(c wire.Class, frame []byte) error {
	err := s.Seat.Send(c, frame)
	if err == nil || errors.Is(err, outbox.ErrFull) || errors.Is(err, topic.ErrTooLarge) {
		return err
	}
	return bridge.ErrNoSeat // a link that is breaking is no seat either
}

// fromTopic is the sidecar as the seat's handler, which also sees the moment
// from which calls are served.
type fromTopic struct {
	*bridge.Sidecar
	b *bridging
}

func (t fromTopic) SeatTaken(d wire.Dialect, w wire.Welcome) {
	t.Sidecar.SeatTaken(d, w)
	t.b.attendance.seatedAs(d, w)
	t.b.warnUnverified(d)
	t.b.ready(d, w)
}
