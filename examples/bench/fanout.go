package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/examples/bench/order"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// ears are how many hear what one says.
const ears = 100

// Ways to say something to a crowd, beside ours and bare at a rate.
const (
	asleep   = "asleep" // ours with one who does not read
	oursMost = "ours, as much as arrives"
	bareMost = "bare, as much as arrives"
)

// measureFanout has one speak to a hundred through our gateway, once more with
// somebody there who does not read, and through the bare relay, in turns.
func measureFanout(ctx context.Context, s *stage.Stage, r *report) error {
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
	rounds, err := sayInTurns(ctx, gateway, relay, r.plan)
	if err != nil {
		return err
	}
	cut, err := stage.Metric(e.URL, "slow_readers_cut_total")
	if err != nil {
		return err
	}
	r.fanout(rounds, cut)
	return nil
}

// sayInTurns gives everybody a turn in each round; the first is another one each time.
func sayInTurns(ctx context.Context, gateway, relay *contender, p plan) (rounds []round, err error) {
	at := order.Order{Size: 1 << 10, Rate: p.crowdRate, MS: p.crowd.ms, Fill: p.crowdFill}
	withSleeper, most := at, order.Order{Size: at.Size, MS: at.MS / 3}
	withSleeper.Sleeper = true
	turns := []struct {
		name  string
		by    *contender
		order order.Order
	}{{ours, gateway, at}, {asleep, gateway, withSleeper}, {bare, relay, at}, {oursMost, gateway, most}, {bareMost, relay, most}}
	for i := range p.crowd.rounds + 1 {
		one := round{}
		for n := range turns {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			t := turns[(n+i)%len(turns)]
			if one[t.name], err = t.by.turn(t.order); err != nil {
				return nil, err
			}
		}
		rounds = append(rounds, one)
	}
	return rounds[1:], nil // the first was for warming up
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

func startCrowd(s *stage.Stage, where ...string) (*contender, error) {
	return withLoad(s, func(*stage.Stage) (*contender, []string, error) {
		return &contender{name: "crowd"}, append([]string{"-crowd", fmt.Sprint(ears)}, where...), nil
	})
}

// fanout prints a table and keeps the goals.
func (r *report) fanout(rounds []round, cut int) {
	fmt.Fprintf(r.out, "\nOne says 1 KiB %d times a second to %d in a topic (asleep: one more is there and reads nothing; %d of %d were cut off in the end)\n", r.plan.crowdRate, ears, cut, r.plan.crowd.rounds+1)
	heard := slices.Clone(measures)
	heard[2].name = "deliveries/s"
	r.columns("", []string{ours, asleep, bare}, [][2]string{{asleep, ours}, {ours, bare}}, heard, rounds, func(measure string, ratios []float64) {
		if measure == "p99" {
			r.atMost("a dead reader, p99 of 100 others", ratios[0], 1.2, "")
		}
	})
	lost := 0
	for _, one := range rounds {
		lost += one[ours].Lost + one[asleep].Lost + one[oursMost].Lost
	}
	most := ratio(rounds, heard[2].of, oursMost, bareMost)
	fmt.Fprintf(r.out, "as much as arrives     ours %s deliveries/s, bare %s, ratio %.2f; %d deliveries of ours were lost\n",
		heard[2].fig(rounds, oursMost), heard[2].fig(rounds, bareMost), most, lost)
	r.atLeast("deliveries/s to 100, ours : bare", most, 1)
	r.atMost("deliveries lost to those who read", float64(lost), 0, "")
}
