package gateway

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// What the history keeps outlives sessions: of a post it holds the frame, and neither the
// seat of who said it, with socket and queue, nor the frame in other dialects (FINDINGS T6).
func TestTheHistoryKeepsNoSessionAlive(t *testing.T) {
	g, err := New(Options{Secret: make([]byte, minSecret)})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	attach := func(id string, d wire.Dialect) *Local {
		l, err := g.Attach("t", id, wire.Caps{}, d)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	attach("bob", newMew)
	ann := attach("ann", v01)
	for _, frame := range []string{
		`{"protocol":"mcpx/v0.1","id":"1","ts":"2026-01-02T03:04:05Z","from":"ann","kind":"chat","payload":{"text":"x","format":"plain"}}`,
		`{"protocol":"mcpx/v0.1","id":"2","ts":"2026-01-02T03:04:05Z","from":"ann","to":["bob"],"kind":"mcp/request:tools/list","payload":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}`,
	} {
		if err := ann.Put([]byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	topic := g.look("t")
	topic.mu.Lock()
	defer topic.mu.Unlock()
	if len(topic.past.posts) != 2 {
		t.Fatalf("%d posts are kept", len(topic.past.posts))
	}
	for _, p := range topic.past.posts {
		if p.seat != nil || len(p.spellings) > 0 || p.crowded != nil {
			t.Errorf("with %s the seat %p, %d spellings and %p are kept", p.frame, p.seat, len(p.spellings), p.crowded)
		}
	}
}

// What is forgotten counts no more: however many posts have passed through a history, its
// bytes are those of what it keeps, and it keeps as much as fits (FINDINGS T6).
func TestAHistoryCountsNothingThatItHasForgotten(t *testing.T) {
	for _, h := range []history{{frames: 3, size: 1 << 20}, {frames: 1000, size: 10 * (perFrame + 100)}} {
		for i := range 5000 {
			h.add(&post{frame: make([]byte, i%200)})
			sum := 0
			for _, p := range h.posts {
				sum += len(p.frame) + perFrame
			}
			if h.bytes != sum || sum > h.size || i >= 10 && len(h.posts) < min(h.frames, 9) {
				t.Fatalf("after %d posts: %d bytes are counted, %d posts of %d bytes are kept", i+1, h.bytes, len(h.posts), sum)
			}
		}
	}
}
