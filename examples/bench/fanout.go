package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/examples/bench/order"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// ears are how many hear what one says.
const ears = 100

// A fanout is one round of each way to say something to a crowd.
type fanout struct {
	ours, asleep, bare order.Heard // at a rate; asleep is ours with one who does not read
	oursMost, bareMost order.Heard // as much as arrives
}

// measureFanout has one speak to a hundred through our gateway, once more with
// somebody there who does not read, and through the bare relay, in turns.
func measureFanout(ctx context.Context, s *stage.Stage, p plan, r *report) error {
	s, err := s.Apart("fanout")
	if err != nil {
		return err
	}
	_, e, err := s.Ready("gateway", "--json", "--listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	tokens, err := crowdTokens(s)
	if err != nil {
		return err
	}
	_, url, err := listening(s, "relay")
	if err != nil {
		return err
	}
	gateway, err := startCrowd(s, "-token-file", tokens, "-url", e.URL+"/ws?topic=crowd")
	if err != nil {
		return err
	}
	relay, err := startCrowd(s, "-url", url+"/ws?topic=crowd&id={}")
	if err != nil {
		return err
	}
	var rounds []fanout
	for i := range p.crowd.rounds + 1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		one, err := fanoutRound(gateway, relay, p, i)
		if err != nil {
			return err
		}
		if i > 0 { // the first is for warming up
			rounds = append(rounds, one)
		}
	}
	cut, err := stage.Metric(e.URL, "slow_readers_cut_total")
	if err != nil {
		return err
	}
	r.fanout(rounds, cut)
	return nil
}

// fanoutRound gives everybody a turn; the first is another one each time.
func fanoutRound(gateway, relay *stage.Process, p plan, first int) (f fanout, err error) {
	at := order.Crowd{Size: 1 << 10, Rate: p.crowdRate, MS: p.crowd.ms, Fill: p.crowdFill}
	asleep, most := at, at
	asleep.Sleeper, most.Rate, most.Fill, most.MS = true, 0, 0, p.crowd.ms/3
	turns := []func() error{
		func() (err error) { f.ours, err = crowdTurn(gateway, at); return err },
		func() (err error) { f.asleep, err = crowdTurn(gateway, asleep); return err },
		func() (err error) { f.bare, err = crowdTurn(relay, at); return err },
		func() (err error) { f.oursMost, err = crowdTurn(gateway, most); return err },
		func() (err error) { f.bareMost, err = crowdTurn(relay, most); return err },
	}
	for i := range turns {
		if err := turns[(i+first)%len(turns)](); err != nil {
			return f, err
		}
	}
	return f, nil
}

// crowdTokens makes a token for each seat, and returns the name of its file, with
// {} where it says whose it is.
func crowdTokens(s *stage.Stage) (pattern string, err error) {
	var file string
	for i := range ears {
		if _, err := s.Token("crowd", fmt.Sprint("ear", i)); err != nil {
			return "", err
		}
	}
	for _, id := range []string{"mouth", "sleeper"} {
		if file, err = s.Token("crowd", id); err != nil {
			return "", err
		}
	}
	dir, name := filepath.Split(file)
	return dir + strings.Replace(name, "sleeper", "{}", 1), nil
}

func startCrowd(s *stage.Stage, where ...string) (*stage.Process, error) {
	p, err := s.Start(stage.Load, append([]string{"-crowd", fmt.Sprint(ears)}, where...)...)
	if err == nil {
		_, err = p.Line()
	}
	return p, err
}

func crowdTurn(p *stage.Process, o order.Crowd) (r order.Heard, err error) {
	err = tell(p, o, &r)
	return r, err
}

// fanout prints a table and keeps the goals.
func (r *report) fanout(rounds []fanout, cut int) {
	of := func(pick func(fanout) float64) float64 { return median(each(rounds, pick)) }
	fmt.Fprintf(r.out, "\nOne says 1 KiB %d times a second to %d in a topic (asleep: one more is there and reads nothing; %d of %d were cut off in the end)\n", r.plan.crowdRate, ears, cut, r.plan.crowd.rounds+1)
	fmt.Fprintf(r.out, "%-22s %10s %10s %10s %16s %16s\n", "", "ours", "asleep", "bare", "asleep : ours", "ours : bare")
	for _, m := range []struct {
		name string
		of   func(order.Heard) float64
		show func(float64) string
	}{
		{"median", func(c order.Heard) float64 { return c.P50 }, micros},
		{"p99", func(c order.Heard) float64 { return c.P99 }, micros},
		{"deliveries/s", func(c order.Heard) float64 { return c.PerSecond }, func(v float64) string { return fmt.Sprintf("%.0f", v) }},
	} {
		fmt.Fprintf(r.out, "  %-20s %10s %10s %10s %16.2f %16.2f\n", m.name,
			m.show(of(func(f fanout) float64 { return m.of(f.ours) })), m.show(of(func(f fanout) float64 { return m.of(f.asleep) })),
			m.show(of(func(f fanout) float64 { return m.of(f.bare) })),
			of(func(f fanout) float64 { return m.of(f.asleep) / m.of(f.ours) }), of(func(f fanout) float64 { return m.of(f.ours) / m.of(f.bare) }))
	}
	lost := 0
	for _, f := range rounds {
		lost += f.ours.Lost + f.asleep.Lost + f.oursMost.Lost
	}
	most := of(func(f fanout) float64 { return f.oursMost.PerSecond / f.bareMost.PerSecond })
	fmt.Fprintf(r.out, "as much as arrives     ours %.0f deliveries/s, bare %.0f, ratio %.2f; %d deliveries of ours were lost\n",
		of(func(f fanout) float64 { return f.oursMost.PerSecond }), of(func(f fanout) float64 { return f.bareMost.PerSecond }), most, lost)
	r.goals = append(r.goals,
		goal{what: "a dead reader, p99 of 100 others", got: of(func(f fanout) float64 { return f.asleep.P99 / f.ours.P99 }), want: 1.2},
		goal{what: "deliveries/s to 100, ours : bare", got: most, want: 1, least: true},
		goal{what: "deliveries lost to those who read", got: float64(lost), want: 0})
}
