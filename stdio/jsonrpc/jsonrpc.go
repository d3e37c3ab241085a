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
	MaxValues      = 1 << 18  // values in a message that is judged
)

// Rules say how strictly a text is read. The zero Rules refuse everything
// that has any nesting or size, so a forgotten field opens nothing.
type Rules struct {
	Depth int // deepest nesting accepted; the outermost object is 1
	Size  int // most bytes accepted

	// Values is how many values are accepted, containers and what is in them;
	// 0: any number. Whoever decodes a text pays for each: 3 MB of {} fill
	// 66 MB (RELIABILITY 2.2, "depth bomb").
	Values int

	// EveryLevel refuses duplicate keys in every object. Without it only
	// the objects named by the Shape are held to that.
	EveryLevel bool

	// Halves lets half of a surrogate pair, written as an escape, stand in a
	// string: an emoji that was cut in two. It is what it was when it is passed on.
	Halves bool

	// Alike refuses also two keys of one object that a lenient reader takes for
	// one (package fold; FINDINGS H1), wherever duplicate keys are refused, and
	// over 256 KiB of keys beyond ASCII, as it takes its time to fold them.
	Alike bool

	// TopOnly narrows what is asked of the objects named by the Shape to the
	// outermost one. Duplicate keys and case variants further in are let
	// through; of duplicates the last is found, as most parsers read it.
	TopOnly bool

	// VariantsFrom is the depth from which on case variants alone are let through;
	// 0: nowhere. Who answers a message for what is wrong with its parameters
	// reads the rest of it so.
	VariantsFrom int
}

// Judged are the rules for what is acted on: no key twice, at any depth. Called, for what
// reaches a server, whose reader may be lenient, and what arrives from a topic: nor any
// that such a reader takes for another. Passed are those for what a server answers, which
// is passed on and not judged.
var (
	Judged = Rules{Depth: MaxDepth, Size: MaxSize, Values: MaxValues, EveryLevel: true}
	Called = Rules{Depth: MaxDepth, Size: MaxSize, Values: MaxValues, EveryLevel: true, Alike: true}
	Passed = Rules{Depth: MaxServerDepth, Size: MaxSize, TopOnly: true, Halves: true}
)

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
//
// A key counts as Name whether it is written plainly or with escapes. A key
// that is Name to a careless reader only (another case, the Kelvin sign for k,
// something after a NUL) is refused; see [KeyCase].
type Member struct {
	Name   string
	Slot   int
	Inside Shape
}

// Shift returns the same Shape with all slots moved up by a number, so that it
// can be embedded in another one.
func (s Shape) Shift(by int) Shape {
	if s == nil {
		return nil
	}
	moved := make(Shape, len(s))
	for i, m := range s {
		if m.Slot >= 0 {
			m.Slot += by
		}
		m.Inside = m.Inside.Shift(by)
		moved[i] = m
	}
	return moved
}
