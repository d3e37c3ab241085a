// Package jsonrpc reads one JSON-RPC 2.0 message without decoding it, and
// rewrites single members without touching any other byte.
//
// A message is scanned once. The scan validates all of it under [Rules] and
// notes where the members of a [Shape] stand; everything else stays what it
// was: bytes. What has been judged can therefore be passed on as it came.
package jsonrpc

// Limits on what is read from a topic (DESIGN section 4).
const (
	MaxDepth       = 64       // nesting of a message that is judged
	MaxServerDepth = 1000     // nesting of a message from a server
	MaxSize        = 16 << 20 // bytes of one message or frame
)

// Rules say how strictly a text is read. The zero Rules refuse everything
// that has any nesting or size, so a forgotten field opens nothing.
type Rules struct {
	Depth int // deepest nesting accepted; the outermost object is 1
	Size  int // most bytes accepted

	// EveryLevel refuses duplicate keys in every object. Without it only
	// the objects named by the Shape are held to that.
	EveryLevel bool

	// TopOnly narrows what is asked of the objects named by the Shape to the
	// outermost one. Duplicate keys and case variants further in are let
	// through; of duplicates the last is found, as most parsers read it.
	TopOnly bool
}

// Judged are the rules for what arrives from a topic; Passed those for what a
// server answers, which is passed on and not judged.
var (
	Judged = Rules{Depth: MaxDepth, Size: MaxSize, EveryLevel: true}
	Passed = Rules{Depth: MaxServerDepth, Size: MaxSize, TopOnly: true}
)

// A Reason says in one word why a text was refused. It is what logs, events
// and the audit show.
type Reason string

const (
	Syntax       Reason = "json_syntax"
	TrailingData Reason = "json_trailing_data"
	DuplicateKey Reason = "json_duplicate_key"
	KeyCase      Reason = "json_key_case" // a case variant of a key we act on
	InvalidUTF8  Reason = "invalid_utf8"  // also a lone surrogate
	TooDeep      Reason = "json_depth"
	TooLarge     Reason = "message_too_large"
	NotObject    Reason = "not_an_object"
	Batch        Reason = "batch" // an array where a message is expected; answered with -32600

	BadID     Reason = "rpc_invalid_id"     // neither string nor number nor null
	BadMethod Reason = "rpc_invalid_method" // not a string
)

// An Error says why a text was refused and where.
type Error struct {
	Reason Reason
	Offset int // byte offset in the text
	Key    string
}

// A Span is where a member stands in the text it was scanned from. The zero
// Span says that the member is absent.
type Span struct {
	Key        int // offset of the opening quote of the key
	Start, End int // the value, without white space around it
}

// A Shape names the members of an object that a Scan is to find.
type Shape []Member

// A Member is one key of a Shape. Its span is stored in slot Slot (none if
// Slot < 0). If Inside is not nil and the value is an object, its members are
// found too.
type Member struct {
	Name   string
	Slot   int
	Inside Shape
}
