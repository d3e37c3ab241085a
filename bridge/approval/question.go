package approval

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// PolicyReload is what the method of a question [Question.AboutPolicy] is called. A
// participant may call one of its own so, hence nothing is decided by it.
const PolicyReload = "policy/reload"

// JustificationKey is where, in the _meta of a request, its caller says why it makes it. That is
// for those who are asked and for the record; the server does not get it.
const JustificationKey = "mcpx/justification"

// PolicyFile stands for the caller of that.
const PolicyFile = "the policy file"

// A Question is a call that somebody must agree to. It does not change once it
// is open.
type Question struct {
	Caller   string // participant id, as the gateway gave it
	Via      string // "request" or "proposal"
	Proposer string // whose proposal the call fulfils, where that is not the caller; else ""
	Reason   string // why, in the words of whoever calls or proposes; "" if they say nothing
	Method   string // "tools/call", or any other method that is judged
	Tool     string

	// AboutPolicy says that it is about no call, but whether a policy file that may let more
	// through than the one in force counts (FINDINGS M1). The engine alone sets it, on a
	// question of its own: nothing that comes over a topic does.
	AboutPolicy bool

	// Args are the raw bytes that are to run: one JSON object, scanned
	// strictly before. Nil stands for {}. Open keeps a copy.
	Args []byte

	// Beside is one JSON object of the members of params that stand beside Args and
	// reach the server too, scanned strictly before; nil for none. Open keeps a copy.
	Beside []byte

	Terms       policy.Terms // who must agree and how; the Desk never changes what it refers to
	Fingerprint string       // of the tool's definition
	About       string       // how the server describes the tool, in one sentence; "" if it does not
	Hints       policy.Hints // what else it says of the tool
	Changed     bool         // it is not what the bridge first saw (DESIGN 6, server.pin), which people are told
	Envelope    string       // id of the envelope with the request or proposal
	RPC         []byte       // the JSON-RPC id, raw; nil if it has none. Open keeps a copy

	Bridge, Topic, Dialect string // where this is; Bridge is our participant id
	Server                 string // what we wrap: its whole command, for the people at this machine only
	Program                string // the same as far as the topic may know it: the name of the program or package
	Gateway                string // which gateway keeps the topic; "": this machine's own
	PolicyHash             string // of the policy that asks

	// What a yes that is to last is bound to besides, and the topic need not know:
	// the directory in which the server was started, and a word for all of its
	// command, which Server shows without secrets.
	Dir, Command string

	// Prints are, of a plan, the definitions of the tools of its items, and Over says that a
	// limit of the policy asks: what was agreed to ahead does not answer that.
	Prints []string
	Over   bool
	Inside []plan.Place // of Desk.Places, those out of whose folder no link leads

	Timeout    time.Duration // the server's time for the call, which approvers may be allowed to change
	Until      time.Time     // when the caller loses interest, as of a proposal's ttl; zero: never
	Host       bool          // the call is the desktop client's own, so the person behind that may be asked
	Unverified bool          // the gateway does not verify who sends a frame (WIRE 7.2)
}

// What one question may be about, in bytes and in values. Nobody reads more than that
// before saying yes, and all of it is gone through whenever the question is put. An
// argument of 1 MiB must be asked about (corpus json-017), so there is a quarter of
// that beside it for the others.
const (
	MaxAsked       = 5 << 18
	MaxAskedValues = 1 << 14
	maxAskedNames  = 8 << 20 // bytes of the names under which values are shown, which hold those of all that they stand in
)

// Beyond says why nobody can be asked about a call with these arguments and with what
// stands beside them, "" if somebody can. Both must have been scanned strictly before.
func Beyond(args, beside []byte) string {
	if size := len(args) + len(beside); size > MaxAsked {
		return fmt.Sprintf("they have %d bytes, and people are asked about %d at most", size, MaxAsked)
	}
	if countValues(args)+countValues(beside) > MaxAskedValues {
		return fmt.Sprintf("they have more than %d values, which are more than people are asked about", MaxAskedValues)
	}
	if size := namesOf(args) + namesOf(beside); size > maxAskedNames {
		return fmt.Sprintf("the names of their values have %d bytes, and people are shown %d at most", size, maxAskedNames)
	}
	return ""
}

// Canonical returns arguments in one spelling, so that two are equal if and only
// if they say the same; numbers count as text. args must have been scanned
// strictly before; nothing stands for {}.
func Canonical(args []byte) []byte {
	if len(args) == 0 {
		return []byte("{}")
	}
	return rawjson.AppendCanonical(nil, args, jsonrpc.AppendQuote)
}

// namesOf is how many bytes the names of all leaves have, before what cannot be seen is written
// out.
func namesOf(args []byte) (sum int) {
	var walk func(name, i int)
	walk = func(name, i int) {
		for item := range rawjson.Parts(args, i) {
			name := name + 1 + len(item.Name)
			if c := args[item.Start]; c == '{' || c == '[' {
				walk(name, item.Start)
			}
			sum += name
		}
	}
	if len(args) > 0 {
		walk(0, rawjson.Space(args, 0))
	}
	return sum
}

// countValues is how many values there are in JSON, those that hold others included.
func countValues(t []byte) (n int) {
	for i := 0; i < len(t); {
		switch t[i] {
		case '{', '[':
			n++
			i++
		case '}', ']', ',', ':', ' ', '\n', '\r', '\t':
			i++
		case '"':
			i = jsonrpc.StringEnd(t, i)
			if at := rawjson.Space(t, i); at == len(t) || t[at] != ':' {
				n++
			}
		default:
			i = jsonrpc.ValueEnd(t, i)
			n++
		}
	}
	return n
}

// A Binding is all that an agreement is bound to (RELIABILITY AI-6). One
// agreement is good for one execution of exactly this.
type Binding struct {
	Bridge, Dialect, Topic string
	Caller, Proposer       string
	Envelope               string
	Method, Tool           string
	Why                    string // as the caller says it
	Fingerprint            string
	Args, Beside           []byte // what the server will read, byte for byte
	Timeout                time.Duration
	PolicyHash             string
	Nonce                  [16]byte
	Expiry                 time.Time // decide by
}

// A Digest names one Binding.
type Digest [sha256.Size]byte

// Digest is the SHA-256 of a line that says what this is, followed by the
// fields in the order in which they are declared. Each is preceded by its
// length as 64 bits, big end first; a duration is decimal nanoseconds, the
// expiry decimal nanoseconds since 1970. No two Bindings have the same text.
func (b *Binding) Digest() (d Digest) {
	h := sha256.New()
	h.Write([]byte("mcpx-bridge approval 3\n"))
	for _, s := range [...]string{b.Bridge, b.Dialect, b.Topic, b.Caller, b.Proposer, b.Envelope, b.Method, b.Tool, b.Why, b.Fingerprint} {
		hashField(h, []byte(s))
	}
	hashField(h, b.Args)
	hashField(h, b.Beside)
	hashField(h, strconv.AppendInt(nil, int64(b.Timeout), 10))
	hashField(h, []byte(b.PolicyHash))
	hashField(h, b.Nonce[:])
	hashField(h, strconv.AppendInt(nil, b.Expiry.UnixNano(), 10))
	h.Sum(d[:0])
	return d
}

func hashField(h hash.Hash, field []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(field)))
	h.Write(length[:])
	h.Write(field)
}

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Short is what people see: the first eight digits.
func (d Digest) Short() string { return d.String()[:8] }

// Is reports whether text names d: the whole of it or the short form, with or
// without "sha256:" before it.
func (d Digest) Is(text string) bool {
	const scheme = "sha256:"
	if len(text) > len(scheme) && text[:len(scheme)] == scheme {
		text = text[len(scheme):]
	}
	return text == d.String() || text == d.Short()
}

// MarshalText writes the whole digest in hex.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// keyOf says which calls are the same: caller, way, tool, arguments and what stands beside them, however
// those are spelled.
func keyOf(q *Question) (key [32]byte) {
	h := sha256.New()
	for _, s := range [...]string{q.Caller, q.Via, q.Method, q.Tool} {
		hashField(h, []byte(s))
	}
	hashField(h, Canonical(q.Args))
	hashField(h, Canonical(q.Beside))
	h.Sum(key[:0])
	return key
}
