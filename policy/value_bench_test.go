package policy

import (
	"fmt"
	"strings"
	"testing"
)

// What it takes to read arguments: small ones, a long text, many values, and texts that are escapes and
// nothing else, of which a frame holds 16 MiB (FINDINGS M3: nothing may hold the Engine for 50 ms).
func BenchmarkReadObject(b *testing.B) {
	many := func(one string, n int) string {
		return `{"a":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}`
	}
	text := func(s string, bytes int) string { return `{"a":"` + strings.Repeat(s, bytes/len(s)) + `"}` }
	var keys strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&keys, `,"key%d":%d`, i, i)
	}
	for _, c := range []struct{ name, text string }{
		{"small", `{"path":"/srv/docs/a.txt","amount":12.50,"tags":["a","b"],"deep":{"x":null,"y":true}}`},
		{"72KiB", text("The quick brown fox. ", 72<<10)},
		{"2000", many(`{"name":"x","n":17}`, 667)},
		{"keys", "{" + keys.String()[1:] + "}"},
		{"49000strings", many(`"/srv/docs"`, 49_000)},
		{"beyondASCII", text("é", 8<<20)},
		{"newlines", text(`\n`, 8<<20)},
		{"quotes", text(`\"`, 8<<20)},
		{"unicode", text(`\u0061`, 8<<20)},
		{"pairs", text(`\ud83d\ude00`, 8<<20)},
		{"plain", text(`a`, 8<<20)},
	} {
		for _, how := range []struct {
			name string
			read func([]byte) (*value, error)
		}{{"read", readObject}, {"shape", readShape}} {
			b.Run(c.name+"/"+how.name, func(b *testing.B) {
				raw := []byte(c.text)
				b.SetBytes(int64(len(raw)))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := how.read(raw); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
