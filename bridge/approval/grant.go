package approval

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// maxGrants bounds what is remembered.
const maxGrants = 1000

// offersToKeep are the values that the question's remember takes; nil when
// there is nothing to choose.
func (p *pending) offersToKeep() []string {
	var kept []string
	for _, k := range policy.Memories() {
		if k == "once" || slices.Contains(p.q.Terms.Remember, k) && (!policy.CoversMore(k) || p.q.Around(k) != nil) {
			kept = append(kept, k)
		}
	}
	if len(kept) < 2 {
		return nil
	}
	return kept
}

// keeps says in words what an answer to remember would do. What redact hides of the arguments
// it does not say; nil hides nothing.
func (o *Options) keeps(q *Question, word string, redact func([]byte) []byte) string {
	if around := q.Around(word); around != nil {
		var m text.Marks
		return "every call of " + text.Line(q.Tool) + around.Items[0].With(&m, redact) + ", runs unasked until the bridge stops or the caller leaves, for " +
			inWords(o.Session) + " at most"
	}
	switch word {
	case "session":
		return "the same call with exactly these arguments runs unasked until the bridge stops or the caller leaves, for " +
			inWords(o.Session) + " at most"
	case "always":
		return "the same call with exactly these arguments runs unasked for " + inWords(o.Always) + ", after a restart too"
	}
	return "this one call; the next is asked about again"
}

// mean is what each of what may be remembered would do.
func (o *Options) mean(q *Question, words []string, redact func([]byte) []byte) (all []string) {
	for _, word := range words {
		all = append(all, o.keeps(q, word, redact))
	}
	return all
}

// last is for how many seconds each of what may be remembered would count.
func (o *Options) last(words []string) (all []int) {
	for _, word := range words {
		seconds := map[string]time.Duration{"session": o.Session, "folder": o.Session, "tool": o.Session, "always": o.Always}[word] / time.Second
		all = append(all, int(seconds))
	}
	return all
}

// inWords is a time in the largest unit that it has whole.
func inWords(t time.Duration) string {
	switch day := 24 * time.Hour; {
	case t%day == 0:
		return strconv.Itoa(int(t/day)) + " days"
	case t%time.Hour == 0:
		return strconv.Itoa(int(t/time.Hour)) + " hours"
	}
	return t.String()
}

// grantFor makes the grant that those who agreed want made, nil if any of them
// wants none. What was edited is agreed to once. What no file of grants can say, or nobody
// could look over there, is remembered for the session only.
func (d *Desk) grantFor(p *pending) *Grant {
	keep := ""
	for _, s := range p.ballots {
		switch {
		case s.state != agreed:
		case s.keep == "":
			return nil
		case keep == "" || keep == s.keep:
			keep = s.keep
		default: // the narrower of the two, or what is in both
			keep = "session"
		}
	}
	if len(p.modified) > 0 {
		return nil
	}
	d.endOldGrants()
	if len(d.grants) >= maxGrants {
		return nil
	}
	q := &p.q
	g := &Grant{ID: p.first.Short(), Keep: keep, Caller: q.Caller, Via: q.Via, Method: q.Method, Tool: q.Tool, Proposer: q.Proposer, Topic: q.Topic, Gateway: q.Gateway, Server: q.Server, Dir: q.Dir, Command: q.Command, Unverified: q.Unverified, Fingerprint: q.Fingerprint,
		Args: Canonical(q.Args), By: p.who(agreed), Rules: q.Terms.Rules, key: p.key}
	if len(q.Beside) > 0 {
		g.Beside = Canonical(q.Beside)
	}
	if g.of = q.Around(keep); g.of != nil {
		g.Args, g.prints = g.of.Items[0].JSON(nil), []string{q.Fingerprint}
	}
	if keep == "always" && !g.lasts() {
		g.Keep = "session"
	}
	lasts := d.o.Session
	if g.Keep == "always" {
		lasts = d.o.Always
	}
	g.begin(d.now, lasts)
	d.grants = append(d.grants, g)
	return g
}

// begin has a grant count for so long. What people read of it, and a later run, is the time
// of day.
func (g *Grant) begin(now time.Time, lasts time.Duration) {
	g.ends = now.Add(lasts)
	g.Made, g.Until = now.Round(0), g.ends.Round(0)
}

// over reports whether the time of a grant is up by either clock: that of the day may be put
// back, and the other stands still while the machine sleeps.
func (g *Grant) over(now time.Time) bool {
	return !g.Until.After(now) || !g.ends.IsZero() && !g.ends.After(now)
}

// maxAhead is how far the clock of an earlier run may have been ahead of ours.
const maxAhead = 15 * time.Minute

// fromLater reports whether an earlier run says that it made a grant at a time that has not
// come yet. Its clock was wrong, or ours is, and so nobody can say how long it still counts.
func (g *Grant) fromLater(now time.Time) bool {
	return g.ends.IsZero() && g.Made.After(now.Add(maxAhead))
}

// restore takes over what an earlier run had remembered.
func (d *Desk) restore(kept []Grant) {
	for _, g := range kept[:min(len(kept), maxGrants)] {
		g.key = keyOf(&Question{Caller: g.Caller, Via: g.Via, Method: g.Method, Tool: g.Tool, Args: g.Args, Beside: g.Beside})
		d.grants = append(d.grants, &g)
	}
}

// Why something that is remembered does not count for a call.
const (
	otherServer  = "server_changed" // another command, or the same in another directory
	othersDecide = "others_decide"  // those who agreed then are not enough now
	madeLater    = "made_later"     // some clock was wrong
)

// granted finds what lets a call run unasked, nil if nothing does. The tool must
// be what it was. The terms of now must allow it too: they still offer to
// remember it, ask for no more people than agreed then, and would still let
// those decide. A plan was agreed to as such, whatever they offer to remember.
func (d *Desk) granted(p *pending) *agreement {
	d.endOldGrants()
	t := &p.q.Terms
	for _, g := range d.grants {
		switch {
		case g.Ahead():
			if item := p.coveredBy(g); item >= 0 {
				return &agreement{p: p, grant: g, item: item, to: change{args: p.args}}
			}
		case g.key != p.key || !g.inThisRoom(&p.q) || g.Proposer != p.q.Proposer:
		case !g.ofThisServer(&p.q):
			p.unused, p.unusedWhy = g, otherServer
		case g.fromLater(d.now):
			p.unused, p.unusedWhy = g, madeLater
		case g.Fingerprint != p.q.Fingerprint:
			p.unused, p.unusedWhy = g, ToolChanged
		case t.Confirm != "", !slices.Contains(t.Remember, g.Keep):
			p.unused, p.unusedWhy = g, notOffered
		case !p.enough(g.By):
			p.unused, p.unusedWhy = g, othersDecide
		default:
			return &agreement{p: p, grant: g, to: change{args: p.args}}
		}
	}
	return nil
}

// coveredBy is the item of what a plan gave leave for that lets a call run unasked, -1 if
// none does.
func (p *pending) coveredBy(g *Grant) int {
	item, unused := g.covers(&p.q)
	switch {
	case item < 0 || !g.inThisRoom(&p.q):
		return -1
	case !g.ofThisServer(&p.q):
		unused = otherServer
	case unused == "" && p.q.Terms.Confirm != "":
		unused = notOffered
	case unused == "" && !p.enough(g.By):
		unused = othersDecide
	}
	if unused != "" {
		p.unused, p.unusedWhy = g, unused
		return -1
	}
	return item
}

// inThisRoom: a caller is who it is only in one room.
func (g *Grant) inThisRoom(q *Question) bool {
	return g.Topic == q.Topic && g.Gateway == q.Gateway && g.Unverified == q.Unverified
}

// ofThisServer: another server may have a tool of the same definition, as the same
// program has where it is started with other arguments or in another directory.
func (g *Grant) ofThisServer(q *Question) bool {
	return g.Server == q.Server && g.Dir == q.Dir && g.Command == q.Command
}

// noteUnused says why somebody is asked though something is remembered.
func (d *Desk) noteUnused(p *pending) {
	if g := p.unused; g != nil {
		d.do(Noted{ID: p.id, Event: record.GrantUnused, Reason: p.unusedWhy, Digest: p.digest,
			Said: fmt.Sprintf("granted-%s: agreed by %s on %s", g.ID, names(g.By), g.Made.UTC().Format(time.DateOnly))})
	}
}

func (p *pending) enough(people []Who) bool {
	n := 0
	for _, w := range people {
		name := w.String()
		t := &p.q.Terms
		if !p.barred(w) && (slices.Contains(t.Of, name) || t.Delegate != nil && slices.Contains(t.Delegate.To, name)) {
			n++
		}
	}
	return n >= p.need
}

// verify asks whether the call may run that somebody agrees to.
func (d *Desk) verify(a *agreement) {
	d.unverified = a
	d.do(Verify{Unsettled{a.p.id, &a.p.q, a.to.args}})
}

// useGrant settles a question by a yes that is remembered.
func (d *Desk) useGrant(a *agreement, reason string) {
	p, g := a.p, a.grant
	if reason != "" {
		d.turnAway(p, reason, "", 0)
		return
	}
	if g.Keep == KeepPlan {
		g = g.use(a.item)
	}
	d.do(Settled{ID: p.id, Question: &p.q, Outcome: Allowed, By: g.By, Digest: p.digest, Ran: p.digest, Args: p.args,
		Timeout: p.timeout, StartBy: d.now.Add(d.o.StartWithin), Used: g, Asked: p.asked})
}

func (d *Desk) endOldGrants() {
	d.grants = slices.DeleteFunc(d.grants, func(g *Grant) bool { return g.over(d.now) || g.done() })
}

// endGrants ends what was granted for the session of somebody who has left.
func (d *Desk) endGrants(caller string) {
	d.grants = slices.DeleteFunc(d.grants, func(g *Grant) bool { return g.Keep != "always" && g.Keep != KeepPlan && g.Caller == caller })
}

// Grants are those whose time is not over and that are not used up, oldest first, also one that
// does not count as it was made later than now. They are copies.
func (d *Desk) Grants(now time.Time) (all []Grant) {
	for _, g := range d.grants {
		if !g.over(now) && !g.done() {
			all = append(all, g.copied())
		}
	}
	return all
}

// Revoke ends a grant and reports whether there was one of that id.
func (d *Desk) Revoke(id string) bool {
	n := len(d.grants)
	d.grants = slices.DeleteFunc(d.grants, func(g *Grant) bool { return g.ID == id })
	return len(d.grants) < n
}
