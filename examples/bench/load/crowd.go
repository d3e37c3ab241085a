package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/examples/bench/order"
	"github.com/mcpx-protocol/mcpx-bridge/examples/stage/seat"
)

const (
	underWay   = 4 // frames, when as many are sent as arrive
	stragglers = 5 * time.Second
	fillSize   = 256 << 10
)

var fill = strings.Repeat("x", fillSize)

// A crowd is one who speaks and many who hear, each with a connection.
type crowd struct {
	where place
	mouth *seat.Seat
	ears  []*ear
	start time.Time // what the times in frames count from
	heard chan struct{}

	said  int          // frames so far; they are numbered through
	first atomic.Int64 // number of the first frame of this round
}

// An ear is one of those who hear.
type ear struct {
	seat *seat.Seat

	mu   sync.Mutex
	took []time.Duration // in this round
}

// gather takes all seats: {} in URL and token file stands for who it is.
func (p place) gather(n int) (*crowd, error) {
	c := &crowd{where: p, start: time.Now(), heard: make(chan struct{}, 1<<16)}
	var err error
	if c.mouth, err = p.seat("mouth"); err != nil {
		return nil, err
	}
	for i := range n {
		s, err := p.seat(fmt.Sprint("ear", i))
		if err != nil {
			return nil, err
		}
		e := &ear{seat: s}
		c.ears = append(c.ears, e)
		go c.listen(e)
	}
	go c.mouth.Drop()
	return c, nil
}

func (p place) seat(id string) (*seat.Seat, error) {
	return seat.Dial(&websocket.Dialer{}, strings.ReplaceAll(p.URL, "{}", id), strings.ReplaceAll(p.Token, "{}", id))
}

// listen notes when frames arrive.
func (c *crowd) listen(e *ear) {
	for {
		frame, err := e.seat.Read()
		if err != nil {
			return
		}
		n, due := told(frame)
		if n < c.first.Load() {
			continue // a presence, or of the round before
		}
		took := time.Since(c.start) - due
		e.mu.Lock()
		e.took = append(e.took, took)
		e.mu.Unlock()
		c.heard <- struct{}{}
	}
}

// told reads the number of a frame and when it was due.
func told(frame []byte) (n int64, due time.Duration) {
	_, rest, ok := bytes.Cut(frame, []byte(`"id":"say-`))
	number, rest, ok2 := bytes.Cut(rest, []byte("-"))
	at, _, ok3 := bytes.Cut(rest, []byte(`"`))
	if !ok || !ok2 || !ok3 {
		return -1, 0
	}
	n, err := strconv.ParseInt(string(number), 10, 64)
	ns, err2 := strconv.ParseInt(string(at), 10, 64)
	if errors.Join(err, err2) != nil {
		return -1, 0
	}
	return n, time.Duration(ns)
}

func (c *crowd) say(due time.Duration, text string) error {
	frame := fmt.Appendf(nil, `{"protocol":"mcpx/v0.1","id":"say-%d-%d","ts":"2026-01-01T00:00:00Z","from":"mouth","kind":"chat","payload":{"text":"%s"}}`, c.said, due, text)
	c.said++
	return c.mouth.Write(frame)
}

// round says frames for a while and waits until all have heard them.
func (c *crowd) round(o order.Order) (r order.Result, err error) {
	if o.Sleeper {
		sleeper, err := c.where.seat("sleeper")
		if err != nil {
			return r, err
		}
		defer sleeper.Close()
	}
	for range o.Fill / fillSize {
		c.begin()
		if err := c.say(0, fill); err != nil {
			return r, err
		}
		if _, lost := c.wait(0, len(c.ears)); lost {
			return r, errors.New("the crowd did not hear what fills the buffers")
		}
	}
	c.begin()
	began := time.Now()
	sent, heard, err := c.speak(o, strings.Repeat("x", o.Size))
	if err != nil {
		return r, err
	}
	all := sent * len(c.ears)
	heard, _ = c.wait(heard, all)
	r = order.Of(c.times(), time.Since(began))
	r.Lost = all - heard
	return r, nil
}

// begin forgets what was heard.
func (c *crowd) begin() {
	c.first.Store(int64(c.said))
	for _, e := range c.ears {
		e.mu.Lock()
		e.took = e.took[:0]
		e.mu.Unlock()
	}
	for len(c.heard) > 0 {
		<-c.heard // what came too late
	}
}

// wait waits until so many frames are heard, but not for ever.
func (c *crowd) wait(heard, all int) (n int, lost bool) {
	for late := time.After(stragglers); heard < all; heard++ {
		select {
		case <-c.heard:
		case <-late:
			return heard, true
		}
	}
	return heard, false
}

// speak says what is to be said, and returns how much of it was heard meanwhile.
func (c *crowd) speak(o order.Order, text string) (sent, heard int, err error) {
	began, over := time.Now(), time.After(time.Duration(o.MS)*time.Millisecond)
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-over:
			return sent, heard, nil
		case <-c.heard:
			if heard++; o.Rate > 0 || sent*len(c.ears)-heard > (underWay-1)*len(c.ears) {
				continue
			}
		case <-due.C:
		}
		at := time.Since(c.start)
		if o.Rate > 0 {
			at = began.Sub(c.start) + time.Second*time.Duration(sent)/time.Duration(o.Rate)
			due.Reset(time.Until(began.Add(time.Second * time.Duration(sent+1) / time.Duration(o.Rate))))
		} else if sent+1 < underWay {
			due.Reset(0)
		}
		if err := c.say(at, text); err != nil {
			return sent, heard, err
		}
		sent++
	}
}

// times are how long each delivery took, sorted.
func (c *crowd) times() (all []time.Duration) {
	for _, e := range c.ears {
		e.mu.Lock()
		all = append(all, e.took...)
		e.mu.Unlock()
	}
	slices.Sort(all)
	return all
}
