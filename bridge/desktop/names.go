package desktop

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// MaxName is the longest name that every consumer of exported tools takes
// (WIRE 9.1), and LeastName the shortest limit that leaves room for a digest.
const (
	MaxName   = 64
	UsualName = 46 // what is exported anywhere, if nothing else is said: some clients put their own name before it
	LeastName = 32
)

// minimum lengths that shortening leaves to a lossy name's parts, as far as it
// can (WIRE 9.2).
const (
	keepTool = 12
	keepPeer = 8
)

var (
	notInName   = text.Pattern(`[^A-Za-z0-9_-]`)
	underscores = text.Pattern(`__+`)
	digested    = text.Pattern(`_([0-9a-f]{8}|[0-9a-f]{16})$`)
)

// A Pair is one participant's tool or prompt.
type Pair struct{ Peer, Name string }

// Compare puts pairs in order, by peer first.
func (p Pair) Compare(q Pair) int {
	return cmp.Or(strings.Compare(p.Peer, q.Peer), strings.Compare(p.Name, q.Name))
}

// Export is the name under which something of a peer's is exported:
// peer__name where that can be read in one way only, else a shortened form
// with a digest of so many digits. It depends on nothing but its arguments, so
// it stays the same across joins and restarts. most is the longest name wanted,
// at least LeastName (WIRE 9.2).
//
// A name that ends like a digest gets one of its own: nobody can call a tool
// by what is another's name with digest.
func (p Pair) Export(most int) string {
	name := p.Peer + "__" + p.Name
	if p.readable() && len(name) <= most {
		return name
	}
	return p.lossy(most, 8)
}

// Fits reports whether somebody may have been given a name for p: its Export, or that with
// the longer digest, for whatever length was wanted, and peer__name in full, which may be
// longer than any.
func (p Pair) Fits(name string) bool {
	if p.readable() && name == p.Peer+"__"+p.Name {
		return true
	}
	sum := p.sum()
	for _, digits := range []int{8, 16} {
		if !strings.HasSuffix(name, "_"+sum[:digits]) {
			continue
		}
		for most := LeastName; most <= MaxName; most++ {
			if name == p.lossy(most, digits) {
				return true
			}
		}
	}
	return false
}

// sum is the digest of a pair.
func (p Pair) sum() string {
	sum := sha256.Sum256([]byte(p.Peer + "\x00" + p.Name))
	return hex.EncodeToString(sum[:])
}

// readable reports whether the first "__" of peer__name is certain to be the
// one between the two.
func (p Pair) readable() bool {
	return !p.ours() && p.Peer != "" && p.Name != "" && !notInName().MatchString(p.Peer+p.Name) &&
		!strings.Contains(p.Peer, "__") && !strings.HasSuffix(p.Peer, "_") && !digested().MatchString(p.Name)
}

// ours reports whether a participant is called as the tools of our own are, which
// begin with mcpx_: nobody adds mcpx__approvals beside them (FINDINGS M6).
func (p Pair) ours() bool {
	peer := strings.ToLower(notInName().ReplaceAllString(p.Peer, "_"))
	return peer == "mcpx" || strings.HasPrefix(peer, "mcpx_")
}

func (p Pair) lossy(most, digits int) string {
	peer := strings.TrimRight(underscores().ReplaceAllString(notInName().ReplaceAllString(p.Peer, "_"), "_"), "_")
	if p.ours() {
		peer = "peer-" + peer
	}
	name := notInName().ReplaceAllString(p.Name, "_")
	excess := func() int { return max(0, len(peer)+2+len(name)+1+digits-most) }
	name = name[:max(min(len(name), keepTool), len(name)-excess())]
	peer = peer[:max(min(len(peer), keepPeer), len(peer)-excess())]
	name = name[:max(0, len(name)-excess())]
	return peer + "__" + name + "_" + p.sum()[:digits]
}

// Names gives out names, each once: what has one keeps it, and it is never
// given to another (WIRE 9.3). The zero value is not ready; see NewNames.
type Names struct {
	most int
	of   map[Pair]string
	by   map[string]Pair
}

// NewNames returns an empty Names whose names have at most so many bytes.
func NewNames(most int) *Names {
	return &Names{most: most, of: map[Pair]string{}, by: map[string]Pair{}}
}

// Of returns the name of a pair. Should its digest be another's too, it gets a
// longer one; "" says that this is another's as well, so it can have no name.
func (n *Names) Of(p Pair) string {
	if name, ok := n.of[p]; ok {
		return name
	}
	name := p.Export(n.most)
	if _, taken := n.by[name]; taken {
		name = p.lossy(n.most, 16)
	}
	if _, taken := n.by[name]; taken {
		return ""
	}
	n.of[p], n.by[name] = name, p
	return name
}

// maxNames is how many names are kept before those of what is gone are not.
const maxNames = 20_000

// Keep drops the names of what is gone, should there be very many.
func (n *Names) Keep(here func(Pair) bool) {
	if len(n.of) < maxNames {
		return
	}
	for p, name := range n.of {
		if !here(p) {
			delete(n.of, p)
			delete(n.by, name)
		}
	}
}

// Pair returns what has a name. A name is looked up, never split: it cannot be
// told from its text whose it is.
func (n *Names) Pair(name string) (p Pair, ok bool) {
	p, ok = n.by[name]
	return p, ok
}
