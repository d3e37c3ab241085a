package main

import (
	"fmt"
	"slices"

	"github.com/mcpx-protocol/mcpx-bridge/examples/bench/order"
)

func mib(n int64) float64 { return float64(n) / (1 << 20) }

func ratio(rounds []round, of func(order.Result) float64, a, b string) float64 {
	return median(each(rounds, func(r round) float64 { return of(r[a]) / of(r[b]) }))
}

func each[T any](in []T, f func(T) float64) []float64 {
	out := make([]float64, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

func median(v []float64) float64 {
	slices.Sort(v)
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}

// p99 is what all but a hundredth are below, of sorted ones.
func p99(v []float64) float64 { return v[(len(v)-1)*99/100] }

// micros shows nanoseconds as micro- or milliseconds.
func micros(ns float64) string {
	if ns < 1e6 {
		return fmt.Sprintf("%.0f µs", ns/1e3)
	}
	return fmt.Sprintf("%.1f ms", ns/1e6)
}

// A round is what every contender achieved in one turn.
type round map[string]order.Result
