package sim

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// An attacker is a participant, mallory, who has seen every frame and says them
// again with changes. It cannot write another's name into "from" unless the
// gateway lets it.
type attacker struct {
	w      *company
	dice   dice
	seen   []*frame
	asks   []*letter
	serial int
}

func (a *attacker) saw(f *frame) {
	if len(f.raw) < 40 || f.said.draft {
		return // too little to be made anything of
	}
	if len(a.seen) > 60 {
		a.seen = a.seen[20:]
	}
	a.seen = append(a.seen, f)
}

func (a *attacker) overheard(l *letter) {
	if l.Payload.Method == "elicitation/create" {
		a.asks = append(a.asks, l)
	}
}

func (a *attacker) fresh() string {
	a.serial++
	return fmt.Sprintf("m-%d", a.serial)
}

// name is who it says it is.
func (a *attacker) name(as string) string {
	if a.w.strikes(forge) {
		return as
	}
	return attackerName
}

// vain: there is nothing that it could make something of.
func (a *attacker) vain(f Fault) bool {
	switch f {
	case impersonate, selfApprove:
		return len(a.asks) == 0
	case cancelOther:
		return !slices.ContainsFunc(a.seen, another)
	case pause:
		return a.w.o.Protocol != "mew/v0.4" // the others do not know how
	}
	return len(a.seen) == 0
}

// another: it is somebody else's call.
func another(f *frame) bool { return f.said.kind == wire.Request && f.said.from != attackerName }

func (a *attacker) strike(f Fault) {
	switch f {
	case mutate:
		for range 6 {
			a.mutate(pick(a.dice, a.seen...))
		}
	case impersonate:
		a.impersonate()
	case selfApprove:
		a.selfApprove()
	case cancelOther:
		a.cancelOther()
	case pause:
		a.pause()
	}
}

// mutate says a frame again that is almost the one it saw. What it says then is
// for the checker to read.
func (a *attacker) mutate(f *frame) {
	raw := bytes.Clone(f.raw)
	change := func(old, new string) { raw = bytes.Replace(raw, []byte(old), []byte(new), 1) }
	change(string(text(f.said.from)), string(text(a.name(f.said.from))))
	switch a.dice.IntN(14) {
	case 0: // the very same under its own name
	case 1: // under its own name and a new id
		change(string(text(f.said.id)), string(text(a.fresh())))
	case 2: // the same id, another body
		change(`"amount": 50`, `"amount": 51`)
	case 3: // two names
		change(`"name":`, `"name":"read","name":`)
	case 4: // a name that some readers take for another
		change(`"name":`, `"Name":"read","name":`)
	case 5: // to several
		change(`"to":["fs"]`, pick(a.dice, `"to":["fs","bob"]`, `"to":["FS"]`, `"to":["fs","fs"]`, `"to":[]`))
	case 6: // cut short
		raw = raw[:1+a.dice.IntN(len(raw)-1)]
	case 7: // a bit that is another
		raw[a.dice.IntN(len(raw))] ^= 1 << a.dice.IntN(7)
		for _, key := range []string{`"amount": `, `token":"SECRET`, `token=SECRET`, `"_meta":{`, `"mcpx/justification":`} {
			if strings.Count(string(raw), key) != strings.Count(string(f.raw), key) {
				return // a value of another name is no secret, and cannot be edited
			}
		}
	case 8: // two arguments
		change(`"arguments":`, `"arguments":{"n":"x"},"arguments":`)
	case 9: // another kind
		change(`"kind":"mcp/request`, `"kind":"mcp/response`)
	case 10: // a tool in the kind that is not the one in the payload
		change(`"name":"`+f.said.tool, `"name":"`+pick(a.dice, "read", "wipe"))
	case 11: // a key that some servers take for the one before it
		change(`"arguments":{`, pick(a.dice, `"arguments":{"path":"a","PATH":"b",`, `"arguments":{"k":1,"\u212a":2,`))
	case 12: // and further down
		change(`"arguments":{`, `"arguments":{"in":[{"path":"a","PATH":"b"}],`)
	case 13: // more than arguments
		change(`"params":{`, pick(a.dice, `"params":{"task":{"ttl":9},`, `"params":{"Task":1,`, `"x":1,"params":{"_meta":{"vendor/x":"0","y":{}},`))
	}
	said, ok := readSaid(a.w.o.Protocol, raw)
	if !ok {
		said = broken(f.said)
	}
	a.w.topic.send(&frame{raw, said})
}

// impersonate answers a question that was put to somebody else.
func (a *attacker) impersonate() {
	for _, l := range a.asks[max(0, len(a.asks)-3):] {
		s := said{id: a.fresh(), from: a.name(l.To[0]), to: []string{us}, kind: wire.Response, method: "elicitation/create",
			corr: []string{l.ID}, rpc: l.Payload.ID, result: []byte(yesTo(l, ""))}
		a.w.topic.say(s, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, s.rpc, s.result))
	}
}

// selfApprove has those who call answer the questions about their calls.
func (a *attacker) selfApprove() {
	for _, l := range a.asks {
		if p := a.w.person(l.original().From); p != nil && a.dice.chance(.5) {
			a.w.after(a.dice.between(0, time.Second), func() { p.answer(l, yesTo(l, "")) })
		}
	}
}

// cancelOther takes back calls of others.
func (a *attacker) cancelOther() {
	for _, f := range a.seen {
		if another(f) {
			s := said{id: a.fresh(), from: attackerName, to: []string{us}, kind: wire.Notification, method: "notifications/cancelled", ref: f.said.rpc}
			a.w.topic.say(s, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, s.ref))
		}
	}
}

// pause tells the bridge to be quiet.
func (a *attacker) pause() {
	s := said{id: a.fresh(), from: attackerName, to: []string{us}, kind: wire.Control, method: "participant/pause"}
	a.w.topic.say(s, fmt.Appendf(nil, `{"timeout_seconds":%d}`, pick(a.dice, 0, 5, 60, 100000)))
	if a.dice.chance(.5) {
		s.id, s.method = a.fresh(), "participant/resume"
		a.w.after(a.dice.between(time.Second, time.Minute), func() { a.w.topic.say(s, []byte("{}")) })
	}
}
