package topic

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Where two may serve a proposal, nobody has seen the claim of a bridge whose frames wait for
// the pace: another who claims meanwhile comes first. What waits does not keep it for ever.
func TestAClaimThatWaitsForThePaceWinsNothing(t *testing.T) {
	t.Run("another claims meanwhile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := paced(t)
			b.proposed()
			time.Sleep(3 * time.Second)
			b.say <- fmt.Sprintf(claimD1, "c1", "carol", "carol", `"correlation_id":"p1",`)
			time.Sleep(time.Hour)
			if got := b.saw("called"); got >= 0 {
				t.Errorf("carol came first, and the server has the call too: %q", b.log)
			}
		})
	})
	t.Run("nobody does", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := paced(t)
			b.proposed()
			time.Sleep(time.Hour)
			claimed, called, last := b.saw("claimed"), b.saw("called"), slices.Index(b.log, "pong3")
			if claimed < 0 || called < claimed || last < claimed {
				t.Errorf("claimed, then called, and before what waited: %q", b.log)
			}
		})
	})
}

const (
	pingD1  = `{"protocol":"mcpx/v0.1","id":"ping%d","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs"],"kind":"mcp/request:ping","payload":{"jsonrpc":"2.0","id":1,"method":"ping"}}`
	offerD1 = `{"protocol":"mcpx/v0.1","id":"p1","ts":"2026-01-01T00:00:00Z","from":"bob","to":["fs","carol"],"kind":"mcp/proposal:tools/call","payload":{"jsonrpc":"2.0","method":"tools/call","params":{"name":"read_file","arguments":{}}}}`
	claimD1 = `{"protocol":"mcpx/v0.1","id":%q,"ts":"2026-01-01T00:00:00Z","from":%q,"to":[%q],%s"kind":"mcp/request:tools/call","payload":{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"read_file","arguments":{}}}}`
)

// A pacedBridge is a bridge at a gateway that returns all frames to their sender, with a frame each 12 s.
type pacedBridge struct {
	say   chan string
	lists chan string // the id of a tools/list

	mu  sync.Mutex
	log []string // what was seen, in order
}

func paced(t *testing.T) *pacedBridge {
	rules, err := policy.Load("policy.yaml", []byte("version: 1\ndefault: allow\nproposals: {fulfil: policy, broadcast: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	b := &pacedBridge{say: make(chan string, 8), lists: make(chan string, 1)}
	g := &script{play: func(_ int, p *player) {
		go func() {
			defer close(b.say)
			for f := p.hear(); f != ""; f = p.hear() {
				b.heard(f)
			}
		}()
		p.say(strings.Replace(welcomeD1, `"participants":[]`, `"participants":[{"id":"bob"},{"id":"carol"}]`, 1))
		for f := range b.say {
			p.say(f)
		}
	}}
	seat, err := New(g.bubble(t, Options{ID: "fs", Topic: "t1", Pace: 5}))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	newID := func() string { n++; return fmt.Sprint("out", n) }
	side := bridge.New(bridge.Options{Engine: engine.Config{Policy: rules, NewID: newID, Random: func() [16]byte { return [16]byte{} }}})
	side.Bind(seat, b)
	var parts sync.WaitGroup
	parts.Go(func() { side.Run(t.Context()) })
	parts.Go(func() { seat.Run(t.Context(), side) })
	t.Cleanup(parts.Wait)
	synctest.Wait()
	side.Handle(engine.ServerUp{Hello: engine.Hello{PID: 7, Revision: "2025-06-18", Result: []byte(`{}`)}})
	side.Flush()
	list, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":`+<-b.lists+`,"result":{"tools":[{"name":"read_file","inputSchema":{"type":"object"}}]}}`), jsonrpc.Passed)
	if err != nil {
		t.Fatal(err)
	}
	side.Handle(engine.ServerSaid{Message: list})
	side.Flush()
	time.Sleep(time.Hour) // whatever it had to say is said
	return b
}

// proposed asks for more than the pace lets out at once, and then proposes to the bridge and to carol.
func (b *pacedBridge) proposed() {
	for i := range 3 {
		b.say <- fmt.Sprintf(pingD1, i+1)
	}
	b.say <- offerD1
}

func (b *pacedBridge) heard(frame string) {
	switch {
	case strings.Contains(frame, `"mcp/request:tools/call`):
		b.note("claimed")
		b.say <- frame
	case strings.Contains(frame, `"ping`):
		_, n, _ := strings.Cut(frame, `"ping`)
		b.note("pong" + n[:1])
	}
}

// Put, Flush and Restart are the server.
func (b *pacedBridge) Put(line []byte) error {
	m, err := jsonrpc.Parse(line, jsonrpc.Passed)
	if err != nil {
		return err
	}
	switch m.Text(jsonrpc.Method) {
	case "tools/list":
		b.lists <- string(m.Get(jsonrpc.ID))
	case "tools/call":
		b.note("called")
	}
	return nil
}

func (b *pacedBridge) Flush()         {}
func (b *pacedBridge) Restart(string) {}

func (b *pacedBridge) note(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, what)
}

// saw returns when that was, -1 if never.
func (b *pacedBridge) saw(what string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Index(b.log, what)
}
