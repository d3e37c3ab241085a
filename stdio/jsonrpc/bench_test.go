package jsonrpc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// call returns a request of about the given size. Its arguments are one long
// text, or many small objects.
func call(size int, objects bool) []byte {
	const head = `{"jsonrpc":"2.0","id":12345,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/tmp/x","content":`
	content := `"` + strings.Repeat("Lorem ipsum dolor sit amet, consectetur. ", size/41) + `"`
	if objects {
		const item = `{"name":"file%06d.txt","size":%d,"mode":420,"dir":false},`
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, item, i, i*17)
		}
		content = "[" + strings.TrimSuffix(b.String(), ",") + "]"
	}
	return []byte(head + content + `},"_meta":{"progressToken":7}}}`)
}

func BenchmarkParse(b *testing.B) {
	for _, size := range []int{60, 96 << 10, 1 << 20} {
		for _, objects := range []bool{false, true} {
			kind := "text"
			if objects {
				kind = "objects"
			}
			data := call(size, objects)
			b.Run(fmt.Sprintf("%s/%d", kind, len(data)), func(b *testing.B) {
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := jsonrpc.Parse(data, jsonrpc.Judged); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkValid is the yardstick: encoding/json checking less.
func BenchmarkValid(b *testing.B) {
	for _, size := range []int{60, 96 << 10} {
		data := call(size, true)
		b.Run(fmt.Sprint(len(data)), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				json.Valid(data)
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{60, 96 << 10} {
		data := call(size, false)
		m, err := jsonrpc.Parse(data, jsonrpc.Judged)
		if err != nil {
			b.Fatal(err)
		}
		id, token := []byte("77"), []byte("78")
		var buf []byte
		b.Run(fmt.Sprint(len(data)), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				buf = m.Append(buf[:0], jsonrpc.Edit{Field: jsonrpc.ID, Value: id}, jsonrpc.Edit{Field: jsonrpc.ProgressToken, Value: token})
			}
		})
		b.Run(fmt.Sprint("id/", len(data)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buf = m.Append(buf[:0], jsonrpc.Edit{Field: jsonrpc.ID, Value: id})
			}
		})
	}
}

// BenchmarkKeyFlood reads 16 MiB of keys that all differ.
func BenchmarkKeyFlood(b *testing.B) {
	var s strings.Builder
	s.WriteString(`{"x":0`)
	for i := 0; s.Len() < jsonrpc.MaxSize-16; i++ {
		fmt.Fprintf(&s, `,"%x":0`, i)
	}
	data := []byte(s.String() + "}")
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := jsonrpc.Parse(data, jsonrpc.Judged); err != nil {
			b.Fatal(err)
		}
	}
}
