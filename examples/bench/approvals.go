package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage/seat"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

const clockRules = "version: 1\ndefault: deny\nasks: {alice: {of: [alice], within: 60s}}\nrules: [{ask: [clock], as: alice}]\n"

// measureApprovals prints how long it takes from alice's yes on her socket to the
// server's reading the call, of calls by so many callers, eight each: a caller may not put
// more than ten questions a minute.
func measureApprovals(_ context.Context, s *stage.Stage, r *report) error {
	s, err := s.Apart("approvals")
	if err != nil {
		return err
	}
	_, e, err := clockBridge(s, clockRules, "--listen", "127.0.0.1:0", "--topic", "asked", "--id", "fs")
	if err != nil {
		return err
	}
	alice, err := sit(s, e.Gateway, "asked", "alice")
	if err != nil {
		return err
	}
	defer alice.Close()
	var took []float64
	for i := range r.plan.callers {
		each, err := eightApprovals(s, e.Gateway, fmt.Sprintf("caller-%d", i), alice)
		if err != nil {
			return err
		}
		took = append(took, each...)
	}
	slices.Sort(took)
	fmt.Fprintf(r.out, "approve to server      median %s, p99 %s (%d calls; the decision is synced to disk between the two)\n", micros(median(took)), micros(p99(took)), len(took))
	r.holdQuestions(10_000)
	return nil
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

// eightApprovals are those of one caller, who is there no longer than that.
func eightApprovals(s *stage.Stage, url, id string, alice *seat.Seat) (took []float64, err error) {
	caller, err := sit(s, url, "asked", id)
	if err != nil {
		return nil, err
	}
	defer caller.Close()
	for n := range 8 {
		ns, err := oneApproval(caller, alice, id, n)
		if err != nil {
			return nil, err
		}
		took = append(took, ns)
	}
	return took, nil
}

func oneApproval(caller, alice *seat.Seat, id string, n int) (ns float64, err error) {
	env := fmt.Sprintf("%s-%d", id, n)
	if err := caller.Write(seat.Frame(env, id, "fs", "mcp/request:tools/call:clock", "", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"clock","arguments":{"n":%d}}}`, n))); err != nil {
		return 0, err
	}
	q, err := hear(alice, "mcp/request:elicitation/create", "alice")
	if err != nil {
		return 0, err
	}
	began := time.Now().UnixNano()
	if err := alice.Write(seat.Answer("yes-"+env, "alice", "fs", "elicitation/create", q.ID, string(q.Payload.ID), `{"action":"accept","content":{"approve":true}}`)); err != nil {
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

// holdQuestions opens so many questions at a desk, lets the time of all run out, and prints
// what that costs.
func (r *report) holdQuestions(n int) {
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
	held := mib(heap() - before)
	began := time.Now()
	d.Tick(now.Add(time.Hour))
	expire := time.Since(began)
	runtime.KeepAlive(d)
	fmt.Fprintf(r.out, "open questions         %d take %.1f MiB, and expire in %s\n", n, held, expire.Round(time.Millisecond))
	r.atMost(fmt.Sprintf("%d open questions, memory", n), held, 64, " MiB")
	r.atMost(fmt.Sprintf("%d open questions, time to expire all", n), expire.Seconds(), 1, " s")
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
