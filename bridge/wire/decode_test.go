package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func lookup(t testing.TB, protocol string) wire.Dialect {
	d, ok := wire.Lookup(protocol)
	if !ok {
		t.Fatalf("no dialect %s", protocol)
	}
	return d
}

// frame1 is a frame of mcpx/v0.1 that is good but for what change does to it.
func frame1(change ...string) string {
	return strings.NewReplacer(change...).Replace(`{"protocol":"mcpx/v0.1","id":"e1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],` +
		`"kind":"mcp/request:tools/call:write_file","payload":{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/tmp/x"}}}}`)
}

// frameN is the same in another protocol, whose kinds name no method.
func frameN(protocol, kind string, change ...string) string {
	return strings.NewReplacer(change...).Replace(frame1("mcpx/v0.1", protocol, "mcp/request:tools/call:write_file", kind))
}

const bob = `"from":"bob"`

func TestRefused(t *testing.T) {
	const v0, v1, mew = "mcp-x/v0", "mcpx/v0.1", "mew/v0.4"
	long := strings.Repeat("x", 257)
	many := `[` + strings.Repeat(`"fs",`, 300) + `"fs"]`
	lifecycle := func(kind, members, payload string) string {
		return `{"protocol":"mcpx/v0.1","id":"w1","from":"bob","kind":"` + kind + `",` + members + `"payload":` + payload + `}`
	}
	for _, c := range []struct{ name, protocol, reason, frame string }{
		// the JSON
		{"no JSON", v1, "json_syntax", `hello`},
		{"nothing", v1, "json_syntax", ``},
		{"cut off", v1, "json_syntax", frame1()[:200]},
		{"NaN", v1, "json_syntax", frame1("42", "NaN")},
		{"stream data where there are no streams", v1, "json_syntax", `#s#x`},
		{"half of stream data", mew, "json_syntax", `#s`},
		{"two frames in one", v1, "json_trailing_data", frame1() + frame1()},
		{"a key twice in the envelope", v1, "json_duplicate_key", frame1(bob, bob+`,"from":"alice"`)},
		{"a key twice in the envelope, once escaped", v1, "json_duplicate_key", frame1(bob, bob+`,"fr\u006fm":"alice"`)},
		{"a key twice in params", v1, "json_duplicate_key", frame1(`"name":`, `"name":"read_file","name":`)},
		{"a key twice in arguments", v1, "json_duplicate_key", frame1(`"path":`, `"path":"/a","path":`)},
		{"a key twice in what only looks like an answer", v0, "json_duplicate_key", frameN(v0, "mcp", `"path":`, `"path":"/a","path":`)},
		{"a key twice at the top of an answer", v1, "json_duplicate_key", frame1("request", "response", `"method":"tools/call"`, `"result":{},"result":{}`)},
		{"another case in the envelope", v1, "json_key_case", frame1(`"from"`, `"From"`)},
		{"another case in params", v1, "json_key_case", frame1(`"name":`, `"Name":"read_file","name":`)},
		{"arguments in two cases", v1, "json_keys_alike", frame1(`"path":`, `"path":"/a","PATH":`)},
		{"params in two cases", v1, "json_keys_alike", frame1(`"name":`, `"x":1,"X":2,"name":`)},
		{"another case behind keys that are alike", v0, "json_key_case", frameN(v0, "mcp", `"id":42,`, "", `"tools/call"`, `"notifications/cancelled"`, `"name":"write_file","arguments":{"path":"/tmp/x"}`, `"x":1,"X":1,"requestId":5,"RequestId":6`)},
		{"a full-width name in params", v1, "json_key_case", frame1(`"name":`, `"ｎame":"read_file","name":`)},
		{"a full-width sender", v1, "json_key_case", frame1(bob, bob+`,"ｆrom":"alice"`)},
		{"a long s", v1, "json_key_case", frame1(`"params"`, "\"param\u017f\"")},
		{"invalid UTF-8", v1, "invalid_utf8", frame1("/tmp/x", "\xff")},
		{"half a surrogate pair", v1, "invalid_utf8", frame1("/tmp/x", `\ud800`)},
		{"too deep", v1, "json_depth", frame1(`"/tmp/x"`, strings.Repeat("[", 64)+strings.Repeat("]", 64))},
		{"too deep for an answer too", v1, "json_depth", frame1("request", "response", `"method":"tools/call"`, `"result":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000))},
		{"too large", v1, "message_too_large", frame1("/tmp/x", strings.Repeat("x", 16<<20))},

		// the envelope
		{"null", v1, wire.EnvelopeInvalid, `null`},
		{"a list", v1, wire.EnvelopeInvalid, `[` + frame1() + `]`},
		{"no kind", v1, wire.EnvelopeInvalid, `{"protocol":"mcpx/v0.1","id":"1","from":"bob"}`},
		{"a kind that is a list", v1, wire.EnvelopeInvalid, frame1(`"mcp/request:tools/call:write_file"`, `["mcp"]`)},
		{"an endless kind", v1, wire.EnvelopeInvalid, frame1("call:write_file", "call:"+strings.Repeat("x", 5000))},
		{"a protocol that is a number", v1, wire.EnvelopeInvalid, frame1(`"mcpx/v0.1"`, `1`)},
		{"no sender", v1, wire.EnvelopeInvalid, frame1(bob+",", "")},
		{"an empty sender", v1, wire.EnvelopeInvalid, frame1(bob, `"from":""`)},
		{"a sender that is null", v1, wire.EnvelopeInvalid, frame1(bob, `"from":null`)},
		{"no id", v1, wire.EnvelopeInvalid, frame1(`"id":"e1",`, "")},
		{"an id that is a number", v1, wire.EnvelopeInvalid, frame1(`"id":"e1"`, `"id":1`)},
		{"a time that is a number", v1, wire.EnvelopeInvalid, frame1(`"2026-01-01T00:00:00Z"`, `1`)},
		{"an endless time", v1, wire.EnvelopeInvalid, frame1("2026-01-01T00:00:00Z", long)},
		{"to as a string", v1, wire.EnvelopeInvalid, frame1(`["fs"]`, `"fs"`)},
		{"to as an object", v1, wire.EnvelopeInvalid, frame1(`["fs"]`, `{"fs":1}`)},
		{"to with a number in it", v1, wire.EnvelopeInvalid, frame1(`["fs"]`, `["fs",1]`)},
		{"to with null in it", v1, wire.EnvelopeInvalid, frame1(`["fs"]`, `["fs",null]`)},
		{"to with hundreds in it", v1, wire.EnvelopeInvalid, frame1(`["fs"]`, many)},
		{"a correlation that is a number", v1, wire.EnvelopeInvalid, frame1(bob, bob+`,"correlation_id":1`)},
		{"no payload", v1, wire.EnvelopeInvalid, `{"protocol":"mcpx/v0.1","id":"1","from":"bob","kind":"mcp/request:tools/list"}`},
		{"a batch", v1, wire.EnvelopeInvalid, frame1(`"payload":{`, `"payload":[{`, `}}}}`, `}}}]}`)},
		{"chat that is a string", v1, wire.EnvelopeInvalid, `{"protocol":"mcpx/v0.1","id":"1","from":"bob","kind":"chat","payload":"hi"}`},
		{"chat without params", v0, wire.EnvelopeInvalid, `{"protocol":"mcp-x/v0","id":"1","from":"bob","kind":"mcp","payload":{"method":"notifications/chat/message"}}`},
		{"a rejected suffix of the drafts", v1, wire.EnvelopeInvalid, lifecycle("mcp/proposal:ack", "", `{"method":"ack"}`)},
		{"a withdrawal of nothing", v1, wire.EnvelopeInvalid, lifecycle("mcp/withdraw", "", `{"reason":"x"}`)},
		{"a withdrawal of a number", v1, wire.EnvelopeInvalid, lifecycle("proposal/withdraw", "", `{"proposalId":7}`)},

		// ids
		{"an invisible character in the sender", v1, wire.IDCharset, frame1(bob, `"from":"bob`+"\u200b"+`"`)},
		{"a space in the sender", v1, wire.IDCharset, frame1(bob, `"from":"bob "`)},
		{"a sender of 65", v1, wire.IDCharset, frame1(bob, `"from":"`+long[:65]+`"`)},
		{"a sender of 257", v1, wire.IDCharset, frame1(bob, `"from":"`+long+`"`)},
		{"an id of 257", v1, wire.IDCharset, frame1(`"e1"`, `"`+long+`"`)},
		{"an id of 257, one of them escaped", v1, wire.IDCharset, frame1(`"e1"`, `"\u0041`+long[:256]+`"`)},
		{"an id with a line break", v1, wire.IDCharset, frame1(`"e1"`, `"e\n1"`)},
		{"an id beyond ASCII", v1, wire.IDCharset, frame1(`"e1"`, `"é"`)},
		{"an empty recipient", v1, wire.IDCharset, frame1(`["fs"]`, `[""]`)},
		{"a recipient of 257", v1, wire.IDCharset, frame1(`["fs"]`, `["`+long+`"]`)},
		{"a correlation of 257", v1, wire.IDCharset, frame1(bob, bob+`,"correlation_id":"`+long+`"`)},
		{"an escape sequence in a correlation", v1, wire.IDCharset, frame1(bob, bob+`,"correlation_id":["\u001b[2J"]`)},

		// the dialect
		{"mcp-x/v0 in a session of mcpx/v0.1", v1, wire.DialectMismatch, frameN(v0, "mcp")},
		{"mew in a session of mcpx/v0.1", v1, wire.DialectMismatch, frameN(mew, "mcp/request")},
		{"mcpx/v0.1 in a session of mew", mew, wire.DialectMismatch, frame1()},
		{"a protocol nobody knows", v1, wire.DialectMismatch, frame1("mcpx/v0.1", "mcpx/v9")},
		{"a kind of mcpx/v0.1 in mcp-x/v0", v0, wire.DialectMismatch, frame1("mcpx/v0.1", v0)},
		{"a kind of mcp-x/v0 in mcpx/v0.1", v1, wire.DialectMismatch, frameN(v1, "mcp")},
		{"a kind of mew in mcpx/v0.1", v1, wire.DialectMismatch, frameN(v1, "mcp/request")},
		{"a kind of mcpx/v0.1 in mew", mew, wire.DialectMismatch, frame1("mcpx/v0.1", mew)},
		{"a kind of mcp-x/v0 in mew", mew, wire.DialectMismatch, frameN(mew, "mcp")},

		// kind and payload
		{"another tool in the kind", v1, wire.KindPayloadMismatch, frame1(":write_file", ":read_file")},
		{"another tool in the kind of a draft", v1, wire.KindPayloadMismatch, frame1("mcp/request:tools/call:write_file", "mcp.request.tools/call:read_file")},
		{"another method in the kind", v1, wire.KindPayloadMismatch, frame1("tools/call:write_file", "resources/read")},
		{"a CONTEXT for a method that has none", v1, wire.KindPayloadMismatch, frame1("tools/call:write_file", "tools/list:x", `"tools/call"`, `"tools/list"`)},
		{"a proposal for another tool", v1, wire.KindPayloadMismatch, frame1("mcp/request", "mcp/proposal", ":write_file", ":read_file")},
		{"a call in an answer", v1, wire.KindPayloadMismatch, frame1("request", "response")},
		{"an answer in a call", v1, wire.KindPayloadMismatch, frame1(`"method":"tools/call"`, `"result":{}`)},
		{"an answer in a call of mew", mew, wire.KindPayloadMismatch, frameN(mew, "mcp/request", `"method":"tools/call"`, `"result":{}`)},
		{"a result and an error", v0, wire.KindPayloadMismatch, frameN(v0, "mcp", `"method":"tools/call"`, `"result":{},"error":{"code":1,"message":"x"}`)},
		{"a method and a result", v0, wire.KindPayloadMismatch, frameN(v0, "mcp", `"method"`, `"result":{},"method"`)},
		{"a method that is a number", v1, wire.KindPayloadMismatch, frame1(`"method":"tools/call"`, `"method":1`)},
		{"an empty method", mew, wire.KindPayloadMismatch, frameN(mew, "mcp/request", `"method":"tools/call"`, `"method":""`)},
		{"an endless method", mew, wire.KindPayloadMismatch, frameN(mew, "mcp/request", `"method":"tools/call"`, `"method":"`+long+`"`)},
		{"nothing in it", v0, wire.KindPayloadMismatch, `{"protocol":"mcp-x/v0","id":"1","from":"bob","kind":"mcp","payload":{}}`},
		{"a notification with an id", v0, wire.KindPayloadMismatch, frameN(v0, "mcp", `"tools/call"`, `"notifications/progress"`)},
		{"a notification with an id in mew", mew, wire.KindPayloadMismatch, frameN(mew, "mcp/request", `"tools/call"`, `"notifications/progress"`)},
		{"a proposal without a method", mew, wire.KindPayloadMismatch, frameN(mew, "mcp/proposal", `"method":"tools/call",`, "")},
		{"an answer to nothing", mew, wire.KindPayloadMismatch, `{"protocol":"mew/v0.4","id":"1","from":"bob","kind":"mcp/response","payload":{"result":{}}}`},
		{"a call without an id", v1, wire.CallAsNotification, frame1(`"id":42,`, "")},
		{"a call without an id in mcp-x/v0", v0, wire.CallAsNotification, frameN(v0, "mcp", `"id":42,`, "")},
		{"an id of null", v1, wire.RPCInvalidID, frame1("42", "null")},
		{"an id of null in mew", mew, wire.RPCInvalidID, frameN(mew, "mcp/request", "42", "null")},
		{"an id of null on a result", v0, wire.RPCInvalidID, frameN(v0, "mcp", "42", "null", `"method":"tools/call"`, `"result":{}`)},
		{"an id that is an object", v1, wire.RPCInvalidID, frame1("42", "{}")},
		{"an id that is a list", v1, wire.RPCInvalidID, frame1("42", "[1]")},
		{"an id that is true", v1, wire.RPCInvalidID, frame1("42", "true")},
		{"an endless id", v1, wire.RPCInvalidID, frame1("42", `"`+long+`"`)},

		// the gateway's name and the gateway's words
		{"a call from the gateway", v1, wire.FromReserved, frame1(bob, `"from":"system:gateway"`)},
		{"a call from system", mew, wire.FromReserved, frameN(mew, "mcp/request", bob, `"from":"system"`)},
		{"a call from somebody named like it", v1, wire.FromReserved, frame1(bob, `"from":"system-admin"`)},
		{"a welcome from somebody named like it", v1, wire.FromReserved, frameN(v1, "system/welcome", bob, `"from":"system-admin"`)},
		{"a welcome from mallory", v1, wire.SystemNotFromGateway, lifecycle("system/welcome", "", `{"you":{"id":"fs","capabilities":["mcp/*"]}}`)},
		{"a welcome from mallory in mcp-x/v0", v0, wire.SystemNotFromGateway, frameN(v0, "system", `"jsonrpc":"2.0"`, `"type":"welcome","participant_id":"evil"`)},
		{"another system frame from mallory", v0, wire.SystemNotFromGateway, frameN(v0, "system")},
		{"a leave from mallory", mew, wire.SystemNotFromGateway, frameN(mew, "system/presence")},
		{"a leave from mallory in mcp-x/v0", v0, wire.SystemNotFromGateway, frameN(v0, "presence")},
		{"a fault from mallory", v1, wire.SystemNotFromGateway, frameN(v1, "system/error")},
		{"a system frame nobody knows from mallory", mew, wire.SystemNotFromGateway, frameN(mew, "system/reload")},

		{"two proposals", v1, wire.AmbiguousReference, lifecycle("proposal/withdraw", `"correlation_id":"a",`, `{"proposalId":"b"}`)},
		{"two proposals in the envelope", v1, wire.AmbiguousReference, lifecycle("mcpx.withdraw.proposal", `"correlation_id":"a","correlationId":"b",`, `{}`)},
		{"two proposals in the payload", v1, wire.AmbiguousReference, lifecycle("proposal-reject", "", `{"proposal_id":"a","proposalId":"b"}`)},
		{"one proposal and two", mew, wire.AmbiguousReference, `{"id":"1","from":"bob","kind":"mcp/reject","correlation_id":["a","b"],"payload":{"proposal_id":"a"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := lookup(t, c.protocol).Decode([]byte(c.frame))
			var refused *wire.Refused
			if !errors.As(err, &refused) {
				t.Fatalf("read as a %s, error %v; want it refused as %s\n%.300s", e.Kind, err, c.reason, c.frame)
			}
			if refused.Reason != c.reason {
				t.Errorf("refused as %s, want %s (%s)", refused.Reason, c.reason, refused.Detail)
			}
			if plain := refused.Error() + refused.ID + refused.From; len(plain) > 800 || strings.ContainsFunc(plain, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("what is shown is %q", plain)
			}
		})
	}
}

// A refusal says whom it is about where that can be read and shown.
func TestRefusedNamesTheSender(t *testing.T) {
	d := lookup(t, "mcpx/v0.1")
	for _, c := range []struct{ frame, id, from string }{
		{frame1(":write_file", ":other"), "e1", "bob"},
		{frame1()[:200], "e1", "bob"},
		{frame1(bob, `"from":"b\u202eob"`), "e1", ""},
		{frame1(`"e1"`, `"`+strings.Repeat("x", 1<<20)+`"`), "", "bob"},
		{`[]`, "", ""},
	} {
		_, err := d.Decode([]byte(c.frame))
		var refused *wire.Refused
		if !errors.As(err, &refused) || refused.ID != c.id || refused.From != c.from {
			t.Errorf("%.80s…: %+v; want id %q from %q", c.frame, refused, c.id, c.from)
		}
	}
}

// What is strict must not be so strict that honest frames fail.
func TestAccepted(t *testing.T) {
	const v0, v1, mew = "mcp-x/v0", "mcpx/v0.1", "mew/v0.4"
	gatewayFrame := func(kind, from, payload string) string {
		return fmt.Sprintf(`{"protocol":"mew/v0.4","id":"1","ts":"2026-01-01T00:00:00Z","from":%q,"kind":%q,"payload":%s}`, from, kind, payload)
	}
	for _, c := range []struct {
		name, protocol string
		kind           wire.Kind
		frame          string
	}{
		{"no CONTEXT in the kind", v1, wire.Request, frame1(":write_file", "")},
		{"an unknown tool", v1, wire.Request, frame1("write_file", "nope")},
		{"another version of JSON-RPC, for the engine to answer", v1, wire.Request, frame1(`"2.0"`, `"1.0"`)},
		{"arguments of the wrong type, for the engine to answer", v1, wire.Request, frame1(`{"path":"/tmp/x"}`, `"/tmp/x"`)},
		{"no name, for the engine to answer", v1, wire.Request, frame1(":write_file", "", `"name":"write_file",`, "")},
		{"a method nobody knows", v1, wire.Request, frame1("tools/call:write_file", "acme/spin", `"tools/call"`, `"acme/spin"`)},
		{"any ref for a completion", v1, wire.Request, frame1("tools/call:write_file", "completion/complete:ref/prompt:x", `"tools/call"`, `"completion/complete"`)},
		{"no time", v1, wire.Request, frame1(`"ts":"2026-01-01T00:00:00Z",`, "")},
		{"a time far off", v1, wire.Request, frame1("2026", "9999")},
		{"members nobody knows", v1, wire.Request, frame1(bob, bob+`,"priority":9,"x":{"y":[]}`)},
		{"tools may name their arguments as they like", v1, wire.Request, frame1(`"path"`, `"Name":1,"PATH":2`, `:"/tmp/x"`, `,"Arguments":3`)},
		{"depth just within", v1, wire.Request, frame1(`"/tmp/x"`, strings.Repeat("[", 60)+strings.Repeat("]", 60))},
		{"a megabyte", v1, wire.Request, frame1("/tmp/x", strings.Repeat("x", 1<<20))},
		{"white space everywhere", v1, wire.Request, strings.NewReplacer(":{", " : {\n", `["fs"]`, `[ "fs" ]`, `,"kind"`, ` , "kind"`).Replace(frame1())},
		{"an id of null on an error", v0, wire.Response, frameN(v0, "mcp", "42", "null", `"method":"tools/call"`, `"error":{"code":-32700,"message":"?"}`)},
		{"an old server's null error", v0, wire.Response, frameN(v0, "mcp", `"method":"tools/call"`, `"error":null,"result":{}`)},
		{"a list without an id is a notification", v1, wire.Notification, frame1("tools/call:write_file", "tools/list", `"tools/call"`, `"tools/list"`, `"id":42,`, "")},
		{"and in mew a request", mew, wire.Request, frameN(mew, "mcp/request", `"tools/call"`, `"tools/list"`, `"id":42,`, "")},
		{"a call without an id in mew", mew, wire.Request, frameN(mew, "mcp/request", `"id":42,`, "")},
		{"a kind of tomorrow", v1, wire.Unknown, frameN(v1, "telemetry/sample")},
		{"a kind of tomorrow in mcp-x/v0", v0, wire.Unknown, frameN(v0, "telemetry")},
		{"thoughts", mew, wire.Unknown, frameN(mew, "reasoning/thought")},
		{"a kind of mew that means nothing here", v1, wire.Unknown, frameN(v1, "participant/pause")},
		{"a status of the drafts", v1, wire.Status, strings.Replace(frameN(v1, "mcpx.status.proposal"), `"kind"`, `"correlationId":"p1","kind"`, 1)},
		{"a status of the drafts in mew", mew, wire.Unknown, frameN(mew, "mcpx.status.proposal")},
		{"no payload where none is due", mew, wire.Control, `{"id":"1","from":"alice","kind":"participant/resume"}`},
		{"a payload of null there", mew, wire.Control, `{"id":"1","from":"alice","kind":"participant/resume","payload":null}`},
		{"a heartbeat", mew, wire.Unknown, gatewayFrame("system/heartbeat", "system", `{}`)},
		{"a stream opened", mew, wire.Unknown, gatewayFrame("stream/open", "system:gateway", `{}`)},
		{"an invitation taken", mew, wire.Unknown, gatewayFrame("space/invite-ack", "system:gateway", `{}`)},
		{"another system frame", v0, wire.Unknown, `{"id":"1","from":"system:gateway","kind":"system","payload":{"type":"tool_access_policy"}}`},
		{"stream data", mew, wire.Stream, `#stream-1#{"a":1}`},
		{"a fault without a sender", v1, wire.Failure, `{"protocol":"mcpx/v0.1","kind":"system/error","payload":{"error":"auth_violation"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := lookup(t, c.protocol).Decode([]byte(c.frame))
			if err != nil || e.Kind != c.kind {
				t.Errorf("read as a %s, error %v; want a %s", e.Kind, err, c.kind)
			}
		})
	}
}

func TestStreamData(t *testing.T) {
	e, err := lookup(t, "mew/v0.4").Decode([]byte(`#stream-1#a#b`))
	if err != nil || e.Kind != wire.Stream || e.Key != "stream-1" || string(e.Payload) != "a#b" {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestZeroDialectSpeaksNothing(t *testing.T) {
	var d wire.Dialect
	if _, err := d.Decode([]byte(frame1())); err == nil {
		t.Error("it reads")
	}
	if _, err := d.Append(nil, &wire.Envelope{Kind: wire.Chat}, wire.Caps{}); err == nil {
		t.Error("it writes")
	}
}

// An id may be remembered for a quarter of an hour; a frame must not be.
func TestStringsAreCopies(t *testing.T) {
	frame := []byte(frame1())
	e, err := lookup(t, "mcpx/v0.1").Decode(frame)
	if err != nil {
		t.Fatal(err)
	}
	copy(frame, bytes.Repeat([]byte("?"), len(frame)))
	if got := e.ID + e.From + e.To[0] + e.Method + e.Key + e.Spelled; got != "e1bobfstools/callwrite_filemcp/request:tools/call:write_file" {
		t.Errorf("after the frame was overwritten: %q", got)
	}
}

// Depth, width and size are refused or read without what they would cost a
// reader that builds values.
func TestBombsAreCheap(t *testing.T) {
	d := lookup(t, "mcpx/v0.1")
	for _, c := range []struct{ name, argument string }{
		{"depth", strings.Repeat("[", 200_000)},
		{"width", "[" + strings.Repeat("{},", 1_000_000) + "{}]"},
		{"one string", `"` + strings.Repeat("x", 8<<20) + `"`},
		{"escapes", `"` + strings.Repeat(`\u00e9`, 1<<20) + `"`},
	} {
		frame := []byte(frame1(`"/tmp/x"`, c.argument))
		var before, after uint64
		before = allocated()
		d.Decode(frame)
		if after = allocated(); after-before > 1<<20 {
			t.Errorf("%s: %d bytes allocated for a frame of %d", c.name, after-before, len(frame))
		}
	}
}

// allocated returns how many bytes the process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// FINDINGS H1: whoever is asked can say what is wrong with a request whose
// parameters alone are read in two ways; nobody else gets it for one.
func TestARequestWithKeysThatAreAlikeCanBeAnswered(t *testing.T) {
	for _, c := range []struct {
		name, frame string
		asked       bool
	}{
		{"arguments", frame1(`"path":`, `"path":"/a","PATH":`), true},
		{"deep in them", frame1(`"path":`, `"x":[{"y":{"a":1,"Ａ":2}}],"path":`), true},
		{"a variant of a name in params", frame1(`"name":`, `"Name":"read_file","name":`), true},
		{"the message", frame1(`"payload":{`, `"payload":{"METHOD":"ping",`), false},
		{"the envelope", frame1(bob, bob+`,"From":"alice"`), false},
		{"and a key twice", frame1(`"path":`, `"path":"/a","PATH":1,"path":`), false},
		{"and another sender than any", frame1(`"path":`, `"path":"/a","PATH":`, bob, `"from":"system:x"`), false},
	} {
		e, err := lookup(t, "mcpx/v0.1").Decode([]byte(c.frame))
		refused, ok := errors.AsType[*wire.Refused](err)
		if !ok || e.Kind != wire.Unknown {
			t.Errorf("%s: %+v, %v", c.name, e, err)
			continue
		}
		if asked := refused.Asked; (asked != nil) != c.asked || asked != nil && (asked.Kind != wire.Request || asked.Wrong == nil || asked.Key != "write_file" || asked.From != "bob") {
			t.Errorf("%s: %+v, %v", c.name, refused.Asked, refused)
		}
	}
	answer := frame1("request", "response", `"method":"tools/call"`, `"result":{"x":{"a":1,"A":2}}`)
	if e, err := lookup(t, "mcpx/v0.1").Decode([]byte(answer)); err != nil || e.Kind != wire.Response || e.Loose {
		t.Errorf("what a server answers is not judged: %v", err)
	}
}

// A frame names at most 256 recipients and 256 links, and that many it may name
// (FINDINGS T3).
func TestAFrameMayNameAsManyAsTheBound(t *testing.T) {
	d, _ := wire.Lookup("mcpx/v0.1")
	names := func(n int) string { return `["fs"` + strings.Repeat(`,"fs"`, n-1) + `]` }
	for n, fits := range map[int]bool{1: true, 255: true, 256: true, 257: false} {
		e, err := d.Decode([]byte(frame1(`["fs"]`, names(n))))
		if fits != (err == nil) || fits && len(e.To) != n {
			t.Errorf("to %d: %d, %v", n, len(e.To), err)
		}
		e, err = d.Decode([]byte(frame1(`"from":"bob"`, `"from":"bob","correlation_id":`+names(n))))
		if fits != (err == nil) || fits && len(e.Corr) != n {
			t.Errorf("%d links: %d, %v", n, len(e.Corr), err)
		}
	}
}
