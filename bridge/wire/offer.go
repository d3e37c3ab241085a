package wire

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// Limits of what a proposal may ask for, and what counts where it asks for
// nothing (WIRE 7.8).
const (
	maxWait       = 10 * time.Minute
	fallbackWait  = 5 * time.Second
	exclusiveWait = 3 * time.Second
)

// An Offer is what a Proposal says beside who made it and to whom. Everything
// but Method, Key and Params is a hint of somebody we need not trust: it may
// delay or narrow what we do, never widen it (DESIGN 8).
type Offer struct {
	Method, Key string
	Params      []byte // raw, as they came; nil if there are none
	Style       Style  // of the proposal, so that an answer can mirror it

	Preferred           []string      // who should serve it, where the envelope names nobody
	Exclusive           bool          // nobody else may, for ExclusiveFor
	FallbackToBroadcast bool          // after it others may; true unless said otherwise
	QuickReject         bool          // a reject is wanted; true unless said otherwise
	FallbackAfter       time.Duration // how long others wait where it is not exclusive; 5 s unless said
	ExclusiveFor        time.Duration // 3 s unless said
	TTL                 time.Duration // from receipt; 0: no end, below 0: over. All times are at most 10 minutes

	// Reason is why the proposer wants it, in its own words; of more than 256 bytes the
	// rest is left out. CountsRejects says that it hears a reject as one of many, and not as
	// the end, HearsWaiting that it reads whom it waits for: members of ours, counts_rejects and
	// hears_waiting, beside those of the seeds.
	Reason        string
	CountsRejects bool
	HearsWaiting  bool

	Needs         []string // required_capabilities
	WantsResponse bool     // asks for a ProposalResponse, which comes at once, whatever its response_timeout
}

// targeting are the hints of an offer, in a member of that name or beside it.
type targeting struct {
	Preferred           jsontext.Value `json:"preferred"`
	Exclusive           jsontext.Value `json:"exclusive"`
	QuickReject         jsontext.Value `json:"quick_reject"`
	FallbackAfter       jsontext.Value `json:"fallback_timeout"`
	ExclusiveFor        jsontext.Value `json:"exclusive_timeout"`
	FallbackToBroadcast jsontext.Value `json:"fallback_to_broadcast"`
}

// offerBody is the payload of a proposal, less what is in its message and in its params,
// which may be long and were read before.
type offerBody struct {
	targeting
	Targeting     jsontext.Value `json:"targeting"`
	Fulfillers    jsontext.Value `json:"preferred_fulfillers"`
	Participant   jsontext.Value `json:"preferred_participant"`
	Fulfiller     jsontext.Value `json:"fulfiller"`
	Needs         jsontext.Value `json:"required_capabilities"`
	WantsResponse jsontext.Value `json:"request_response"`
	Reason        jsontext.Value `json:"reason"`
	CountsRejects jsontext.Value `json:"counts_rejects"`
	HearsWaiting  jsontext.Value `json:"hears_waiting"`
	TTL           jsontext.Value `json:"ttl"`
}

// Offer reads a Proposal. Where the error is not nil the proposal is malformed
// and must not be served; the error is for people and may be told to the
// proposer, and the Offer then says what could be read, so that a reject can
// be sent in its Style.
//
// Who is preferred is said in one of six places, of which the first in the
// order of WIRE 7.8 counts. Bids are not heard. The links of a proposal mean
// nothing (WIRE O88).
func (e *Envelope) Offer() (Offer, error) {
	o := Offer{
		Method: e.Method, Key: e.Key, Params: e.Message.Get(jsonrpc.Params), Style: styleOf(e.Spelled),
		QuickReject: true, FallbackToBroadcast: true,
		FallbackAfter: fallbackWait, ExclusiveFor: exclusiveWait,
	}
	if e.Kind != Proposal {
		return o, errPayload
	}
	var p offerBody
	if len(e.Message.Raw)-len(o.Params) > maxShort {
		return o, fmt.Errorf("what it says beside its params has more than %d bytes", maxShort)
	}
	if len(o.Params) > 0 && o.Params[0] != '{' && o.Params[0] != 'n' || !decode(e.Message.Append(nil, jsonrpc.Edit{Field: jsonrpc.Params}), &p) {
		return o, errPayload
	}
	if p.Targeting != nil && p.Targeting.Kind() != 'n' {
		var inside targeting
		if !decode(p.Targeting, &inside) {
			return o, errors.New("targeting is not an object")
		}
		p.targeting = inside.over(p.targeting)
	}
	err := p.fill(&o)
	if err == nil && keyed[o.Method] != 0 && o.Key == "" {
		err = nameless(o.Method, o.Params)
	}
	return o, err
}

// over returns t, with what it leaves unsaid from other.
func (t targeting) over(other targeting) targeting {
	return targeting{
		Preferred:           first(t.Preferred, other.Preferred),
		Exclusive:           first(t.Exclusive, other.Exclusive),
		QuickReject:         first(t.QuickReject, other.QuickReject),
		FallbackAfter:       first(t.FallbackAfter, other.FallbackAfter),
		ExclusiveFor:        first(t.ExclusiveFor, other.ExclusiveFor),
		FallbackToBroadcast: first(t.FallbackToBroadcast, other.FallbackToBroadcast),
	}
}

// first returns the first value that says something.
func first(values ...jsontext.Value) jsontext.Value {
	for _, v := range values {
		if v != nil && v.Kind() != 'n' {
			return v
		}
	}
	return nil
}

// fill reads all hints into o. The error says everything that is wrong, on one
// line.
func (p *offerBody) fill(o *Offer) error {
	var wrong []string
	for _, err := range []error{
		readNames(&o.Preferred, "preferred", first(p.Preferred, p.Fulfillers, p.Participant, p.Fulfiller)),
		readNames(&o.Needs, "required_capabilities", first(p.Needs)),
		readBool(&o.Exclusive, "exclusive", first(p.Exclusive)),
		readBool(&o.QuickReject, "quick_reject", first(p.QuickReject)),
		readBool(&o.FallbackToBroadcast, "fallback_to_broadcast", first(p.FallbackToBroadcast)),
		readBool(&o.CountsRejects, "counts_rejects", first(p.CountsRejects)),
		readBool(&o.HearsWaiting, "hears_waiting", first(p.HearsWaiting)),
		readBool(&o.WantsResponse, "request_response", first(p.WantsResponse)),
		readWait(&o.FallbackAfter, "fallback_timeout", first(p.FallbackAfter)),
		readWait(&o.ExclusiveFor, "exclusive_timeout", first(p.ExclusiveFor)),
		readTTL(&o.TTL, first(p.TTL)),
	} {
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	o.Reason = shortText(p.Reason)
	if wrong == nil {
		return nil
	}
	return errors.New(strings.Join(wrong, ", "))
}

// readNames reads a list of strings, or one string that stands for a list.
func readNames(into *[]string, name string, raw jsontext.Value) error {
	var list []string
	switch {
	case raw == nil:
		return nil
	case raw.Kind() == '"':
		list = make([]string, 1)
		list[0], _ = jsonrpc.Unquote(raw)
	case !decode(raw, &list):
		return fmt.Errorf("%s is neither a string nor a list of strings", name)
	}
	if len(list) > maxNamed || slices.ContainsFunc(list, func(s string) bool { return len(s) > maxID }) {
		return fmt.Errorf("%s holds more than %d names, or one of over %d bytes", name, maxNamed, maxID)
	}
	*into = list
	return nil
}

func readBool(into *bool, name string, raw jsontext.Value) error {
	if raw != nil && !decode(raw, into) {
		return fmt.Errorf("%s is neither true nor false", name)
	}
	return nil
}

// readWait reads milliseconds. What is below nothing or above ten minutes is
// taken for those (WIRE 7.8).
func readWait(into *time.Duration, name string, raw jsontext.Value) error {
	if raw == nil {
		return nil
	}
	var ms float64
	if !decode(raw, &ms) {
		return fmt.Errorf("%s is not a number of milliseconds", name)
	}
	*into = min(maxWait, time.Duration(max(0, min(ms, float64(maxWait/time.Millisecond)))*float64(time.Millisecond)))
	return nil
}

// readTTL is readWait, which reads what is below 0 as 0. A ttl of 0 has no end, and one below
// 0 is over: it becomes -1 ns.
func readTTL(into *time.Duration, raw jsontext.Value) error {
	var ms float64
	if decode(raw, &ms) && ms < 0 {
		*into = -1
		return nil
	}
	return readWait(into, "ttl", raw)
}

// nameless says what is wrong with a proposal that does not say what it is
// about. The samples of seed 000 say tool where MCP says name (WIRE 4.3).
func nameless(method string, params []byte) error {
	param := "name"
	if keyed[method] == jsonrpc.URI {
		param = "uri"
	}
	if method == "tools/call" && len(params) <= maxShort && bytes.HasPrefix(rawjson.At(params, "/tool"), []byte{'"'}) {
		return errors.New("params name the tool as tool, where MCP says name")
	}
	return fmt.Errorf("params have no %s", param)
}

// Lenient returns a Proposal of a tool with params.name for the params.tool that
// the samples of seed 000 say; everything else comes back as it is. Only who
// has been told to may read a proposal so (WIRE 4.3), and of params over 256 KiB nobody.
func (e *Envelope) Lenient() Envelope {
	out := *e
	if e.Kind != Proposal || e.Method != "tools/call" || e.Message.Has(jsonrpc.Name) || len(e.Message.Get(jsonrpc.Params)) > maxShort {
		return out
	}
	was, params := e.Message.Get(jsonrpc.Params), []byte("{")
	renamed := false
	for p := range rawjson.Parts(was, 0) {
		if p.Name == "tool" && was[p.Start] == '"' {
			p.Name, renamed = "name", true
		}
		if len(params) > 1 {
			params = append(params, ',')
		}
		params = append(append(jsonrpc.AppendQuote(params, p.Name), ':'), p.Of(was)...)
	}
	if !renamed {
		return out
	}
	raw := e.Message.Append(nil, jsonrpc.Edit{Field: jsonrpc.Params, Value: append(params, '}')})
	if m, err := jsonrpc.Parse(raw, jsonrpc.Judged); err == nil {
		out.Payload, out.Message, out.Key = raw, m, m.Text(jsonrpc.Name)
	}
	return out
}

// Payload returns the payload of a Proposal that makes this offer. What is as
// it is where nothing is said is left out; bids and responses are not asked for.
func (o Offer) Payload() []byte {
	dst := append(jsonrpc.AppendQuote([]byte(`{"method":`), o.Method), `,"params":`...)
	if len(o.Params) == 0 {
		dst = append(dst, '{', '}')
	}
	dst = append(dst, o.Params...)
	if len(o.Preferred) > 0 {
		dst = o.targeting(list(append(dst, `,"targeting":{"preferred":`...), o.Preferred))
	}
	if o.TTL > 0 {
		dst = number(dst, `,"ttl":`, o.TTL)
	}
	dst = member(dst, `,"reason":`, o.Reason)
	if o.CountsRejects {
		dst = append(dst, `,"counts_rejects":true`...)
	}
	if o.HearsWaiting {
		dst = append(dst, `,"hears_waiting":true`...)
	}
	if len(o.Needs) > 0 {
		dst = list(append(dst, `,"required_capabilities":`...), o.Needs)
	}
	return append(dst, '}')
}

// targeting appends the rest of the hints about who is preferred.
func (o Offer) targeting(dst []byte) []byte {
	if o.Exclusive {
		dst = append(dst, `,"exclusive":true`...)
		dst = number(dst, `,"exclusive_timeout":`, cmp.Or(o.ExclusiveFor, exclusiveWait))
		dst = strconv.AppendBool(append(dst, `,"fallback_to_broadcast":`...), o.FallbackToBroadcast)
	} else {
		dst = number(append(dst, `,"exclusive":false`...), `,"fallback_timeout":`, cmp.Or(o.FallbackAfter, fallbackWait))
	}
	return append(dst, `,"quick_reject":true}`...)
}

// number appends a member that is a time in milliseconds.
func number(dst []byte, name string, d time.Duration) []byte {
	return strconv.AppendInt(append(dst, name...), d.Milliseconds(), 10)
}
