package wire_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// seeds gives a fuzz target every frame of the transcripts.
func seeds(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		_, sections := archive(string(text))
		for _, s := range sections {
			for i, d := range wire.Dialects {
				if strings.HasPrefix(s.Name, d.Protocol) {
					f.Add(uint8(i), []byte(s.Text))
				}
			}
		}
	}
	f.Add(uint8(4), []byte(`#s#x`))
	for _, n := range []int{64, 65, 256, 257} { // as long as an id of each sort may be, and one more
		f.Add(uint8(1), []byte(frame1(bob, `"from":"`+strings.Repeat("b", n)+`"`)))
		f.Add(uint8(1), []byte(frame1(`"e1"`, `"`+strings.Repeat(`\u0078`, n)+`"`)))
		f.Add(uint8(1), []byte(frame1("42", strings.Repeat("1", n))))
	}
}

// accepted: a gateway reads what a participant reads, and what it fills in makes a frame
// that lacks nothing, for everybody the same.
func accepted(t *testing.T, d wire.Dialect, frame []byte, read bool) {
	t.Helper()
	var got, again wire.Envelope
	whole, err := d.Accept(&got, frame, "ann", newNames)
	if err != nil {
		if read && bytes.Equal(whole, frame) {
			t.Fatalf("%v: a participant reads it, a gateway does not", err)
		}
		return
	}
	kept, err := d.Accept(&again, whole, "nobody", newNames)
	if err != nil || !bytes.Equal(kept, whole) || again.ID != got.ID || again.From != got.From || again.Kind != got.Kind || !slices.Equal(again.Corr, got.Corr) {
		t.Fatalf("%v: filled in to %s, which is filled in to %s", err, whole, kept)
	}
}

// FuzzDecode: what is read keeps the grammar of ids, and can be said again. In
// each dialect the frame is written or is inexpressible, and what is written
// is read there as the same thing.
func FuzzDecode(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, which uint8, frame []byte) {
		d := wire.Dialects[int(which)%len(wire.Dialects)]
		wire.Detect(frame)
		wire.ReadJoin(frame)
		e, err := d.Decode(frame)
		accepted(t, d, frame, err == nil)
		if err != nil {
			if r := err.(*wire.Refused); r.Reason == "" {
				t.Fatalf("refused for no reason: %+v", r)
			}
			return
		}
		lawful(t, &e)
		e.Welcome()
		e.Presence()
		e.Fault()
		e.ChatText()
		offered(t, &e)
		for _, b := range wire.Dialects {
			translate(t, &e, b)
		}
	})
}

func lawful(t *testing.T, e *wire.Envelope) {
	gateway := e.From == "system:gateway" || e.From == "system"
	acted := slices.Contains([]wire.Kind{wire.Request, wire.Response, wire.Notification, wire.Proposal, wire.Withdraw, wire.Reject, wire.Chat, wire.Grant, wire.Control}, e.Kind)
	if acted && !wire.ValidID(e.From) || !acted && !gateway && e.From != "" && !wire.ValidID(e.From) {
		t.Fatalf("a %s from %q", e.Kind, e.From)
	}
	if acted && e.ID == "" || len(e.ID) > 256 || strings.ContainsFunc(e.ID, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.Fatalf("a %s with the id %q", e.Kind, e.ID)
	}
	if (e.Kind == wire.Request || e.Kind == wire.Notification || e.Kind == wire.Proposal) && e.Method != e.Message.Text(jsonrpc.Method) {
		t.Fatalf("the method is %q, the payload says %s", e.Method, e.Payload)
	}
}

// offered: what a proposal asks for keeps its bounds, and its params are those
// of the message whether they are read leniently or not.
func offered(t *testing.T, e *wire.Envelope) {
	e.Standing()
	if n, err := e.Ending(); err == nil && (n.Of != e.Corr[0] || len(n.Reason) > 256 || len(n.Detail) > 256) {
		t.Fatalf("a %s about %q ends %+v", e.Kind, e.Corr, n)
	}
	for _, e := range []wire.Envelope{*e, e.Lenient()} {
		o, err := e.Offer()
		waits := max(o.TTL, o.FallbackAfter, o.ExclusiveFor)
		if least := min(o.TTL, o.FallbackAfter, o.ExclusiveFor); least < 0 || waits > 10*time.Minute {
			t.Fatalf("an offer of %+v", o)
		}
		if err == nil && (o.Method != e.Message.Text(jsonrpc.Method) || o.Key != "" && o.Key != e.Message.Text(jsonrpc.Name) && o.Key != e.Message.Text(jsonrpc.URI)) {
			t.Fatalf("an offer of %s %s for %s", o.Method, o.Key, e.Payload)
		}
	}
}

func translate(t *testing.T, e *wire.Envelope, b wire.Dialect) {
	full := e.Complete(b, nil)
	frame, err := b.Append(nil, &full, wire.Caps{})
	if err != nil || len(frame) > jsonrpc.MaxSize || bytes.Count(frame, []byte("["))+bytes.Count(frame, []byte("{")) > 60 {
		return
	}
	got, err := b.Decode(frame)
	if err != nil {
		t.Fatalf("%s does not read what it wrote: %v\n%s", b.Protocol, err, frame)
	}
	if got.Kind != e.Kind || got.ID != e.ID || got.From != e.From || got.TS != e.TS || !slices.Equal(got.To, e.To) {
		t.Fatalf("%s: a %s became a %s\n%s", b.Protocol, e.Kind, got.Kind, frame)
	}
	if e.Kind != wire.Response && (got.Method != e.Method || got.Key != e.Key) {
		t.Fatalf("%s: %s %q became %s %q\n%s", b.Protocol, e.Method, e.Key, got.Method, got.Key, frame)
	}
	before, _ := e.Standing()
	if after, _ := got.Standing(); after != before {
		t.Fatalf("%s: %+v became %+v\n%s", b.Protocol, before, after, frame)
	}
	respelled := e.Kind == wire.Status || e.Kind == wire.ProposalResponse
	if len(e.Corr) > 0 && (len(got.Corr) == 0 || got.Corr[0] != e.Corr[0]) || !respelled && !bytes.Equal(got.Payload, full.Payload) && len(full.Payload) > 0 {
		t.Fatalf("%s: what it answers or says changed\n%s", b.Protocol, frame)
	}
}

// FuzzAppend: what a dialect writes is JSON that it reads back, whatever the
// tool is called and whatever the words are.
func FuzzAppend(f *testing.F) {
	f.Add(uint8(1), uint8(1), "e1", "read_file", "e0", "hello", "7")
	f.Add(uint8(1), uint8(2), `a"b\`, "a:b:c", "x", "<b>&\u2028</b>", `"7"`)
	f.Add(uint8(4), uint8(9), "e1", "\u202e", "x y", "\x00", "1.0")
	f.Fuzz(func(t *testing.T, which, kind uint8, id, key, link, text, rpcID string) {
		d := wire.Dialects[int(which)%len(wire.Dialects)]
		if r := (&jsonrpc.Error{}); jsonrpc.Scan([]byte(`{"id":`+rpcID+`}`), jsonrpc.Judged, jsonrpc.MessageShape, make([]jsonrpc.Span, jsonrpc.Fields)) != nil || r.Code() == 0 {
			t.Skip()
		}
		quoted := string(jsonrpc.AppendQuote(nil, key))
		key, _ = jsonrpc.Unquote([]byte(quoted))
		e := wire.Envelope{Kind: wire.Kind(kind % 12), ID: id, TS: "t", From: "fs", To: []string{"bob"}, Method: "tools/call", Key: key}
		switch e.Kind {
		case wire.Request, wire.Proposal:
			e.Payload = []byte(`{"jsonrpc":"2.0","id":` + rpcID + `,"method":"tools/call","params":{"name":` + quoted + `}}`)
		case wire.Notification:
			e.Method, e.Key = "notifications/message", ""
			e.Payload = []byte(`{"jsonrpc":"2.0","method":"notifications/message"}`)
		case wire.Response:
			e.Corr = []string{link}
			e.Payload = []byte(`{"jsonrpc":"2.0","id":` + rpcID + `,"result":{}}`)
		case wire.Chat, wire.Withdraw, wire.Reject, wire.Status, wire.ProposalResponse:
			e.Method, e.Key, e.Corr = "", "", []string{link}
			e.Payload = append(jsonrpc.AppendQuote([]byte(`{"text":`), text), '}')
		}
		frame, err := d.Append(nil, &e, wire.Caps{})
		if err != nil {
			return
		}
		got, err := d.Decode(frame)
		if err != nil {
			refused := err.(*wire.Refused).Reason
			if slices.Contains([]string{wire.IDCharset, wire.RPCInvalidID, wire.EnvelopeInvalid}, refused) {
				return // ids are not made fit by writing them
			}
			t.Fatalf("%v\n%s", err, frame)
		}
		respelled := e.Kind == wire.Status || e.Kind == wire.ProposalResponse
		if got.Kind != e.Kind || got.ID != id || !respelled && !bytes.Equal(got.Payload, e.Payload) || e.Kind != wire.Response && got.Key != e.Key {
			t.Fatalf("%s %q %q became %s %q %q\n%s", e.Kind, id, e.Key, got.Kind, got.ID, got.Key, frame)
		}
	})
}
