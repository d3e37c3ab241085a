package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Whoever judges a request decodes parts of it, which costs much more memory
// than its text does. Nobody decodes an answer.
func TestTooManyValuesAreRefusedInARequestAlone(t *testing.T) {
	many := "[" + strings.Repeat("{},", jsonrpc.MaxValues) + "{}]"
	d, _ := wire.Lookup("mcp-x/v0")
	frame := func(body string) []byte {
		return []byte(`{"protocol":"mcp-x/v0","id":"e","ts":"x","from":"bob","to":["fs"],"kind":"mcp","correlation_id":"q","payload":{"jsonrpc":"2.0","id":1,` + body + `}}`)
	}
	_, err := d.Decode(frame(`"method":"tools/call","params":{"name":"x","arguments":{"a":` + many + `}}`))
	if r, ok := errors.AsType[*wire.Refused](err); !ok || r.Reason != string(jsonrpc.TooLarge) || r.From != "bob" {
		t.Errorf("a request: %v", err)
	}
	if e, err := d.Decode(frame(`"result":` + many)); err != nil || e.Kind != wire.Response {
		t.Errorf("an answer: %v", err)
	}
}
