package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage/seat"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// An approvals is what was measured of calls that somebody must agree to.
type approvals struct {
	took   []float64 // from alice's yes on her socket to the server's reading the call, in ns
	held   int64     // bytes of the heap for so many open questions
	expire time.Duration
	n      int
}

// What tells this program that it is the server, and how it lists one more tool, which
// it never answers.
const (
	clockServer = "MCPX_BENCH_CLOCK"
	largeTool   = "MCPX_BENCH_LARGE"
)

// The server of these measurements is this program itself: its answer to a call
// is the time at which it read it.
func init() {
	if os.Getenv(clockServer) != "" {
		tellTheTime()
		os.Exit(0)
	}
}

func tellTheTime() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		now := time.Now().UnixNano()
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"clock","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"clock","inputSchema":{"type":"object"}},` + cmp.Or(os.Getenv(largeTool), holdTool) + `]}`
		case "tools/call":
			if bytes.Contains(line, []byte(`"name":"hold"`)) {
				continue // never answered
			}
			result = fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, now)
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

const holdTool = `{"name":"hold","inputSchema":{"type":"object"}}`

const clockRules = "version: 1\ndefault: deny\nasks: {alice: {of: [alice], within: 60s}}\nrules: [{ask: [clock], as: alice}]\n"

// measureApprovals makes calls by so many callers, eight each: a caller may not
// put more than ten questions a minute.
func measureApprovals(s *stage.Stage, callers, pending int) (a approvals, err error) {
	if s, err = s.Apart("approvals"); err != nil {
		return a, err
	}
	rules := filepath.Join(s.Dir, "rules.yaml")
	if err := os.WriteFile(rules, []byte(clockRules), 0o600); err != nil {
		return a, err
	}
	self, err := os.Executable()
	if err != nil {
		return a, err
	}
	_, e, err := s.Ready("run", "--json", "--listen", "127.0.0.1:0", "--topic", "asked", "--id", "fs", "--policy", rules, "--env", clockServer+"=1", "--", self)
	if err != nil {
		return a, err
	}
	alice, err := sit(s, e.Gateway, "asked", "alice")
	if err != nil {
		return a, err
	}
	defer alice.Close()
	for i := range callers {
		caller, err := sit(s, e.Gateway, "asked", fmt.Sprintf("caller-%d", i))
		if err != nil {
			return a, err
		}
		for j := range 8 {
			took, err := oneApproval(caller, alice, fmt.Sprintf("caller-%d", i), j)
			if err != nil {
				caller.Close()
				return a, err
			}
			a.took = append(a.took, took)
		}
		caller.Close()
	}
	slices.Sort(a.took)
	a.hold(pending)
	return a, nil
}

// sit takes a seat as a stock participant does.
func sit(s *stage.Stage, url, topic, id string) (*seat.Seat, error) {
	token, err := s.Token(topic, id)
	if err != nil {
		return nil, err
	}
	return seat.Take(websocket.DefaultDialer, url+"/ws?topic="+topic, token)
}

// A heard is as much of a frame as is needed here.
type heard struct {
	ID, Kind string
	To       []string
	Payload  struct {
		ID     json.RawMessage
		Result struct{ Content []struct{ Text string } }
		Error  *struct{ Message string }
	}
}

// patience is how long the next frame may take.
const patience = 10 * time.Second

// wholeFrame is up to how many bytes a frame is read by who waits: what mallory says goes to
// everybody, and to read that would take longer than anything that is measured here.
const wholeFrame = 1 << 20

// hear waits for the frame of a kind to somebody.
func hear(at *seat.Seat, kind, to string) (h heard, err error) {
	for {
		frame, err := at.ReadWithin(patience)
		if err != nil {
			return h, err
		}
		h = heard{}
		if len(frame) <= wholeFrame && json.Unmarshal(frame, &h) == nil && h.Kind == kind && (to == "" || slices.Contains(h.To, to)) {
			return h, nil
		}
	}
}

func say(at *seat.Seat, id, from, kind, link, payload string) error {
	return at.Write(fmt.Appendf(nil,
		`{"protocol":"mcpx/v0.1","id":%q,"ts":"2026-01-01T00:00:00Z","from":%q,"to":["fs"],"kind":%q%s,"payload":%s}`, id, from, kind, link, payload))
}

func oneApproval(caller, alice *seat.Seat, id string, n int) (ns float64, err error) {
	env := fmt.Sprintf("%s-%d", id, n)
	if err := say(caller, env, id, "mcp/request:tools/call:clock", "", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"clock","arguments":{"n":%d}}}`, n)); err != nil {
		return 0, err
	}
	q, err := hear(alice, "mcp/request:elicitation/create", "alice")
	if err != nil {
		return 0, err
	}
	began := time.Now().UnixNano()
	if err := say(alice, "yes-"+env, "alice", "mcp/response:elicitation/create", fmt.Sprintf(`,"correlation_id":%q`, q.ID),
		fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"approve":true}}}`, q.Payload.ID)); err != nil {
		return 0, err
	}
	answer, err := hear(caller, "mcp/response:tools/call:clock", id)
	if err != nil {
		return 0, err
	}
	if len(answer.Payload.Result.Content) != 1 {
		return 0, fmt.Errorf("the call was not served: %+v", answer.Payload.Error)
	}
	var read int64
	if _, err := fmt.Sscan(answer.Payload.Result.Content[0].Text, &read); err != nil {
		return 0, err
	}
	return float64(read - began), nil
}

// hold opens so many questions at a desk and lets the time of all run out.
func (a *approvals) hold(n int) {
	a.n = n
	d := approval.NewDesk(approval.Options{PerApprover: n, MaxPending: n,
		Random: func() (r [16]byte) { rand.Read(r[:]); return r }})
	d.SetBelieved(true)
	d.SetHere(approval.Participant("alice"), true)
	now := time.Now()
	before := heap()
	for i := range n {
		d.Open(now, approval.Question{Caller: fmt.Sprint("agent-", i), Via: "request", Method: "tools/call", Tool: "write_file",
			Args:     fmt.Appendf(nil, `{"path":"/srv/docs/%d","content":"some text of usual length, as an agent writes it"}`, i),
			Envelope: fmt.Sprint("envelope-of-some-usual-length-", i), RPC: []byte("7"), Bridge: "fs", Topic: "t1", Dialect: "mcpx/v0.1",
			Terms: policy.Terms{Of: []string{"alice"}, Need: 1, Within: time.Minute, Mode: "parallel"}})
	}
	a.held = heap() - before
	began := time.Now()
	d.Tick(now.Add(time.Hour))
	a.expire = time.Since(began)
	runtime.KeepAlive(d)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// approvals prints two lines and keeps the goals.
func (r *report) approvals(a approvals) {
	p99 := a.took[(len(a.took)-1)*99/100]
	fmt.Fprintf(r.out, "approve to server      median %s, p99 %s (%d calls; the decision is synced to disk between the two)\n", micros(median(a.took)), micros(p99), len(a.took))
	fmt.Fprintf(r.out, "open questions         %d take %.1f MiB, and expire in %s\n", a.n, mib(a.held), a.expire.Round(time.Millisecond))
	r.goals = append(r.goals,
		goal{what: fmt.Sprintf("%d open questions, memory", a.n), got: mib(a.held), want: 64, unit: " MiB"},
		goal{what: fmt.Sprintf("%d open questions, time to expire all", a.n), got: a.expire.Seconds(), want: 1, unit: " s"})
}
