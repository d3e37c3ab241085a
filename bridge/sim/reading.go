package sim

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A message is what is in an envelope to the bridge.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		X         string          `json:"x"`
		Arguments json.RawMessage `json:"arguments"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
			Why   json.RawMessage `json:"mcpx/justification"`
		} `json:"_meta"`
	} `json:"params"`
	Reason      json.RawMessage `json:"reason"`
	Result      json.RawMessage `json:"result"`
	Error       json.RawMessage `json:"error"`
	Event       string          `json:"event"`
	Participant struct {
		ID string `json:"id"`
	} `json:"participant"`
}

// readSaid is the checker's own reading of a frame that the attacker made. It
// reports false for what can be read in no way or in two; what it reads is
// allowed to have effects, not obliged to.
func readSaid(protocol string, raw []byte) (said, bool) {
	if !unambiguous(raw) {
		return said{}, false
	}
	return readLoosely(protocol, raw)
}

// readTwofold reads a frame with which nothing is wrong but that in its parameters a key is
// spelled almost like one that matters there, or two keys of one object are one to a lenient
// server; false for any other.
func readTwofold(protocol string, raw []byte) (said, bool) {
	var v any
	if !unambiguousAt(raw, levels[:2]) || json.Unmarshal(raw, &v) != nil {
		return said{}, false
	}
	if _, _, alike := twins(v); !alike && unambiguous(raw) && len(meant.FindAll(raw, -1)) == bytes.Count(raw, []byte(`"progressToken"`))+bytes.Count(raw, []byte(`"_meta"`)) {
		return said{}, false
	}
	return readLoosely(protocol, raw)
}

// meant are other names that matter in parameters, as far as anybody may read them so.
var meant = regexp.MustCompile(`(?i)"(progressToken|_meta)"`)

func readLoosely(protocol string, raw []byte) (said, bool) {
	var e envelope[json.RawMessage]
	var m message
	if json.Unmarshal(raw, &e) != nil {
		return said{}, false
	}
	if len(e.Payload) == 0 {
		e.Payload = []byte("{}") // that a proposal has come to an end can be said without a word
	}
	if json.Unmarshal(e.Payload, &m) != nil {
		return said{}, false
	}
	s := said{id: e.ID, from: e.From, to: e.To, corr: e.Corr, rpc: m.ID, method: m.Method, tool: m.Params.Name, args: m.Params.Arguments,
		ref: m.Params.RequestID, token: m.Params.Meta.Token}
	var in struct {
		Params json.RawMessage `json:"params"`
	}
	json.Unmarshal(e.Payload, &in)
	if s.tool == "" {
		s.tool = m.Params.URI
	}
	if s.args == nil && m.Params.X != "" {
		s.args = []byte(m.Params.X)
	}
	if s.method == reads {
		s.args = withoutMeta(in.Params)
	}
	if s.method == planMethod {
		s.readPlan(in.Params)
	}
	loose := protocol == "mew/v0.4" // a request may lack its id there
	head, about, _ := strings.Cut(e.Kind, ":")
	if s.asks = protocol == "mcp-x/v0" && m.Method == "tools/request"; s.asks {
		s.method = "tools/call"
	}
	s.beside = besideIn(s.method, in.Params)
	s.why = m.why(raw)
	switch head = strings.Replace(head, ".", "/", 1); {
	case e.From == wire.Gateway && (m.Event == "join" || m.Event == "leave"): // one that lets itself be forged
		s.kind, s.method, s.tool = wire.Presence, m.Event, m.Participant.ID
	case head == "mcp/reject" && len(e.Corr) > 0:
		s.kind = wire.Reject
	case head == "mcp/withdraw" && len(e.Corr) > 0:
		s.kind = wire.Withdraw
	case head == "mcp/proposal" && m.Method != "":
		s.kind, s.hints, s.ttl = wire.Proposal, readHints(e.Payload), readTTL(e.Payload)
	case m.Method != "" && (m.ID != nil || loose && !strings.HasPrefix(m.Method, "notifications/")) && (head == "mcp/request" || head == "mcp"):
		s.kind = wire.Request
	case m.Method != "" && (head == "mcp/request" || head == "mcp"):
		s.kind = wire.Notification
	case m.Method == "" && (head == "mcp/response" || head == "mcp") && (m.Result != nil || m.Error != nil):
		s.kind, s.method = wire.Response, "elicitation/create"
		if m, _, _ := strings.Cut(about, ":"); m != "" && m != "*" {
			s.method = m
		}
		s.result = append([]byte(`"result":`), m.Result...)
		if m.Error != nil {
			s.result = append([]byte(`"error":`), m.Error...)
		}
	default:
		return s, false
	}
	return s, e.Protocol == protocol || e.Protocol == "" || loose && (strings.HasPrefix(e.Protocol, "mew/v0.") || strings.HasPrefix(e.Protocol, "meup/v0."))
}

// watched are the names of which no variant may stand in a frame, where those
// names are looked for.
var watched = []string{"protocol", "id", "from", "to", "kind", "correlation_id", "payload", "jsonrpc", "method", "params", "name", "arguments", "uri", "requestid"}

// levels are where they are looked for: in an envelope, its message and the parameters.
var levels = []string{"/", "/payload/", "/payload/params/"}

// level is an object or array that is open in a text.
type level struct {
	path string          // the keys that lead to it
	keys map[string]bool // that it has had; nil: an array
}

// unambiguous reports whether a text is one JSON value without a key that
// stands twice in an object, or is spelled almost like one that matters there.
func unambiguous(raw []byte) bool { return unambiguousAt(raw, levels) }

func unambiguousAt(raw []byte, levels []string) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	var open []level
	key, last := true, "" // a key is next in an object; the newest one
	for {
		t, err := d.Token()
		if err == io.EOF {
			return len(open) == 0
		}
		if err != nil {
			return false
		}
		switch t := t.(type) {
		case json.Delim:
			path := "/"
			if len(open) > 0 {
				path = open[len(open)-1].path + last + "/"
			}
			switch t {
			case '{':
				open, key = append(open, level{path, map[string]bool{}}), true
				continue
			case '[':
				open = append(open, level{path + "[]", nil})
				continue
			}
			open = open[:len(open)-1]
			key = true
		case string:
			if len(open) > 0 && open[len(open)-1].keys != nil && key {
				at := open[len(open)-1]
				if at.keys[t] || slices.Contains(levels, at.path) && variant(t) {
					return false
				}
				at.keys[t], last = true, t
				key = false
				continue
			}
			key = true
		default:
			key = true
		}
	}
}

func variant(key string) bool {
	low := strings.ToLower(key)
	return low != key && key != "requestId" && slices.Contains(watched, low)
}

// twins are two keys of one object that a server reads as one that passes over case.
func twins(v any) (one, other string, found bool) {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			if one, other, found = twins(inner); found {
				return one, other, true
			}
		}
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		for i, key := range keys {
			if j := slices.IndexFunc(keys[i+1:], func(next string) bool { return strings.EqualFold(key, next) }); j >= 0 {
				return key, keys[i+1+j], true
			}
			if one, other, found = twins(v[key]); found {
				return one, other, true
			}
		}
	}
	return "", "", false
}

// What stands beside the arguments of a call reaches the server too (DESIGN 4): it
// is asked about unless the owner has listed it, and is shown and recorded like an
// argument. What stands beside params reaches nobody. And a server may read two keys
// of one object as one, so that none that are alike reach it.

// besideIn is what stands beside the arguments in params, as one canonical text; ""
// for nothing. Of what is no call of a tool that is what _meta holds.
func besideIn(method string, params []byte) string {
	var all, meta map[string]any
	d := json.NewDecoder(bytes.NewReader(params))
	d.UseNumber()
	if d.Decode(&all) != nil {
		return ""
	}
	if held, is := all["_meta"].(map[string]any); is {
		meta = held
		delete(meta, whyKey)
		switch meta["progressToken"].(type) {
		case string, json.Number:
			delete(meta, "progressToken")
		}
		if at, is := meta["traceparent"].(string); is && traceparent.MatchString(at) {
			delete(meta, "traceparent")
		}
	}
	maps.DeleteFunc(all, func(name string, value any) bool {
		switch {
		case name == "_meta":
			return value == nil || meta != nil && len(meta) == 0
		case method != "tools/call":
			return true
		}
		return name == "name" || name == "arguments"
	})
	if len(all) == 0 {
		return ""
	}
	text, _ := json.Marshal(all)
	return string(text)
}

// withoutMeta is what is judged as the arguments of what is no call of a tool: {}
// when it has no params, or null for them (seed 18127).
func withoutMeta(params []byte) []byte {
	all := map[string]json.RawMessage{}
	if len(params) > 0 && string(params) != "null" {
		json.Unmarshal(params, &all)
	}
	delete(all, "_meta")
	text, _ := json.Marshal(all)
	return text
}

// trace is what the protocol itself puts beside the arguments, and nobody is shown.
var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// readPlan reads of a frame of the attacker's what it would have as a plan: of several items
// it makes none.
func (s *said) readPlan(params json.RawMessage) {
	var p struct {
		Items []struct {
			Tool string
			Uses int
		}
		Seconds int
	}
	s.args = withoutMeta(params)
	if json.Unmarshal(params, &p) == nil && len(p.Items) == 1 {
		s.tool, s.uses, s.counts = p.Items[0].Tool, p.Items[0].Uses, time.Duration(p.Seconds)*time.Second
	}
}

// why is what can be read of why a frame was sent.
func (m *message) why(raw []byte) (why string) {
	if !bytes.Contains(raw, []byte(`"`+whyKey+`"`)) || json.Unmarshal(m.Params.Meta.Why, &why) != nil || why == "" {
		json.Unmarshal(m.Reason, &why)
	}
	return why
}
