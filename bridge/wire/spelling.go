package wire

import (
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A spelling is one way to write what concerns a proposal.
type spelling struct {
	style  Style
	word   string // the kind, or what stands before the method in it
	method bool   // the kind goes on with the method, after the last byte of word
	camel  bool   // correlationId is said beside correlation_id, as gateways strip it (WIRE 4.3)
	names  string // the member of the payload that names the proposal too; "" for none
	closed bool   // the reason is one of three, the exact one stands in detail
}

// spellings are the ways to write each kind, in the order in which they are
// tried where no style is asked for (WIRE 4.3). Dialects without drafts know
// the first alone, and only where their words have it.
var spellings = [kinds][]spelling{
	Proposal: {
		{style: V2, word: "mcp/proposal:", method: true},
		{style: Seed001, word: "mcp.proposal.", method: true},
		{style: Seed000, word: "proposal"},
		{style: Seed002, word: "proposal"},
	},
	Withdraw: {
		{style: V2, word: "mcp/withdraw"},
		{style: Seed001, word: "mcpx.withdraw.proposal", camel: true, names: "proposal_id"},
		{style: Seed002, word: "proposal/withdraw", names: "proposalId"},
	},
	Reject: {
		{style: V2, word: "mcp/reject"},
		{style: Seed001, word: "mcpx.reject.proposal", camel: true, names: "proposal_id"},
		{style: Seed000, word: "proposal-reject", names: "proposal_id", closed: true},
	},
	Status: {
		{style: Seed001, word: "mcpx.status.proposal", camel: true, names: "proposal_id"},
		{style: Seed002, word: "proposal/status", names: "proposalId"},
		{style: Seed000, word: "proposal/status", names: "proposalId"}, // its proposals are spelled alike
	},
	ProposalResponse: {{style: Seed000, word: "proposal-response", names: "proposal_id"}},
}

// styleOf is the style in which a proposal was written, told by its kind. The
// words of seeds 000 and 002 are the same; only the former has an answer.
func styleOf(kind string) Style {
	switch head, _ := splitKind(kind); head {
	case "proposal":
		return Seed000
	case "mcp.proposal":
		return Seed001
	}
	return V2
}

// Spelling returns the kind that [Dialect.Append] would give e, with the same
// errors, so that a Fault that names it in AttemptedKind can be put down to e.
// After such a Fault, Append with caps.Without(kind) takes the next spelling,
// of which the last, for a Reject, is a chat.
func (d Dialect) Spelling(e *Envelope, caps Caps) (kind string, err error) {
	if d.grammar == nil {
		return "", ErrInexpressible
	}
	var quoted []byte
	if e.Kind.refers() || e.Kind == Proposal {
		_, quoted, err = d.choose(e, caps)
	} else {
		quoted, err = d.spell(nil, e, caps)
	}
	kind, _ = jsonrpc.Unquote(quoted)
	return kind, err
}

// choose finds how e is spelled: the style that is asked for, else any other
// that caps permit, and words to people at the last. kind is a JSON string.
func (d Dialect) choose(e *Envelope, caps Caps) (how spelling, kind []byte, err error) {
	if d.words[e.Kind] == "" {
		return spelling{}, nil, ErrInexpressible
	}
	if e.Style == Off {
		return spelling{}, nil, ErrNotPermitted
	}
	for _, how := range d.order(e) {
		if kind, err = d.spellAs(how, e, caps); err != ErrNotPermitted {
			return how, kind, err
		}
	}
	if e.Kind == Reject && caps.Predicts(d.words[Chat]) {
		return spelling{style: Words}, jsonrpc.AppendQuote(nil, d.words[Chat]), nil
	}
	return spelling{}, nil, ErrNotPermitted
}

// order returns the spellings of e as they are to be tried.
func (d Dialect) order(e *Envelope) []spelling {
	all := spellings[e.Kind]
	switch {
	case e.Style == Words && e.Kind == Reject:
		return nil
	case !d.drafts:
		return all[:1]
	}
	i := slices.IndexFunc(all, func(s spelling) bool { return s.style == e.Style })
	if i <= 0 {
		return all
	}
	return slices.Concat(all[i:i+1], all[:i], all[i+1:])
}

func (d Dialect) spellAs(how spelling, e *Envelope, caps Caps) ([]byte, error) {
	switch {
	case how.style == V2:
		return d.spell(nil, e, caps)
	case how.method:
		return spellMethod(nil, how.word, e, caps)
	case e.Kind == Proposal && !proposable(e.Method):
		return nil, ErrInexpressible
	case !caps.Predicts(how.word):
		return nil, ErrNotPermitted
	}
	return jsonrpc.AppendQuote(nil, how.word), nil
}

// appendLifecycle appends a frame that concerns a proposal.
func (d Dialect) appendLifecycle(dst []byte, e *Envelope, caps Caps) ([]byte, error) {
	how, kind, err := d.choose(e, caps)
	if err != nil {
		return dst, err
	}
	dst = append(append(d.open(dst, e), `,"kind":`...), kind...)
	if how.camel && len(e.Corr) > 0 {
		dst = member(dst, `,"correlationId":`, e.Corr[0])
	}
	spelled := *e
	spelled.Payload = how.payload(e)
	return d.close(dst, &spelled), nil
}

// payload returns what a spelling wants said. A proposal is said as it came in
// all of them, and so is everything in V2.
func (how spelling) payload(e *Envelope) []byte {
	if how.style == V2 || e.Kind == Proposal || len(e.Corr) == 0 {
		return e.Payload
	}
	of := e.Corr[0]
	if e.Kind == Status || e.Kind == ProposalResponse {
		s, _ := e.Standing()
		if how.word == "proposal/status" && (s.State == "considering" || s.State == "queued" || s.State == "processing") {
			s.State, s.Reason = "pending", s.State // it knows that word alone for one that nothing has ended
		}
		return object(how.names, of, "status", s.State, "reason", s.Reason)
	}
	n, _ := e.Ending()
	switch {
	case how.style == Words:
		return object("text", n.sentence(), "format", "plain")
	case how.closed:
		return object(how.names, of, "reason", closed(n.Reason), "detail", n.Reason, "say", n.Say, "by", n.By)
	}
	return object(how.names, of, "reason", n.Reason, "detail", n.Detail, "say", n.Say, "by", n.By)
}

// sentence says a reject in words.
func (n Ending) sentence() string {
	text := "I will not serve the proposal " + n.Of
	if n.Reason != "" {
		text += ": " + n.Reason
	}
	if n.Detail != "" && n.Detail != n.Reason {
		text += " (" + n.Detail + ")"
	}
	return text
}

// spell appends a kind as a JSON string: the longest of its spellings that
// caps permit (WIRE W-4).
func (g *grammar) spell(dst []byte, e *Envelope, caps Caps) ([]byte, error) {
	word := g.words[e.Kind]
	switch {
	case word == "" || e.Kind.fromGateway():
		return dst, ErrInexpressible
	case g.looseRPC && e.Kind == Notification && !strings.HasPrefix(e.Method, "notifications/"):
		return dst, ErrInexpressible // it would be read as a request
	case strings.HasSuffix(word, "/"):
		if len(e.Spelled) > maxKind || !strings.HasPrefix(e.Spelled, word) {
			return dst, ErrInexpressible
		}
		word = e.Spelled
	}
	if g.caps == capsOmitted {
		return jsonrpc.AppendQuote(dst, word), nil
	}
	if !g.methodInKind || !e.Kind.namesMethod() {
		if !caps.Predicts(word) {
			return dst, ErrNotPermitted
		}
		return jsonrpc.AppendQuote(dst, word), nil
	}
	return spellMethod(dst, word+":", e, caps)
}

// spellMethod appends a kind that begins with word and goes on with its method, and with its key if
// that is permitted and not too long.
func spellMethod(dst []byte, word string, e *Envelope, caps Caps) ([]byte, error) {
	if e.Method == "" || strings.Contains(e.Method, ":") || len(e.Method) > maxMethod || e.Kind == Proposal && !proposable(e.Method) {
		return dst, ErrInexpressible
	}
	var room [256]byte
	kind := append(append(room[:0], word...), e.Method...)
	if short := len(kind); e.Key != "" && (e.Kind == Response || keyed[e.Method] != 0) && short+1+len(e.Key) <= maxKind {
		kind = append(append(kind, ':'), e.Key...)
		if !caps.predicts(kind) {
			kind = kind[:short]
		}
	}
	if !caps.predicts(kind) {
		return dst, ErrNotPermitted
	}
	return appendQuoted(dst, kind), nil
}
