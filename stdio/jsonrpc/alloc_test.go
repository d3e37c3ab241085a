//go:build !race

package jsonrpc_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// TestNoAllocation: reading a message and putting in another id costs none.
func TestNoAllocation(t *testing.T) {
	for _, objects := range []bool{false, true} {
		data := call(4000, objects)
		buf := make([]byte, 0, 2*len(data))
		id := []byte("99")
		n := testing.AllocsPerRun(200, func() {
			m, err := jsonrpc.Parse(data, jsonrpc.Judged)
			if err != nil || m.Class() != jsonrpc.Request {
				t.Fatal(err)
			}
			buf = m.Append(buf[:0], jsonrpc.Edit{Field: jsonrpc.ID, Value: id})
		})
		if n != 0 {
			t.Errorf("%v allocations, want none", n)
		}
	}
}
