package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// mostHeld is how long one input may hold the Engine (DESIGN 13), in ms.
const mostHeld = 50

// measureHeld has the Engine judge each strain, and puts the worst of each subject
// before real bridges, while somebody else makes small calls.
func measureHeld(ctx context.Context, s *stage.Stage, r *report) error {
	var worst []held
	for _, each := range r.plan.strains {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := each.hold(1)
		if err != nil {
			return err
		}
		if h.step > mostHeld*1e6 {
			if h, err = each.hold(r.plan.holds); err != nil {
				return err
			}
		}
		r.over(h)
		switch last := len(worst) - 1; {
		case last < 0 || worst[last].of != h.of:
			worst = append(worst, h)
		case worst[last].step < h.step:
			worst[last] = h
		}
	}
	if err := measureWaits(s, worst, r.plan.waits); err != nil {
		return err
	}
	r.held(worst)
	return nil
}

// judge is an Engine with the strain's policy, a seat, and a server that lists the tool.
func (s strain) judge(now time.Time) (*engine.Engine, error) {
	p, err := policy.Load("policy.yaml", []byte(s.policyText()))
	if err != nil {
		return nil, err
	}
	n := 0
	e := engine.New(engine.Config{Policy: p, NewID: func() string { n++; return "out-" + strconv.Itoa(n) },
		Random: func() (r [16]byte) { n++; copy(r[:], strconv.Itoa(n)); return r }})
	d, _ := wire.Lookup("mcpx/v0.1")
	caps, err := wire.ParseCaps([]byte(`["mcp/*"]`))
	if err != nil {
		return nil, err
	}
	e.Step(now, engine.Seated{Dialect: d, Welcome: wire.Welcome{You: wire.Participant{ID: "fs", Caps: caps}, Peers: []wire.Participant{{ID: "alice"}, {ID: "mallory"}}}})
	e.Step(now, engine.ServerUp{Hello: engine.Hello{Result: []byte(`{"capabilities":{"tools":{}}}`)}})
	listing, err := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[`+s.tool()+`]}}`), jsonrpc.Passed)
	if err != nil {
		return nil, err
	}
	e.Step(now, engine.ServerSaid{Message: listing})
	return e, nil
}

// hold has an Engine judge the input so many times, as the program would: on one
// thread, with its garbage collected as seldom.
func (s strain) hold(times int) (h held, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(700))
	now := time.Now()
	e, err := s.judge(now)
	if err != nil {
		return h, fmt.Errorf("%s, %s: %w", s.of, s.name, err)
	}
	d, _ := wire.Lookup("mcpx/v0.1")
	payload := s.payload()
	h = held{strain: s, bytes: len(payload)}
	var reads, steps []float64
	for i := range times {
		now = now.Add(2 * time.Minute) // what was asked before is over
		e.Step(now, engine.Tick{})
		frame := s.frame("mallory", "large-"+strconv.Itoa(i), payload)
		runtime.GC()
		began := time.Now()
		env, err := d.Decode(frame)
		reads = append(reads, float64(time.Since(began)))
		var event engine.Event = engine.Arrived{Envelope: &env}
		if err != nil {
			refused, _ := errors.AsType[*wire.Refused](err)
			event = engine.Garbled{Refused: refused}
		}
		began = time.Now()
		e.Step(now, event)
		steps = append(steps, float64(time.Since(began)))
	}
	if times > 0 {
		h.worst = slices.Max(steps)
		h.read, h.step = median(reads), median(steps)
	}
	return h, nil
}

// over keeps what held the Engine for longer than anything may.
func (r *report) over(h held) {
	if h.step > mostHeld*1e6 {
		r.overheld = append(r.overheld, h)
	}
}

// held prints a line for each subject, then what was too long, and keeps the goal.
func (r *report) held(worst []held) {
	fmt.Fprint(r.out, `
The worst input that is known for each part of the judgement, under a policy that has rules for it: read, before anybody else is kept
from anything; judged by the Engine, which does nothing else meanwhile; and the longest that a bystander's small call waits:
alone, beside an input as large under a policy that judges nothing (unjudged), and beside this one (judged)

`)
	fmt.Fprintf(r.out, "%-46s %9s %9s %9s %9s   %9s %9s %9s\n", "", "size", "read", "judged", "longest", "alone", "unjudged", "judged")
	most := worst[0]
	for _, h := range worst {
		fmt.Fprintf(r.out, "  %-11s %-32s %9s %9s %9s %9s   %9s %9s %9s\n", h.of, h.name, kilobytes(h.bytes), micros(h.read), micros(h.step), micros(h.worst),
			micros(h.waits.alone), micros(h.waits.unjudged), micros(h.waits.judged))
		if h.step > most.step {
			most = h
		}
	}
	for _, h := range r.overheld {
		fmt.Fprintf(r.out, "over %d ms             %-11s %-32s %29s\n", mostHeld, h.of, h.name, micros(h.step))
	}
	r.atMost("the worst input holds the Engine ("+most.of+")", most.step/1e6, mostHeld, " ms")
}

func kilobytes(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%.1f MiB", mib(int64(n)))
}
