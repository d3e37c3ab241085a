package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A claim is one request that reached the bridge, and all that the checker has
// seen become of it: one automaton per request.
type claim struct {
	said
	order   int // in which it was heard
	proc    int // the life of the bridge that heard it
	heardAt time.Duration
	since   time.Duration // it is remembered: since it was heard, or since it started
	book    *rulebook     // in force when it was heard
	bookAt  int           // which of checker.books that is; one may come back
	recAt   time.Time     // of its first record, by the wall clock; zero if there is none

	question string
	askedAt  time.Duration
	times    int      // how often it was: what comes back is asked about again
	plan     *planned // that lets it run
	version  string   // of its tool when it was asked about, as last listed
	surely   string   // that version by the last listing that the bridge cannot have passed over (seed 40065748)
	pinned   bool     // was asked about because the tool had changed
	expect   []byte   // the arguments with which it may run
	modified bool     // somebody has changed them
	grants   int      // of a plan: how many calls, after what people took from it
	votes    []vote
	refused  bool // somebody who was asked said no
	noes     int  // of those who were asked: what is no yes, whether it counted or not
	erred    bool // somebody who was asked answered with an error
	passed   []string
	vias     []string        // by which way it was asked for, as far as can be said
	refusing map[string]bool // of a proposal: who will not serve it
	byGrant  string          // the yes that lasts, or the plan, by which it is allowed
	settled  *grant          // because of which nobody should be asked
	digests  []string        // that were shown for it

	name         string // on record
	allowed      bool
	allowedAt    time.Duration
	allowedOrder int // see looking
	decidedSize  int // bytes of the log with its decision
	denied       bool
	unkept       bool // refused because it could not be known again, so it is not
	spent        bool // its id had been used by a frame that can be read in two ways, which was not answered yet (seed 80009504)
	over         bool // nothing comes of it any more: withdrawn, expired or refused before it started, or its answer was dropped
	dropped      bool // its answer could not be delivered
	started      bool
	life         int  // of the server it was started for
	ended        bool // its end is on record
	line         *line
	answers      int
	told         string // "executed" in the answer it got
	code         int
	refusals     int           // of its caller and tool in a row, when it was asked about
	excused      string        // why nobody is owed an answer
	cancelled    bool          // by its caller, before it started
	tookBack     bool          // by its caller, at any time
	takenBackAt  time.Duration // of a proposal: when its proposer first took it back, at any time; 0 if it did not
	proposerGone bool          // of a proposal
	outcome      string        // as it was put on record
	executed     string
	refusedAs    int  // the code of that on record
	spoilt       bool // nobody knew how it ended, and then it came out that nothing came of it

	again    bool   // it was heard once more when it could have been forgotten, so this may be about that one
	earlier  *claim // the same, when it had been forgotten
	noted    bool   // something is on record of it
	serves   *claim // of a proposal: what started last for its sake
	self     string // of a proposal: the request that we made of ourselves
	shown    bool   // and that it was made in public
	shownAt  time.Duration
	echoed   bool // and has come back to us
	echoedAt time.Duration
	before   string // of a proposal: who claimed it before our claim has come back, if it does
	lentTo   run    // of a proposal: who took it last
	unclear  bool   // or who took it, nobody can say
	returns  bool   // and did not do it, or is gone
	lostTo   string // of a proposal: who claimed it before that
	rivalled bool   // somebody else claimed it at some time
	answered bool   // of a proposal: somebody else who may serve it says that they did
}

// A vote is a yes that was said to a question.
type vote struct {
	who  string
	at   time.Duration
	edit string
	keep string

	signed bool // by a passkey
}

// A line is what the bridge wrote to the server.
type line struct {
	ID       json.RawMessage `json:"id"`
	Method   string          `json:"method"`
	Params   json.RawMessage `json:"params"`
	Token    json.RawMessage `json:"-"`
	claim    *claim
	life     int // of the server
	order    int // see looking
	at       time.Duration
	runs     int
	said     bool // it was answered
	spoilt   bool // with an error
	moot     bool // nobody waits for it any more
	mootAt   time.Duration
	halfMoot bool // its caller does not wait for it any more, and others may
	quit     bool // the server has been told so
}

// An asked is one question before one participant.
type asked struct {
	id, to   string
	rpc      []byte
	claim    *claim
	question string // about the claim; one that came back has another
	at       time.Duration
	used     bool          // answered by whom it was put to
	closed   bool          // taken away, or put anew
	gone     bool          // and whom it was put to has been told so
	erredAt  time.Duration // it was answered with an error; 0: it was not
}

// A halt is a time in which that is so.
type halt struct {
	from, till time.Duration
	goesOn     bool
}

// halting is what the checker knows of it in this life of the bridge.
type halting struct {
	halts    []halt
	goesAt   int             // bytes of the log with the record that the bridge goes on; 0: there is none since the last halt
	haltedBy map[*claim]bool // what somebody had agreed to, or a rule allows, and had not left for the server when a halt came
}

// ownWord: the bridge answers it itself, without the server.
func (cl *claim) ownWord() bool { return cl.method == "ping" || cl.method == "initialize" }

// way is how a policy treats the claim.
func (c *claim) way(b *rulebook) way {
	w := b.ways[c.tool]
	switch c.method {
	case "tools/call":
		if b.seals && c.tool == "note" && noteOf(string(c.args)) == sealedNote {
			w = w.sealed()
		}
	case reads:
		w = b.ways[reads]
	case planMethod:
		w = b.byPlan(c.tool)
		if b.seals && c.mayCover(sealedNote) {
			w = w.sealed()
		}
		w.uses = c.uses
	default:
		w = way{verdict: allow}
	}
	switch {
	case w.why && c.why == "":
		return way{verdict: deny}
	case !c.offer() && !c.asks:
	case b.fulfil == "never", !c.asks && !b.open && !c.targeted():
		return way{verdict: deny}
	case w.verdict == allow && b.fulfil == "ask":
		return b.usual
	}
	if w.verdict == allow && !b.passes(c.beside) {
		usual := b.usual
		usual.reads = w.reads
		return usual
	}
	return w
}

// terms are how a policy treats the claim, which was asked about as its tool had
// changed: what the policy allows then, it asks about as about all else (FINDINGS C1).
func (c *claim) terms(b *rulebook) way {
	w := c.way(b)
	if c.pinned && w.verdict == allow && b.pin == "ask" {
		return b.usual
	}
	return w
}

func (c *claim) String() string {
	return fmt.Sprintf("%s %s of %s (%s %s)", c.name, c.id, c.from, c.method, c.tool)
}

// content is what of a request the server must see unchanged.
func content(method, tool string, args []byte, beside string) string {
	return method + "\x00" + tool + "\x00" + string(args) + "\x00" + beside
}

// content of the claim as it may run.
func (c *claim) content() string {
	switch c.method {
	case "tools/call":
		return content(c.method, c.tool, c.expect, c.beside)
	case reads:
		return content(c.method, c.tool, nil, c.beside)
	}
	return content(c.method, "", c.expect, c.beside)
}

// content of a line, and the progress token in it.
func (l *line) content() string {
	var p struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		X         string          `json:"x"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	params := withoutOurs(l.Params)
	if l.Params != nil && json.Unmarshal(params, &p) != nil {
		return l.Method
	}
	l.Token = p.Meta.Token
	switch l.Method {
	case "tools/call":
		return content(l.Method, p.Name, p.Arguments, besideIn(l.Method, params))
	case "resources/read":
		return content(l.Method, p.URI, nil, besideIn(l.Method, params))
	}
	return content(l.Method, "", []byte(p.X), besideIn(l.Method, params))
}

// undecided: nothing has become of it yet.
func (cl *claim) undecided() bool { return !cl.allowed && !cl.denied && !cl.over }

// votedBy: somebody's yes stands.
func (cl *claim) votedBy(who string) bool {
	return slices.ContainsFunc(cl.votes, func(v vote) bool { return v.who == who })
}

// asking: somebody is being asked about it.
func (cl *claim) asking() bool { return cl.question != "" && cl.undecided() }

// excuse says why nobody is owed an answer; the first reason stands.
func (cl *claim) excuse(why string) {
	if cl.excused == "" {
		cl.excused = why
	}
}

// done: it has come to its end, be it that its caller does not know yet.
func (cl *claim) done() bool {
	return cl.ended && !cl.over || cl.denied || cl.executed == "no" && !cl.started
}

// mayBeRefusedBy: an error of the bridge goes with what is on record of a call,
// and not better with a newer one, as a refusal does whose code is on record of that
// alone: it may leave first, where the other one waits for room (seed 99688444).
func (cl *claim) mayBeRefusedBy(l *letter, newer *claim) bool {
	e := l.Payload.Error
	switch {
	case e != nil && e.Code == busy && cl.unkept:
		return true
	case e != nil && e.Data.Decision != "":
		return e.Data.Decision == cl.question
	case e == nil || e.Data.Reason == "", cl.executed != "" && cl.executed != e.Data.Executed:
		return false
	case cl.refusedAs != 0 && cl.refusedAs != e.Code && newer.refusedAs == e.Code:
		return false
	case cl.excused == "", !cl.perfect:
		return true
	}
	return e.Data.Executed == "unknown" && !newer.started
}

// droppedOf is of which of the calls of one caller under one envelope the answer
// was dropped: the oldest that still waits for one. What was refused for a full share,
// and came again, waits for one each time (seed 416924).
func (cl *claim) droppedOf() *claim {
	found := cl
	for old := cl.earlier; old != nil && old.proc == cl.proc; old = old.earlier {
		if old.answers == 0 && !old.dropped && (old.ended || old.denied || old.unkept && !old.offer()) {
			found = old
		}
	}
	return found
}

// mayBePassedOver: it came again when it may have been known still, and nothing has come
// of that, so that the bridge may have forgotten it since (seed 432819).
func (cl *claim) mayBePassedOver() bool {
	return cl.earlier != nil && cl.earlier.proc == cl.proc && !cl.noted && cl.answers == 0
}

// ours2026 is what each request to a server of 2026-07-28 carries.
const ours2026 = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`

// withoutOurs is what a line says beside what every request carries.
func withoutOurs(params []byte) []byte {
	if !bytes.Contains(params, []byte(ours2026)) {
		return params
	}
	return []byte(strings.NewReplacer(","+ours2026, "", ours2026+",", "", ours2026, "").Replace(string(params)))
}

// own: the bridge asks for itself, or somebody who asks in the same words (seed 70040607).
func (l *line) own() bool {
	params := string(withoutOurs(l.Params))
	return l.Method == "tools/list" && (params == "{}" || params == `{"_meta":{}}`) || l.Method == "subscriptions/listen"
}

// A run is a request that others made of each other for a proposal.
type run struct{ id, by, of string }

// lend: a proposal is taken by somebody, as far as can be said: of several requests
// which one counts depends on what was under way.
func (cl *claim) lend(s *said) {
	next := run{s.id, s.from, s.to[0]}
	cl.unclear = cl.unclear || cl.lentTo.of != "" && cl.lentTo != next || cl.started || cl.allowed
	cl.lentTo = next
}

// Codes of answers (WIRE 7.3).
const (
	policyDenied = -31004
	busy         = -31005
	stoppingNow  = -31006
	whileHalted  = -31015
	timedOut     = -31010
)

// A grant is a yes that was to last.
type grant struct {
	id, caller, tool, keep, version string
	args, beside                    string
	vias                            []string
	by                              []string
}

// A planned is what a plan gives leave for, once it counts.
type planned struct {
	of      *claim
	begun   bool
	version string // of the tool
	until   time.Time
	uses    int // left
}

// A draft is a yes that is to be signed.
type draft struct {
	digest string // of the question as it was shown
	edit   string // what of it the yes changes
	under  int    // how many policies there had been
}

// A leeway is what a plan says of the one argument that a note has.
type leeway struct {
	Is    string
	In    []string
	Any   bool
	Under string
}

func (l *leeway) names(note string) bool { return l.Is == note || slices.Contains(l.In, note) }

func (cl *claim) leeway() (l leeway, ok bool) {
	var p struct {
		Items []struct{ Args map[string]leeway }
	}
	if json.Unmarshal(cl.args, &p) != nil || len(p.Items) == 0 {
		return l, false
	}
	return p.Items[0].Args["/n"], true
}

// covers: the plan says so.
func (cl *claim) covers(args []byte) bool {
	may, ok := cl.leeway()
	var note map[string]string
	if !ok || json.Unmarshal(args, &note) != nil || len(note) != 1 {
		return false
	}
	return may.Any || may.Under != "" && inFolder(note["n"], may.Under) || may.names(note["n"])
}

// mayCover: the plan covers a note, or a rule cannot tell beforehand.
func (cl *claim) mayCover(note string) bool {
	may, ok := cl.leeway()
	return ok && (may.Any || may.Under != "" || may.names(note))
}

// An absence is what the bridge was told of when somebody could not be reached.
type absence struct {
	gone, seatless bool
	since          time.Duration // when that began
	backAt         time.Duration // the end of the last one; -1: there was none
	longTill       time.Duration // the end of the last one of a minute or more; -1: there was none
	goneAt         time.Duration // when they were last seen to have gone; -1: never
}

func (a *absence) is() bool { return a.gone || a.seatless }

type streakKey struct{ caller, method, tool string }

type streak struct {
	n    int
	till time.Duration
}

// streakOf: which resource is read counts for nothing, as the caller chooses it (seed
// 7300023912).
func streakOf(cl *claim) streakKey {
	if cl.method == reads {
		return streakKey{cl.from, cl.method, ""}
	}
	return streakKey{cl.from, cl.method, cl.tool}
}

// sameAs: a request is for what is proposed, though perhaps with other arguments. Any
// other has nothing to do with the proposal that it names (FINDINGS M9).
func (cl *claim) sameAs(s *said) bool { return cl.method == s.method && cl.tool == s.tool }
