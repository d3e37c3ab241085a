package jsonrpc

import (
	"fmt"
	"strconv"
	"unicode/utf8"
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
	Batch        Reason = "batch"              // an array where a message is expected; answered with -32600
	BadID        Reason = "rpc_invalid_id"     // an id that is neither string nor number nor null
	BadMethod    Reason = "rpc_invalid_method" // a method that is not a string
)

var sentences = map[Reason]string{
	Syntax:       "this is not JSON",
	TrailingData: "something follows the end of the message; send one message at a time",
	DuplicateKey: "a key stands twice in one object; keep one of them",
	KeyCase:      "a key differs from one with a meaning only by case or look; spell it exactly",
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
	Key    string // of DuplicateKey and KeyCase: the key, decoded, at most 64 bytes of it
}

// Error returns one line in plain ASCII, whatever the text held.
func (e *Error) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("%s at byte %d: %s", e.Reason, e.Offset, sentences[e.Reason])
	}
	return fmt.Sprintf("%s at byte %d, key %s: %s", e.Reason, e.Offset, strconv.QuoteToASCII(e.Key), sentences[e.Reason])
}

// Code returns the JSON-RPC error code to answer with: -32700 for what is no
// JSON, -32600 for JSON that is no message we take.
func (e *Error) Code() int {
	switch e.Reason {
	case Syntax, TrailingData, InvalidUTF8:
		return -32700
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
