package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Each text of a frame that has a greatest length, at it and beside it, written plainly and with an
// escape for every character (FINDINGS T3).
func TestHowLongEachTextOfAFrameMayBe(t *testing.T) {
	const escaped = `\u0078` // as much as a character can take
	for _, c := range []struct {
		name   string
		most   int
		reason string
		frame  func(x string) string
	}{
		{"id", 256, wire.IDCharset, func(x string) string { return frame1(`"e1"`, `"`+x+`"`) }},
		{"from", 64, wire.IDCharset, func(x string) string { return frame1(`"bob"`, `"`+x+`"`) }},
		{"ts", 64, wire.EnvelopeInvalid, func(x string) string { return frame1("2026-01-01T00:00:00Z", x) }},
		{"to", 256, wire.IDCharset, func(x string) string { return frame1(`["fs"]`, `["`+x+`"]`) }},
		{"correlation_id", 256, wire.IDCharset, func(x string) string { return frame1(bob, bob+`,"correlation_id":"`+x+`"`) }},
		{"correlation_id in a list", 256, wire.IDCharset, func(x string) string { return frame1(bob, bob+`,"correlation_id":["a","`+x+`"]`) }},
		{"kind", 4096 - len("telemetry/"), wire.EnvelopeInvalid, func(x string) string { return frame1("mcp/request:tools/call:write_file", "telemetry/"+x) }},
		{"method", 256, wire.KindPayloadMismatch, func(x string) string { return frameN("mew/v0.4", "mcp/request", `"tools/call"`, `"`+x+`"`) }},
		{"id of the message, as it is written", 254, wire.RPCInvalidID, func(x string) string { return frame1("42", `"`+x+`"`) }},
		{"id of the message that is a number", 256, wire.RPCInvalidID, func(x string) string { return frame1("42", strings.ReplaceAll(x, "x", "1")) }},
	} {
		protocol := "mcpx/v0.1"
		if c.name == "method" {
			protocol = "mew/v0.4"
		}
		for _, x := range []string{"x", escaped} {
			if x == escaped && strings.HasPrefix(c.name, "id of") {
				continue
			}
			for n, fits := range map[int]bool{1: true, c.most - 1: true, c.most: true, c.most + 1: false, c.most + 2: false} {
				_, err := lookup(t, protocol).Decode([]byte(c.frame(strings.Repeat(x, n))))
				refused, _ := errors.AsType[*wire.Refused](err)
				if fits != (err == nil) || !fits && (refused == nil || refused.Reason != c.reason) {
					t.Errorf("%s of %d times %s: %v", c.name, n, x, err)
				}
			}
		}
	}
}

// Every byte in the id of a participant and of an envelope, which have their ranges in ASCII.
func TestEveryByteOfAnID(t *testing.T) {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
	for c := range 256 {
		char := string(rune(c))
		if want := strings.Contains(allowed, char); wire.ValidID("a"+char) != want || wire.ValidID(char) != want {
			t.Errorf("%q in the id of a participant: want %v", char, want)
		}
		written := fmt.Sprintf(`\u%04x`, c)
		_, err := lookup(t, "mcpx/v0.1").Decode([]byte(frame1(bob, `"from":"b`+written+`"`)))
		if want := strings.Contains(allowed, char); want != (err == nil) {
			t.Errorf("%q in from: %v", char, err)
		}
		printable := ' ' <= c && c <= '~'
		for place, frame := range map[string]string{
			"id": frame1(`"e1"`, `"e`+written+`"`), "to": frame1(`["fs"]`, `["f`+written+`"]`), "correlation_id": frame1(bob, bob+`,"correlation_id":["a`+written+`"]`),
		} {
			if _, err := lookup(t, "mcpx/v0.1").Decode([]byte(frame)); printable != (err == nil) {
				t.Errorf("%q in %s: %v", char, place, err)
			}
		}
	}
}

// What may be said in a kind, at its greatest length: a method, and a key where there is room.
func TestHowMuchIsSpelledInAKind(t *testing.T) {
	d := lookup(t, "mcpx/v0.1")
	for n, says := range map[int]bool{1: true, 255: true, 256: true, 257: false} {
		e := wire.Envelope{Kind: wire.Request, ID: "q", From: "fs", Method: strings.Repeat("m", n), Payload: []byte(`{"id":1}`)}
		if got, err := d.Append(nil, &e, wire.Caps{}); says != (err == nil) {
			t.Errorf("a method of %d: %.60s, %v", n, got, err)
		}
	}
	for n, keyed := range map[int]bool{1: true, 4095: true, 4096: true, 4097: false} {
		short := "mcp/request:resources/read"
		e := wire.Envelope{Kind: wire.Request, ID: "q", From: "fs", Method: "resources/read", Key: strings.Repeat("k", max(1, n-len(short)-1)), Payload: []byte(`{"id":1}`)}
		got, err := d.Append(nil, &e, wire.Caps{})
		want := short
		if keyed {
			want += ":" + e.Key
		}
		if kind := member1(t, got, "kind"); err != nil || kind != want {
			t.Errorf("a kind of %d: %.60q with %d bytes, %v", n, kind, len(kind), err)
		}
	}
	for n, says := range map[int]bool{4095: true, 4096: true, 4097: false} {
		e := wire.Envelope{Kind: wire.Control, ID: "q", From: "fs", Spelled: "participant/" + strings.Repeat("x", n-len("participant/")), Payload: []byte(`{}`)}
		if got, err := lookup(t, "mew/v0.4").Append(nil, &e, wire.Caps{}); says != (err == nil) {
			t.Errorf("an order of %d: %.60s, %v", n, got, err)
		}
	}
	for char, kind := range map[string]string{"\x1f": `\u001f`, " ": " ", "~": "~", "\x7f": "\x7f", "\u0080": "\u0080", "\xff": "\uFFFD", `"`: `\"`, `\`: `\\`} {
		e := wire.Envelope{Kind: wire.Request, ID: "q", From: "fs", Method: "resources/read", Key: "k" + char, Payload: []byte(`{"id":1}`)}
		got, err := d.Append(nil, &e, wire.Caps{})
		if want := `"kind":"mcp/request:resources/read:k` + kind + `"`; err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%q in a key: %s, %v", char, got, err)
		}
	}
}

// A reason and the names in a proposal, at their greatest length and number.
func TestHowMuchAProposalAndItsEndMaySay(t *testing.T) {
	for n, kept := range map[int]int{1: 1, 255: 255, 256: 256, 257: 256} {
		e, err := lookup(t, "mcpx/v0.1").Decode([]byte(`{"id":"x","from":"bob","kind":"mcp/reject","correlation_id":"p1","payload":{"reason":"` + long(n) + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		if end, err := e.Ending(); err != nil || end.Reason != long(kept) {
			t.Errorf("a reason of %d: %d bytes of it, %v", n, len(end.Reason), err)
		}
	}
	for rest, fits := range map[string]bool{
		`"` + long(255) + `"`: true, `"` + long(256) + `"`: true, `"` + long(257) + `"`: false,
		`["` + long(256) + `"]`: true, `["` + long(257) + `"]`: false,
		`[` + repeated(254) + `"a"]`: true, `[` + repeated(255) + `"a"]`: true, `[` + repeated(256) + `"a"]`: false,
	} {
		for _, name := range []string{"preferred", "required_capabilities"} {
			if _, err := proposal(t, "mcp.proposal.tools/call", `,"`+name+`":`+rest).Offer(); fits != (err == nil) {
				t.Errorf("%s %.20s… of %d bytes: %v", name, rest, len(rest), err)
			}
		}
	}
}

// What is no message is read up to 256 KiB, and beyond that says nothing but what it is about.
func TestHowLongWhatIsNoMessageMayBe(t *testing.T) {
	const most = 256 << 10
	of := func(n int, payload string) string {
		return strings.Replace(payload, "x", strings.Repeat("x", n-len(payload)+1), 1)
	}
	for n, read := range map[int]bool{most - 1: true, most: true, most + 1: false} {
		decoded := func(from, kind, payload string) wire.Envelope {
			e, err := lookup(t, "mcpx/v0.1").Decode([]byte(`{"id":"e","from":"` + from + `","kind":"` + kind + `","correlation_id":"p1","payload":` + of(n, payload) + `}`))
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		e := decoded("bob", "mcp/reject", `{"reason":"busy","z":"x"}`)
		if end, err := e.Ending(); err != nil || end.Of != "p1" || (end.Reason == "busy") != read {
			t.Errorf("a reject of %d bytes: %+v, %v", n, end, err)
		}
		e = decoded("bob", "proposal/status", `{"status":"withdrawn","z":"x"}`)
		if end, err := e.Ending(); (e.Kind == wire.Withdraw) != read || read && (err != nil || end.Of != "p1") {
			t.Errorf("a status of %d bytes: %v, %+v, %v", n, e.Kind, end, err)
		}
		e = decoded(wire.Gateway, "system/presence", `{"event":"leave","participant":{"id":"bob"},"z":"x"}`)
		if _, who, err := e.Presence(); (err == nil) != read || (who.ID == "bob") != read {
			t.Errorf("a presence of %d bytes: %+v, %v", n, who, err)
		}
		e = decoded(wire.Gateway, "system/error", `{"code":"c","error":"c","message":"m","z":"x"}`)
		if f, err := e.Fault(); (err == nil) != read || (f.Code == "c") != read {
			t.Errorf("a fault of %d bytes: %+v, %v", n, f, err)
		}
	}
}

// Later versions of mew are 0.x, x of one to four digits.
func TestWhichVersionsOfMewThereMayBe(t *testing.T) {
	for version, known := range map[string]bool{"0": true, "9": true, "9999": true, "10000": false, "": false, "/": false, ":": false, "-1": false, "4a": false} {
		for _, family := range []string{"mew/v0.", "meup/v0."} {
			if d, ok := wire.Lookup(family + version); ok != known || ok && !strings.HasPrefix(d.Protocol, family) {
				t.Errorf("%s%s: %s, %v", family, version, d.Protocol, ok)
			}
		}
	}
}

// Every byte of a topic's name, and its length at the bound and beside it (FINDINGS T3).
func TestEveryByteOfATopic(t *testing.T) {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-:@#+~=,"
	for c := range 256 {
		char := string([]byte{byte(c)})
		if want := strings.Contains(allowed, char); wire.ValidTopic("x"+char) != want || wire.ValidTopic(char) != (want && char != ".") {
			t.Errorf("%q in a topic: want %v", char, want)
		}
	}
	for name, want := range map[string]bool{"": false, ".": false, "..": false, "...": true, strings.Repeat("x", 127): true, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false} {
		if wire.ValidTopic(name) != want {
			t.Errorf("%d bytes, %.4q: want %v", len(name), name, want)
		}
	}
}
