package stdio

// An eraOrder says which era's handshake is tried first.
type eraOrder uint8

const (
	legacyFirst eraOrder = iota // initialize, server/discover only if that gets nowhere
	modernFirst                 // server/discover, initialize only if that gets nowhere
	legacyOnly                  // initialize; server/discover only if it is refused, not for silence
)

// A question is one of the two requests that begin a handshake.
type question uint8

const (
	initialize question = iota
	discover
)

var questions = [...]string{"initialize", "server/discover"} // their methods

// A step is what the handshakePlan wants done next. Two of them are about a question each,
// in the order of these.
type step uint8

const (
	wait step = iota
	giveUp
	sendInitialize
	sendDiscover
	upLegacy // send notifications/initialized; the server is up
	upModern
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
	plan  eraOrder
	asked [2]progress // of each question
}

func (g *handshakePlan) begin() step { return g.send(g.first()) }

// first is the question that is asked first.
func (g *handshakePlan) first() question {
	if g.plan == modernFirst {
		return discover
	}
	return initialize
}

func (g *handshakePlan) send(q question) step {
	g.asked[q] = waiting
	return sendInitialize + step(q)
}

// answered: a question was answered, well or with an error or without a revision that we
// speak. Then it goes on with the other question, if that is still to be asked.
func (g *handshakePlan) answered(q question, well bool) step {
	if well {
		return upLegacy + step(q)
	}
	g.asked[q] = refused
	switch other := 1 - q; g.asked[other] {
	case unsent:
		return g.send(other)
	case refused:
		return giveUp
	}
	return wait
}

// silent: nothing was answered for ProbeAfter.
func (g *handshakePlan) silent() step {
	if second := 1 - g.first(); g.plan != legacyOnly && g.asked[second] == unsent {
		return g.send(second)
	}
	return wait
}

// died: the process ended before it was up. It returns the plan to launch it
// with again at once, and whether that is worth a try.
func (g *handshakePlan) died() (eraOrder, bool) {
	switch {
	case g.plan != legacyFirst || g.asked[initialize] != waiting:
		return legacyFirst, false
	case g.asked[discover] == unsent:
		return modernFirst, true
	}
	return legacyOnly, true
}
