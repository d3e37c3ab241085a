package web

import (
	"context"
	"strconv"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
)

// A glance is what the list shows of a question as long as its version stays.
type glance struct {
	version    string // by its digest, and how many have agreed
	asks, gist piece
	needs      string
	hides      bool // something that cannot be seen
}

func version(q *approval.Summary) string { return q.Short + "." + strconv.Itoa(q.Have) }

// mostGlances is how many are kept.
const mostGlances = 1000

// glances are those of questions that were listed.
type glances struct {
	mu   sync.Mutex
	kept map[questionID]glance
}

// of looks at a question once: its bridge has everybody wait while it puts a long one together,
// and a list is asked for again with each event. It reports false for one that has ended by now.
func (g *glances) of(ctx context.Context, src *Source, q *approval.Summary, look func(*approval.View) glance) (one glance, ok bool) {
	at := questionID{src.Key, q.ID}
	g.mu.Lock()
	one = g.kept[at]
	g.mu.Unlock()
	if one.version == version(q) {
		return one, true
	}
	v, err := src.Show(ctx, q.ID)
	if err != nil {
		return one, false
	}
	one = look(&v)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept == nil || len(g.kept) == mostGlances {
		g.kept = map[questionID]glance{}
	}
	g.kept[at] = one
	return one, true
}
