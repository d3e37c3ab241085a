package engine

import (
	"maps"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/inflight"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// hostCalled takes a tools/call of the client's. It was read strictly, and its
// id is one.
func (e *Engine) hostCalled(ev HostCalled) {
	m := ev.Message
	env := &wire.Envelope{ID: e.newID(), From: inflight.HostID, Kind: wire.Request, Method: m.Text(jsonrpc.Method), Key: m.Text(jsonrpc.Name),
		Message: m, Payload: ev.Line}
	switch {
	case e.OwnsHostCall(m.Get(jsonrpc.ID)):
		e.refuse(env, refusal.InvalidRequest("this id is that of a call that has not been answered yet; use another"))
	case !e.server.starting() || e.halts(env) || !e.awaitsStart(env):
		e.serve(env, nil, 0)
	}
}

// OwnsHostCall reports whether a call that the client made under a raw id is
// still waited for, at the server or before it.
func (e *Engine) OwnsHostCall(id []byte) bool {
	return e.hostCall(id) != nil || slices.ContainsFunc(e.awaiting, func(w *awaiting) bool { return w.is(inflight.HostID, id) })
}

// HoldsHostCall reports whether the server cannot have such a call yet; id nil:
// whether there is any of which that is so.
func (e *Engine) HoldsHostCall(id []byte) bool {
	if id == nil {
		return slices.ContainsFunc(e.awaiting, func(w *awaiting) bool { return w.env.From == inflight.HostID }) ||
			slices.ContainsFunc(slices.Collect(maps.Values(e.calls.Open)), func(c *inflight.Call) bool { return c.Origin == inflight.Host && c.Phase.Unstarted() })
	}
	c := e.hostCall(id)
	return c == nil && e.OwnsHostCall(id) || c != nil && c.Phase.Unstarted()
}
