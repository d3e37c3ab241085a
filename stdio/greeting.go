package stdio

// A plan says which era's handshake a server is met with.
type plan uint8

const (
	legacyFirst plan = iota // initialize, server/discover only if that gets nowhere
	modernFirst             // server/discover, initialize only if that gets nowhere
	legacyOnly              // initialize; server/discover only if it is refused, not for silence
)

// A step is what the greeting wants done next.
type step uint8

const (
	wait step = iota
	sendInitialize
	sendDiscover
	upLegacy // send notifications/initialized; the server is up
	upModern
	giveUp
)

// asked is how far one of the two questions has come.
type asked uint8

const (
	unsent asked = iota
	waiting
	refused
)

// A greeting decides how the handshake goes on (MCP.md 3.1 and 3.2). It is
// pure: it is told what happened and says what to do.
//
// Legacy is the main road. Many servers there ignore server/discover or die of
// it, so it is sent only to one that refused initialize or stays silent:
//
//	initialize answered                  up, legacy
//	initialize refused                   discover
//	initialize and discover refused      give up
//	silent after initialize              discover too; the first good answer wins
//	died then                            launch again, never discover for silence
//	died of initialize                   launch again, discover first
//
// modernFirst is the same table with the two exchanged.
type greeting struct {
	plan                 plan
	initialize, discover asked
}

func (g *greeting) begin() step {
	if g.plan == modernFirst {
		return g.send(&g.discover, sendDiscover)
	}
	return g.send(&g.initialize, sendInitialize)
}

func (g *greeting) send(q *asked, s step) step {
	*q = waiting
	return s
}

// initialized: initialize was answered, well or with an error.
func (g *greeting) initialized(well bool) step {
	if well {
		return upLegacy
	}
	return g.refused(&g.initialize, &g.discover, sendDiscover)
}

// discovered: server/discover was answered, well or with an error or without a
// revision that we speak.
func (g *greeting) discovered(well bool) step {
	if well {
		return upModern
	}
	return g.refused(&g.discover, &g.initialize, sendInitialize)
}

// refused goes on with the other question, if that is still to be asked.
func (g *greeting) refused(q, other *asked, ask step) step {
	*q = refused
	switch *other {
	case unsent:
		return g.send(other, ask)
	case refused:
		return giveUp
	}
	return wait
}

// silent: nothing was answered for ProbeAfter.
func (g *greeting) silent() step {
	switch {
	case g.plan == legacyFirst && g.discover == unsent:
		return g.send(&g.discover, sendDiscover)
	case g.plan == modernFirst && g.initialize == unsent:
		return g.send(&g.initialize, sendInitialize)
	}
	return wait
}

// died: the process ended before it was up. It returns the plan to launch it
// with again at once, and whether that is worth a try.
func (g *greeting) died() (plan, bool) {
	switch {
	case g.plan != legacyFirst || g.initialize != waiting:
		return legacyFirst, false
	case g.discover == unsent:
		return modernFirst, true
	}
	return legacyOnly, true
}
