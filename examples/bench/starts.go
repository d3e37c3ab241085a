package main

import (
	"context"
	"errors"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// timeStarts times how long a bridge takes from its start until it serves:
// ours with a gateway of its own, and the bare one with a relay already there.
func timeStarts(ctx context.Context, s *stage.Stage, r *report) error {
	_, url, err := listening(s, "relay")
	if err != nil {
		return err
	}
	apart, err := s.Apart("starts")
	if err != nil {
		return err
	}
	for range r.plan.starts {
		if err := ctx.Err(); err != nil {
			return err
		}
		for name, start := range map[string]func() (*stage.Process, error){
			hosting: func() (*stage.Process, error) {
				return apart.Start(stage.Bridge, "run", "--json", "--listen", "127.0.0.1:0", "--allow", "echo", "--", s.Bin(stage.Echo))
			},
			bare: func() (*stage.Process, error) {
				return apart.Start(stage.Bare, "bridge", url+"/ws?topic=starts&id=echo", s.Bin(stage.Echo))
			},
		} {
			d, err := timeStart(start)
			if err != nil {
				return err
			}
			r.starts[name] = append(r.starts[name], float64(d))
		}
	}
	return nil
}

func timeStart(start func() (*stage.Process, error)) (time.Duration, error) {
	began := time.Now()
	p, err := start()
	if err != nil {
		return 0, err
	}
	_, err = p.Line()
	took := time.Since(began)
	return took, errors.Join(err, p.Stop())
}
