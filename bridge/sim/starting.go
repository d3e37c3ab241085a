package sim

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// starts: the bridge means to write the call to the server.
func (c *checker) starts(cl *claim) {
	b := c.books[len(c.books)-1]
	switch {
	case cl.started:
		c.blame("I3", "%v starts twice", cl)
	case cl.proc != c.proc.number:
		c.blame("I3", "%v starts, but an earlier life of the bridge had it", cl)
	case !cl.allowed:
		c.blame("I1", "%v starts without leave", cl)
	case cl.over || cl.cancelled || cl.denied:
		c.blame("I6", "%v starts after its end", cl)
	case cl.offer() && c.timeOver(cl):
		c.blame("I6", "%v starts after its time", cl)
	case c.stop:
		c.blame("I6", "%v starts after the bridge was told to stop", cl)
	case cl.flaw != "":
		c.blame("I2", "%v starts with %s", cl, cl.flaw)
	case cl.question != "" && c.w.now-cl.allowedAt >= 30*time.Second:
		c.blame("AI-10", "%v starts %v after it was allowed", cl, c.w.now-cl.allowedAt)
	case cl.question != "" && c.w.log.synced < cl.decidedSize:
		c.blame("AI-13", "%v starts before its decision is on disk", cl)
	case cl.question != "" && cl.decidedSize == 0:
		c.blame("AI-13", "%v starts, and its decision is not on record", cl)
	case cl.question != "" && c.held(cl, b).verdict == deny, cl.way(b).verdict == deny:
		c.blame("AI-14", "%v starts under a policy that denies it", cl)
	case cl.question != "" && cl.method == "tools/call" && !c.listedLate && c.versions[cl.tool] != cl.version && c.versions[cl.tool] != cl.surely:
		c.blame("AI-9", "%v starts, but its tool is %q now and was %q", cl, c.versions[cl.tool], cl.version)
	}
	if w := c.held(cl, b); len(cl.votes) > 0 && w.verdict == ask {
		w.within = cl.terms(cl.book).within
		if c.agreed(cl, w) < w.need {
			c.blame("AI-14", "%v starts by %v, of %v %d are needed now", cl, cl.votes, w.of, w.need)
		}
	}
	c.startsHalted(cl)
	c.startsAsRead(cl)
	c.startsFor(cl)
	cl.started, cl.since, cl.life = true, c.w.now, c.w.server.life
}

// recorded sees what is on record now.
func (c *checker) recorded(records [][]byte) {
	for _, raw := range records {
		var r struct{ Event, Call, Env, From, Verdict, Grant string }
		if err := json.Unmarshal(raw, &r); err != nil {
			c.blame("I4", "a record cannot be read: %v", err)
			return
		}
		switch r.Event {
		case "resumed":
			c.goesAt = len(c.w.log.text)
		case "revoked":
			delete(c.takenBack, r.Grant)
		}
		cl := c.names[r.Call]
		if cl == nil {
			cl = c.claimOf(r.From, r.Env)
		}
		if cl == nil || cl.proc != c.proc.number {
			continue
		}
		switch {
		case r.Event == "decided" && r.Verdict == "allow":
			cl.decidedSize = len(c.w.log.text)
		case r.Event == "ended":
			cl.ended = true
		case r.Event == "started":
			if cl.decidedSize == 0 {
				c.blame("I4", "the start of %v is on record before its decision", cl)
			}
			c.expecting[cl.content()] = append(c.expecting[cl.content()], cl)
		}
	}
}

// line sees what the bridge writes to the server.
func (c *checker) line(raw []byte) *line {
	c.w.trace.note(c.w.now, "line", raw)
	l := &line{life: c.w.server.life, at: c.w.now}
	if err := json.Unmarshal(raw, l); err != nil || bytes.ContainsAny(raw, "\n\r") {
		c.blame("I2", "a line for the server is none: %q", raw)
		return l
	}
	c.sound(raw)
	c.unexplained(raw)
	l.claim = c.due(l)
	c.looks(l)
	switch {
	case l.claim != nil:
		c.wrote(l)
	case l.own(), l.ID == nil, l.Method == "":
	default:
		c.blame("I1", "the server is to get what no record says it may: %s", raw)
	}
	c.quits(raw, false)
	if l.Method != "" { // an answer to the server's own request has an id of the server's
		c.lines[string(l.ID)] = l
	}
	return l
}

// notTaken: a line could not be written. Nobody waits for it any more.
func (c *checker) notTaken(raw []byte) {
	c.notTakenAt = c.w.now
	c.quits(raw, true)
	var l line
	if json.Unmarshal(raw, &l) != nil {
		return
	}
	c.untaken[string(l.ID)] = true
	c.due(&l)
}

// due finds the claim that a line is for: the first of those with its content that has
// started and has had no line. One whose line was dropped on the way has had its answer, was
// meant for a server that is gone or was kept from leaving by a halt, and is passed over if
// there is another, or if the line may be the bridge's own.
func (c *checker) due(l *line) *claim {
	key := l.content()
	waiting := c.expecting[key]
	i := slices.IndexFunc(waiting, func(cl *claim) bool {
		return cl.told != "no" && !c.haltedBy[cl] && cl.life == c.w.server.life && (!l.own() || cl.executed == "")
	})
	switch {
	case len(waiting) == 0, i < 0 && l.own():
		return nil
	case i < 0:
		i = 0
	}
	cl := waiting[i]
	c.expecting[key] = slices.Delete(waiting, i, i+1)
	return cl
}

func (c *checker) wrote(l *line) {
	cl := l.claim
	switch {
	case cl.line != nil:
		c.blame("I3", "%v is written twice", cl)
	case cl.life != l.life:
		c.blame("I3", "%v is written to another server than the one it was started for", cl)
	case cl.told == "no":
		c.blame("I10", "%v is written after its caller was told that it would not be", cl)
	case c.haltedBy[cl]:
		c.blame("I18", "%v is written, and had not left when the bridge was halted", cl)
	case (l.Token == nil) != (cl.token == nil):
		c.blame("I2", "%v is written with another progress token", cl)
	}
	cl.line = l
}

// ran: the server has read a line.
func (c *checker) ran(l *line) {
	if l.runs++; l.runs > 1 {
		c.blame("I3", "%s ran twice", l.Method)
	}
	if l.claim != nil && l.claim.told == "no" {
		c.blame("I10", "%v ran, and its caller was told that it did not", l.claim)
	}
}

// answered sees what the server says.
func (c *checker) answered(raw []byte) {
	var m struct {
		ID, Result json.RawMessage
		Method     string
		Error      json.RawMessage
	}
	if json.Unmarshal(raw, &m) != nil || m.Method != "" || m.ID == nil {
		return
	}
	c.answersOf[string(m.ID)] = append(c.answersOf[string(m.ID)], append(m.Result, m.Error...))
	l := c.lines[string(m.ID)]
	overdue := l != nil && c.w.now-l.at >= callTime // nobody waits for it any more, so it changes nothing (seed 91165096)
	if l != nil && l.Method == "tools/list" && l.claim == nil && !l.said && l.life == c.w.server.life && !overdue {
		c.listed(raw)
		c.looked(l)
		dozed := c.w.dozedAt > 0 && l.at-c.w.dozedAt < callTime
		if c.listedLate = dozed || c.proc.gaveUp; !c.listedLate { // who gave up waits for no list
			c.heeded()
		}
	}
	if l != nil {
		l.spoilt = l.spoilt || !l.said && (m.Error != nil || bytes.Contains(m.Result, []byte(`"isError":true`)))
		l.said = true
	}
}

// heeded: the bridge has taken the last listing for what the tools are.
func (c *checker) heeded() {
	c.listedSure = c.versions
	for name, version := range c.versions {
		if _, known := c.firstSure[name]; !known {
			c.firstSure[name] = version
		}
	}
}

// listed: the tools are what this says from now on.
func (c *checker) listed(raw []byte) {
	now := versionsIn(raw)
	for name := range now {
		if _, known := c.first[name]; !known {
			c.first[name] = now[name]
		}
	}
	if c.listedLife != c.w.server.life {
		c.firstAt = c.w.now
	}
	c.versions, c.listedLife, c.listedAt, c.met = now, c.w.server.life, c.w.now, true
}

// names of tools that a listing has, with their versions, as text.
func versionsIn(text []byte) map[string]string {
	all := map[string]string{}
	for part := range bytes.SplitSeq(text, []byte(`{"name":"`)) {
		name, rest, found := strings.Cut(string(part), `","description":"`)
		if found && slices.Contains(tools, name) {
			all[name], _, _ = strings.Cut(rest, `"`)
		}
	}
	return all
}
