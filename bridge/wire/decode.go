package wire

import (
	"cmp"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// Decode reads one frame. The error is a [*Refused].
//
// The frame is scanned once, under the rules for what is judged; its kind must
// agree with its payload (WIRE 3.6, W-6), and its sender, id, recipients and
// links must keep the grammar of ids. An Envelope's From is a participant id or,
// on a frame of the gateway, "system:gateway" or "system", or, on a
// Failure, nothing. A frame without a protocol string is taken for one of d; in
// the mew dialects any of their protocol strings is.
//
// Kinds that nobody acts on are Unknown and no error. The Envelope refers to
// frame, which may not be changed afterwards.
func (d Dialect) Decode(frame []byte) (e Envelope, err error) {
	err = d.decode(&e, frame)
	return e, err
}

// decode is Decode into an e that is zero, as an Envelope is large to hand around. With an
// error e is zero again.
func (d Dialect) decode(e *Envelope, frame []byte) error {
	if d.grammar == nil {
		return &Refused{Reason: DialectMismatch, Detail: "no dialect is spoken yet"}
	}
	if stream, data, ok := streamOf(frame); ok && d.streams {
		e.Kind, e.Key, e.Payload = Stream, stream, data
		return nil
	}
	r := reading{grammar: d.grammar, frame: frame}
	return r.outcome(e, r.envelope(d, e))
}

// outcome leaves e as it is, or returns the *Refused for err or for what was wrong with e.
func (r *reading) outcome(e *Envelope, err error) error {
	asks := e.Kind == Request || e.Kind == Proposal
	if err == nil && (r.wrong == nil || !asks && jsonrpc.Is(r.wrong, jsonrpc.KeysAlike)) {
		return nil
	}
	refused := r.refused(cmp.Or(err, r.wrong))
	if err == nil && asks {
		e.Wrong = r.wrong
		refused.Asked = new(*e)
	}
	*e = Envelope{}
	return refused
}

// envelope reads the frame, in the order in which it is best refused.
func (r *reading) envelope(d Dialect, e *Envelope) error {
	if err := r.scan(); err != nil {
		if err = r.scanLoosely(err); err != nil {
			return err
		}
	}
	r.scanned = true
	if r.bare() {
		e.Kind, e.Payload = Failure, r.frame
		return nil
	}
	if err := r.protocol(d); err != nil {
		return err
	}
	if err := r.header(e); err != nil {
		return err
	}
	ref, ok := r.read(e.Spelled)
	if !ok && !r.cancelsProposal(e.Spelled) {
		return refusal{DialectMismatch, "this kind is not said in " + d.Protocol, shownKind(e.Spelled)}
	}
	if err := r.body(e, ref); err != nil {
		return err
	}
	if err := r.sender(e); err != nil {
		return err
	}
	if e.Loose = r.loose; r.loose && e.Kind != Response {
		return r.scan()
	}
	return nil
}

// scanLoosely tries a frame again that could be a response, or a welcome with one in its history.
// What it was refused for otherwise would be refused again.
func (r *reading) scanLoosely(err error) error {
	if !jsonrpc.Is(err, jsonrpc.TooDeep, jsonrpc.DuplicateKey, jsonrpc.TooLarge, jsonrpc.InvalidUTF8) {
		return err
	}
	r.loose = jsonrpc.Scan(r.frame, answers, frameShape, r.at[:]) == nil
	if !r.loose && jsonrpc.Scan(r.frame, histories, frameShape, r.at[:]) != nil {
		return err
	}
	if r.greets() {
		r.loose = false
		r.dropHistory()
		return r.scan()
	}
	if r.loose {
		return nil
	}
	return err
}

// greets reports whether the frame is a welcome of the dialect whose welcomes hold a history.
func (r *reading) greets() bool {
	return r.byPayload && r.reads[r.short(atKind)] == Greeting && r.systemKind() == Greeting
}

// dropHistory goes on with the frame without the history in its payload, which nobody reads: it
// holds whole frames, answers too, which were let through when they were sent, and one of them
// must keep nobody from the topic.
func (r *reading) dropHistory() {
	payload := r.raw(atPayload)
	if len(payload) == 0 || payload[0] != '{' {
		return
	}
	for p := range rawjson.Parts(payload, 0) {
		if p.Name == "history" {
			base := r.at[atPayload].Start
			r.frame = slices.Concat(r.frame[:base+p.Start], []byte("[]"), r.frame[base+p.End:])
			return
		}
	}
}

// bare reports whether the frame is the notice {"error","details"} that some
// gateways send instead of an envelope (WIRE 2.5).
func (r *reading) bare() bool {
	return r.has(atError) && r.has(atDetails) && !r.has(atKind) && !r.has(atProtocol)
}

func (r *reading) protocol(d Dialect) error {
	if raw := r.raw(atProtocol); !r.has(atProtocol) || len(raw) == len(d.Protocol)+2 && string(raw[1:len(raw)-1]) == d.Protocol {
		return nil
	}
	said := r.short(atProtocol)
	if other, ok := Lookup(said); ok && d.Alike(other) {
		return nil
	}
	if said == "" {
		return refuse(EnvelopeInvalid, "protocol is not a string")
	}
	return refuse(DialectMismatch, "this session speaks %s, the frame says %+.40q", d.Protocol, said)
}

// sender checks id and from against what the frame turned out to be.
func (r *reading) sender(e *Envelope) error {
	spokenFor := e.Kind.fromGateway() || gatewayOnly(e.Spelled)
	switch {
	case r.hadNull && e.Kind != Failure:
		return refuse(EnvelopeInvalid, "null stands for an id in to or correlation_id")
	case e.From == "" && e.Kind == Failure && !r.has(atFrom):
	case e.From == "":
		return refuse(EnvelopeInvalid, "from is missing or not a string")
	case gateway(e.From) && (spokenFor || gatewayToo(e.Spelled)):
	case reserved(e.From):
		return refuse(FromReserved, "only the gateway's own frames may come from %+.80q", e.From)
	case !participant(e.From):
		return refuse(IDCharset, "from is not one to 64 of A-Z a-z 0-9 _ . -")
	case spokenFor:
		return refuse(SystemNotFromGateway, "%s says what only the gateway may say", e.From)
	}
	switch {
	case e.ID == "" && spokenFor && !r.has(atID):
	case e.ID == "":
		return refuse(EnvelopeInvalid, "id is missing or not a string")
	case !envelopeID(e.ID):
		return refuse(IDCharset, "id is not 1 to %d printable characters", maxID)
	}
	return nil
}
