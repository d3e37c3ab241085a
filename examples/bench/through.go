package main

import (
	"context"
	"fmt"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// Contenders on the way from a client to its own server.
const (
	through = "through" // run --stdio
	piped   = "piped"   // a process that copies both ways, unread
	alone   = "alone"   // the server itself
)

var throughCells = cells([]int{1 << 10, 96 << 10, 1 << 20}, 1, 16)

// measureThrough prints what run --stdio costs a client on its way to its server.
func measureThrough(ctx context.Context, s *stage.Stage, r *report) error {
	s, err := s.Apart("through")
	if err != nil {
		return err
	}
	echo := s.Bin(stage.Echo)
	var cs []*contender
	for _, way := range []struct {
		name string
		argv []string
	}{
		{through, []string{s.Bin(stage.Bridge), "run", "--stdio", "--log-level", "error", "--listen", "127.0.0.1:0", "--allow", "echo", "--", echo}},
		{piped, []string{s.Bin(stage.Bare), "pipe", echo}},
		{alone, []string{echo}},
	} {
		c, err := withLoad(s, func(*stage.Stage) (*contender, []string, error) {
			return &contender{name: way.name}, append([]string{"--"}, way.argv...), nil
		})
		if err != nil {
			return err
		}
		cs = append(cs, c)
	}
	r.throughHead()
	return r.race(ctx, cs, throughCells, func(at cell, rounds []round) {
		r.columns(at.String(), []string{through, piped, alone}, [][2]string{{through, piped}, {through, alone}}, measures, rounds, func(string, []float64) {})
	})
}

func (r *report) throughHead() {
	fmt.Fprintf(r.out, `
A client and its own server:
through  run --stdio: byte for byte, and a seat in the topic beside it    1 hop
piped    a process that copies both ways, unread                          1 hop
alone    the server itself, over pipes                                    no hop
`)
}
