package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"
)

// A crowdOrder says what is to be said to the crowd.
type crowdOrder struct {
	Size    int  `json:"size"`    // bytes of text in a frame
	Rate    int  `json:"rate"`    // frames a second; 0: as many as arrive, with a few under way
	MS      int  `json:"ms"`      // for so long
	Fill    int  `json:"fill"`    // bytes that are said before, untimed, in frames of 256 KiB
	Sleeper bool `json:"sleeper"` // one more is in the topic, and reads nothing of all that
}

// A crowdResult is what arrived; times are nanoseconds from the moment a frame
// was due to the moment one of the crowd had it.
type crowdResult struct {
	Sent      int     `json:"sent"`
	Delivered int     `json:"delivered"`
	Lost      int     `json:"lost"`
	PerSecond float64 `json:"per_second"` // deliveries
	P50       int64   `json:"p50"`
	P99       int64   `json:"p99"`
	Max       int64   `json:"max"`
}

const (
	underWay   = 4 // frames, when as many are sent as arrive
	stragglers = 5 * time.Second
	fillSize   = 256 << 10
)

var fill = strings.Repeat("x", fillSize)

// A crowd is one who speaks and many who hear, each with a connection.
type crowd struct {
	where place
	mouth *websocket.Conn
	ears  []*ear
	start time.Time // what the times in frames count from
	heard chan struct{}

	said  int          // frames so far; they are numbered through
	first atomic.Int64 // number of the first frame of this round
}

// An ear is one of those who hear.
type ear struct {
	ws *websocket.Conn

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
		ws, err := p.seat(fmt.Sprint("ear", i))
		if err != nil {
			return nil, err
		}
		e := &ear{ws: ws}
		c.ears = append(c.ears, e)
		go c.listen(e)
	}
	go drain(c.mouth)
	return c, nil
}

func (p place) seat(id string) (*websocket.Conn, error) {
	p.URL, p.Token, p.ID = strings.ReplaceAll(p.URL, "{}", id), strings.ReplaceAll(p.Token, "{}", id), id
	return p.dial(websocket.Dialer{})
}

func drain(ws *websocket.Conn) {
	for {
		if _, _, err := ws.NextReader(); err != nil {
			return
		}
	}
}

// listen notes when frames arrive.
func (c *crowd) listen(e *ear) {
	var buf bytes.Buffer
	for {
		_, r, err := e.ws.NextReader()
		if err != nil {
			return
		}
		buf.Reset()
		if _, err := buf.ReadFrom(r); err != nil {
			return
		}
		n, due := told(buf.Bytes())
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
	return c.mouth.WriteMessage(websocket.TextMessage, frame)
}

// round says frames for a while and waits until all have heard them.
func (c *crowd) round(o crowdOrder) (r crowdResult, err error) {
	if o.Sleeper {
		ws, err := c.where.seat("sleeper")
		if err != nil {
			return r, err
		}
		defer ws.Close()
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
	if r.Sent, r.Delivered, err = c.speak(o, strings.Repeat("x", o.Size)); err != nil {
		return r, err
	}
	r.Delivered, _ = c.wait(r.Delivered, r.Sent*len(c.ears))
	return c.tally(r, time.Since(began)), nil
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
func (c *crowd) speak(o crowdOrder, text string) (sent, heard int, err error) {
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

func (c *crowd) tally(r crowdResult, elapsed time.Duration) crowdResult {
	var all []time.Duration
	for _, e := range c.ears {
		e.mu.Lock()
		all = append(all, e.took...)
		e.mu.Unlock()
	}
	slices.Sort(all)
	r.Lost = r.Sent*len(c.ears) - r.Delivered
	r.PerSecond = float64(r.Delivered) / elapsed.Seconds()
	if n := len(all); n > 0 {
		r.P50, r.P99, r.Max = all[n/2].Nanoseconds(), all[n*99/100].Nanoseconds(), all[n-1].Nanoseconds()
	}
	return r
}

// runCrowd carries out orders to a crowd.
func runCrowd(where place, n int, in io.Reader, out io.Writer) error {
	c, err := where.gather(n)
	if err != nil {
		return err
	}
	return obey(in, out, c.round)
}
