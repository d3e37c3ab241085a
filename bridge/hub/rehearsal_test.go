package hub

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A first is a sink that keeps the first frame.
type first struct{ frame string }

func (f *first) Put(frame []byte) Outcome {
	if f.frame == "" {
		f.frame = string(frame)
	}
	return Taken
}
func (*first) Flush()                      {}
func (*first) Cut(int, string)             {}
func (*first) Inline() bool                { return false }
func (*first) Await() bool                 { return false }
func (*first) WaitForRoom(context.Context) {}

// A welcome tells all that was said until the seat was taken, in that order and once, though what was
// said before is spelled while others speak: under the race detector, frames pass meanwhile.
func TestAWelcomeIsSpelledWhileFramesPass(t *testing.T) {
	const frames = 200
	h := New(Options{HistoryLimit: frames, HistoryBytes: 1 << 20, MaxParticipants: 2, MaxTopics: 1})
	defer h.Close()
	join := func(came int64, id, protocol string, to Sink) *Session {
		d, _ := wire.Lookup(protocol)
		s, err := h.Join(t.Context(), "t", Guest{ID: id, Caps: everything, Dialect: d, Sink: to, Came: came})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	ann := join(1, "ann", "mcpx/v0.1", void{})
	var speaker sync.WaitGroup
	defer speaker.Wait()
	speaker.Go(func() {
		for n := range frames {
			frame := fmt.Appendf(nil, `{"protocol":"mcpx/v0.1","id":"said-%d-","ts":"2026-01-02T03:04:05Z","from":"ann","kind":"chat","payload":{"text":"x","format":"plain"}}`, n)
			if err := ann.Ingest(frame); err != nil {
				t.Error(err)
			}
		}
	})
	for came, told := int64(2), 0; told < frames && !t.Failed(); came++ {
		sink := &first{}
		join(came, "bob", "mcp-x/v0", sink).Leave()
		told = strings.Count(sink.frame, "said-")
		for n := range told {
			before, after, here := strings.Cut(sink.frame, fmt.Sprintf("said-%d-", n))
			if sink.frame = after; !here || strings.Contains(before, "said-") {
				t.Fatalf("of %d frames, %d is not the next one", told, n)
			}
		}
	}
}

// What was said between the two looks at the history is in the welcome too, and so is nothing that
// was forgotten meanwhile.
func TestWhatIsSaidAfterTheRehearsalIsTold(t *testing.T) {
	d, _ := wire.Lookup("mcp-x/v0")
	said := func(text string) *Entry { return &Entry{Dialect: d, Frame: []byte(text)} }
	gone, kept, late := said("gone"), said("kept"), said("late")
	m := &Member{Dialect: d, local: true}
	past := &ring{most: 2, size: 1 << 20}
	past.Add(gone)
	past.Add(kept)
	topic := &Topic{past: past, settings: settings{most: 1}}
	r := topic.rehearse(m)
	past.Add(late)
	entries, _ := past.Before("", 0)
	if told := fmt.Sprintf("%s", r.spelled(entries, d)); told != "[late kept]" {
		t.Errorf("told is %s", told)
	}
	topic.closed = true
	if r := topic.rehearse(m); len(r) > 0 {
		t.Errorf("for who gets no seat, %d entries are spelled", len(r))
	}
}
