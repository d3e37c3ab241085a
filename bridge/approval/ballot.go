package approval

import (
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// rest takes a ballot out of those who are being asked.
func (d *Desk) rest(s *ballot, to state) {
	if s.state == beingAsked {
		d.before[s.who]--
		if d.before[s.who] == 0 {
			delete(d.before, s.who)
		}
	}
	s.state = to
}

// vacate takes the question away from somebody who has it open. why is for
// them to read.
func (d *Desk) vacate(p *pending, s *ballot, to state, why string) {
	if s.state == beingAsked {
		d.close(p, s, why)
	}
	s.void(voided[to])
	d.rest(s, to)
}

// voided says for the record why an answer comes too late, by the state its
// sender is in.
var voided = map[state]string{
	agreed: "already_answered", passedOn: "already_answered", failed: "already_answered", away: "left", outOfTime: TimedOut, struck: WrongSender,
}

// close takes down every view somebody has.
func (d *Desk) close(p *pending, s *ballot, why string) { d.closeSaying(p, s, why, "") }

// closeSaying is close with the words of who decided.
func (d *Desk) closeSaying(p *pending, s *ballot, why, said string) {
	if s.who.Door != Topic {
		d.do(Close{ID: p.id, To: s.who, Because: why, Said: said})
	}
	for _, a := range s.asks {
		if a.void == "" {
			d.do(Close{ID: p.id, To: s.who, Ask: a.id, RPC: a.rpc(), Because: why, Said: said})
		}
	}
}

// void makes what somebody was asked count no more.
func (s *ballot) void(why string) {
	for _, a := range s.asks {
		if a.void == "" {
			a.void = why
		}
	}
}

// note puts something about a question on record.
func (d *Desk) note(p *pending, event record.Event, w Who, reason string) {
	n := Noted{ID: p.id, Event: event, Who: w, Reason: reason, Have: p.count(agreed), Digest: p.digest}
	if s := p.find(w); s != nil {
		n.Chain = s.chain
	}
	d.do(n)
}

const rpcPrefix = "elicit-"

// rpc is the ask's JSON-RPC id as it stands in the message.
func (a *ask) rpc() []byte { return []byte(`"` + rpcPrefix + a.id + `"`) }

// askOf is the envelope id that goes with one of our JSON-RPC ids, "" if it is
// none of ours.
func askOf(rpc []byte) string {
	const open = `"` + rpcPrefix
	if len(rpc) <= len(open)+1 || string(rpc[:len(open)]) != open || rpc[len(rpc)-1] != '"' {
		return ""
	}
	return string(rpc[len(open) : len(rpc)-1])
}
