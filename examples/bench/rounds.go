package main

import (
	"context"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/examples/bench/order"
)

// A round is what every contender achieved in one turn.
type round map[string]order.Result

// takeTurns lets every contender run a cell in turn, several times over.
func takeTurns(ctx context.Context, cs []*contender, at cell, p plan) ([]round, error) {
	var rounds []round
	turns := p.turns(at)
	for i := range turns.rounds {
		first := i % len(cs) // nobody is always first
		r, err := takeTurn(ctx, slices.Concat(cs[first:], cs[:first]), at, turns.ms)
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
