package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/bench/order"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// A contender is one way from a caller to the server, with its load.
type contender struct {
	name  string
	parts []*stage.Process // between caller and server
	load  *stage.Process
	warm  bool

	idle, used memory // of the parts, with a caller connected: a second after the start, and after the warm-up
}

// contend starts all contenders. They stay up together; only one at a time
// has anything to do.
func contend(s *stage.Stage) ([]*contender, error) {
	var cs []*contender
	for _, start := range []func(*stage.Stage) (*contender, []string, error){startOurs, startBare, startHosting, startWrapper, startDirect} {
		c, err := withLoad(s, start)
		if err != nil {
			return nil, err
		}
		cs = append(cs, c)
	}
	time.Sleep(time.Second) // what a start leaves behind is cleared away by then
	for _, c := range cs {
		c.idle = memoryOf(c.parts...)
	}
	return cs, nil
}

// withLoad starts a contender and its load.
func withLoad(s *stage.Stage, start func(*stage.Stage) (*contender, []string, error)) (*contender, error) {
	c, where, err := start(s)
	if err != nil {
		return nil, err
	}
	if c.load, err = s.Start(stage.Load, where...); err == nil {
		_, err = c.load.Line()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return c, nil
}

// turn measures once.
func (c *contender) turn(o order.Order) (r order.Result, err error) {
	before := busy(c.parts)
	if err = tell(c.load, o, &r); err != nil {
		return r, fmt.Errorf("%s: %w", c.name, err)
	}
	if len(c.parts) > 0 {
		r.Busy = (busy(c.parts) - before) / float64(r.Calls)
	}
	return r, nil
}

// tell gives a load an order and reads the result.
func tell(load *stage.Process, what, became any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	if _, err := load.Write(append(text, '\n')); err != nil {
		return err
	}
	line, err := load.Line()
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(line), became)
}

// warmUp has a contender that has not run yet make some calls.
func (c *contender) warmUp(calls int) error {
	if c.warm {
		return nil
	}
	_, err := c.turn(order.Order{Size: 1 << 10, InFlight: 16, Calls: calls})
	c.warm, c.used = true, memoryOf(c.parts...)
	return err
}

func startOurs(s *stage.Stage) (*contender, []string, error) {
	gateway, e, err := s.Ready("gateway", "--json", "--listen", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	token, err := s.Token("split", "echo")
	if err != nil {
		return nil, nil, err
	}
	bridge, err := serve(s, e.URL, "--gateway", e.URL, "--topic", "split", "--token-file", token)
	if err != nil {
		return nil, nil, err
	}
	where, err := inTopic(s, e.URL, "split")
	return &contender{name: ours, parts: []*stage.Process{gateway, bridge}}, where, err
}

// startHosting starts a bridge apart from the gateway of startOurs, so that it
// hosts one itself.
func startHosting(s *stage.Stage) (*contender, []string, error) {
	s, err := s.Apart("hosting")
	if err != nil {
		return nil, nil, err
	}
	at, err := freeAddress()
	if err != nil {
		return nil, nil, err
	}
	url := "ws://" + at
	bridge, err := serve(s, url, "--listen", at, "--topic", "hosted")
	if err != nil {
		return nil, nil, err
	}
	where, err := inTopic(s, url, "hosted")
	return &contender{name: hosting, parts: []*stage.Process{bridge}}, where, err
}

// serve starts a bridge that prints no line for each call, as the bare one prints
// none: what happened is on record. It waits until the gateway at url counts it.
func serve(s *stage.Stage, url string, join ...string) (*stage.Process, error) {
	args := slices.Concat([]string{"run", "--log-level", "warn", "--allow", "echo"}, join, []string{"--", s.Bin(stage.Echo)})
	bridge, err := s.Start(stage.Bridge, args...)
	if err != nil {
		return nil, err
	}
	bridge.Ignore()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if n, err := stage.Metric(url, "joins_total"); n > 0 {
			return bridge, nil
		} else if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("the bridge takes no seat\n%s", bridge.Stderr()), err)
		}
	}
}

// freeAddress is one on loopback at which nobody listens yet; a bridge that prints
// nothing does not say which one it took.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func startBare(s *stage.Stage) (*contender, []string, error) {
	relay, url, err := listening(s, "relay")
	if err != nil {
		return nil, nil, err
	}
	bridge, err := s.Start(stage.Bare, "bridge", url+"/ws?topic=bench&id=echo", s.Bin(stage.Echo))
	if err != nil {
		return nil, nil, err
	}
	if _, err := bridge.Line(); err != nil {
		return nil, nil, err
	}
	return &contender{name: bare, parts: []*stage.Process{relay, bridge}}, []string{"-to", "echo", "-url", url + "/ws?topic=bench&id=load"}, nil
}

func startWrapper(s *stage.Stage) (*contender, []string, error) {
	p, url, err := listening(s, "wrapper", s.Bin(stage.Echo))
	return &contender{name: wrapper, parts: []*stage.Process{p}}, []string{"-url", url}, err
}

func startDirect(s *stage.Stage) (*contender, []string, error) {
	return &contender{name: direct}, []string{s.Bin(stage.Echo)}, nil
}

// listening starts a bare part that listens, and returns where.
func listening(s *stage.Stage, args ...string) (*stage.Process, string, error) {
	p, err := s.Start(stage.Bare, args...)
	if err != nil {
		return nil, "", err
	}
	line, err := p.Line()
	if err != nil {
		return nil, "", err
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if !ok {
		return nil, "", fmt.Errorf("bare %s said %q", args[0], line)
	}
	return p, url, nil
}

// inTopic is how a load gets to echo in a topic of a gateway of ours.
func inTopic(s *stage.Stage, url, topic string) ([]string, error) {
	token, err := s.Token(topic, "load")
	return []string{"-id", "load", "-to", "echo", "-token-file", token, "-url", url + "/ws?topic=" + topic}, err
}
