package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage/seat"
)

const proposalRules = "version: 1\ndefault: deny\nrules: [{allow: [clock, hold]}]\nproposals: {fulfil: policy}\n"

// measureProposals prints what becomes of proposals, and how fast: through the bare relay to
// a peer that answers at once; what nobody can serve, one by one and at a thousand in a
// second; and what the first is too busy for and the second serves.
func measureProposals(_ context.Context, s *stage.Stage, r *report) error {
	s, err := s.Apart("proposals")
	if err != nil {
		return err
	}
	relay, err := echoes(s, r.plan.proposals)
	if err != nil {
		return err
	}
	_, e, err := s.Ready("gateway", "--json", "--listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	for _, id := range []string{"one", "two"} {
		if err := proposalBridge(s, e.URL, id); err != nil {
			return err
		}
	}
	bob, err := sit(s, e.URL, "offers", "bob")
	if err != nil {
		return err
	}
	defer bob.Close()
	w := &waiting{at: bob, mark: `"kind":"mcp/reject"`}
	reject, err := w.oneByOne(r.plan.proposals)
	if err != nil {
		return err
	}
	rushed, err := w.rushed(r.plan.proposals, time.Millisecond)
	if err != nil {
		return err
	}
	flow, err := flow(bob, r.plan.flows)
	if err != nil {
		return err
	}
	line := func(what string, v []float64, note string) {
		fmt.Fprintf(r.out, "%-22s median %s, p99 %s (%s)\n", what, micros(median(v)), micros(p99(v)), note)
	}
	line("relay and back", relay, fmt.Sprintf("%d frames through the bare relay to a peer that answers at once", len(relay)))
	line("reject of a proposal", reject, fmt.Sprintf("%d that cannot be served; %.2f of the relay's median", len(reject), median(reject)/median(relay)))
	line("at 1000 proposals/s", rushed, "the same, rejected as they come")
	line("busy, second serves", flow, fmt.Sprintf("%d times, from the proposal to the result; the decision is synced in between", len(flow)))
	r.atMost("reject of a proposal, median", median(reject)/1e6, 1, " ms")
	r.atMost("busy reject, second serves, p99", p99(flow)/1e6, 100, " ms")
	return nil
}

// echoes sends frames through the bare relay to a peer that answers each at
// once: the same hops as from a proposer to a bridge and back, with nothing done.
func echoes(s *stage.Stage, n int) ([]float64, error) {
	_, url, err := listening(s, "relay")
	if err != nil {
		return nil, err
	}
	var seats [2]*seat.Seat
	for i, id := range []string{"bob", "one"} {
		if seats[i], err = seat.Take(websocket.DefaultDialer, url+"/ws?topic=bench&id="+id, ""); err != nil {
			return nil, err
		}
		defer seats[i].Close()
	}
	go func() {
		for {
			frame, err := seats[1].Read()
			if err != nil || seats[1].Write(frame) != nil {
				return
			}
		}
	}()
	return (&waiting{at: seats[0], mark: `"kind"`}).oneByOne(n)
}

// proposalBridge starts a bridge that serves what is proposed to it, one call at
// a time. Its server is this program, see tellTheTime.
func proposalBridge(s *stage.Stage, url, id string) error {
	token, err := s.Token("offers", id)
	if err != nil {
		return err
	}
	_, _, err = clockBridge(s, proposalRules, "--gateway", url, "--token-file", token, "--topic", "offers", "--id", id, "--max-calls", "1")
	return err
}

// proposal is a frame of bob's; members stand before its kind, more in its payload.
func proposal(id, members, tool, arguments, more string) []byte {
	return fmt.Appendf(nil, `{"protocol":"mcpx/v0.1","id":%q,"ts":"2026-01-01T00:00:00Z","from":"bob",%s"kind":"mcp/proposal:tools/call:%s","payload":{"method":"tools/call","params":{"name":%q,"arguments":%s}%s}}`,
		id, members, tool, tool, arguments, more)
}

// A waiting sends proposals that nobody can serve, and waits for what answers each.
type waiting struct {
	at   *seat.Seat
	mark string // what an answer holds beside the id of what it answers
	sent int    // so far; ids are numbered through
}

// answers reports which of the frames sent from first on a frame answers, -1 if
// none.
func (w *waiting) answers(frame []byte, first int) int {
	if !strings.Contains(string(frame), w.mark) {
		return -1
	}
	var m struct {
		ID   string `json:"id"`
		Link string `json:"correlation_id"`
	}
	n := 0
	if json.Unmarshal(frame, &m) != nil {
		return -1
	}
	for _, id := range []string{m.Link, m.ID} { // the relay's peer sends back what it got
		if _, err := fmt.Sscanf(id, "offer-%d", &n); err == nil && n >= first && n < w.sent {
			return n
		}
	}
	return -1
}

func (w *waiting) send(n int) error {
	return w.at.Write(proposal(fmt.Sprint("offer-", n), `"to":["one"],`, "nope", "{}", ""))
}

func (w *waiting) oneByOne(n int) (took []float64, err error) {
	for range n {
		first, began := w.sent, time.Now()
		w.sent++
		if err := w.send(first); err != nil {
			return nil, err
		}
		for at := -1; at < 0; {
			frame, err := w.at.ReadWithin(patience)
			if err != nil {
				return nil, err
			}
			at = w.answers(frame, first)
		}
		took = append(took, float64(time.Since(began)))
	}
	slices.Sort(took)
	return took, nil
}

// rushed sends one frame every so often, whatever has been answered.
func (w *waiting) rushed(n int, every time.Duration) (took []float64, err error) {
	first, began := w.sent, make([]time.Time, n)
	w.sent += n
	failed := make(chan error, 1)
	start := time.Now()
	for i := range began {
		began[i] = start.Add(time.Duration(i) * every) // a frame that leaves late counts as late
	}
	go func() {
		for i, at := range began {
			time.Sleep(time.Until(at))
			if err := w.send(first + i); err != nil {
				w.at.Close()
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	for len(took) < n {
		frame, err := w.at.ReadWithin(patience)
		if err != nil {
			return nil, err
		}
		if i := w.answers(frame, first); i >= 0 {
			took = append(took, float64(time.Since(began[i-first])))
		}
	}
	slices.Sort(took)
	return took, <-failed
}

// flow is that of seed 000: the first is busy and says so, the second serves it.
func flow(bob *seat.Seat, n int) (took []float64, err error) {
	if err := bob.Write(proposal("hold", `"to":["one"],`, "hold", "{}", "")); err != nil {
		return nil, err
	}
	if _, err := hear(bob, "mcp/request:tools/call:hold", "one"); err != nil {
		return nil, err
	}
	for i := range n {
		began := time.Now()
		if err := bob.Write(proposal(fmt.Sprint("flow-", i), "", "clock", fmt.Sprintf(`{"n":%d}`, i),
			`,"targeting":{"preferred":["one","two"],"quick_reject":true}`)); err != nil {
			return nil, err
		}
		for rejected, served := false, false; !rejected || !served; {
			frame, err := bob.ReadWithin(patience)
			if err != nil {
				return nil, err
			}
			var h heard
			if json.Unmarshal(frame, &h) != nil || !slices.Contains(h.To, "bob") {
				continue
			}
			rejected = rejected || h.Kind == "mcp/reject"
			if h.Kind == "mcp/response:tools/call:clock" {
				if len(h.Payload.Result.Content) != 1 {
					return nil, fmt.Errorf("the proposal was not served: %+v", h.Payload.Error)
				}
				served = true
			}
		}
		took = append(took, float64(time.Since(began)))
	}
	slices.Sort(took)
	return took, nil
}
