//go:build !race

package jsonrpc_test

import (
	"runtime"
	"strconv"
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

// A large answer of short keys took eight times its size while it was read.
func TestManyKeysTakeLittleMoreThanTheyNeed(t *testing.T) {
	data := []byte(`{"jsonrpc":"2.0","id":1,"result":{"-":0`)
	for n := 0; len(data) < 4<<20; n++ {
		data = append(strconv.AppendInt(append(data, `,"`...), int64(n), 36), `":1`...)
	}
	data = append(data, "}}"...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := jsonrpc.Parse(data, jsonrpc.Rules{Depth: jsonrpc.MaxServerDepth, Size: jsonrpc.MaxSize}); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 4*uint64(len(data)) {
		t.Errorf("reading %d bytes took %d", len(data), took)
	}
}
