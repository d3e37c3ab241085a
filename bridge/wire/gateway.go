package wire

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// AppendWelcome appends the frame that tells a joiner who it is and who is
// here. history, whole frames, oldest first, and the topic are said in mcp-x/v0
// only; the other dialects have no place for them.
func (d Dialect) AppendWelcome(dst []byte, id, ts, topic string, w Welcome, history [][]byte) []byte {
	dst = d.system(dst, id, ts, w.You.ID, Greeting, nil)
	if d.byPayload {
		dst = append(dst, `{"type":"welcome","event":"welcome","participant_id":`...)
		dst = jsonrpc.AppendQuote(dst, w.You.ID)
		dst = append(dst, `,"participant":{"id":`...)
		dst = jsonrpc.AppendQuote(dst, w.You.ID)
		dst = append(dst, `},"topic":`...)
		dst = jsonrpc.AppendQuote(dst, topic)
	} else {
		dst = append(dst, `{"you":`...)
		dst = d.participant(dst, w.You)
	}
	dst = append(dst, `,"participants":[`...)
	for i, p := range w.Peers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = d.participant(dst, p)
	}
	dst = append(dst, ']')
	if d.byPayload {
		dst = append(dst, `,"history":[`...)
		dst = append(dst, bytes.Join(history, []byte(","))...)
		dst = append(dst, ']')
	}
	return append(dst, `}}`...)
}

// AppendPresence appends the frame that tells everybody of a join, a leave or
// another event. On a leave no capabilities are said (WIRE 5.2).
func (d Dialect) AppendPresence(dst []byte, id, ts, event string, p Participant) []byte {
	dst = d.system(dst, id, ts, "", Presence, nil)
	dst = append(dst, `{"event":`...)
	dst = jsonrpc.AppendQuote(dst, event)
	dst = append(dst, `,"participant":`...)
	if event == "leave" {
		p.Caps = Caps{}
	}
	return append(d.participant(dst, p), `}}`...)
}

// AppendFault appends the frame that tells to that a frame of its own was
// refused. Its trigger is said where f names it, though most gateways never do.
func (d Dialect) AppendFault(dst []byte, id, ts, to string, f Fault) []byte {
	dst = d.system(dst, id, ts, to, Failure, f.Trigger)
	if d.byPayload {
		dst = append(dst, `{"type":"error","code":`...)
		dst = jsonrpc.AppendQuote(dst, f.Code)
		dst = append(dst, `,"message":`...)
		return append(jsonrpc.AppendQuote(dst, f.Message), `}}`...)
	}
	dst = append(dst, `{"error":`...)
	dst = jsonrpc.AppendQuote(dst, f.Code)
	dst = member(dst, `,"message":`, f.Message)
	dst = member(dst, `,"attempted_kind":`, f.AttemptedKind)
	if f.Caps.Stated() {
		dst = f.Caps.write(append(dst, `,"your_capabilities":`...), d.caps)
	}
	return append(dst, `}}`...)
}

// system appends a frame of the gateway up to its payload.
func (d Dialect) system(dst []byte, id, ts, to string, k Kind, links []string) []byte {
	e := Envelope{ID: id, TS: ts, From: Gateway}
	if to != "" {
		e.To = []string{to}
	}
	dst = d.open(dst, &e)
	dst = member(dst, `,"kind":`, d.words[k])
	dst = d.links(dst, links)
	return append(dst, `,"payload":`...)
}

// participant appends a participant as d writes one. What is not known of it in
// mcp-x/v0 is filled in as the reference gateway does: its clients read it.
func (d Dialect) participant(dst []byte, p Participant) []byte {
	dst = append(dst, `{"id":`...)
	dst = jsonrpc.AppendQuote(dst, p.ID)
	switch {
	case d.byPayload:
		dst = member(dst, `,"name":`, cmp.Or(p.Name, p.ID))
		dst = member(dst, `,"kind":`, cmp.Or(p.Role, "agent"))
		dst = append(dst, `,"mcp":{"version":"`+jsonrpc.CommonRevision+`"}`...)
	case p.Caps.Stated():
		dst = p.Caps.write(append(dst, `,"capabilities":`...), d.caps)
	}
	return append(dst, '}')
}

// AppendCaps appends a list of capabilities as d writes one, "[]" where d has no word
// for them.
func (d Dialect) AppendCaps(dst []byte, c Caps) []byte {
	if d.grammar == nil || d.caps == capsOmitted {
		return append(dst, '[', ']')
	}
	return c.write(dst, d.caps)
}

// write appends the capabilities in a form, each once. What has no exact counterpart is
// said too wide rather than left out, as the gateway enforces the real ones.
func (c Caps) write(dst []byte, form capsForm) []byte {
	var said [][]byte
	say := func(one []byte) {
		if !slices.ContainsFunc(said, func(s []byte) bool { return bytes.Equal(s, one) }) {
			said = append(said, one)
		}
	}
	for i := range c.grants {
		if form == capsStrings {
			say(jsonrpc.AppendQuote(nil, c.grants[i].long()))
		} else {
			say(c.grants[i].object(nil))
		}
	}
	if form == capsObjects {
		c.spellOut(say)
	}
	dst = append(dst, '[')
	dst = append(dst, bytes.Join(said, []byte(","))...)
	return append(dst, ']')
}

// mewKinds are the kinds that participants of mew send (WIRE 5.2), less those of streams,
// which our gateway does not carry.
var mewKinds = []string{
	"mcp/request", "mcp/response", "mcp/proposal", "mcp/withdraw", "mcp/reject",
	"chat", "chat/acknowledge", "chat/cancel",
	"reasoning/start", "reasoning/thought", "reasoning/conclusion", "reasoning/cancel",
	"capability/grant", "capability/revoke", "capability/grant-ack", "space/invite", "space/kick",
	"participant/pause", "participant/resume", "participant/request-status", "participant/status", "participant/forget",
	"participant/compact", "participant/compact-done", "participant/clear", "participant/restart", "participant/shutdown",
}

// spellOut says each kind that a pattern covers by its own name. Stock participants look
// for mcp/response and mcp/request in what they were granted, and to the library with
// which they do a star is nothing that crosses a slash: granted mcp/* alone they offer no
// tools, granted * they send nothing (FINDINGS D2, D16).
func (c Caps) spellOut(say func([]byte)) {
	for _, kind := range mewKinds {
		names := append([]string{kind}, lifecycleNames[mew.reads[kind]]...)
		for i := range c.grants {
			g := &c.grants[i]
			if !g.opaque && strings.Contains(g.kind, "*") && slices.ContainsFunc(names, func(name string) bool { return coversKind(g.kind, name) }) {
				say((&grant{kind: kind, payload: g.payload}).object(nil))
			}
		}
	}
}

// long writes a grant as a string.
func (g *grant) long() string {
	kind, rest, _ := strings.Cut(g.kind, ":")
	if g.payload == nil || rest != "" || !mew.reads[kind].namesMethod() {
		if rest == "" && mew.reads[kind].namesMethod() {
			return kind + ":*"
		}
		return g.kind
	}
	method, key := patternOf(g.payload)
	switch {
	case method == "" || strings.HasPrefix(method, "!"):
		return kind + ":*"
	case key == "" || strings.HasPrefix(key, "!"):
		return kind + ":" + method
	}
	return kind + ":" + method + ":" + key
}

// patternOf returns the strings a payload pattern has for method and for the
// parameter that names what it is about.
func patternOf(payload jsontext.Value) (method, key string) {
	var p struct {
		Method string `json:"method"`
		Params struct {
			Name string `json:"name"`
			URI  string `json:"uri"`
		} `json:"params"`
	}
	if !decode(payload, &p) {
		return "", ""
	}
	return p.Method, cmp.Or(p.Params.Name, p.Params.URI)
}

// object appends a grant as an object.
func (g *grant) object(dst []byte) []byte {
	kind, rest, _ := strings.Cut(g.kind, ":")
	method, key, _ := strings.Cut(rest, ":")
	if k := mcpx1.reads[kind]; k.refers() {
		kind = cmp.Or(mew.words[k], kind) // in the words of a draft
	}
	dst = append(dst, `{"kind":`...)
	dst = jsonrpc.AppendQuote(dst, kind)
	switch {
	case g.payload != nil:
		dst = append(append(dst, `,"payload":`...), g.payload...)
	case method != "" && method != "*" && kind != "mcp/response":
		dst = member(append(dst, `,"payload":{`...), `"method":`, method)
		param := "name"
		if keyed[method] == jsonrpc.URI {
			param = "uri"
		}
		if key != "" && key != "*" {
			dst = append(member(append(dst, `,"params":{`...), `"`+param+`":`, key), '}')
		}
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
