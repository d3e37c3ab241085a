package hub

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// What the history keeps outlives sessions: of an entry it holds the frame, and neither who
// said it, with socket and queue, nor the frame in other dialects (FINDINGS T6).
func TestTheHistoryKeepsNoSessionAlive(t *testing.T) {
	h := New(Options{HistoryLimit: 100, HistoryBytes: 1 << 20, MaxParticipants: 2, MaxTopics: 1})
	defer h.Close()
	join := func(came int64, id, protocol string) *Session {
		d, _ := wire.Lookup(protocol)
		s, err := h.Join(t.Context(), "t", Guest{ID: id, Caps: everything, Dialect: d, Sink: void{}, Came: came})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	join(1, "bob", "mew/v0.4")
	ann := join(2, "ann", "mcpx/v0.1")
	for _, frame := range []string{
		`{"protocol":"mcpx/v0.1","id":"1","ts":"2026-01-02T03:04:05Z","from":"ann","kind":"chat","payload":{"text":"x","format":"plain"}}`,
		`{"protocol":"mcpx/v0.1","id":"2","ts":"2026-01-02T03:04:05Z","from":"ann","to":["bob"],"kind":"mcp/request:tools/list","payload":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}`,
	} {
		if err := ann.Ingest([]byte(frame)); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := h.look("t").past.Before("", 0)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d entries are kept, %v", len(entries), err)
	}
	for _, e := range entries {
		if e.Who != nil || len(e.spellings) > 0 || e.answer != nil {
			t.Errorf("with %s the member %p and %d spellings are kept", e.Frame, e.Who, len(e.spellings))
		}
	}
}

// The history is spelled for a reader while nobody waits for that, as nothing of an entry in it
// changes any more: under the race detector, frames pass while it is read in another dialect.
func TestTheHistoryIsReadWhileFramesPass(t *testing.T) {
	h := New(Options{HistoryLimit: 100, HistoryBytes: 1 << 20, MaxParticipants: 2, MaxTopics: 1})
	defer h.Close()
	there, _ := wire.Lookup("mew/v0.4")
	here, _ := wire.Lookup("mcpx/v0.1")
	if _, err := h.Join(t.Context(), "t", Guest{ID: "bob", Caps: everything, Dialect: there, Sink: void{}, Came: 1}); err != nil {
		t.Fatal(err)
	}
	ann, err := h.Join(t.Context(), "t", Guest{ID: "ann", Caps: everything, Dialect: here, Sink: void{}, Came: 2})
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	over := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				if _, err := h.Before("t", there, "", 0); err != nil {
					t.Error(err)
				}
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	const frames = 200
	for n := range frames {
		frame := fmt.Appendf(nil, `{"protocol":"mcpx/v0.1","id":"%d","ts":"2026-01-02T03:04:05Z","from":"ann","to":["bob"],"kind":"mcp/request:tools/list","payload":{"jsonrpc":"2.0","id":%d,"method":"tools/list"}}`, n, n)
		if err := ann.Ingest(frame); err != nil {
			t.Fatal(err)
		}
	}
	close(over)
	readers.Wait()
	if past, err := h.Before("t", there, "", 1); err != nil || len(past) != 1 || !strings.Contains(string(past[0]), fmt.Sprintf(`"id":"%d"`, frames-1)) {
		t.Errorf("the latest is %s, %v", past, err)
	}
}

// void is a sink that takes everything.
type void struct{}

func (void) Put([]byte) Outcome { return Taken }
func (void) Flush()             {}
func (void) Cut(int, string)    {}
func (void) Inline() bool       { return false }
func (void) Await() bool        { return false }

func (void) WaitForRoom(context.Context) {}

// What is forgotten counts no more: however many entries have passed through a history, its
// bytes are those of what it keeps, and it keeps as much as fits (FINDINGS T6).
func TestAHistoryCountsNothingThatItHasForgotten(t *testing.T) {
	for _, r := range []ring{{most: 3, size: 1 << 20}, {most: 1000, size: 10 * (perEntry + 100)}} {
		for i := range 5000 {
			r.Add(&Entry{Frame: make([]byte, i%200)})
			sum := 0
			for _, e := range r.entries {
				sum += len(e.Frame) + perEntry
			}
			if r.bytes != sum || sum > r.size || i >= 10 && len(r.entries) < min(r.most, 9) {
				t.Fatalf("after %d entries: %d bytes are counted, %d entries of %d bytes are kept", i+1, r.bytes, len(r.entries), sum)
			}
		}
	}
}

// What is remembered of a request is a few KiB at most, however many it names: it kept all that
// a frame says beside its payload, and a topic of such requests more than half a GiB.
func TestARequestIsRememberedWithoutAllThatItNames(t *testing.T) {
	const calls, most = 256, 8 << 10 // of bytes for each
	d, _ := wire.Lookup("mcpx/v0.1")
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	names := func(call, length int) string {
		all := make([]string, 256)
		for i := range all {
			all[i] = fmt.Sprintf(`"%0*d"`, length, 1000*call+i)
		}
		return strings.Join(all, ",")
	}
	for name, head := range map[string]func(call int) string{
		"addressees": func(call int) string { return `"to":[` + names(call, 200) + `],"kind":"mcp/request:tools/call:x"` },
		"links": func(call int) string {
			return `"to":["bob"],"correlation_id":[` + names(call, 200) + `],"kind":"mcp/request:tools/call:x"`
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := requestCache{limit: calls}
			before := heap()
			for i := range calls {
				frame := fmt.Appendf(nil, `{"protocol":"mcpx/v0.1","id":"%d","ts":"2026-01-02T03:04:05Z","from":"ann",%s,"payload":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}}`, i, head(i))
				var e wire.Envelope
				if _, err := d.Accept(&e, frame, "ann", fresh); err != nil {
					t.Fatal(err)
				}
				r.add(&e, nil)
			}
			if grown := heap() - before; len(r.calls) != calls || grown > calls*most {
				t.Errorf("%d calls take %d KiB, want %d at most", len(r.calls), grown>>10, calls*most>>10)
			}
			runtime.KeepAlive(&r)
		})
	}
}
