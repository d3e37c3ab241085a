package stdio

// An eraOrder says which era's handshake is tried first.
type eraOrder uint8

const (
	legacyFirst eraOrder = iota // initialize, server/discover only if that gets nowhere
	modernFirst                 // server/discover, initialize only if that gets nowhere
	legacyOnly                  // initialize; server/discover only if it is refused, not for silence
)

// A step is what the handshakePlan wants done next.
type step uint8

const (
	wait step = iota
	sendInitialize
	sendDiscover
	upLegacy // send notifications/initialized; the server is up
	upModern
	giveUp
)

// progress is how far one of the two requests has come.
type progress uint8

const (
	unsent progress = iota
	waiting
	refused
)

// A handshakePlan decides how the handshake goes on (MCP.md 3.1 and 3.2). It is pure: it is
// told what happened and returns what to do.
//
// Most servers are of the legacy era. Many of these ignore server/discover or die of it, so
// it is sent only to one that refused initialize or stays silent:
//
//	initialize answered                  up, legacy
//	initialize refused                   discover
//	initialize and discover refused      give up
//	silent after initialize              discover too; the first good answer wins
//	died then                            launch again, never discover for silence
//	died of initialize                   launch again, discover first
//
// modernFirst is the same table with the two exchanged.
type handshakePlan struct {
	plan                 eraOrder
	initialize, discover progress
}

func (g *handshakePlan) begin() step {
	if g.plan == modernFirst {
		return g.send(&g.discover, sendDiscover)
	}
	return g.send(&g.initialize, sendInitialize)
}

func (g *handshakePlan) send(q *progress, s step) step {
	*q = waiting
	return s
}

// initialized: initialize was answered, well or with an error.
func (g *handshakePlan) initialized(well bool) step {
	if well {
		return upLegacy
	}
	return g.refused(&g.initialize, &g.discover, sendDiscover)
}

// discovered: server/discover was answered, well or with an error or without a
// revision that we speak.
func (g *handshakePlan) discovered(well bool) step {
	if well {
		return upModern
	}
	return g.refused(&g.discover, &g.initialize, sendInitialize)
}

// refused goes on with the other question, if that is still to be asked.
func (g *handshakePlan) refused(q, other *progress, ask step) step {
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
func (g *handshakePlan) silent() step {
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
func (g *handshakePlan) died() (eraOrder, bool) {
	switch {
	case g.plan != legacyFirst || g.initialize != waiting:
		return legacyFirst, false
	case g.discover == unsent:
		return modernFirst, true
	}
	return legacyOnly, true
}
