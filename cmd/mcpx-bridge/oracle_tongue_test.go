package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A tongue is what these tests know of a dialect, apart from what the program
// knows of it: written down once more from WIRE sections 2, 3 and 5.
type tongue struct {
	name     string // of subtests
	protocol string
	path     string // the one its reference gateway upgrades on; "" takes any
	kinds    string // what its kinds look like: "plain", "method" or "short"
	list     bool   // correlation_id is a list
}

var (
	d0   = tongue{name: "v0", protocol: "mcp-x/v0", path: "/v0/ws", kinds: "plain"}
	d1   = tongue{name: "v0.1", protocol: "mcpx/v0.1", path: "/ws", kinds: "method"}
	meup = tongue{name: "meup", protocol: "meup/v0.2", kinds: "short", list: true}
	mew3 = tongue{name: "mew3", protocol: "mew/v0.3", kinds: "short", list: true}
	mew4 = tongue{name: "mew4", protocol: "mew/v0.4", kinds: "short", list: true}

	tongues = []tongue{d0, d1, meup, mew3, mew4}
)

// each runs a test in every dialect.
func each(t *testing.T, f func(t *testing.T, d tongue)) {
	for _, d := range tongues {
		t.Run(d.name, func(t *testing.T) { f(t, d) })
	}
}

// kind is how a message is labelled. op is request or response; what has no
// method of its own, a response, is labelled with that of its request.
func (d tongue) kind(op, method, key string) string {
	switch d.kinds {
	case "plain":
		return "mcp"
	case "short":
		return "mcp/" + op
	}
	kind := "mcp/" + op + ":" + method
	if key != "" {
		kind += ":" + key
	}
	return kind
}

// request is a frame with a JSON-RPC request or notification in it.
func (d tongue) request(env, from, to, payload string) string {
	method, key := methodAndKey(payload)
	return d.frame(env, from, to, d.kind("request", method, key), "", payload)
}

// frame spells an envelope. to "" is everybody; link "" is none.
func (d tongue) frame(env, from, to, kind, link, payload string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"protocol":%s,"id":%s,"ts":"2026-01-01T00:00:00Z","from":%s,`, quoted(d.protocol), quoted(env), quoted(from))
	if to != "" {
		fmt.Fprintf(&b, `"to":[%s],`, quoted(to))
	}
	if link != "" {
		fmt.Fprintf(&b, `"correlation_id":%s,`, d.link(link))
	}
	fmt.Fprintf(&b, `"kind":%s,"payload":%s}`, quoted(kind), payload)
	return b.String()
}

func (d tongue) link(to string) string {
	if d.list {
		return "[" + quoted(to) + "]"
	}
	return quoted(to)
}

// reply is the pattern of an answer to the request in envelope env.
func (d tongue) reply(to, env, method, key, payload string) string {
	return fmt.Sprintf(`{"to":[%s],"kind":%s,"correlation_id":%s,"payload":%s}`,
		quoted(to), quoted(d.kind("response", method, key)), d.link(env), payload)
}

// toAll is the pattern of a notification to everybody.
func (d tongue) toAll(method string) string {
	return fmt.Sprintf(`{"!to":0,"!correlation_id":0,"kind":%s,"payload":{"jsonrpc":"2.0","method":%s,"!id":0}}`,
		quoted(d.kind("request", method, "")), quoted(method))
}

// caps grants everything a bridge sends, and nothing else.
func (d tongue) caps() string {
	if d.list {
		return `[{"kind":"mcp/*"},{"kind":"chat"}]`
	}
	return `["mcp/*","chat"]`
}

// welcome is the gateway's first word to a joiner, as its reference gateway
// spells it. caps "" are the usual ones.
func (d tongue) welcome(me, caps string, peers ...string) string {
	if caps == "" {
		caps = d.caps()
	}
	roster := make([]string, len(peers))
	for i, p := range peers {
		roster[i] = d.participant(p)
	}
	others := "[" + strings.Join(roster, ",") + "]"
	kind, payload := "system/welcome", fmt.Sprintf(`{"you":{"id":%s,"capabilities":%s},"participants":%s}`, quoted(me), caps, others)
	if d.kinds == "plain" {
		kind, payload = "system", fmt.Sprintf(`{"type":"welcome","participant_id":%s,"topic":"t1","participants":%s,"history":[]}`, quoted(me), others)
	}
	return d.frame("welcome-"+me, "system:gateway", me, kind, "", payload)
}

func (d tongue) participant(id string) string {
	if d.kinds == "plain" {
		return fmt.Sprintf(`{"id":%s,"name":%s,"kind":"agent"}`, quoted(id), quoted(id))
	}
	return fmt.Sprintf(`{"id":%s,"capabilities":%s}`, quoted(id), d.caps())
}

// presence is the gateway's word that somebody came or left.
func (d tongue) presence(env, event, id string) string {
	kind := "system/presence"
	if d.kinds == "plain" {
		kind = "presence"
	}
	return d.frame(env, "system:gateway", "", kind, "", fmt.Sprintf(`{"event":%s,"participant":%s}`, quoted(event), d.participant(id)))
}

// methodAndKey read a payload as WIRE 3.2 wants it in a kind.
func methodAndKey(payload string) (method, key string) {
	var m struct {
		Method string
		Params struct{ Name, URI string }
	}
	_ = json.Unmarshal([]byte(payload), &m) // a bad payload has no kind
	if m.Method == "tools/call" || m.Method == "prompts/get" {
		return m.Method, m.Params.Name
	}
	return m.Method, m.Params.URI
}

// call is a tools/call; id is raw JSON, arguments too.
func call(id, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%s,"arguments":%s}}`, id, quoted(tool), arguments)
}

// quoted is s as JSON, as short as it can be written.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can be encoded
	return strings.TrimSuffix(b.String(), "\n")
}
