package wire_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func TestAllowsAndPredicts(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"n":1,"b":true,"deep":{"x":"y"}}}}`
	object := func(payload string) string { return `[{"kind":"mcp/request","payload":` + payload + `}]` }
	for _, c := range []struct {
		caps, kind       string
		allows, predicts bool
	}{
		// WIRE 3.3: what the specification says, and what the reference gateway does
		{``, "mcp/request:tools/call:x", true, true},
		{`null`, "anything", true, true},
		{`[]`, "chat", false, false},
		{`["chat"]`, "chat", true, true},
		{`["chat"]`, "chatter", false, false},
		{`["chat"]`, "chat/cancel", false, false},
		{`["mcp/*","chat"]`, "mcp/request:tools/call:x", true, true},
		{`["mcp/*"]`, "mcp.request.tools/call", false, false},
		{`["mcp/*"]`, "chat", false, false},
		{`["mcp/request:*"]`, "mcp/request:tools/call:x", true, true},
		{`["mcp/request:*"]`, "mcp/response:tools/call:x", false, false},
		{`["mcp/request:tools/*"]`, "mcp/request:tools/call:x", true, true},
		{`["mcp/request:tools/*"]`, "mcp/request:resources/read:x", false, false},
		{`["mcp/request:tools/call:write_*"]`, "mcp/request:tools/call:write_file", true, true},
		{`["mcp/request:tools/call:write_*"]`, "mcp/request:tools/call:read_file", false, false},
		{`["mcp/request:tools/call:write_*"]`, "mcp/request:tools/call", false, false},
		{`["mcp/request:tools/call"]`, "mcp/request:tools/call:read_file", true, false},
		{`["mcp/request:tools/call"]`, "mcp/request:tools/callous", false, false},
		{`["mcp/request"]`, "mcp/request:tools/call", false, false},
		{`["mcp/request:*/list"]`, "mcp/request:tools/list", true, false},
		{`["mcp/request:*/list"]`, "mcp/request:resources/templates/list", true, false},
		{`["mcp/request:*/list"]`, "mcp/request:tools/call:/list", false, false},
		{`["mcp/request:*/list"]`, "mcp/request:tools/call:x/list", false, false},
		{`["mcp/*:tools/list"]`, "mcp/request:tools/list", true, false},
		{`["mcp/request:resources/read:*.txt"]`, "mcp/request:resources/read:file:///a:b.txt", true, false},
		{`["mcp/request:resources/read:*.txt"]`, "mcp/request:resources/read:file:///a.png", false, false},
		{`["mcp/request:*/call:read_*"]`, "mcp/request:tools/call:read_file", true, false},
		{`["mcp/request:*/call:read_*"]`, "mcp/request:x:/call:read_file", false, false},
		{`["*"]`, "mcp/request:tools/call:x", true, true},
		{`["system/*","*"]`, "system/welcome", false, true},
		{`["presence"]`, "presence", false, true},

		// WIRE 5.6
		{`[{"kind":"*"}]`, "mcp/proposal", true, true},
		{`[{"kind":"mcp/*"}]`, "mcp/proposal", true, true},
		{`[{"kind":"mcp/response","id":"mcp-response"}]`, "mcp/response", true, true},
		{`[{"kind":"mcp/response"}]`, "mcp/request", false, false},
		{object(`{"method":"tools/call"}`), "mcp/request", true, true},
		{object(`{"method":"tools/*"}`), "mcp/request", true, true},
		{object(`{"method":"resources/*"}`), "mcp/request", false, true},
		{object(`{"method":"!tools/call"}`), "mcp/request", false, true},
		{object(`{"method":"!tools/list"}`), "mcp/request", true, true},
		{object(`{"method":"!tools/*"}`), "mcp/request", false, true},
		{object(`{"method":"!!tools/call"}`), "mcp/request", false, true},
		{object(`{"method":"!"}`), "mcp/request", false, true},
		{object(`{"absent":"!x"}`), "mcp/request", false, true},
		{object(`{"absent":"*"}`), "mcp/request", false, true},
		{object(`{"id":"*"}`), "mcp/request", false, true},
		{object(`{"id":1}`), "mcp/request", true, true},
		{object(`{"id":2}`), "mcp/request", false, true},
		{object(`{"params":{"name":"read_*"}}`), "mcp/request", true, true},
		{object(`{"params":{"name":"write_*"}}`), "mcp/request", false, true},
		{object(`{"params":{"arguments":{"b":true,"deep":{"x":"y"}}}}`), "mcp/request", true, true},
		{object(`{"params":{"arguments":{"b":false}}}`), "mcp/request", false, true},
		{object(`{"params":{"arguments":{"b":null}}}`), "mcp/request", false, true},
		{object(`{}`), "mcp/request", true, true},
		{object(`"tools/call"`), "mcp/request", false, true},
		{object(`{"method":["tools/call"]}`), "mcp/request", false, true},
		{object(`{"method":"/tools.*/"}`), "mcp/request", false, true},
		{object(`{"$.method":"tools/call"}`), "mcp/request", false, true},
		{`[{"kind":"mcp/request","unless":"x"}]`, "mcp/request", false, true},
		{`[{"kind":"mcp/request","to":["fs"]}]`, "mcp/request", false, true},
		{`[{"kind":"chat"},"mcp/request:tools/list"]`, "mcp/request:tools/list", true, true},
	} {
		got := caps(t, []byte(c.caps))
		if a := got.Allows(c.kind, []byte(call)); a != c.allows {
			t.Errorf("%s allows %s: %v", c.caps, c.kind, a)
		}
		if p := got.Predicts(c.kind); p != c.predicts {
			t.Errorf("%s predicts %s: %v", c.caps, c.kind, p)
		}
	}
}

func TestPayloadPatternNeedsAPayload(t *testing.T) {
	c := caps(t, []byte(`[{"kind":"mcp/request","payload":{}}]`))
	for _, payload := range []string{``, `[]`, `"x"`, `1`} {
		if c.Allows("mcp/request", []byte(payload)) {
			t.Errorf("%q fits an object", payload)
		}
	}
}

// Permits goes by what a frame is. Whatever dialect it came in, the same grants
// let it through.
func TestPermits(t *testing.T) {
	call := wire.Envelope{Kind: wire.Request, To: []string{"fs"}, Method: "tools/call", Key: "read_file",
		Payload: []byte(`{"method":"tools/call","params":{"name":"read_file"}}`)}
	list := wire.Envelope{Kind: wire.Request, To: []string{"fs"}, Method: "tools/list", Payload: []byte(`{"method":"tools/list"}`)}
	told := wire.Envelope{Kind: wire.Notification, Method: "notifications/tools/list_changed"}
	answer := wire.Envelope{Kind: wire.Response, To: []string{"bob"}, Spelled: "mcp/response"} // of mew, which does not say to what
	pause := wire.Envelope{Kind: wire.Control, Spelled: "participant/pause"}
	forged := wire.Envelope{Kind: wire.Greeting, Spelled: "system/welcome"}
	other := wire.Envelope{Kind: wire.Unknown, Spelled: "system/heartbeat"}
	thought := wire.Envelope{Kind: wire.Unknown, Spelled: "reasoning/thought"}
	data := wire.Envelope{Kind: wire.Stream}
	propose := wire.Envelope{Kind: wire.Proposal, Method: "tools/call", Key: "read_file", Spelled: "mcp/proposal"}
	back := wire.Envelope{Kind: wire.Withdraw, Spelled: "mcp/withdraw"}
	drafted := wire.Envelope{Kind: wire.Reject, Spelled: "proposal-reject"}
	status := wire.Envelope{Kind: wire.Status, Spelled: "proposal/status"}
	for _, c := range []struct {
		name string
		caps string
		e    *wire.Envelope
		want bool
	}{
		{"a string in full", `["mcp/request:tools/call:read_file"]`, &call, true},
		{"a string without the tool", `["mcp/request:tools/call"]`, &call, true},
		{"a string for another tool", `["mcp/request:tools/call:write_*"]`, &call, false},
		{"lists only", `["mcp/request:*/list"]`, &call, false},
		{"lists only, a list", `["mcp/request:*/list"]`, &list, true},
		{"an object", `[{"kind":"mcp/request"}]`, &call, true},
		{"an object for the tool", `[{"kind":"mcp/request","payload":{"method":"tools/call","params":{"name":"read_*"}}}]`, &call, true},
		{"an object for another", `[{"kind":"mcp/request","payload":{"method":"tools/call","params":{"name":"write_*"}}}]`, &call, false},
		{"an object for this recipient", `[{"kind":"mcp/request","to":["fs","db"]}]`, &call, true},
		{"an object for another recipient", `[{"kind":"mcp/request","to":["db"]}]`, &call, false},
		{"an object for a recipient, to everybody", `[{"kind":"mcp/request","to":["fs"]}]`, &told, false},
		{"a notification is a request by kind", `["mcp/request:notifications/*"]`, &told, true},
		{"an answer", `["mcp/response:*"]`, &answer, true},
		{"an answer, when only asking is allowed", `["mcp/request:*"]`, &answer, false},
		{"an order", `[{"kind":"participant/*"}]`, &pause, true},
		{"an order, when only chat is allowed", `["chat"]`, &pause, false},
		{"nothing stated", ``, &call, true},
		{"nothing allowed", `[]`, &call, false},
		{"a welcome", `["*"]`, &forged, false},
		{"a welcome, nothing stated", ``, &forged, false},
		{"a heartbeat", `["*"]`, &other, false},
		{"a thought", `["reasoning/*"]`, &thought, true},
		{"stream data", ``, &data, false},
		{"a withdrawal by its name in seed 001", `["mcpx.withdraw.proposal"]`, &back, true},
		{"a withdrawal, with the name of a reject", `["mcpx.reject.proposal"]`, &back, false},
		{"a reject of seed 000 by the name of seed 001", `["mcpx.reject.proposal"]`, &drafted, true},
		{"a reject of seed 000 by its name in mew", `[{"kind":"mcp/reject"}]`, &drafted, true},
		{"a reject of seed 000, with the name of a proposal", `["proposal","mcp/proposal:*"]`, &drafted, false},
		{"a status by its name in seed 001", `["mcpx.status.proposal"]`, &status, true},
		{"a status, with all of MCP", `["mcp/*"]`, &status, false},
		{"a proposal by its name in seed 000", `["proposal"]`, &propose, true},
		{"a proposal by its name in seed 001", `["mcp.proposal.tools/call"]`, &propose, true},
		{"a proposal of another tool", `["mcp.proposal.tools/call:write_*"]`, &propose, false},
	} {
		if got := caps(t, []byte(c.caps)).Permits(c.e); got != c.want {
			t.Errorf("%s: %s permits %s: %v", c.name, c.caps, c.e.Kind, got)
		}
	}
}

func TestParseCapsRefuses(t *testing.T) {
	for _, c := range []struct{ raw, says string }{
		{`{}`, "not a list"}, {`"chat"`, "not a list"}, {`[`, "not a list"}, {`nonsense`, "not a list"},
		{`["chat",7]`, "capability 2"}, {`[{"payload":{}}]`, "capability 1"}, {`[{"kind":7}]`, "capability 1"}, {`[null]`, "capability 1"},
		{`[{"kind":"chat","kind":"mcp/*"}]`, "not a list"},
	} {
		got, err := wire.ParseCaps([]byte(c.raw))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: error %v, want one that says %q", c.raw, err, c.says)
		}
		if got.Stated() && got.Permits(&wire.Envelope{Kind: wire.Proposal, Method: "x/y"}) {
			t.Errorf("%s permits what it does not say", c.raw)
		}
	}
	if c, err := wire.ParseCaps([]byte(`["chat",7]`)); err == nil || !c.Allows("chat", nil) {
		t.Error("one element that cannot be read took the others with it")
	}
}

// FuzzCoversKind holds the matcher for kinds against the regular expression
// that the rules of Allows amount to.
func FuzzCoversKind(f *testing.F) {
	for _, s := range [][2]string{
		{"mcp/*", "mcp/request:tools/call:x"}, {"mcp/request:*/list", "mcp/request:tools/call:/list"}, {"a*b*c:*", "abbc:d:e"},
		{"mcp/request:tools/call", "mcp/request:tools/call:x"}, {"m:r:*.txt", "m:r:a:b.txt"}, {"*:*:*", "a:b"}, {"**", ""}, {"a:*", "a"}, {"a:b:", "a:b"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, kind string) {
		list, err := json.Marshal([]string{pattern})
		if json.Unmarshal(list, new([]string)) != nil || err != nil || pattern != strings.ToValidUTF8(pattern, "") || kind != strings.ToValidUTF8(kind, "") {
			t.Skip()
		}
		if strings.HasPrefix(kind, "system") || kind == "presence" {
			t.Skip()
		}
		if got, want := caps(t, list).Allows(kind, nil), regexp.MustCompile(expression(pattern)).MatchString(kind); got != want {
			t.Errorf("%q allows %q: %v, want %v", pattern, kind, got, want)
		}
	})
}

func expression(pattern string) string {
	open := strings.HasSuffix(pattern, "*")
	parts := strings.SplitN(strings.TrimSuffix(pattern, "*"), ":", 3)
	stars := []string{`[^:]*`, `[^:]*`, `(?s:.*)`}
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(regexp.QuoteMeta(part), `\*`, stars[i])
	}
	end := ""
	if open {
		end = `(?s:.*)`
	} else if len(parts) == 2 {
		end = `(:(?s:.*))?`
	}
	return `^(?:` + strings.Join(parts, ":") + end + `)$`
}

// What could be read in two ways fits no pattern, wherever in the payload that is: whoever reads the other of
// two members gets what was never permitted.
func TestAPayloadOfTwoReadingsFitsNoPattern(t *testing.T) {
	c := caps(t, []byte(`[{"kind":"k","payload":{"a":{"b":"x"}}}]`))
	if !c.Allows("k", []byte(`{"a": {"c":[{}],"b":"x"} ,"d":1}`)) {
		t.Error("what fits does not")
	}
	for _, payload := range []string{`{"a":{"b":"x"},"a":{}}`, `{"a":{"b":"x","\u0062":"y"}}`, `{"a":{"b":"x"},"c":[{"d":1,"d":1}]}`, `{"a":{"b":"x"},"c":"\ud800"}`, `{"a":{"b":"x"}`} {
		if c.Allows("k", []byte(payload)) {
			t.Errorf("%s fits", payload)
		}
	}
}

// FuzzFits holds the matcher for payloads against one that builds values.
func FuzzFits(f *testing.F) {
	for _, s := range [][2]string{
		{`{"method":"tools/*"}`, `{"method":"tools/call"}`}, {`{"a":{"b":"!x"}}`, `{"a":{"b":"y"}}`}, {`{"a":1.0,"b":null}`, `{"b":null,"a":1}`},
		{`{"a":["x"]}`, `{"a":"x"}`}, {`{"a":"!x*"}`, `{"a":"xy"}`}, {`{"":{}}`, `{"":{"x":[]}}`}, {`{"\u0061":true}`, `{"a":true}`},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, payload string) {
		if !jsontext.Value(pattern).IsValid() || !jsontext.Value(payload).IsValid() || len(pattern) > 1<<12 {
			t.Skip()
		}
		payload = strings.TrimSpace(payload) // as an envelope has it
		c, err := wire.ParseCaps([]byte(`[{"kind":"k","payload":` + pattern + `}]`))
		if err != nil {
			t.Skip()
		}
		want := value(pattern) == nil && strings.TrimSpace(pattern) == "null" && payload == "null" || plainly(value(pattern), value(payload))
		if got := c.Allows("k", []byte(payload)); got != want {
			t.Errorf("%s fits %s: %v, want %v", payload, pattern, got, want)
		}
	})
}

func value(text string) (v any) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	d.Decode(&v)
	return v
}

func plainly(pattern, v any) bool {
	switch p := pattern.(type) {
	case map[string]any:
		object, ok := v.(map[string]any)
		for name, want := range p {
			got, has := object[name]
			ok = ok && has && plainly(want, got)
		}
		return ok
	case string:
		s, ok := v.(string)
		not, negated := strings.CutPrefix(p, "!")
		if negated {
			return ok && not != "" && not[0] != '!' && !plainly(not, s)
		}
		prefix, open := strings.CutSuffix(p, "*")
		return ok && (s == p || open && strings.HasPrefix(s, prefix))
	case []any:
		return false
	}
	return pattern == v
}
