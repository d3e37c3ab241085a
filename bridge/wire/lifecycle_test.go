package wire_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// The style that is asked for goes first, then what is permitted, then words
// to people, then nothing (WIRE 4.3, O79, O80, O83).
func TestStyleAndCapabilities(t *testing.T) {
	for _, c := range []struct {
		kind  wire.Kind
		style wire.Style
		caps  string
		want  string // the kind; "" if not permitted
	}{
		{wire.Reject, wire.Auto, ``, "mcp/reject"},
		{wire.Reject, wire.Seed001, ``, "mcpx.reject.proposal"},
		{wire.Reject, wire.Seed000, ``, "proposal-reject"},
		{wire.Reject, wire.Seed002, ``, "mcp/reject"},
		{wire.Reject, wire.Words, ``, "chat"},
		{wire.Reject, wire.Words, `["mcp/reject"]`, ""},
		{wire.Reject, wire.Off, ``, ""},
		{wire.Reject, wire.Seed001, `["mcp/*","chat"]`, "mcp/reject"},
		{wire.Reject, wire.Seed001, `["mcp/*","chat","mcpx.reject.proposal"]`, "mcpx.reject.proposal"},
		{wire.Reject, wire.Auto, `["mcpx.reject.proposal","chat"]`, "mcpx.reject.proposal"},
		{wire.Reject, wire.V2, `["proposal-reject","chat"]`, "proposal-reject"},
		{wire.Reject, wire.Seed001, `["mcp/response:*","chat"]`, "chat"},
		{wire.Reject, wire.Seed001, `["mcp/response:*"]`, ""},
		{wire.Withdraw, wire.Seed002, `["proposal/withdraw","mcp/*"]`, "proposal/withdraw"},
		{wire.Withdraw, wire.Seed002, `["mcp/*"]`, "mcp/withdraw"},
		{wire.Withdraw, wire.Auto, `["mcpx.withdraw.proposal"]`, "mcpx.withdraw.proposal"},
		{wire.Withdraw, wire.Auto, `["chat"]`, ""},
		{wire.Status, wire.Auto, `["mcp/*","chat"]`, ""},
		{wire.Status, wire.Auto, `["mcpx.status.proposal"]`, "mcpx.status.proposal"},
		{wire.ProposalResponse, wire.Seed000, `["proposal-response"]`, "proposal-response"},
		{wire.Proposal, wire.Auto, `["mcp/proposal:*"]`, "mcp/proposal:tools/call:write_file"},
		{wire.Proposal, wire.Auto, `["mcp.proposal.tools/call"]`, "mcp.proposal.tools/call"},
		{wire.Proposal, wire.Seed001, ``, "mcp.proposal.tools/call:write_file"},
		{wire.Proposal, wire.Seed000, `["mcp/*"]`, "mcp/proposal:tools/call:write_file"},
		{wire.Proposal, wire.Auto, `["chat"]`, ""},
	} {
		e := wire.Envelope{Kind: c.kind, Style: c.style, ID: "x", From: "fs", Corr: []string{"p1"}, Payload: wire.Ending{Reason: "busy"}.Payload()}
		if c.kind == wire.Proposal {
			e.Method, e.Key, e.Corr = "tools/call", "write_file", nil
		}
		d := lookup(t, "mcpx/v0.1")
		spelled, err := d.Spelling(&e, caps(t, []byte(c.caps)))
		frame, wrote := d.Append(nil, &e, caps(t, []byte(c.caps)))
		if c.want == "" {
			if err != wire.ErrNotPermitted || wrote != wire.ErrNotPermitted || len(frame) > 0 {
				t.Errorf("%s as %s with %s: %q, %v, %v; want ErrNotPermitted", c.kind, c.style, c.caps, spelled, err, wrote)
			}
			continue
		}
		if err != nil || wrote != nil || spelled != c.want || member1(t, frame, "kind") != c.want {
			t.Errorf("%s as %s with %s: would be %q, %v, is %s, %v; want %q", c.kind, c.style, c.caps, spelled, err, frame, wrote, c.want)
		}
	}
}

// A gateway that refuses what it promised is not asked for it again, and what
// is left gets shorter every time, to its end (WIRE O98).
func TestSpellingAfterRefusals(t *testing.T) {
	d, may := lookup(t, "mcpx/v0.1"), wire.Caps{}
	e := wire.Envelope{Kind: wire.Reject, ID: "x", From: "fs", Corr: []string{"p1"}, Payload: wire.Ending{Reason: "busy", Detail: "caps full"}.Payload()}
	var said []string
	for kind, err := d.Spelling(&e, may); err == nil; kind, err = d.Spelling(&e, may) {
		if said = append(said, kind); len(said) > 9 {
			t.Fatal("there is no end")
		}
		may = may.Without(kind)
	}
	if got := strings.Join(said, " "); got != "mcp/reject mcpx.reject.proposal proposal-reject chat" {
		t.Errorf("said %s", got)
	}
	if !may.Predicts("mcp/withdraw") || may.Predicts("mcp/reject") {
		t.Error("the wrong kind is left out")
	}
	e.Kind = wire.Chat
	if kind, err := lookup(t, "mcp-x/v0").Spelling(&e, wire.Caps{}); err != nil || kind != "mcp" {
		t.Errorf("chat is %q, %v", kind, err)
	}
	if _, err := (wire.Dialect{}).Spelling(&e, wire.Caps{}); err != wire.ErrInexpressible {
		t.Errorf("no dialect: %v", err)
	}
}

// A reason is what it is, and one that is none makes no frame wrong (WIRE 5.7, O91).
func TestEnding(t *testing.T) {
	for _, c := range []struct{ kind, payload, reason, detail string }{
		{"mcp/reject", `{"reason":"gone_fishing"}`, "gone_fishing", ""},
		{"mcp/reject", `{"reason":"policy","detail":"policy_denied"}`, "policy", "policy_denied"},
		{"mcp/reject", `{}`, "", ""},
		{"mcp/reject", `{"reason":7,"detail":["x"]}`, "", ""},
		{"proposal-reject", `{"reason":"incapable","detail":"policy"}`, "policy", ""},
		{"proposal-reject", `{"reason":"error","detail":"disk on fire"}`, "error", "disk on fire"},
		{"proposal-reject", `{"reason":"busy"}`, "busy", ""},
		{"mcpx.withdraw.proposal", `{"reason":"No longer needed"}`, "No longer needed", ""},
		{"mcp", `{"method":"notifications/cancelled","params":{"requestId":"p1","reason":"Proposal withdrawn"}}`, "Proposal withdrawn", ""},
		{"proposal/status", `{"status":"expired"}`, "expired", ""},
		{"proposal/status", `{"status":"withdrawn","reason":"Context changed"}`, "Context changed", ""},
		{"mcp/reject", `{"reason":"` + strings.Repeat("é", 300) + `"}`, strings.Repeat("é", 128), ""},
		{"mcp/reject", `{"reason":"x` + strings.Repeat("é", 300) + `"}`, "x" + strings.Repeat("é", 127), ""},
	} {
		e, err := lookup(t, "mcpx/v0.1").Decode([]byte(`{"id":"x","from":"bob","kind":"` + c.kind + `","correlation_id":"p1","payload":` + c.payload + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Ending(); err != nil || got != (wire.Ending{Of: "p1", Reason: c.reason, Detail: c.detail, Lapsed: c.reason == "expired"}) || !utf8.ValidString(got.Reason) {
			t.Errorf("%s %.80s: %+v, %v", c.kind, c.payload, got, err)
		}
	}
	if _, err := (&wire.Envelope{Kind: wire.Chat, Corr: []string{"p1"}}).Ending(); err == nil {
		t.Error("a chat ends something")
	}
	if _, err := (&wire.Envelope{Kind: wire.Reject}).Standing(); err == nil {
		t.Error("a reject is a standing")
	}
}

// What says nothing is still about its proposal, or one dialect would know that
// and another not.
func TestAStandingWithoutAWord(t *testing.T) {
	for _, payload := range []string{``, `,"payload":{}`, `,"payload":{"status":7}`} {
		e, err := lookup(t, "mcpx/v0.1").Decode([]byte(`{"id":"x","from":"bob","kind":"mcpx.status.proposal","correlation_id":"p1"` + payload + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Standing(); err != nil || got != (wire.Standing{Of: "p1"}) {
			t.Errorf("%q: %+v, %v", payload, got, err)
		}
	}
}

// What a draft says why crosses into other dialects in words they know.
func TestCompleteTranslatesDrafts(t *testing.T) {
	e, err := lookup(t, "mcpx/v0.1").Decode([]byte(`{"id":"x","from":"bob","kind":"proposal-reject","payload":{"proposal_id":"p1","reason":"incapable","detail":"policy"}}`))
	if err != nil {
		t.Fatal(err)
	}
	mew := lookup(t, "mew/v0.4")
	full := e.Complete(mew, nil)
	if got := across(t, mew, &full); got.Spelled != "mcp/reject" || got.Corr[0] != "p1" || string(got.Payload) != `{"reason":"policy"}` {
		t.Errorf("arrived as %s about %q with %s", got.Spelled, got.Corr, got.Payload)
	}
}

// Styles by name, as a flag has them.
func TestParseStyle(t *testing.T) {
	for i, name := range wire.StyleNames() {
		if s, ok := wire.ParseStyle(name); !ok || s != wire.Style(i) || s.String() != name {
			t.Errorf("%s is %v, %v", name, s, ok)
		}
	}
	if s, ok := wire.ParseStyle("seed003"); ok || s != wire.Auto {
		t.Errorf("seed003 is %v", s)
	}
}

// A no that only drafts of mcpx/v0.1 have a word for is a reject to those who speak another
// dialect; anything else they say of how it stands has no word there (FINDINGS S5).
func TestANoInTheWordsOfADraftIsARejectElsewhere(t *testing.T) {
	mew := lookup(t, "mew/v0.4")
	everything, err := wire.ParseCaps([]byte(`["*"]`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind, payload string
		no            bool
	}{
		{"proposal-response", `{"status":"reject","reason":"busy"}`, true},
		{"mcpx.status.proposal", `{"status":"unable","reason":"busy"}`, true},
		{"proposal-response", `{"status":"accept","reason":"busy"}`, false},
		{"mcpx.status.proposal", `{"status":"queued","reason":"busy"}`, false},
	} {
		e, err := lookup(t, "mcpx/v0.1").Decode([]byte(`{"id":"x","ts":"t","from":"carol","to":["bob"],"kind":"` + c.kind + `","correlation_id":"p1","payload":` + c.payload + `}`))
		if err != nil {
			t.Fatal(err)
		}
		out := e.Complete(mew, nil)
		frame, err := mew.Append(nil, &out, everything)
		said := string(frame)
		if c.no != (err == nil) || c.no && !(strings.Contains(said, `"kind":"mcp/reject"`) && strings.Contains(said, `"correlation_id":["p1"]`) && strings.Contains(said, `"reason":"busy"`)) {
			t.Errorf("%s %s becomes %s, %v", c.kind, c.payload, said, err)
		}
	}
}
