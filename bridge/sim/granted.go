package sim

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// What the checker knows of yeses that are remembered (AI-18).

// viasOf is by which ways a call may have been asked for: where several proposers
// use one id nobody can say. For somebody else's proposal a yes holds as long as
// that is whose it is.
func (c *checker) viasOf(cl *claim) (all []string) {
	if cl.offer() || cl.asks {
		return []string{"proposal"}
	}
	of := c.offersOf(cl.corr)
	for _, o := range of {
		if o.from != cl.from {
			all = append(all, "for "+o.from)
		}
		if o.from == cl.from || len(of) > 1 || o.method != cl.method || c.w.now-o.heardAt > watchedAtLeast {
			all = append(all, "request")
		}
	}
	if len(of) == 0 {
		return []string{"request"}
	}
	return all
}

// granted: those who may decide had agreed to the very same before, for longer.
func (c *checker) granted(cl *claim, w way) bool {
	return len(cl.votes) == 0 && slices.ContainsFunc(c.grants, func(g grant) bool { return c.covers(g, cl, w) && !c.isAhead(g, 16*time.Minute) })
}

// isAhead: the file says that an earlier life made a grant at a time that comes in so long only.
// From 15 minutes on it does not count (docs/approvals.md).
func (c *checker) isAhead(g grant, by time.Duration) bool {
	return c.kept[g.id].After(c.w.clock(c.proc).Add(by))
}

// covers: a grant is for this call, and the terms of now let it count.
func (c *checker) covers(g grant, cl *claim, w way) bool {
	n := 0
	for _, who := range g.by {
		if w.mayDecide(who, cl.from) {
			n++
		}
	}
	args := g.args == string(cl.args) && g.beside == cl.beside && g.keep != "folder" || coversMore(g.keep) && g.beside == "" && cl.beside == "" && likeNames(g.args, string(cl.args)) &&
		(g.keep == "tool" || inFolder(noteOf(string(cl.args)), path.Dir(noteOf(g.args))))
	same := g.version == cl.version || c.listedLate && g.version == c.listedSure[cl.tool]
	return same && g.caller == cl.from && g.tool == cl.tool && args && slices.ContainsFunc(g.vias, func(via string) bool { return slices.Contains(cl.vias, via) }) &&
		slices.Contains(w.remember, g.keep) && n >= w.need
}

// likeNames: two objects have members of the same names.
func likeNames(a, b string) bool {
	var of, in map[string]json.RawMessage
	if json.Unmarshal([]byte(a), &of) != nil || json.Unmarshal([]byte(b), &in) != nil || len(of) != len(in) {
		return false
	}
	for name := range of {
		if in[name] == nil {
			return false
		}
	}
	return true
}

// sure finds the grant because of which nobody should have been asked: it was in
// the file that this life of the bridge began with. Nil, if there is none.
func (c *checker) sure(cl *claim, w way) *grant {
	if cl.pinned || cl.method != "tools/call" || cl.offer() || len(cl.corr) > 0 || c.listedLate {
		return nil
	}
	i := slices.IndexFunc(c.grants, func(g grant) bool {
		return !c.kept[g.id].IsZero() && g.keep == "always" && c.covers(g, cl, w) && !c.isAhead(g, 14*time.Minute)
	})
	if i < 0 {
		return nil
	}
	return &c.grants[i]
}

// remember takes down what those who agreed want remembered.
func (c *checker) remember(cl *claim, r record.Record) {
	g := grant{id: r.Digest, caller: cl.from, tool: cl.tool, keep: "always", version: cl.version, args: string(cl.args), beside: cl.beside, vias: cl.vias}
	for _, v := range cl.votes {
		switch {
		case !slices.Contains(r.By, v.who): // a yes that came too late, or that a no went before
			continue
		case v.keep == "":
			return
		case len(g.by) == 0:
			g.keep = v.keep
		case g.keep != v.keep:
			g.keep = "session"
		}
		g.by = append(g.by, v.who)
	}
	if len(g.by) > 0 {
		c.grants = append(c.grants, g)
		if coversMore(g.keep) {
			return
		}
		g.keep = "session" // what the file cannot say is kept no longer
		c.grants = append(c.grants, g)
	}
}

// usedUp: a plan is listed for the sake of what has not started, as no use or time is left of it.
func (c *checker) usedUp(id string) bool {
	l := c.given[id]
	return l != nil && l.begun && (l.uses == 0 || !c.w.clock(c.proc).Before(l.until))
}

func (c *checker) revoked(id string) {
	delete(c.given, id)
	c.grants = slices.DeleteFunc(c.grants, func(g grant) bool { return g.id == id })
}

// lastsNoMore hears that a yes that was to last does not. Where the disk did not take it, nobody has given it (AI-13).
func (c *checker) lastsNoMore(r record.Record) {
	c.takenBack[r.Grant], c.revokedNow[r.Grant] = true, true
	if r.Reason == "audit_unavailable" && c.w.log.failedSince(c.w.now) {
		c.ungiven[r.Grant] = true
	}
}

// startsByGrant hears that a claim starts, which it may not by a yes that was taken back since it counted.
func (c *checker) startsByGrant(cl *claim) {
	if c.revokedNow[cl.byGrant] {
		c.blame("AI-18", "%v starts by the grant %s, which was taken back before", cl, cl.byGrant)
	}
}

// wasGone: a grant that was listed could not be taken back. It may have ended since: that another one was taken
// back can be the first that the disk does not take, with this one's yes (seeds 91030522, 91188411).
// A plan that was used up by then was listed for a call alone, which the same takes along.
func (c *checker) wasGone(id string, usedUp bool) {
	if !c.ungiven[id] && !(usedUp && c.w.log.failedSince(c.w.now)) {
		c.blame("AI-18", "a grant that is in force cannot be taken back")
	}
}

// onRecord: the log that says that a yes lasts says too that it was taken back, be it that it
// could not at once.
func (c *checker) onRecord() {
	for _, id := range slices.Sorted(maps.Keys(c.takenBack)) {
		c.blame("AI-18", "the grant %s is taken back, and that is not on record", id)
	}
}
