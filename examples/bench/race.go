package main

import (
	"context"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/examples/bench/order"
)

// race lets contenders run cells in turn, and shows what came of each. Those that have
// not run yet are warmed up first.
func (r *report) race(ctx context.Context, cs []*contender, cells []cell, show func(cell, []round)) error {
	for _, c := range cs {
		if err := c.warmUp(r.plan.warmup); err != nil {
			return err
		}
	}
	for _, at := range cells {
		rounds, err := takeTurns(ctx, at, r.plan.turns(at), func(i int) []*contender {
			return slices.Concat(cs[i%len(cs):], cs[:i%len(cs)]) // nobody is always first
		})
		if err != nil {
			return err
		}
		show(at, rounds)
	}
	return nil
}

// takeTurns lets every contender run a cell in turn, several times over, in an order that
// each round has for itself.
func takeTurns(ctx context.Context, at cell, turns turns, order func(round int) []*contender) (rounds []round, err error) {
	for i := range turns.rounds {
		r, err := takeTurn(ctx, order(i), at, turns.ms)
		if err != nil {
			return nil, err
		}
		rounds = append(rounds, r)
	}
	return rounds, nil
}

// takeTurn lets every contender run a cell, in this order.
func takeTurn(ctx context.Context, cs []*contender, at cell, ms int) (round, error) {
	r := round{}
	for _, c := range cs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		got, err := c.turn(order.Order{Size: at.size, InFlight: at.inFlight, Calls: 200_000, MS: ms})
		if err != nil {
			return nil, err
		}
		r[c.name] = got
	}
	return r, nil
}
