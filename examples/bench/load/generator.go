package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/examples/bench/order"
)

// A wrapping is how a call looks and how its answer is told.
type wrapping struct {
	head, mid, tail string // around the two places of a call's number, and around the text
	mark            []byte // stands before the number in an answer
}

const request = `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"echo","arguments":{"text":"`

func (p place) calls() wrapping {
	if p.To == "" {
		head, tail, _ := strings.Cut(request, "%s")
		return wrapping{head: head, mid: tail, tail: `"}}}`, mark: []byte(`"id":`)}
	}
	before, after, _ := strings.Cut(request, "%s")
	return wrapping{
		head: fmt.Sprintf(`{"protocol":"mcpx/v0.1","ts":"2026-01-01T00:00:00Z","from":%q,"to":[%q],"kind":"mcp/request:tools/call:echo","payload":%s`, p.ID, p.To, before),
		mid:  after,
		tail: `"}}},"id":"call-%s"}`,
		mark: []byte(`"correlation_id":"call-`),
	}
}

// append writes call number n with a text.
func (w wrapping) append(dst []byte, n int, text string) []byte {
	dst = append(dst, w.head...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	dst = append(dst, w.mid...)
	dst = append(dst, text...)
	before, after, wrapped := strings.Cut(w.tail, "%s")
	dst = append(dst, before...)
	if wrapped {
		dst = strconv.AppendInt(dst, int64(n), 10)
		dst = append(dst, after...)
	}
	return dst
}

// number finds which call a message answers, -1 if none.
func (w wrapping) number(message []byte) int {
	at := bytes.Index(message, w.mark)
	if at < 0 {
		return -1
	}
	n, digits := 0, message[at+len(w.mark):]
	for i, c := range digits {
		if c < '0' || c > '9' {
			if i == 0 {
				return -1
			}
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// A generator makes calls over one link.
type generator struct {
	link  link
	calls wrapping
	made  int // calls made so far; they are numbered through
	buf   []byte
}

// prove makes one call and checks the whole answer, so that what is timed is
// known to be right.
func (g *generator) prove() error {
	const text = `proof \" \u2028 <&>`
	if err := g.send(text); err != nil {
		return err
	}
	for {
		m, err := g.link.Read()
		if err != nil {
			return err
		}
		if g.calls.number(m) != g.made-1 {
			continue
		}
		if !bytes.Contains(m, []byte(`"text":"`)) {
			return fmt.Errorf("not an echo: %.300s", m)
		}
		if !json.Valid(m) || !bytes.Contains(m, []byte(`proof \"`)) {
			return fmt.Errorf("not the text that was sent: %.300s", m)
		}
		return nil
	}
}

func (g *generator) send(text string) error {
	g.buf = g.calls.append(g.buf[:0], g.made, text)
	g.made++
	return g.link.Write(g.buf)
}

// round makes calls with a window of calls open, each as soon as one is answered.
func (g *generator) round(o order.Order) (order.Result, error) {
	w := window{g: g, order: o, text: strings.Repeat("x", o.Size), first: g.made, start: time.Now(), began: make([]atomic.Int64, o.Calls)}
	took, err := w.run()
	if err != nil {
		return order.Result{}, err
	}
	elapsed := time.Since(w.start)
	slices.Sort(took)
	return order.Of(took, elapsed), nil
}

// A window keeps up to order.InFlight calls open.
type window struct {
	g     *generator
	order order.Order
	text  string
	first int // number of the first call of this round
	start time.Time

	began []atomic.Int64 // by call, nanoseconds since start
}

func (w *window) run() ([]time.Duration, error) {
	if w.order.InFlight == 1 {
		return w.oneByOne()
	}
	// Another goroutine sends, so that reading never waits for a line that
	// is full because we do not read.
	more := make(chan struct{}, w.order.InFlight)
	failed := make(chan error, 1)
	go func() {
		var err error
		for range more {
			if err = w.send(); err != nil {
				w.g.link.Close() // ends the reading too
				break
			}
		}
		failed <- err
	}()
	took, err := w.collect(more)
	close(more)
	return took, errors.Join(err, <-failed)
}

// collect reads answers and asks for another call after each, until the round is over.
func (w *window) collect(more chan<- struct{}) (took []time.Duration, err error) {
	asked := min(w.order.InFlight, w.order.Calls)
	for range asked {
		more <- struct{}{}
	}
	for len(took) < asked {
		d, err := w.answer()
		if err != nil {
			return nil, err
		}
		took = append(took, d)
		if asked < w.order.Calls && !w.over() {
			asked++
			more <- struct{}{}
		}
	}
	return took, nil
}

func (w *window) oneByOne() (took []time.Duration, err error) {
	for len(took) == 0 || len(took) < w.order.Calls && !w.over() {
		if err := w.send(); err != nil {
			return nil, err
		}
		d, err := w.answer()
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	return took, nil
}

func (w *window) over() bool {
	return w.order.MS > 0 && time.Since(w.start) > time.Duration(w.order.MS)*time.Millisecond
}

func (w *window) send() error {
	w.began[w.g.made-w.first].Store(int64(time.Since(w.start)))
	return w.g.send(w.text)
}

// answer reads the next answer and returns how long its call took.
func (w *window) answer() (time.Duration, error) {
	for {
		m, err := w.g.link.Read()
		if err != nil {
			return 0, err
		}
		n := w.g.calls.number(m) - w.first
		if n < 0 {
			continue
		}
		if len(m) < w.order.Size || n >= len(w.began) {
			return 0, fmt.Errorf("refused: %.400s", m)
		}
		return time.Since(w.start) - time.Duration(w.began[n].Load()), nil
	}
}
