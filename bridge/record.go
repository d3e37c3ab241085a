package bridge

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A Record is one event as the owner sees it: a line of --json output and of
// the log (DESIGN sections 5 and 10). Fields that say nothing are left out.
type Record struct {
	Event    string   `json:"event"`
	Call     string   `json:"call,omitempty"` // our name for the call
	Env      string   `json:"env,omitempty"`  // envelope id
	From     string   `json:"from,omitempty"`
	Method   string   `json:"method,omitempty"`
	Tool     string   `json:"tool,omitempty"`
	Via      string   `json:"via,omitempty"`
	Proposal string   `json:"proposal,omitempty"` // id of the proposal it is about, or serves
	Verdict  string   `json:"verdict,omitempty"`
	Rule     string   `json:"rule,omitempty"`
	Question string   `json:"question,omitempty"`
	Of       []string `json:"of,omitempty"` // who may decide
	Need     int      `json:"need,omitempty"`
	Have     int      `json:"have,omitempty"`
	By       []string `json:"by,omitempty"`     // who did
	Digest   string   `json:"digest,omitempty"` // of what was asked, the short form
	Modified []string `json:"modified,omitempty"`
	Grant    string   `json:"grant,omitempty"` // id of the remembered yes that a decision rests on or, with Keep, has made
	Keep     string   `json:"keep,omitempty"`  // how long it is remembered: session or always

	// Args are the arguments that a decision was about, as far as the policy
	// shows them. Of long ones only the size is kept.
	Args      json.RawMessage `json:"args,omitempty"`
	ArgsBytes int             `json:"args_bytes,omitempty"`

	Took []policy.Reservation `json:"took,omitempty"` // from limits, by a call that starts; see [policy.Policy.Recall]

	// Body is the digest of a request as it came, by which a later run knows
	// whether one that comes again is the same. See [Config].DigestKey.
	Body string `json:"body,omitempty"`

	Ran      string   `json:"ran,omitempty"`     // digest of what was agreed to after it was modified
	Outcome  string   `json:"outcome,omitempty"` // ok, tool_error, error, unknown
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

	started bool // there is a record that the call it is about went to the server
	known   bool // there is some record of it
}

// argsMax is how many bytes of arguments are kept with a decision.
const argsMax = 8 << 10

// about puts on record what was decided about. args are JSON that was read
// strictly, nil for none.
func (r *Record) about(p *policy.Policy, args []byte) {
	if len(args) > argsMax {
		r.ArgsBytes = len(args)
		return
	}
	r.Args = p.Redact(args)
}

// JSON is the record on one line, without a newline.
func (r Record) JSON() []byte { return r.append(make([]byte, 0, 256+len(r.Args))) }

// append writes what encoding/json would, less the escapes that only browsers
// need. Each call makes several records, twice where events are printed too,
// and this is a tenth of the price.
func (r *Record) append(dst []byte) []byte {
	dst = append(dst, '{')
	fields := reflect.ValueOf(r).Elem()
	for _, m := range members {
		if value := fields.Field(m.field); m.field == 0 || !value.IsZero() {
			dst = m.append(append(dst, m.name...), value)
		}
	}
	return append(dst, '}')
}

// A member is how one field of a Record is written.
type member struct {
	field  int
	name   string // with what stands before the value
	append func(dst []byte, value reflect.Value) []byte
}

var members = membersOf(reflect.TypeFor[Record]())

func membersOf(t reflect.Type) (all []member) {
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		m := member{field: i, name: "," + strconv.Quote(name) + ":", append: appendAny}
		if i == 0 {
			m.name = m.name[1:]
		}
		switch t.Field(i).Type {
		case reflect.TypeFor[string]():
			m.append = func(dst []byte, v reflect.Value) []byte { return jsonrpc.AppendQuote(dst, v.String()) }
		case reflect.TypeFor[int](), reflect.TypeFor[int64]():
			m.append = func(dst []byte, v reflect.Value) []byte { return strconv.AppendInt(dst, v.Int(), 10) }
		case reflect.TypeFor[json.RawMessage]():
			m.append = func(dst []byte, v reflect.Value) []byte { return appendOneLine(dst, v.Bytes()) }
		}
		all = append(all, m)
	}
	return all
}

// appendOneLine appends JSON with its line breaks, which stand between tokens
// only, as spaces.
func appendOneLine(dst, text []byte) []byte {
	at := len(dst)
	dst = append(dst, text...)
	for {
		n := bytes.IndexAny(dst[at:], "\r\n")
		if n < 0 {
			return dst
		}
		at += n
		dst[at] = ' '
	}
}

func appendAny(dst []byte, v reflect.Value) []byte {
	text, err := json.Marshal(v.Interface())
	if err != nil {
		panic(err) // lists of strings and of our own plain structs cannot fail
	}
	return append(dst, text...)
}

// onAudit are the events that are kept, by the names they have in --json output
// (DESIGN section 5), and under the names they have there (section 14, "Audit").
// The two differ: "answered" is the end of a call for those who watch it, and a
// person's answer for those who read later who decided. What the server and the
// room do beside calls is for the log alone.
var onAudit = map[string]string{
	"asked": "asked", "answer": "answered", "delegated": "delegated", "modified": "modified", "decided": "decided",
	"call": "start", "answered": "end", "dropped": "dropped", "rejected": "rejected", "withdrawn": "withdrawn",
	"late_answer": "late_answer", "foreign_answer": "foreign_answer", "security": "security", "checkpoint": "checkpoint",
	"reloaded": "reloaded", "late": "late", "unavailable": "unavailable", "expiring": "expiring",
	"grant_unused": "grant_unused", "revoked": "revoked",
	"proposed": "proposed", "taken": "taken", "fulfilled": "fulfilled", "unfulfilled": "unfulfilled", "expired": "expired", "left": "left",
	"proposal_diff": "proposal_diff",
}

// forAudit is the record as it is kept, nil if it is not.
func (r Record) forAudit() []byte {
	name, kept := onAudit[r.Event]
	if !kept {
		return nil
	}
	switch {
	case r.Event == "answered" && !r.started:
		name = "rejected" // there was no start for it to end
	case r.Event == "withdrawn" && r.started:
		name = "end" // the last word: what the server still says is for nobody
	}
	r.Event = name
	return r.JSON()
}

// owed reports whether the record is the last word on a call that others are on
// record about. It is written later if it cannot be now.
func (r *Record) owed() bool {
	return r.known && (r.Event == "answered" || r.Event == "withdrawn" || r.Event == "rejected")
}

// neverLeft makes last words those on a call whose start could not be put on
// record, so that its line was not let out either.
func (r *Record) neverLeft() {
	r.started = false
	if r.Event == "withdrawn" {
		r.Outcome, r.Executed = "", string(No)
	}
}
