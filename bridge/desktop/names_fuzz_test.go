package desktop_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
)

var exported = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// Whatever peers and tools are called, each has a name of its own that every
// client takes, and a name leads back to whose it is.
func FuzzNames(f *testing.F) {
	for _, text := range []string{"fs read\nfs read", "a_ _b\na __b\na__b c\na b__c", "x y_0123abcd\nx y", "é ü\nè ü", strings.Repeat("p", 64) + " " + strings.Repeat("t", 128), " \nx \n x", "mcpx_peers x\nmcpx peers"} {
		f.Add(text, uint8(46))
		f.Add(text, uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, most uint8) {
		limit := max(int(most), desktop.LeastName)
		names, whose := desktop.NewNames(limit), map[string]desktop.Pair{}
		for line := range strings.SplitSeq(text, "\n") {
			peer, tool, _ := strings.Cut(line, " ")
			p := desktop.Pair{Peer: peer, Name: tool}
			name := names.Of(p)
			if name == "" || len(name) > limit || !exported.MatchString(name) || names.Of(p) != name {
				t.Fatalf("%q is called %q", p, name)
			}
			if other, taken := whose[name]; taken && other != p {
				t.Fatalf("%q and %q are called %q", p, other, name)
			}
			if back, ok := names.Pair(name); !ok || back != p {
				t.Fatalf("%q is called %q, which is %q", p, name, back)
			}
			whose[name] = p
		}
	})
}
