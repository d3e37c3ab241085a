package record

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A Record is one event as the owner sees it: a line of --json output and of
// the log (DESIGN sections 5 and 10). Fields that say nothing are left out.
// Nobody changes a record once it has been handed on.
type Record struct {
	Event Event  `json:"event"`
	Call  string `json:"call,omitempty"` // our name for the call
	Env   string `json:"env,omitempty"`  // envelope id
	From  string `json:"from,omitempty"`

	// Unverified: the gateway does not make sure who a frame is from, so From is
	// what the frame says (WIRE 7.2). It is written as "from_verified": false.
	Unverified Unverified `json:"from_verified,omitzero"`

	Method   string   `json:"method,omitempty"`
	Tool     string   `json:"tool,omitempty"`
	Via      string   `json:"via,omitempty"`
	Proposal string   `json:"proposal,omitempty"` // id of the proposal it is about, or serves
	Verdict  string   `json:"verdict,omitempty"`  // allow, deny; withdrawn: its caller took the question back
	Rule     string   `json:"rule,omitempty"`
	Question string   `json:"question,omitempty"`
	Of       []string `json:"of,omitempty"`     // who may decide
	Need     int      `json:"need,omitempty"`   // how many of them must agree
	Have     int      `json:"have,omitempty"`   // how many have
	By       []string `json:"by,omitempty"`     // who decided
	Digest   string   `json:"digest,omitempty"` // of what was asked, the short form
	Modified []string `json:"modified,omitempty"`
	Grant    string   `json:"grant,omitempty"` // id of the remembered yes that a decision rests on or, with Keep, has made
	Keep     string   `json:"keep,omitempty"`  // how long, or how far, it is remembered: session, folder, tool, always or, of a plan, plan

	// Covers is what the arguments may be of a call that rests on a remembered yes for a folder
	// or a tool, as a plan has it, by the decision that made it.
	Covers json.RawMessage `json:"covers,omitempty"`

	// Uses are how often each item of a plan covers a call, by a decision that made it; by one
	// that rests on it, Item is which item, from 1, and Use which use of it, this one included.
	Uses []int `json:"uses,omitempty"`
	Item int   `json:"item,omitempty"`
	Use  int   `json:"use,omitempty"`

	Confirm string          `json:"confirm,omitempty"` // what a yes to a question takes: passkey
	Passkey json.RawMessage `json:"passkey,omitempty"` // that signed a yes, was enrolled or removed, with what shows it

	// Args are the arguments that a decision was about, as far as the policy
	// shows them. Of long ones only the size is kept.
	Args      json.RawMessage `json:"args,omitempty"`
	ArgsBytes int             `json:"args_bytes,omitempty"`

	// Beside are the members of params beside the arguments, under the same rules.
	Beside json.RawMessage `json:"beside,omitempty"`

	// Meta are the members of _meta that reach the server as the protocol's own, unasked.
	Meta json.RawMessage `json:"meta,omitempty"`

	Why string `json:"why,omitempty"` // why the call is made, in the caller's words, less what the policy hides

	Took []policy.Reservation `json:"took,omitempty"` // from limits, by a call that starts; see [policy.Policy.Recall]

	// Body is the digest of a request as it came, by which a later run knows
	// whether one that comes again is the same. Its key is the DigestKey of an engine.Config.
	Body string `json:"body,omitempty"`

	Ran      string   `json:"ran,omitempty"`     // digest of what was agreed to after it was modified
	Outcome  string   `json:"outcome,omitempty"` // of a call: ok, tool_error, error, unknown; of a question: as package approval ends it
	Executed string   `json:"executed,omitempty"`
	Code     int      `json:"code,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	ID       string   `json:"id,omitempty"`    // a participant: ourselves, or a peer
	State    string   `json:"state,omitempty"` // of a peer, or of a proposal; of a reject, whether it was told
	Dialect  string   `json:"dialect,omitempty"`
	Tools    int      `json:"tools,omitempty"`
	PID      int      `json:"server_pid,omitempty"`
	Exit     int      `json:"exit,omitempty"`
	Signal   string   `json:"signal,omitempty"`
	RetryMS  int64    `json:"retry_after_ms,omitempty"`
	Count    int      `json:"count,omitempty"`
	HeadSeq  uint64   `json:"head_seq,omitempty"` // of a checkpoint: the record that was shown to the topic
	Head     string   `json:"head,omitempty"`     // and its hash
	Stderr   []string `json:"stderr,omitempty"`

	Offer *Offered `json:"offer,omitempty"` // of a proposal that is made

	// At is when it happened, as the Engine was told the time. It is not written: the
	// audit puts the time on a record at which it was appended, and --json has none.
	At time.Time `json:"-"`

	Started bool `json:"-"` // there is a record that the call it is about went to the server
	Known   bool `json:"-"` // there is some record of that call, of its start or of a question about it

	Unasked bool `json:"-"` // of a question: it ended before it was put to anybody

	InForce *policy.Policy `json:"-"` // of a reload: the policy from now on, whose hash is the Detail
}

// Offered is what a proposal says of who should serve it, until when and why (seed 000,
// "express why, not just who").
type Offered struct {
	Preferred []string `json:"preferred,omitempty"` // the first 16
	Exclusive bool     `json:"exclusive,omitempty"`
	TTLMS     int64    `json:"ttl_ms,omitempty"`
	Why       string   `json:"why,omitempty"` // in the proposer's words, less what the policy hides
}

// Unverified is written as false when it holds: what is said is that nobody verified.
type Unverified bool

// MarshalJSON never fails.
func (Unverified) MarshalJSON() ([]byte, error) { return []byte("false"), nil }

// JSON is the record on one line, without a newline.
func (r *Record) JSON() []byte { return r.Append(make([]byte, 0, 512+len(r.Args))) }

// Append appends what JSON returns.
func (r *Record) Append(dst []byte) []byte { return r.AppendAs(dst, r.Event) }

// AppendAs writes what encoding/json would with that event, less the escapes that only
// browsers need (lists, which are rare, have them). It does not use encoding/json: each
// call makes several records, twice where events are printed too, and reflection would be
// a large part of what a call costs. A test holds it to the tags of [Record].
func (r *Record) AppendAs(dst []byte, event Event) []byte {
	dst = jsonrpc.AppendQuote(append(dst, `{"event":`...), string(event))
	dst = appendText(dst, `,"call":`, r.Call)
	dst = appendText(dst, `,"env":`, r.Env)
	dst = appendText(dst, `,"from":`, r.From)
	if r.Unverified {
		dst = append(dst, `,"from_verified":false`...)
	}
	dst = appendText(dst, `,"method":`, r.Method)
	dst = appendText(dst, `,"tool":`, r.Tool)
	dst = appendText(dst, `,"via":`, r.Via)
	dst = appendText(dst, `,"proposal":`, r.Proposal)
	dst = appendText(dst, `,"verdict":`, r.Verdict)
	dst = appendText(dst, `,"rule":`, r.Rule)
	dst = appendText(dst, `,"question":`, r.Question)
	dst = appendList(dst, `,"of":`, r.Of)
	dst = appendNumber(dst, `,"need":`, int64(r.Need))
	dst = appendNumber(dst, `,"have":`, int64(r.Have))
	dst = appendList(dst, `,"by":`, r.By)
	dst = appendText(dst, `,"digest":`, r.Digest)
	dst = appendList(dst, `,"modified":`, r.Modified)
	dst = appendText(dst, `,"grant":`, r.Grant)
	dst = appendText(dst, `,"keep":`, r.Keep)
	if len(r.Covers) > 0 {
		dst = appendOneLine(append(dst, `,"covers":`...), r.Covers)
	}
	dst = appendList(dst, `,"uses":`, r.Uses)
	dst = appendNumber(dst, `,"item":`, int64(r.Item))
	dst = appendNumber(dst, `,"use":`, int64(r.Use))
	dst = appendText(dst, `,"confirm":`, r.Confirm)
	if len(r.Passkey) > 0 {
		dst = append(append(dst, `,"passkey":`...), r.Passkey...)
	}
	if len(r.Args) > 0 {
		dst = appendOneLine(append(dst, `,"args":`...), r.Args)
	}
	dst = appendNumber(dst, `,"args_bytes":`, int64(r.ArgsBytes))
	if len(r.Beside) > 0 {
		dst = appendOneLine(append(dst, `,"beside":`...), r.Beside)
	}
	if len(r.Meta) > 0 {
		dst = appendOneLine(append(dst, `,"meta":`...), r.Meta)
	}
	dst = appendText(dst, `,"why":`, r.Why)
	dst = appendList(dst, `,"took":`, r.Took)
	dst = appendText(dst, `,"body":`, r.Body)
	dst = appendText(dst, `,"ran":`, r.Ran)
	dst = appendText(dst, `,"outcome":`, r.Outcome)
	dst = appendText(dst, `,"executed":`, r.Executed)
	dst = appendNumber(dst, `,"code":`, int64(r.Code))
	dst = appendText(dst, `,"reason":`, r.Reason)
	dst = appendText(dst, `,"detail":`, r.Detail)
	dst = appendText(dst, `,"id":`, r.ID)
	dst = appendText(dst, `,"state":`, r.State)
	dst = appendText(dst, `,"dialect":`, r.Dialect)
	dst = appendNumber(dst, `,"tools":`, int64(r.Tools))
	dst = appendNumber(dst, `,"server_pid":`, int64(r.PID))
	dst = appendNumber(dst, `,"exit":`, int64(r.Exit))
	dst = appendText(dst, `,"signal":`, r.Signal)
	dst = appendNumber(dst, `,"retry_after_ms":`, r.RetryMS)
	dst = appendNumber(dst, `,"count":`, int64(r.Count))
	if r.HeadSeq != 0 {
		dst = strconv.AppendUint(append(dst, `,"head_seq":`...), r.HeadSeq, 10)
	}
	dst = appendText(dst, `,"head":`, r.Head)
	dst = appendList(dst, `,"stderr":`, r.Stderr)
	if r.Offer != nil {
		dst = appendValue(dst, `,"offer":`, r.Offer)
	}
	return append(dst, '}')
}

// appendText, appendNumber and appendList append a member that says something.
func appendText(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return jsonrpc.AppendQuote(append(dst, name...), value)
}

func appendNumber(dst []byte, name string, value int64) []byte {
	if value == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, name...), value, 10)
}

func appendList[T any](dst []byte, name string, value []T) []byte {
	if len(value) == 0 {
		return dst
	}
	return appendValue(dst, name, value)
}

func appendValue(dst []byte, name string, value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // lists of strings and of our own plain structs cannot fail
	}
	return append(append(dst, name...), text...)
}

// appendOneLine appends JSON with its line breaks, which stand between tokens
// only, as spaces.
func appendOneLine(dst, text []byte) []byte {
	at := len(dst)
	dst = append(dst, text...)
	for _, c := range []byte("\r\n") {
		for n := bytes.IndexByte(dst[at:], c); n >= 0; n = bytes.IndexByte(dst[at:], c) {
			dst[at+n] = ' '
		}
	}
	return dst
}

// AuditedAs is the event as which the record is kept, "" if it is not.
func (r *Record) AuditedAs() Event {
	switch {
	case r.Event == Ended && !r.Started:
		return Rejected // there was no start for it to end
	case r.Event == Withdrawn && r.Started:
		return Ended // what the server still says is for nobody
	}
	if is, _ := r.Event.kept(); is {
		return r.Event
	}
	return ""
}

// ForAudit is the record as it is kept, nil if it is not.
func (r *Record) ForAudit() []byte {
	if as := r.AuditedAs(); as != "" {
		return r.AppendAs(make([]byte, 0, 512+len(r.Args)), as)
	}
	return nil
}

// Final reports whether the record says how a call ended that others are on record
// about. It must not be lost: it is written later if it cannot be now.
func (r *Record) Final() bool {
	_, final := r.Event.kept()
	return final && r.Known
}

// NotStarted is the same final record of a call whose start could not be put on
// record, so that its line was not let out either.
func (r *Record) NotStarted() *Record {
	n := *r
	n.Started = false
	if n.Event == Withdrawn {
		n.Outcome, n.Executed = "", "no"
	}
	return &n
}
