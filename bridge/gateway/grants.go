package gateway

import "github.com/mcpx-protocol/mcpx-bridge/bridge/wire"

// The dialects of those routes that welcome a participant at once, and the
// one spoken to a joiner that names none.
var (
	v0     = dialect("mcp-x/v0")
	v01    = dialect("mcpx/v0.1")
	newMew = dialect("mew/v0.4")
)

func dialect(protocol string) wire.Dialect {
	d, ok := wire.Lookup(protocol)
	if !ok {
		panic("no dialect " + protocol)
	}
	return d
}

// The default grants: what a token that states none permits. The first has the words of
// the seeds too, for who goes by what it reads in its welcome (WIRE 4.3). In the mew family
// it is what a participant says of itself and to others there, as stock gateways grant it
// (FINDINGS D15); nothing in it gives power over anybody.
var (
	plainGrant = caps(`["mcp/*","chat","mcpx.*","mcp.*","proposal*"]`)
	mewGrant   = caps(`[{"kind":"mcp/*"},{"kind":"chat"},{"kind":"chat/*"},{"kind":"reasoning/*"},{"kind":"participant/status"},{"kind":"participant/compact-done"},{"kind":"capability/grant-ack"}]`)
)

// grant returns what a participant may send: what its token states, else the
// default.
func grant(c wire.Caps, d wire.Dialect) wire.Caps {
	switch {
	case c.Stated():
		return c
	case d.Alike(newMew):
		return mewGrant
	}
	return plainGrant
}

// caps reads a list known to be well formed.
func caps(raw string) wire.Caps {
	c, err := wire.ParseCaps([]byte(raw))
	if err != nil {
		panic(err)
	}
	return c
}
