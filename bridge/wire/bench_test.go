//go:build !race

package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func benchFrame(d wire.Dialect, size int) ([]byte, *wire.Envelope) {
	e := &wire.Envelope{Kind: wire.Request, ID: "6b0e6a0c-5f5b-4c0f-9d0c-2d1f0f1a2b3c", TS: "2026-11-20T23:00:52.756Z", From: "bob", To: []string{"fs"}, Method: "tools/call", Key: "write_file"}
	e.Payload = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"/a","text":%q}}}`, strings.Repeat("0123456789abcdef", size/16))
	frame, err := d.Append(nil, e, wire.Caps{})
	if err != nil {
		panic(err)
	}
	return frame, e
}

func BenchmarkDecode(b *testing.B) {
	for _, d := range []wire.Dialect{wire.Dialects[0], wire.Dialects[1], wire.Dialects[4]} {
		for _, size := range []int{1 << 10, 96 << 10} {
			frame, _ := benchFrame(d, size)
			b.Run(fmt.Sprintf("%s/%dKiB", strings.ReplaceAll(d.Protocol, "/", "-"), size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(frame)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := d.Decode(frame); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	stated, _ := wire.ParseCaps([]byte(`["mcp/*","chat"]`))
	for _, d := range []wire.Dialect{wire.Dialects[0], wire.Dialects[1], wire.Dialects[4]} {
		for _, size := range []int{1 << 10, 96 << 10} {
			frame, e := benchFrame(d, size)
			b.Run(fmt.Sprintf("%s/%dKiB", strings.ReplaceAll(d.Protocol, "/", "-"), size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(frame)))
				b.ReportAllocs()
				dst := make([]byte, 0, len(frame)+64)
				for b.Loop() {
					if _, err := d.Append(dst, e, stated); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// An ordinary request costs three allocations to read and none to write.
func TestAllocations(t *testing.T) {
	for _, d := range wire.Dialects {
		frame, e := benchFrame(d, 1<<10)
		if n := testing.AllocsPerRun(100, func() { d.Decode(frame) }); n > 3 {
			t.Errorf("%s: Decode allocates %v times", d.Protocol, n)
		}
		dst := make([]byte, 0, len(frame)+64)
		if n := testing.AllocsPerRun(100, func() { d.Append(dst, e, wire.Caps{}) }); n > 0 {
			t.Errorf("%s: Append allocates %v times", d.Protocol, n)
		}
	}
}
