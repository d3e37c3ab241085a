package jsonrpc

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A Reason says in one word why a text was refused. It is what logs, events
// and the audit show.
type Reason string

const (
	Syntax       Reason = "json_syntax"
	TrailingData Reason = "json_trailing_data" // something follows the text
	DuplicateKey Reason = "json_duplicate_key" // one key twice in one object
	KeyCase      Reason = "json_key_case"      // a variant of a key we act on, by case or look
	KeysAlike    Reason = "json_keys_alike"    // two keys of one object that a lenient reader takes for one
	InvalidUTF8  Reason = "invalid_utf8"       // also a lone surrogate
	TooDeep      Reason = "json_depth"         // deeper than Rules.Depth
	TooLarge     Reason = "message_too_large"  // longer than Rules.Size
	NotObject    Reason = "not_an_object"
	Batch        Reason = "batch"              // an array where a message is expected; answered with -32600
	BadID        Reason = "rpc_invalid_id"     // an id that is neither string nor number nor null
	BadMethod    Reason = "rpc_invalid_method" // a method that is not a string
)

var sentences = map[Reason]string{
	Syntax:       "this is not JSON",
	TrailingData: "something follows the end of the message; send one message at a time",
	DuplicateKey: "a key stands twice in one object; keep one of them",
	KeyCase:      "a key differs from one with a meaning only by case or look; spell it exactly",
	KeysAlike:    "two keys of one object are one to readers that ignore case or form; keep one of them",
	InvalidUTF8:  "the text is not valid UTF-8, or holds half of a surrogate pair",
	TooDeep:      "values are nested too deeply",
	TooLarge:     "the message is larger than the limit",
	NotObject:    "a message must be a JSON object",
	Batch:        "batches are not supported; send each message by itself",
	BadID:        "an id must be a string or a number",
	BadMethod:    "a method must be a string",
}

// An Error says why a text was refused and where.
type Error struct {
	Reason Reason
	Offset int    // byte offset in the text
	Key    string // of DuplicateKey, KeyCase and KeysAlike: the key, decoded, at most 64 bytes of it
	Beside string // of KeyCase and KeysAlike: the key that Key may be taken for, as Key is
}

// Error returns one line in plain ASCII, whatever the text held.
func (e *Error) Error() string {
	switch {
	case e.Reason == KeysAlike:
		return fmt.Sprintf("%s at byte %d, key %s beside %s: %s", e.Reason, e.Offset, strconv.QuoteToASCII(e.Key), strconv.QuoteToASCII(e.Beside), sentences[e.Reason])
	case e.Reason == KeyCase:
		return fmt.Sprintf("%s at byte %d, key %s for %s: %s", e.Reason, e.Offset, strconv.QuoteToASCII(e.Key), strconv.QuoteToASCII(e.Beside), sentences[e.Reason])
	case e.Key == "":
		return fmt.Sprintf("%s at byte %d: %s", e.Reason, e.Offset, sentences[e.Reason])
	}
	return fmt.Sprintf("%s at byte %d, key %s: %s", e.Reason, e.Offset, strconv.QuoteToASCII(e.Key), sentences[e.Reason])
}

// Is reports whether a text was refused for one of these reasons.
func Is(err error, reasons ...Reason) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(reasons, e.Reason)
}

// Code returns the JSON-RPC error code to answer with: -32700 for what is no
// JSON, -32602 for parameters that can be read in two ways, -32600 for JSON that is
// no message we take.
func (e *Error) Code() int {
	switch e.Reason {
	case Syntax, TrailingData, InvalidUTF8:
		return -32700
	case KeysAlike:
		return -32602
	}
	return -32600
}

const maxErrorKey = 64

// cutKey copies what is shown of a key, cut between characters.
func cutKey(key []byte) string {
	n := min(len(key), maxErrorKey)
	for n < len(key) && n > 0 && !utf8.RuneStart(key[n]) {
		n--
	}
	return string(key[:n])
}
