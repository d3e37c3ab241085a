package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A frame is one to the bridge: its bytes, and what its sender meant by them.
type frame struct {
	raw  []byte
	said said
}

// said is what a frame says, as its sender put it together; of a frame that the
// attacker made, what can be read of it.
type said struct {
	id, from string
	to       []string
	kind     wire.Kind
	method   string
	tool     string
	args     []byte
	rpc      []byte
	corr     []string
	token    []byte
	result   []byte
	ref      []byte        // what a cancellation names
	broken   bool          // it can be read in no or two ways: nothing may come of it
	perfect  bool          // the world made it, so that it must be answered
	ttl      time.Duration // of a proposal; 0: no end
	hints    hints         // of a proposal
	asks     bool          // a request that is a proposal, in the dialect that has no other
	draft    bool          // spelled as in a draft, which the checker cannot read
	flaw     string        // of a call: why it cannot be served
	why      string        // why it is made, by the word of its caller; "" for nothing
	beside   string        // what stands in its params beside the arguments, canonical; "" for nothing
	huge     bool          // there is more in it than anybody can look at
	traced   bool          // it carries what the protocol puts there
	stray    string        // what its message has beside params
	turns    bool          // an answer to somebody else
	lures    bool          // a request of somebody else, that names a proposal
	uses     int           // of a plan: how many calls it covers
	counts   time.Duration // and for how long it counts
}

func (s *said) key() envelopeKey { return envelopeKey{s.from, s.id} }

type envelopeKey struct{ from, env string }

func (s *said) toUs() bool { return len(s.to) == 1 && s.to[0] == us }

func (s *said) offer() bool { return s.kind == wire.Proposal }

// rivals: somebody would serve a proposal of their own accord.
func (s *said) rivals() bool {
	return s.kind == wire.Request && len(s.corr) == 1 && len(s.to) == 1 && s.to[0] == s.from && s.from != us
}

// surelyContested: whoever reads it finds that others may serve it as well.
func (s *said) surelyContested() bool { return len(s.to) == 0 && !s.hints.never }

// targeted: a proposal is for us, by its address or else by preference.
func (s *said) targeted() bool {
	return slices.Contains(s.to, us) || len(s.to) == 0 && slices.Contains(s.hints.preferred, us)
}

// forUsAlone: so it is, and for nobody else.
func (s *said) forUsAlone() bool {
	return s.toUs() || len(s.to) == 0 && len(s.hints.preferred) == 1 && s.hints.preferred[0] == us
}

// contested: others may serve a proposal as well, so that the order of the room says
// who does.
func (s *said) contested() bool {
	return !s.toUs() && !(len(s.to) == 0 && s.hints.never && len(s.hints.preferred) == 1)
}

// ableToServe: a proposal may be served by a participant.
func (s *said) ableToServe(who string) bool {
	switch {
	case len(s.to) > 0:
		return slices.Contains(s.to, who)
	case s.hints.never && len(s.hints.preferred) > 0:
		return slices.Contains(s.hints.preferred, who)
	}
	return true
}

// requested is a request of somebody for what is proposed.
func (s said) requested(id, by, of string) said {
	s.corr, s.id, s.from, s.to = []string{s.id}, id, by, []string{of}
	s.kind, s.ttl, s.hints, s.draft = wire.Request, 0, hints{}, false
	return s
}

// payload is the JSON-RPC message of a request.
func (s *said) payload() []byte {
	var params []byte
	switch s.method {
	case "tools/call":
		params = fmt.Appendf(nil, `{"name":"%s","arguments":%s`, s.tool, s.args)
	case "resources/read":
		params = fmt.Appendf(nil, `{"uri":"%s"`, s.tool)
	case planMethod:
		params = bytes.TrimSuffix(slices.Clone(s.args), []byte("}"))
	case "initialize":
		params = []byte(`{"protocolVersion":"2025-06-18"`)
	default:
		params = fmt.Appendf(nil, `{"x":"%s"`, s.args)
	}
	params = s.furnish(params)
	method := s.method
	if s.asks {
		method = "tools/request"
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}%s}`, s.rpc, method, params, s.stray)
}

// furnish puts what a call says beside its arguments into params that are not
// closed yet, and its progress token.
func (s *said) furnish(params []byte) []byte {
	var members map[string]json.RawMessage
	json.Unmarshal([]byte(s.beside), &members)
	meta := strings.TrimSuffix(strings.TrimPrefix(string(members["_meta"]), "{"), "}")
	if s.token != nil {
		meta = strings.TrimSuffix(fmt.Sprintf(`"progressToken":%s,%s`, s.token, meta), ",")
	}
	if s.traced && members["_meta"] == nil {
		meta = strings.TrimSuffix(traced+","+meta, ",")
	}
	if s.why != "" && !s.offer() {
		meta = strings.TrimSuffix(fmt.Sprintf(`"%s":%s,%s`, whyKey, text(s.why), meta), ",")
	}
	if meta != "" {
		params = fmt.Appendf(params, `,"_meta":{%s}`, meta)
	}
	if task := members["task"]; task != nil {
		params = fmt.Appendf(params, `,"task":%s`, task)
	}
	return params
}

// proposal is its payload.
func (s *said) proposal(hints string) []byte {
	payload := fmt.Appendf(nil, `{"method":"tools/call","params":{"name":"%s","arguments":%s`, s.tool, s.args)
	payload = append(s.furnish(payload), '}')
	if s.ttl > 0 {
		payload = fmt.Appendf(payload, `,"ttl":%d`, s.ttl.Milliseconds())
	}
	if hints != "" {
		payload = append(payload, ","+hints...)
	}
	return append(s.reason(payload), '}')
}

func broken(was said) said { return said{id: was.id, from: was.from, broken: true} }

func text(s string) []byte { return jsonrpc.AppendQuote(nil, s) }

const traced = `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`

// planMethod is what asks for leave for calls to come.
const planMethod = "mcpx/plan"

// whyKey is where a request says why it is made, in its _meta.
const whyKey = "mcpx/justification"

// reason puts why it is made into the payload of a proposal, which is not closed yet.
func (s *said) reason(payload []byte) []byte {
	if s.why == "" {
		return payload
	}
	return fmt.Appendf(payload, `,"reason":%s`, text(s.why))
}
