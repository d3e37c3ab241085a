package main

import (
	"fmt"
	"strings"
	"testing"
)

// The oracles of proposals (WIRE 11.4). Those of the older dialect that spell
// proposals in other ways are in oracle_draft_test.go.

// proposalRules: reads are allowed, writes and big ones asked of alice, deletes
// denied. proposals is the section of that name.
func proposalRules(proposals string) string {
	return `version: 1
default: deny
proposals: {` + proposals + `}
asks:
  default: {of: [alice], within: 60s}
  quick: {of: [alice], within: 1s}
rules:
  - {name: reads, allow: ["read_*", fail, slow]}
  - {name: deletes, deny: ["delete_*"]}
  - {name: writes, ask: ["write_*"]}
  - {name: quickly, ask: [big], as: quick}
  - {name: one, allow: [echo], limit: {count: 1/day}}
`
}

// proposing is what a proposal says; more are further members.
func proposing(tool, arguments, more string) string {
	return fmt.Sprintf(`{"method":"tools/call","params":{"name":%s,"arguments":%s}%s}`, quoted(tool), arguments, more)
}

const (
	readArguments = `{"path":"/a"}`
	observes      = "fulfil: never"
	fulfils       = "fulfil: policy, broadcast: true"
)

// proposed is the frame of a proposal. to "" is everybody.
func (p play) proposed(env, from, to, payload string) string {
	kind := "mcp/proposal"
	if method, key := methodAndKey(payload); p.d.kinds == "method" {
		kind = "mcp/proposal:" + method + ":" + key
	}
	return p.d.frame(env, from, to, kind, "", payload)
}

// proposes makes bob's proposal to the bridge.
func (p play) proposes(env, tool, arguments, more string) {
	p.stage.t.Helper()
	p.send(p.proposed(env, "bob", p.me, proposing(tool, arguments, more)))
}

// rejected is the pattern of a reject to bob.
func (p play) rejected(env, reason string) string {
	return fmt.Sprintf(`{"to":["bob"],"kind":"mcp/reject","correlation_id":%s,"payload":{"reason":%q}}`, p.d.link(env), reason)
}

// takes waits for the request to itself by which the bridge takes a proposal up,
// and for the answer to it.
func (p play) takes(env, tool, arguments, result string) {
	p.stage.t.Helper()
	delete(p.stage.names, "$self")
	p.expect(p.takenUp(env, tool, arguments))
	p.expect(p.answered(env, tool, result))
}

func (p play) takenUp(env, tool, arguments string) string {
	return fmt.Sprintf(`{"id":"$self","to":["fs"],"kind":%s,"correlation_id":%s,"payload":{"jsonrpc":"2.0","id":"$rpc-%s","method":"tools/call","params":{"name":%q,"arguments":%s}}}`,
		quoted(p.d.kind("request", "tools/call", tool)), p.d.link(env), env, tool, arguments)
}

func (p play) answered(env, tool, result string) string {
	to, links := `["bob"]`, fmt.Sprintf(`["$self",%q]`, env)
	if !p.d.list {
		to, links = `["bob","fs"]`, `"$self"`
	}
	return fmt.Sprintf(`{"to":%s,"kind":%s,"correlation_id":%s,"payload":{"id":"$rpc-%s",%s}}`,
		to, quoted(p.d.kind("response", "tools/call", tool)), links, env, result)
}

const anyResult = `"!error":0,"result":"*"`

// withdraws takes a proposal back.
func (p play) withdraws(env, of, from string) {
	p.stage.t.Helper()
	p.send(p.d.frame(env, from, "", "mcp/withdraw", of, `{"reason":"no_longer_needed"}`))
}

// requests is a request of somebody for a proposal.
func (p play) requests(env, from, to, of, tool, arguments string) {
	p.stage.t.Helper()
	p.send(p.d.frame(env, from, to, p.d.kind("request", "tools/call", tool), of, call("44", tool, arguments)))
}

// toServer is the pattern of the answer to such a request. Where the dialect
// wants it, the proposer gets it too.
func (p play) toServer(env, from, tool, body string) string {
	to := fmt.Sprintf("[%q]", from)
	if !p.d.list {
		to = fmt.Sprintf(`[%q,"bob"]`, from)
	}
	return fmt.Sprintf(`{"to":%s,"kind":%s,"correlation_id":%s,"payload":{"id":44,%s}}`,
		to, quoted(p.d.kind("response", "tools/call", tool)), p.d.link(env), body)
}

// refusal44 is the answer to a request that is not made.
func (p play) refusal44(env, from, tool string, code int, data string) string {
	return p.d.reply(from, env, "tools/call", tool, fmt.Sprintf(`{"id":44,"!result":0,"error":{"code":%d,"data":%s}}`, code, data))
}

// withProposals runs a test in every dialect that has proposals.
func withProposals(t *testing.T, proposals string, f func(t *testing.T, p play), flags ...string) {
	for _, d := range tongues {
		if d == d0 {
			continue // it has no word for them (WIRE 6.4)
		}
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			g, s := perform(t, d, ruled(t, proposalRules(proposals), flags...))
			f(t, play{g, s})
		})
	}
}

func TestOraclesOfProposalsThatAreObserved(t *testing.T) {
	withProposals(t, observes, func(t *testing.T, p play) {
		p.oracle(t, "O66 what cannot be served is refused at once", func(*testing.T) {
			p.proposes("p66", "nope", `{}`, "")
			p.expect(p.rejected("p66", "incapable"))
			p.s.await(`{"event":"rejected","proposal":"p66","from":"bob","reason":"incapable","detail":"*","state":"told"}`)
		})
		p.oracle(t, "O68 what is addressed to nobody is not refused", func(*testing.T) {
			p.send(p.proposed("p68", "bob", "", proposing("nope", `{}`, "")))
		})
		p.oracle(t, "O69 what is addressed to somebody else is theirs", func(*testing.T) {
			p.send(p.proposed("p69", "bob", "other", proposing("nope", `{}`, "")))
			p.send(p.proposed("p69-b", "bob", "other", proposing("read_file", readArguments, "")))
		})
		p.oracle(t, "O70 somebody else requests it here", func(*testing.T) {
			p.proposes("p2", "read_file", readArguments, "")
			p.quiet()
			p.requests("r9", "alice", "fs", "p2", "read_file", readArguments)
			p.expect(p.toServer("r9", "alice", "read_file", anyResult))
			p.s.await(`{"event":"fulfilled","proposal":"p2","by":["fs"]}`)
		})
		p.oracle(t, "O71 such a request may lack its addressee", p.o71)
		p.oracle(t, "O72 it is served once", p.o72)
		p.oracle(t, "O78 what was withdrawn is not served", func(*testing.T) {
			p.proposes("p78", "read_file", readArguments, "")
			p.withdraws("w78", "p78", "bob")
			before := p.s.ran()
			p.requests("r78", "alice", "fs", "p78", "read_file", readArguments)
			p.expect(p.refusal44("r78", "alice", "read_file", -31012, `{"reason":"withdrawn","executed":"no","proposal":"p78"}`))
			p.runs(before, 0)
		})
		p.oracle(t, "O86 who wants no reject gets none", func(*testing.T) {
			p.proposes("p86", "nope", `{}`, `,"targeting":{"quick_reject":false}`)
			p.quiet()
			p.s.await(`{"event":"rejected","proposal":"p86","state":"untold"}`)
		})
	})
}

func (p play) o71(*testing.T) {
	p.proposes("p71", "read_file", readArguments, "")
	before := p.s.ran()
	p.requests("r71", "alice", "", "p71", "read_file", readArguments)
	if p.d.list {
		p.expect(p.toServer("r71", "alice", "read_file", anyResult))
		p.runs(before, 1)
	} else {
		p.quiet() // D1 has no such requests
	}
	before = p.s.ran()
	p.requests("r71-b", "alice", "", "p-unknown", "read_file", readArguments)
	p.quiet()
	p.s.dropped("request_not_addressed")
	p.proposes("p71-several", "read_file", readArguments, "")
	p.send(p.proposed("p71-others", "bob", "", proposing("read_file", readArguments, `,"preferred":["fs","other"]`)))
	p.requests("r71-c", "alice", "", "p71-others", "read_file", readArguments) // whose is it?
	p.runs(before, 0)
}

func (p play) o72(*testing.T) {
	before := p.s.ran()
	p.proposes("p72", "read_file", readArguments, "")
	p.requests("r72-a", "alice", "fs", "p72", "read_file", readArguments)
	p.expect(p.toServer("r72-a", "alice", "read_file", anyResult))
	p.requests("r72-c", "carol", "fs", "p72", "read_file", readArguments)
	p.expect(p.refusal44("r72-c", "carol", "read_file", -31014, `{"reason":"already_fulfilled","executed":"no","proposal":"p72","first":"r72-a"}`))
	p.runs(before, 1)

	p.proposes("p72-fails", "fail", `{}`, "")
	p.requests("r72-d", "alice", "fs", "p72-fails", "fail", `{}`)
	p.expect(p.toServer("r72-d", "alice", "fail", `"result":{"isError":true}`))
	p.requests("r72-e", "carol", "fs", "p72-fails", "fail", `{"edited":1}`) // the request counts; another tool would be another matter
	p.expect(p.toServer("r72-e", "carol", "fail", `"result":{"isError":true}`))
	p.s.await(`{"event":"proposal_diff","proposal":"p72-fails","env":"r72-e","from":"carol"}`)
	p.runs(before, 3)
}

func TestOraclesOfProposalsThatAreFulfilled(t *testing.T) {
	t.Parallel()
	withProposals(t, fulfils, func(t *testing.T, p play) {
		p.oracle(t, "O67 what must not be served is refused at once", p.o67)
		p.oracle(t, "O74 it is served when somebody agrees", p.o74)
		p.oracle(t, "O75 who withdraws it ends the question", p.o75)
		p.oracle(t, "O76 nobody else withdraws it", p.o76)
		p.oracle(t, "O77 a withdrawal may come too late", p.o77)
		p.oracle(t, "O84 others come first, for a while", p.o84)
		p.oracle(t, "O85 others alone may come first", p.o85)
		p.oracle(t, "O87 it ends with its ttl", p.o87)
		p.oracle(t, "O91 a reject of somebody else may give any reason, or none", p.o91)
		p.oracle(t, "O73 it is served once, for all to see", p.o73) // last: a gateway that returns one request of ours is to return all
	})
}

func (p play) o67(*testing.T) {
	before := p.s.ran()
	p.proposes("p67-denied", "delete_file", readArguments, "")
	p.expect(p.rejected("p67-denied", "policy"))
	p.proposes("p67-path", "read_file", `{}`, "")
	p.expect(p.rejected("p67-path", "invalid"))
	p.proposes("p67-one", "echo", `{}`, "")
	p.takes("p67-one", "echo", `{}`, anyResult)
	p.proposes("p67-two", "echo", `{}`, "")
	p.expect(p.rejected("p67-two", "resource_limit"))
	var open []posed
	for i := range 8 {
		p.send(p.proposed(fmt.Sprint("p67-", i), "dave", "fs", proposing("write_file", fmt.Sprintf(`{"path":"/a","text":"%d"}`, i), "")))
		open = append(open, p.poses("alice", anyQuestion))
	}
	p.send(p.proposed("p67-full", "dave", "fs", proposing("write_file", writeArguments, "")))
	p.expect(strings.Replace(p.rejected("p67-full", "busy"), "bob", "dave", 1))
	for i, q := range open {
		p.withdraws(fmt.Sprint("w67-", i), fmt.Sprint("p67-", i), "dave")
		p.expect(p.withdrawn(q))
	}
	p.runs(before, 1)
}

func (p play) o73(*testing.T) {
	before := p.s.ran()
	p.proposes("p3", "read_file", readArguments, "")
	self := p.expect(p.takenUp("p3", "read_file", readArguments))
	p.send(self) // the gateway's echo
	p.expect(p.answered("p3", "read_file", anyResult))
	p.proposes("p3", "read_file", readArguments, "") // the same frame once more
	p.runs(before, 1)
	for _, event := range []string{`{"event":"dropped","reason":"from_self","detail":"a request of our own, which the gateway returned"}`, `{"event":"dropped","reason":"duplicate_envelope","env":"p3"}`,
		`{"event":"fulfilled","proposal":"p3","by":["fs"]}`} {
		p.s.once(event)
	}
}

// asked proposes a write, and waits until alice is asked about it.
func (p play) asked(env, more string) posed {
	p.stage.t.Helper()
	p.proposes(env, "write_file", writeArguments, more)
	return p.poses("alice", fmt.Sprintf(`{"metadata":{"originalRequest":{"from":"bob","tool":"write_file","envelopeId":%q}}}`, env))
}

func (p play) o74(*testing.T) {
	before := p.s.ran()
	p.agrees(p.asked("p4", ""), "p4")
	p.takes("p4", "write_file", writeArguments, anyResult)
	p.decides("alice", p.asked("p4-no", ""), `{"action":"decline"}`)
	p.expect(p.rejected("p4-no", "disagree"))
	p.proposes("p4-late", "big", `{}`, "")
	q := p.poses("alice", anyQuestion)
	p.expectAll(p.withdrawn(q), p.rejected("p4-late", "timeout"))
	p.runs(before, 1)
}

func (p play) o75(*testing.T) {
	before := p.s.ran()
	q := p.asked("p75", "")
	p.withdraws("w75", "p75", "bob")
	p.expect(p.withdrawn(q))
	p.decides("alice", q, approve)
	p.s.await(`{"event":"late_answer"}`)
	p.runs(before, 0)
}

func (p play) o76(*testing.T) {
	before := p.s.ran()
	q := p.asked("p76", "")
	p.withdraws("w76", "p76", "mallory")
	p.quiet()
	p.s.await(`{"event":"security","reason":"withdraw_not_proposer","proposal":"p76","by":["mallory"]}`)
	p.agrees(q, "p76")
	p.takes("p76", "write_file", writeArguments, anyResult)
	p.runs(before, 1)
}

func (p play) o77(*testing.T) {
	before := p.s.ran()
	p.proposes("p77", "slow", `{"ms":300}`, "")
	p.expect(p.takenUp("p77", "slow", `{"ms":300}`))
	p.withdraws("w77", "p77", "bob")
	p.withdraws("w77-b", "p-unknown", "bob")
	p.expect(p.answered("p77", "slow", anyResult))
	p.runs(before, 1)
}

func (p play) o84(*testing.T) {
	before := p.s.ran()
	p.send(p.proposed("p84", "bob", "", proposing("read_file", readArguments, `,"targeting":{"preferred":["agent-9"],"exclusive":false,"fallback_timeout":60000}`)))
	p.runs(before, 0)
	p.send(p.d.frame("x84", "agent-9", "bob", "mcp/reject", "p84", `{"reason":"incapable"}`))
	p.takes("p84", "read_file", readArguments, anyResult)
	p.send(p.proposed("p84-b", "bob", "", proposing("read_file", readArguments, `,"targeting":{"preferred":["agent-9"],"fallback_timeout":1000}`)))
	p.runs(before, 1)
	p.takes("p84-b", "read_file", readArguments, anyResult)
}

func (p play) o85(*testing.T) {
	before := p.s.ran()
	exclusive := `,"targeting":{"preferred":["agent-9"],"exclusive":true,"exclusive_timeout":1000,"fallback_to_broadcast":%t}`
	p.send(p.proposed("p85-never", "bob", "", proposing("read_file", readArguments, fmt.Sprintf(exclusive, false))))
	p.send(p.proposed("p85", "bob", "", proposing("read_file", readArguments, fmt.Sprintf(exclusive, true))))
	p.send(p.proposed("p85-denied", "bob", "", proposing("delete_file", readArguments, fmt.Sprintf(exclusive, true))))
	p.send(p.d.frame("x85", "agent-9", "bob", "mcp/reject", "p85", `{"reason":"busy"}`)) // never early
	p.runs(before, 0)
	p.takes("p85", "read_file", readArguments, anyResult)
	p.s.await(`{"event":"rejected","proposal":"p85-denied","reason":"policy","state":"untold"}`)
	p.runs(before, 1)
}

func (p play) o87(*testing.T) {
	before := p.s.ran()
	q := p.asked("p87", `,"ttl":1000`)
	p.expect(p.withdrawn(q))
	p.quiet()
	p.s.await(`{"event":"expired","proposal":"p87"}`)
	p.decides("alice", q, approve)
	p.s.await(`{"event":"late_answer"}`)
	p.runs(before, 0)
}

// o91: whom we wait for has refused, whatever its word for that is.
func (p play) o91(*testing.T) {
	for i, payload := range []string{`{"reason":"gone_fishing"}`, `{"reason":7}`, `{}`} {
		env := fmt.Sprint("p91-", i)
		p.send(p.proposed(env, "bob", "", proposing("read_file", readArguments, `,"targeting":{"preferred":["agent-9"],"fallback_timeout":600000}`)))
		p.send(p.d.frame(fmt.Sprint("x91-", i), "agent-9", "bob", "mcp/reject", env, payload))
		p.takes(env, "read_file", readArguments, anyResult)
	}
}

func TestAProposalToNobodyIsRefusedWhereTheOwnerSaysSo(t *testing.T) {
	withProposals(t, "reject_untargeted: always", func(t *testing.T, p play) {
		p.send(p.proposed("p68-a", "bob", "", proposing("nope", `{}`, "")))
		p.expect(p.rejected("p68-a", "incapable"))
		p.send(p.proposed("p68-b", "bob", "", proposing("read_file", readArguments, ""))) // could be served, but not by us
		p.send(p.proposed("p68-c", "bob", "other", proposing("nope", `{}`, "")))          // theirs
		p.quiet()
		if n := p.s.ran(); n != 0 {
			t.Errorf("%d calls ran", n)
		}
	})
}

func TestAProposalIsNeverServedUnaskedByDefault(t *testing.T) {
	withProposals(t, "", func(t *testing.T, p play) {
		p.proposes("p1", "read_file", readArguments, "")
		q := p.poses("alice", anyQuestion)
		p.runs(0, 0)
		p.agrees(q, "p1")
		p.takes("p1", "read_file", readArguments, anyResult)
		p.runs(0, 1)
	})
}

// What a proposal says beside method and params is nothing to the server.
func TestTheServerGetsOnlyTheRequest(t *testing.T) {
	withProposals(t, fulfils, func(t *testing.T, p play) {
		p.proposes("p1", "read_file", `{"path":"/a","n":9007199254740993}`, `,"ttl":60000,"targeting":{"preferred":["other"]},"id":1,"jsonrpc":"2.0"`)
		p.takes("p1", "read_file", `{"path":"/a","n":9007199254740993}`, anyResult)
		if line := p.lastGiven(); strings.Contains(line, "targeting") || strings.Contains(line, "ttl") || !strings.Contains(line, "9007199254740993") {
			t.Errorf("the server was given %s", line)
		}
	})
}
