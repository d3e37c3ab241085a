package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Many talk to one Sidecar at the same moment: callers who repeat themselves and
// take back, a person of the topic and two at this machine who decide on the
// same questions, a server that dies, a link that is lost, a disk that fails, a
// policy that changes. Nobody can replay which came first, so what left is
// looked at: of all who decide on a question one does, and what is said of a
// call is true.
func TestManyAtOnceAroundASidecar(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	ran := 0
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, seed)
			c.meet()
			ran += c.account()
		})
		if t.Failed() {
			t.Fatalf("in the crowd of seed %d", seed)
		}
	}
	if t.Logf("%d calls ran", ran); ran < int(seeds)*15 {
		t.Error("those are few")
	}
}

const crowdRules = "version: 1\ndefault: deny\nasks: {who: {of: [local, alice], within: 20s}}\nrules:\n - {name: reads, allow: [read_file]}\n - {name: writes, ask: [write_file], as: who}\n"

// A crowd is a Sidecar and all around it, and what left the Sidecar, in order.
type crowd struct {
	t    *testing.T
	seed uint64
	d    wire.Dialect
	side *Sidecar
	all  sync.WaitGroup // of those who end by themselves
	over chan struct{}  // closed for the others

	halts bool // somebody halts the bridge now and then, and lets it go on

	mu        sync.Mutex
	trace     []step // guarded by mu, as all that follows
	seated    bool
	up        bool
	broken    error
	lines     []string        // that the server has not read
	questions []string        // that alice has not read
	envs      []string        // of all calls
	back      map[string]bool // those that were taken back, or not heard: they may have no answer
}

// A step is something that left: a record, a line or a frame.
type step struct{ kind, text string }

func newCrowd(t *testing.T, seed uint64) *crowd {
	d, _ := wire.Lookup("mcpx/v0.1")
	c := &crowd{t: t, seed: seed, d: d, over: make(chan struct{}), up: true, back: map[string]bool{}}
	n := 0
	c.side = New(Options{Audit: c, Engine: engine.Config{Policy: rules(t, crowdRules), Topic: "t1", Server: "a server", Dir: "/srv", Command: "c1", Timeout: 30 * time.Second, MaxCalls: 16,
		NewID:  func() string { n++; return fmt.Sprintf("out-%d", n) },
		Random: func() (r [16]byte) { n++; copy(r[:], fmt.Sprintf("%016d", n)); return r }}})
	c.side.Bind(c, c)
	return c
}

// Send, Put, Append, Sync, Err, Flush and Restart are what a Sidecar touches.
func (c *crowd) Send(_ wire.Class, frame []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.seated {
		return ErrNoSeat
	}
	c.trace = append(c.trace, step{"frame", string(frame)})
	if strings.Contains(string(frame), `"elicitation/create"`) {
		c.questions = append(c.questions, string(frame))
	}
	return nil
}

func (c *crowd) Put(line []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.up {
		return errors.New("the server is down")
	}
	c.trace = append(c.trace, step{"line", string(line)})
	c.lines = append(c.lines, string(line))
	return nil
}

func (c *crowd) Append(records ...[]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return c.broken
	}
	for _, r := range records {
		c.trace = append(c.trace, step{"record", string(r)})
	}
	return nil
}

func (c *crowd) Sync(done func(error)) {
	go func() {
		time.Sleep(rand.N(5 * time.Millisecond))
		done(c.Err())
	}()
}

func (c *crowd) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

func (c *crowd) Flush()         { /* all is seen at once */ }
func (c *crowd) Restart(string) { c.t.Error("the server is to be started afresh") }

// meet lets everybody talk, and then what is broken be whole and all be said.
func (c *crowd) meet() {
	ctx, stop := context.WithCancel(c.t.Context())
	ran := make(chan error, 1)
	go func() { ran <- c.side.Run(ctx) }()
	c.sit()
	c.do(engine.ServerUp{Hello: engine.Hello{PID: 7, Revision: "2025-06-18", Result: []byte(`{}`)}})
	for i, who := range []string{"bob", "carol", "dave"} {
		c.all.Go(func() { c.call(who, c.dice(i)) })
	}
	if c.halts {
		c.all.Go(func() { c.halt(c.dice(20)) })
	}
	for i, part := range []func(*rand.Rand){c.server, c.alice, c.local, c.local, c.link, c.disk, c.reload} {
		r := c.dice(10 + i)
		go c.again(func() { part(r) })
	}
	c.all.Wait()
	time.Sleep(2 * time.Minute) // no question waits as long, and no call
	if left := c.side.Pending(0, 0); len(left) > 0 {
		c.t.Errorf("%d questions are left", len(left))
	}
	quiet, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c.side.Drain(quiet)
	close(c.over)
	stop()
	if err := <-ran; err != nil {
		c.t.Error(err)
	}
	time.Sleep(time.Minute) // what somebody has begun, ends
}

func (c *crowd) dice(n int) *rand.Rand { return rand.New(rand.NewPCG(c.seed, uint64(n))) }

// again does something until all is over.
func (c *crowd) again(f func()) {
	for {
		select {
		case <-c.over:
			return
		default:
			f()
		}
	}
}

func (c *crowd) do(ev engine.Event) {
	c.side.Handle(ev)
	c.side.Flush()
}

func (c *crowd) sit() {
	caps, _ := wire.ParseCaps([]byte(`["mcp/*"]`))
	w := wire.Welcome{You: wire.Participant{ID: "fs", Caps: caps}}
	for _, id := range []string{"bob", "carol", "dave", "alice"} {
		w.Peers = append(w.Peers, wire.Participant{ID: id})
	}
	c.set(&c.seated, true)
	c.side.SeatTaken(c.d, w)
}

func (c *crowd) set(what *bool, to bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*what = to
}

// hears reports whether the frame came through: there may be no link.
func (c *crowd) hears(frame string) bool {
	c.mu.Lock()
	seated := c.seated
	c.mu.Unlock()
	e, err := c.d.Decode([]byte(frame))
	if err != nil {
		c.t.Errorf("%v: %s", err, frame)
	}
	if seated {
		c.side.Received(&e)
		c.side.TopicIdle()
	}
	return seated
}

// call makes twenty calls, some of them twice at the same moment, and takes
// some of them back.
func (c *crowd) call(who string, r *rand.Rand) {
	for n := range 20 {
		time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
		env := fmt.Sprintf("%s-%d", who, n)
		tool := []string{"read_file", "write_file"}[r.IntN(2)]
		frame := fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":%q,"ts":"x","from":%q,"to":["fs"],"kind":"mcp/request:tools/call:%s","payload":{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"path":%q}}}}`,
			env, who, tool, n, tool, env)
		takesBack := r.IntN(5) == 0
		c.mu.Lock()
		c.envs = append(c.envs, env)
		c.mu.Unlock()
		if r.IntN(4) == 0 {
			c.all.Go(func() { c.hears(frame) })
		}
		heard := c.hears(frame)
		c.mu.Lock()
		c.back[env] = takesBack || !heard
		c.mu.Unlock()
		if takesBack {
			time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
			c.hears(fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":"back-%s","ts":"x","from":%q,"to":["fs"],"kind":"mcp/request:notifications/cancelled","payload":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}}`, env, who, n))
		}
	}
}

// take empties a list of what somebody has to read.
func (c *crowd) take(list *[]string) []string {
	time.Sleep(20 * time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	all := *list
	*list = nil
	return all
}

// server answers, and now and then dies of a call.
func (c *crowd) server(r *rand.Rand) {
	for _, line := range c.take(&c.lines) {
		m, err := jsonrpc.Parse([]byte(line), jsonrpc.Passed)
		if err != nil {
			c.t.Errorf("%v: %s", err, line)
		}
		result := `{"content":[]}`
		switch {
		case m.Class() != jsonrpc.Request:
			continue
		case m.Text(jsonrpc.Method) == "tools/list":
			result = strings.ReplaceAll(tools, "\n", "")
		case r.IntN(20) == 0:
			c.set(&c.up, false)
			c.do(engine.ServerDown{Reason: "child_exit", Cause: "exited", Retry: 250 * time.Millisecond})
			time.Sleep(250 * time.Millisecond)
			c.take(&c.lines)
			c.set(&c.up, true)
			c.do(engine.ServerUp{Hello: engine.Hello{PID: 8, Revision: "2025-06-18", Result: []byte(`{}`)}})
			return
		}
		time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
		answer, _ := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":`+string(m.Get(jsonrpc.ID))+`,"result":`+result+`}`), jsonrpc.Passed)
		c.do(engine.ServerSaid{Message: answer})
	}
}

func verdict(r *rand.Rand) string {
	return []string{`{"action":"accept","content":{"approve":true}}`, `{"action":"decline"}`}[r.IntN(3)/2]
}

// alice answers over the topic, at times twice.
func (c *crowd) alice(r *rand.Rand) {
	for _, frame := range c.take(&c.questions) {
		var q struct {
			ID      string
			Payload struct{ ID json.RawMessage }
		}
		if err := json.Unmarshal([]byte(frame), &q); err != nil {
			c.t.Error(err)
		}
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		for n := range 1 + r.IntN(2) {
			c.hears(fmt.Sprintf(`{"protocol":"mcpx/v0.1","id":"a%d-%s","ts":"x","from":"alice","to":["fs"],"kind":"mcp/response:elicitation/create","correlation_id":%q,"payload":{"jsonrpc":"2.0","id":%s,"result":%s}}`,
				n, q.ID, q.ID, q.Payload.ID, verdict(r)))
		}
	}
}

// local decides on whatever is open.
func (c *crowd) local(r *rand.Rand) {
	time.Sleep(time.Duration(1+r.IntN(400)) * time.Millisecond)
	for _, q := range c.side.Pending(0, 3) {
		if v, ok := c.side.View(q.ID, false); ok {
			c.side.Decide(approval.Answer{Who: approval.Who{Door: approval.Local}, Question: q.ID, Digest: v.Digest, Result: []byte(verdict(r))})
		}
	}
}

func (c *crowd) link(r *rand.Rand) {
	time.Sleep(time.Duration(500+r.IntN(3000)) * time.Millisecond)
	c.set(&c.seated, false)
	c.side.SeatLost(errors.New("gone"))
	c.side.Flush()
	time.Sleep(time.Duration(r.IntN(200)) * time.Millisecond)
	c.sit()
}

func (c *crowd) disk(r *rand.Rand) {
	time.Sleep(time.Duration(500+r.IntN(3000)) * time.Millisecond)
	c.fail(errors.New("disk full"))
	time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
	c.fail(nil)
}

func (c *crowd) fail(err error) {
	c.mu.Lock()
	c.broken = err
	c.mu.Unlock()
	if err != nil {
		c.do(engine.Unrecorded{Err: err})
	} else {
		c.do(engine.AuditUp{})
	}
}

// halt stops everything now and then.
func (c *crowd) halt(r *rand.Rand) {
	for range 5 {
		time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
		c.side.Halt(engine.Halt{By: "local", Why: "enough", Cancel: r.IntN(2) == 0})
		c.mark("halted")
		time.Sleep(time.Duration(r.IntN(500)) * time.Millisecond)
		c.mark("resumes")
		for c.side.Resume(c.t.Context(), engine.Resume{By: "local"}) != nil {
			time.Sleep(10 * time.Millisecond) // the disk failed
		}
	}
}

func (c *crowd) mark(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trace = append(c.trace, step{kind: what})
}

// Whoever has halted a bridge can be sure, when that is said, that no call reaches the server
// until it is let go on.
func TestNoCallReachesTheServerWhileHalted(t *testing.T) {
	ran, halts := 0, 0
	for seed := range uint64(15) {
		synctest.Test(t, func(t *testing.T) {
			c := newCrowd(t, seed)
			c.halts = true
			c.meet()
			ran += c.account()
			halted := false
			for _, s := range c.trace {
				switch {
				case s.kind == "halted":
					halted = true
					halts++
				case s.kind == "resumes":
					halted = false
				case halted && s.kind == "line" && strings.Contains(s.text, `"tools/call"`):
					t.Errorf("in the crowd of seed %d the server gets %s", seed, s.text)
				}
			}
		})
	}
	if ran < 50 || halts != 75 {
		t.Errorf("%d calls ran, and there were %d halts", ran, halts)
	}
}

func (c *crowd) reload(r *rand.Rand) {
	time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
	of := []string{"[local, alice]", "[alice]", "[local]"}[r.IntN(3)]
	c.do(engine.Reloaded{Policy: rules(c.t, strings.Replace(crowdRules, "[local, alice]", of, 1))})
}

// account holds what left about each call together, and returns how many ran.
func (c *crowd) account() (ran int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, env := range c.envs {
		var verdicts []string
		lines, answers, refused := 0, 0, false
		for _, s := range c.trace {
			switch {
			case s.kind == "record" && strings.Contains(s.text, `"event":"decided"`) && strings.Contains(s.text, `"env":"`+env+`"`):
				verdicts = append(verdicts, verdictOf(s.text))
			case s.kind == "line" && strings.Contains(s.text, `"path":"`+env+`"`):
				if lines++; !slices.Equal(verdicts, []string{"allow"}) {
					c.t.Errorf("%s runs after %q", env, verdicts)
				}
			case s.kind == "frame" && strings.Contains(s.text, `"correlation_id":"`+env+`"`):
				answers++
				refused = refused || strings.Contains(s.text, `"executed":"no"`)
				if strings.Contains(s.text, `"result"`) && lines == 0 {
					c.t.Errorf("%s has a result and never ran", env)
				}
			}
		}
		if len(verdicts) > 1 || lines > 1 || answers > 1 || refused && lines > 0 || answers == 0 && !c.back[env] {
			c.t.Errorf("%s (taken back: %v) was decided %q, ran %d times, has %d answers (executed no: %v)", env, c.back[env], verdicts, lines, answers, refused)
		}
		ran += lines
	}
	return ran
}

func verdictOf(record string) string {
	var r struct{ Verdict string }
	_ = json.Unmarshal([]byte(record), &r) // it is one of ours
	return r.Verdict
}
