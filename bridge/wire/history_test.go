package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

const (
	chat0   = `{"protocol":"mcp-x/v0","id":"c","ts":"t","from":"bob","kind":"mcp","payload":{"jsonrpc":"2.0","method":"notifications/chat/message","params":{"text":"x","a":%s}}}`
	answer0 = `{"protocol":"mcp-x/v0","id":"a","ts":"t","from":"fs","to":["bob"],"kind":"mcp","correlation_id":"q","payload":{"jsonrpc":"2.0","id":1,"result":%s}}`
)

// nested is an array of a depth.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// many are an array of so many values, and one.
func many(n int) string { return "[0" + strings.Repeat(",0", n-1) + "]" }

// Whatever a gateway lets through may stand in the history of a welcome, which is read all the same.
func TestNothingThatWasLetThroughKeepsAJoinerOut(t *testing.T) {
	d := lookup(t, "mcp-x/v0")
	for name, frames := range map[string][]string{
		"half a pair":                {fmt.Sprintf(answer0, `{"text":"… \ud83d"}`)},
		"a key twice":                {fmt.Sprintf(answer0, `{"a":{"b":1,"b":2}}`)},
		"keys alike and half a pair": {fmt.Sprintf(answer0, `{"a":{"b":1,"B":2},"text":"\ud83d"}`)},
		"a chat of depth 61":         {fmt.Sprintf(chat0, nested(58))},
		"a chat of depth 62":         {fmt.Sprintf(chat0, nested(59))},
		"a chat of depth 64":         {fmt.Sprintf(chat0, nested(61))},
		"the deepest answer":         {fmt.Sprintf(answer0, nested(jsonrpc.MaxServerDepth-1))},
		"many values in one":         {fmt.Sprintf(answer0, many(jsonrpc.MaxValues+1))},
		"many values in a hundred":   strings.SplitAfter(strings.Repeat(fmt.Sprintf(answer0, many(jsonrpc.MaxValues/100+1))+"\n", 100), "\n")[:100],
		"all that a history may be":  {fmt.Sprintf(chat0, nested(61)), fmt.Sprintf(answer0, `{"text":"\ud83d","a":{"b":1,"b":2}}`), fmt.Sprintf(answer0, nested(900))},
	} {
		var history [][]byte
		for _, frame := range frames {
			whole, err := d.Accept(new(wire.Envelope), []byte(frame), "bob", newNames)
			if err != nil {
				t.Fatalf("%s: no gateway lets it through: %v", name, err)
			}
			history = append(history, whole)
		}
		frame := d.AppendWelcome(nil, "w", "t", "t1", wire.Welcome{You: wire.Participant{ID: "fs"}, Peers: []wire.Participant{{ID: "bob"}}}, history)
		if found, ok := wire.Detect(frame); !ok || found != d {
			t.Errorf("%s: taken for %q", name, found.Protocol)
		}
		e, err := d.Decode(frame)
		if err != nil || e.Kind != wire.Greeting || e.ID != "w" || e.Loose {
			t.Errorf("%s: read as %v %q: %v", name, e.Kind, e.ID, err)
			continue
		}
		if w, err := e.Welcome(); err != nil || w.You.ID != "fs" || len(w.Peers) != 1 || w.Peers[0].ID != "bob" {
			t.Errorf("%s: welcomed as %+v: %v", name, w, err)
		}
	}
}

// Beside the history a welcome is read as strictly as all else, and what is no welcome has none.
func TestAHistoryExcusesNothingBesideIt(t *testing.T) {
	const welcome = `{"protocol":"mcp-x/v0","id":"w","from":"system:gateway","kind":"system","payload":{"type":"welcome","participant_id":"fs","participants":[],"history":["\ud83d"]}}`
	if _, err := lookup(t, "mcp-x/v0").Decode([]byte(welcome)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"half a pair in the payload":    {`"participants":[]`, `"participants":[],"topic":"\ud83d"`},
		"a key twice in the roster":     {`"participants":[]`, `"participants":[{"id":"bob","id":"eve"}]`},
		"who we are said twice":         {`"participant_id":"fs"`, `"participant_id":"fs","participant_id":"eve"`},
		"who we are in another case":    {`"participants":[]`, `"participants":[],"Type":"error"`},
		"a roster too deep":             {`"participants":[]`, `"participants":` + nested(63)},
		"too many in the roster":        {`"participants":[]`, `"participants":` + many(jsonrpc.MaxValues)},
		"two histories":                 {`"participants":[]`, `"participants":[],"history":["\ud83d"]`},
		"a history beside the payload":  {`"id":"w"`, `"id":"w","history":["\ud83d"]`},
		"a history within the roster":   {`"participants":[]`, `"participants":[{"id":"bob","history":["\ud83d"]}]`},
		"a history of a presence":       {`"kind":"system"`, `"kind":"presence"`},
		"a history of an error":         {`"type":"welcome"`, `"type":"error"`},
		"a history in another dialect":  {`"protocol":"mcp-x/v0"`, `"protocol":"mcpx/v0.1"`},
		"a welcome from a participant":  {`"from":"system:gateway"`, `"from":"bob"`},
		"a history deeper than answers": {`"history":["\ud83d"]`, `"history":` + nested(jsonrpc.MaxServerDepth+3)},
		"a history of bytes":            {`"history":["\ud83d"]`, `"history":["` + "\xff" + `"]`},
		"an answer that looks like one": {`"kind":"system","payload":{`, `"kind":"mcp","payload":{"jsonrpc":"2.0","id":1,"result":` + nested(jsonrpc.MaxServerDepth) + `,`},
	} {
		frame := strings.Replace(welcome, change[0], change[1], 1)
		if frame == welcome {
			t.Fatalf("%s: nothing changed", name)
		}
		if e, err := lookup(t, "mcp-x/v0").Decode([]byte(frame)); err == nil {
			t.Errorf("%s: read as %v", name, e.Kind)
		}
	}
}

// FuzzHistory: whatever a gateway lets through may stand in the history of a welcome.
func FuzzHistory(f *testing.F) {
	seeds(f)
	for _, value := range []string{`{"text":"\ud83d"}`, `{"a":{"b":1,"b":2}}`, nested(999), many(9)} {
		f.Add(uint8(0), fmt.Appendf(nil, answer0, value))
	}
	f.Add(uint8(0), fmt.Appendf(nil, chat0, nested(61)))
	d := lookup(f, "mcp-x/v0")
	f.Fuzz(func(t *testing.T, _ uint8, frame []byte) {
		whole, err := d.Accept(new(wire.Envelope), frame, "bob", newNames)
		if err != nil {
			return
		}
		welcome := d.AppendWelcome(nil, "w", "t", "t1", wire.Welcome{You: wire.Participant{ID: "fs"}}, [][]byte{whole})
		if found, ok := wire.Detect(welcome); !ok || found != d {
			t.Fatalf("taken for %q: %s", found.Protocol, welcome)
		}
		e, err := d.Decode(welcome)
		if err != nil {
			t.Fatalf("%v: %s", err, welcome)
		}
		if w, err := e.Welcome(); err != nil || w.You.ID != "fs" {
			t.Fatalf("welcomed as %+v: %v", w, err)
		}
	})
}
