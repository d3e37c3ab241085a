package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// askRules are those of the oracles of approvals (WIRE 11.3): writes are asked
// of alice, deploys too, who may choose another target; echo may be passed on.
const askRules = `version: 1
default: deny
asks:
  alice:  {of: [alice], within: 60s}
  quick:  {of: [alice], within: 1s}
  deploy: {of: [alice], within: 60s, edit: {modifiedTarget: {arg: /target, title: Target, enum: [production, staging, development]}}}
  pass:   {of: [alice], within: 60s, delegate: {to: [alice, carol, dave, o60], depth: 2}}
  zoe:    {of: [zoe], within: 60s}
  self:   {of: [alice, o47], mode: parallel, within: 60s}
rules:
  - {name: reads, allow: ["read_*"]}
  - {name: deletes, deny: ["delete_*"]}
  - {name: writes, ask: ["write_*", progress], as: alice}
  - {name: slowly, ask: [slow], as: quick}
  - {name: deploys, ask: [deploy], as: deploy}
  - {name: no-staging, deny: [deploy], from: [o58], args: {target: {is: staging}}}
  - {name: passed, ask: [echo], as: pass}
  - {name: nobody, ask: [fail], as: zoe}
  - {name: self, ask: [big], as: self}
`

// ruled is a launch with a policy file.
func ruled(t *testing.T, rules string, flags ...string) launch {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	return launch{flags: append(flags, "--trust-unverified-from"), rules: []string{"--policy", path}}
}

// A posed is a question as it came over the topic.
type posed struct {
	env, id, to, frame string
}

const writeArguments = `{"path":"/a","text":"x"}`

func (p play) writes(caller string) {
	p.stage.t.Helper()
	p.request("e-"+caller, caller, call("7", "write_file", writeArguments))
}

// poses waits for the question that is put to somebody. params is a pattern.
func (p play) poses(to, params string) posed {
	p.stage.t.Helper()
	frame := p.expect(fmt.Sprintf(`{"to":[%s],"!correlation_id":0,"kind":%s,"payload":{"jsonrpc":"2.0","id":"*","method":"elicitation/create","params":%s}}`,
		quoted(to), quoted(p.d.kind("request", "elicitation/create", "")), params))
	var m struct {
		ID      string
		Payload struct{ ID json.RawMessage }
	}
	if err := json.Unmarshal([]byte(frame), &m); err != nil {
		p.fail("%v: %s", err, frame)
	}
	return posed{m.ID, string(m.Payload.ID), to, frame}
}

const anyQuestion = `{"message":"*","requestedSchema":{"type":"object","required":"*"},"metadata":{"elicitationType":"tool_approval"}}`

// replies is an answer of somebody to a question; body is result or error.
func (p play) replies(from string, q posed, link, body string) {
	p.stage.t.Helper()
	p.count++
	p.send(p.d.frame(fmt.Sprintf("reply-%d", p.count), from, p.me, p.d.kind("response", "elicitation/create", ""), link,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, q.id, body)))
}

func (p play) decides(from string, q posed, result string) {
	p.stage.t.Helper()
	p.replies(from, q, q.env, `"result":`+result)
}

// agrees is a yes of alice's to bob's proposal, of which he hears before it is served (FINDINGS S9).
func (p play) agrees(q posed, proposal string) {
	p.stage.t.Helper()
	p.decides("alice", q, approve)
	p.expect(fmt.Sprintf(`{"to":["bob"],"payload":{"method":"notifications/mcpx/approved","params":{"proposalId":%q,"by":["alice"],"reason":"ok"}}}`, proposal))
}

const approve = `{"action":"accept","content":{"approve":true,"reason":"ok"}}`

// refuses is what the caller hears instead of a result; nothing more runs.
func (p play) refuses(caller, tool string, code int, data string) {
	p.stage.t.Helper()
	p.expect(p.refusal(caller, tool, code, data))
}

func (p play) refusal(caller, tool string, code int, data string) string {
	return p.d.reply(caller, "e-"+caller, "tools/call", tool,
		fmt.Sprintf(`{"id":7,"!result":0,"error":{"code":%d,"message":"*","data":%s}}`, code, data))
}

// served is what the caller hears when the call ran.
func (p play) served(caller, tool string) string {
	p.stage.t.Helper()
	return p.expect(p.d.reply(caller, "e-"+caller, "tools/call", tool, `{"id":7,"!error":0,"result":"*"}`))
}

// runs shows that so many calls more than before are at the server.
func (p play) runs(before, n int) {
	p.stage.t.Helper()
	p.quiet()
	if got := p.s.ran() - before; got != n {
		p.fail("the server was given %d calls, not %d", got, n)
	}
}

// withdrawn is the pattern of a question's end at somebody who was asked.
func (p play) withdrawn(q posed) string {
	return fmt.Sprintf(`{"to":[%s],"kind":%s,"!correlation_id":0,"payload":{"method":"notifications/cancelled","!id":0,"params":{"requestId":%s}}}`,
		quoted(q.to), quoted(p.d.kind("request", "notifications/cancelled", "")), q.id)
}

func TestOraclesOfApprovals(t *testing.T) {
	each(t, func(t *testing.T, d tongue) {
		t.Parallel()
		g, s := perform(t, d, ruled(t, askRules))
		p := play{g, s}
		p.oracle(t, "O39 the question says who asks for what", p.o39)
		p.oracle(t, "O40 a yes runs the call once", p.o40)
		p.oracle(t, "O41 an answer needs no link where seed 003 has none", p.o41)
		p.oracle(t, "O42 approve false is a no", p.o42)
		p.oracle(t, "O43 decline is a no whatever its content says", p.o43)
		p.oracle(t, "O44 cancel is a no of its own", p.o44)
		p.oracle(t, "O45 what is no clear yes is a no", p.o45)
		p.oracle(t, "O46 nobody else can answer", p.o46)
		p.oracle(t, "O47 the caller cannot answer its own question", p.o47)
		p.oracle(t, "O48 nobody deciding in time is an end of its own", p.o48)
		p.oracle(t, "O49 a second yes runs nothing", p.o49)
		p.oracle(t, "O50 an approver who cannot answer is none", p.o50)
		p.oracle(t, "O51 an approver who is not there is not asked", p.o51)
		p.oracle(t, "O53 a caller who cancels hears nothing and nothing runs", p.o53)
		p.oracle(t, "O55 without a token there is no progress", p.o55)
		p.oracle(t, "O56 an approver may change what the policy offers", p.o56)
		p.oracle(t, "O57 a change to what is not offered is a no", p.o57)
		p.oracle(t, "O58 a change cannot reach what is denied", p.o58)
		p.oracle(t, "O59 a question is passed on", p.o59)
		p.oracle(t, "O60 a question is not passed on to just anybody", p.o60)
		p.oracle(t, "O65 more questions than people can read are refused", p.o65)
		// Last, because the connection is another one after it.
		p.oracle(t, "O61 after a reconnect the question is put again", p.o61)
	})
}

func (p play) o39(*testing.T) {
	before := p.s.ran()
	p.writes("o39")
	q := p.poses("alice", `{"message":"*","requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean","title":"*","description":"*"},"reason":{"type":"string"}},"required":["approve"]},
		"metadata":{"elicitationType":"tool_approval","timeout":60,"originalRequest":{"from":"o39","tool":"write_file","arguments":{"path":"/a","text":"x"},"requestId":7,"envelopeId":"e-o39"}},
		"_meta":{"mcpx/approval":{"elicitationType":"tool_approval"}}}`)
	p.runs(before, 0)
	p.decides("alice", q, `{"action":"decline"}`)
	p.refuses("o39", "write_file", -31001, `{"reason":"declined","executed":"no"}`)
}

func (p play) o40(*testing.T) {
	before := p.s.ran()
	p.writes("o40")
	p.decides("alice", p.poses("alice", anyQuestion), approve)
	p.served("o40", "write_file")
	p.runs(before, 1)
	if line := p.lastGiven(); !strings.Contains(line, `"arguments":`+writeArguments) {
		p.fail("the server was given %s", line)
	}
}

func (p play) o41(*testing.T) {
	before := p.s.ran()
	p.writes("o41")
	q := p.poses("alice", anyQuestion)
	p.replies("alice", q, "", `"result":`+approve)
	if p.d.list || p.d == d1 { // their answers name what they answer, so this is none (apr-006)
		again := p.poses("alice", anyQuestion) // with what was wrong (FINDINGS D6)
		p.runs(before, 0)
		p.decides("alice", again, approve)
		p.expect(p.withdrawn(q))
	}
	p.served("o41", "write_file")
	p.runs(before, 1)
}

func (p play) no(caller, result, reason string) {
	before := p.s.ran()
	p.writes(caller)
	q := p.poses("alice", anyQuestion)
	p.decides("alice", q, result)
	data := fmt.Sprintf(`{"reason":%q,"executed":"no"}`, reason)
	if reason == "invalid_answer" { // alice hears that hers was taken for a no (FINDINGS D6)
		p.expectAll(p.withdrawn(q), p.refusal(caller, "write_file", -31001, data))
	} else {
		p.refuses(caller, "write_file", -31001, data)
	}
	p.runs(before, 0)
}

func (p play) o42(*testing.T) {
	p.no("o42", `{"action":"accept","content":{"approve":false}}`, "declined")
}
func (p play) o43(*testing.T) {
	p.no("o43", `{"action":"decline","content":{"approve":true}}`, "declined")
}
func (p play) o44(*testing.T) { p.no("o44", `{"action":"cancel"}`, "cancelled") }
func (p play) o45(*testing.T) {
	for i, result := range []string{`{"action":"accept"}`, `{"action":"accept","content":{"approve":"true"}}`, `{"action":"accept","content":{"approve":1}}`, `null`} {
		p.no(fmt.Sprintf("o45-%d", i), result, "invalid_answer")
	}
}

func (p play) o46(*testing.T) {
	before := p.s.ran()
	p.writes("o46")
	q := p.poses("alice", anyQuestion)
	p.decides("mallory", q, approve)
	p.runs(before, 0)
	p.s.await(`{"event":"foreign_answer"}`)
	p.decides("alice", q, approve)
	p.served("o46", "write_file")
	p.runs(before, 1)
}

// The policy names the caller among those who decide about this tool.
func (p play) o47(*testing.T) {
	before := p.s.ran()
	p.send(p.d.presence("o47-comes", "join", "o47"))
	p.request("e-o47", "o47", call("7", "big", `{}`))
	q := p.poses("alice", anyQuestion)
	p.quiet() // nobody else was asked
	p.decides("o47", q, approve)
	p.runs(before, 0)
	p.s.await(`{"event":"foreign_answer"}`)
	p.decides("alice", q, `{"action":"decline"}`)
	p.refuses("o47", "big", -31001, `{"reason":"declined"}`)
}

func (p play) o48(*testing.T) {
	before := p.s.ran()
	p.request("e-o48", "o48", call("7", "slow", `{"ms":0}`))
	q := p.poses("alice", anyQuestion)
	p.expectAll(p.withdrawn(q), p.refusal("o48", "slow", -31002, `{"reason":"expired","executed":"no"}`))
	p.decides("alice", q, approve)
	p.s.await(`{"event":"late_answer"}`)
	p.runs(before, 0)
}

func (p play) o49(*testing.T) {
	before := p.s.ran()
	p.writes("o49")
	q := p.poses("alice", anyQuestion)
	p.decides("alice", q, approve)
	p.decides("alice", q, approve)
	p.served("o49", "write_file")
	p.runs(before, 1)
}

func (p play) o50(*testing.T) {
	p.writes("o50")
	q := p.poses("alice", anyQuestion)
	p.replies("alice", q, q.env, `"error":{"code":-32601,"message":"Method not found"}`)
	p.refuses("o50", "write_file", -31003, `{"tool":"write_file","executed":"no"}`)
}

func (p play) o51(*testing.T) {
	before := p.s.ran()
	p.request("e-o51", "o51", call("7", "fail", `{}`))
	p.refuses("o51", "fail", -31003, `{"tool":"fail","requester":"o51"}`)
	p.runs(before, 0)
}

func (p play) o53(*testing.T) {
	before := p.s.ran()
	p.writes("o53")
	q := p.poses("alice", anyQuestion)
	p.request("c-o53", "o53", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	p.expect(p.withdrawn(q))
	p.decides("alice", q, approve)
	p.s.await(`{"event":"late_answer"}`)
	p.runs(before, 0)
}

func (p play) o55(*testing.T) {
	p.request("e-o55", "o55", call("7", "slow", `{"ms":1}`))
	q := p.poses("alice", anyQuestion)
	p.quiet() // no progress
	p.decides("alice", q, approve)
	p.served("o55", "slow")
}

func (p play) deploys(caller string) posed {
	p.stage.t.Helper()
	p.request("e-"+caller, caller, call("7", "deploy", `{"target":"production"}`))
	return p.poses("alice", `{"requestedSchema":{"properties":{"approve":{"type":"boolean"},"modifiedTarget":{"type":"string","title":"Target","default":"production","enum":["production","staging","development"]}}}}`)
}

func (p play) o56(*testing.T) {
	before := p.s.ran()
	p.decides("alice", p.deploys("o56"), `{"action":"accept","content":{"approve":true,"modifiedTarget":"staging"}}`)
	p.expect(p.d.reply("o56", "e-o56", "tools/call", "deploy", `{"id":7,"result":{"content":[{"text":"deployed to staging","type":"text"}],"_meta":{"mcpx/approval":{"by":"alice","modified":["/target"]}}}}`))
	p.runs(before, 1)
}

func (p play) o57(*testing.T) {
	before := p.s.ran()
	q := p.deploys("o57")
	p.decides("alice", q, `{"action":"accept","content":{"approve":true,"modifiedTarget":"mars"}}`)
	p.expectAll(p.withdrawn(q), p.refusal("o57", "deploy", -31001, `{"reason":"invalid_modification","executed":"no"}`))
	p.runs(before, 0)
	p.decides("alice", p.deploys("o57-evil"), `{"action":"accept","content":{"approve":true,"evil":1}}`)
	p.served("o57-evil", "deploy")
	p.runs(before, 1)
	if strings.Contains(p.lastGiven(), "evil") {
		p.fail("what nobody offered is in the call: %s", p.lastGiven())
	}
}

func (p play) o58(*testing.T) {
	before := p.s.ran()
	q := p.deploys("o58")
	p.decides("alice", q, `{"action":"accept","content":{"approve":true,"modifiedTarget":"staging"}}`)
	p.expectAll(p.withdrawn(q), p.refusal("o58", "deploy", -31001, `{"reason":"invalid_modification","executed":"no"}`))
	p.runs(before, 0)
}

const choice = `{"requestedSchema":{"properties":{"action":{"type":"string","enum":["approve","deny","delegate"]},"delegateTo":{"type":"string"}},"required":["action"]}}`

func passTo(whom string) string {
	return fmt.Sprintf(`{"action":"accept","content":{"action":"delegate","delegateTo":%q}}`, whom)
}

func (p play) o59(*testing.T) {
	before := p.s.ran()
	p.request("e-o59", "o59", call("7", "echo", `{}`))
	p.decides("alice", p.poses("alice", choice), passTo("carol"))
	q := p.poses("carol", `{"metadata":{"delegation":[{"by":"alice","to":"carol","ts":"*"}]}}`)
	p.runs(before, 0)
	p.decides("carol", q, `{"action":"accept","content":{"action":"approve"}}`)
	p.served("o59", "echo")
	p.runs(before, 1)
}

func (p play) o60(*testing.T) {
	before := p.s.ran()
	for _, caller := range []string{"o60", "o60-too"} { // nobody is asked after the third no to one of them
		p.send(p.d.presence(caller+"-comes", "join", caller))
	}
	for i, whom := range []string{"o60", "alice", "nobody", "mallory", "fs"} {
		env, caller := fmt.Sprintf("e-o60-%d", i), "o60"
		if i > 2 {
			caller = "o60-too"
		}
		p.request(env, caller, call("7", "echo", fmt.Sprintf(`{"n":%d}`, i)))
		p.decides("alice", p.poses("alice", choice), passTo(whom))
		again := p.poses("alice", choice)
		p.decides("alice", again, passTo(whom))
		p.expectAll(p.withdrawn(again), p.d.reply(caller, env, "tools/call", "echo", `{"id":7,"error":{"code":-31001,"data":{"reason":"invalid_delegation","executed":"no"}}}`))
	}
	p.runs(before, 0)
}

// Eight questions of one caller may be open.
func (p play) o65(*testing.T) {
	var open []posed
	for i := range 8 {
		p.request(fmt.Sprintf("e-o65-%d", i), "o65", call(fmt.Sprint(i), "write_file", writeArguments))
		open = append(open, p.poses("alice", anyQuestion))
	}
	p.request("e-o65-8", "o65", call("8", "write_file", writeArguments))
	p.expect(p.d.reply("o65", "e-o65-8", "tools/call", "write_file", `{"id":8,"error":{"code":-31005,"data":{"executed":"no","retryable":true,"retry_after_ms":"*"}}}`))
	for i, q := range open {
		p.decides("alice", q, approve)
		p.expect(p.d.reply("o65", fmt.Sprintf("e-o65-%d", i), "tools/call", "write_file", fmt.Sprintf(`{"id":%d,"result":"*"}`, i)))
	}
}

func (p play) o61(*testing.T) {
	before := p.s.ran()
	p.writes("bob")
	old := p.poses("alice", anyQuestion)
	p.drop()
	p.accept()
	p.greet("bob", "alice", "carol")
	again := p.poses("alice", anyQuestion)
	if again.env == old.env || again.id == old.id {
		p.fail("the ids are the old ones: %s", again.frame)
	}
	p.decides("alice", again, approve)
	p.expectAll(p.withdrawn(old), p.d.reply("bob", "e-bob", "tools/call", "write_file", `{"id":7,"!error":0,"result":"*"}`))
	p.decides("alice", old, approve)
	p.runs(before, 1)
}

// Seconds pass in these.
func TestOraclesOfApprovalsThatTakeTime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, d tongue) {
		t.Parallel()
		g, s := perform(t, d, ruled(t, askRules))
		p := play{g, s}
		p.oracle(t, "O52 an approver who leaves is not waited for", p.o52)
		p.oracle(t, "O54 a caller with a token hears that people decide", p.o54)
	})
}

func (p play) o52(*testing.T) {
	p.writes("o52")
	p.poses("alice", anyQuestion)
	p.send(p.d.presence("alice-leaves", "leave", "alice"))
	p.refuses("o52", "write_file", -31003, `{"executed":"no"}`)
	p.send(p.d.presence("alice-comes", "join", "alice"))
	p.writes("o52-b")
	p.poses("alice", anyQuestion)
	p.send(p.d.presence("alice-leaves-2", "leave", "alice"))
	p.send(p.d.presence("alice-comes-2", "join", "alice"))
	p.decides("alice", p.poses("alice", anyQuestion), approve) // it was put to her again (AI-22)
	p.served("o52-b", "write_file")
}

func (p play) o54(*testing.T) {
	p.request("e-o54", "o54", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":5},"name":"progress","arguments":{"n":1}}}`)
	progress := func(n string) string {
		return fmt.Sprintf(`{"to":["o54"],"!correlation_id":0,"payload":{"method":"notifications/progress","params":{"progressToken":5,"progress":%s,"message":"*"}}}`, n)
	}
	q := p.poses("alice", anyQuestion)
	p.expect(progress("0.000000001"))
	p.expect(progress("0.000000002")) // after 15 s
	p.decides("alice", q, approve)
	p.expect(`{"to":["o54"],"!correlation_id":0,"payload":{"method":"notifications/progress","params":{"progressToken":5,"progress":0.000000003,"message":"allowed by alice: ok"}}}`)
	p.expect(`{"to":["o54"],"payload":{"method":"notifications/progress","params":{"progressToken":5,"progress":1}}}`) // the server's first
	p.served("o54", "progress")
}

func TestOraclesOfWhoCannotAsk(t *testing.T) {
	t.Run("O62 who may not ask has no approver", func(t *testing.T) {
		g := openStage(t, d1)
		s := ruled(t, askRules).start(t, g.url)
		g.side = s
		p := play{g, s}
		g.accept()
		g.send(d1.welcome("fs", `["mcp/response:*","chat"]`, "bob", "alice"))
		s.await(`{"event":"warning","reason":"cannot_ask"}`)
		for _, frame := range g.settle() {
			if !strings.Contains(frame, `"kind":"chat"`) {
				t.Errorf("it says %s", frame)
			}
		}
		p.writes("bob")
		p.refuses("bob", "write_file", -31003, `{"executed":"no"}`)
		p.quiet()
	})
	t.Run("O63 a question and its answer have the kinds of their dialect", func(t *testing.T) {
		g, s := perform(t, d1, ruled(t, askRules))
		p := play{g, s}
		p.writes("bob")
		q := p.poses("alice", anyQuestion)
		if !strings.Contains(q.frame, `"kind":"mcp/request:elicitation/create"`) {
			t.Errorf("the question is %s", q.frame)
		}
		g.send(fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":"a","ts":"2026-01-01T00:00:00Z","from":"alice","to":["fs"],"kind":"mcp/response:elicitation/create","correlation_id":%q,"payload":{"jsonrpc":"2.0","id":%s,"result":%s}}`,
			q.env, q.id, approve))
		p.served("bob", "write_file")
	})
	for _, d := range []tongue{meup, mew3, mew4} {
		t.Run("O64 where senders are not verified nobody is believed unasked", func(t *testing.T) {
			l := ruled(t, askRules)
			l.flags = nil
			g, s := perform(t, d, l)
			p := play{g, s}
			p.writes("bob")
			p.refuses("bob", "write_file", -31003, `{"executed":"no"}`)
			p.runs(0, 0)
			g, s = perform(t, d, ruled(t, askRules))
			p = play{g, s}
			p.writes("bob")
			q := p.poses("alice", anyQuestion)
			g.send(fmt.Sprintf(`{"protocol":%q,"id":"a","ts":"2026-01-01T00:00:00Z","from":"alice","to":["fs"],"kind":"mcp/response","correlation_id":[%q],"payload":{"result":{"action":"accept","content":{"approve":true}}}}`, d.protocol, q.env))
			p.served("bob", "write_file")
		})
	}
}
