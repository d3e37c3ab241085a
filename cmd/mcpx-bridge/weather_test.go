package main

import (
	"bufio"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The link between gateway and bridge is bad in one way after the other, under
// the load of the kills, with the bridge as a process of its own. Who had no
// answer asks once more, in the same envelope. Whatever the link does, nothing
// runs twice or unrecorded, no call has two results, and the log is whole.
func TestNothingRunsTwiceOverABadLink(t *testing.T) {
	t.Parallel()
	for _, w := range []struct {
		name  string
		mood  mood
		lossy int // how often what is on its way is lost
	}{
		{"everything comes late", late, 0},
		{"everything comes in drops", drip, 0},
		{"every frame comes twice", doubled, 0},
		{"frames overtake each other", swapped, 0},
		{"the link breaks in the middle of a frame", tornTimes(3), 3},
		{"the link falls silent and stays up", silentOnce(), 1},
	} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			if w.lossy == 1 && testing.Short() {
				t.Skip("25 s pass until a silent link is given up")
			}
			s := newSlaughter(t)
			link := newProxy(t, strings.TrimPrefix(s.url, "ws://"), w.mood)
			t.Cleanup(link.close)
			s.via = "ws://" + link.at.Addr().String()
			k := s.start()
			k.ready()
			for range w.lossy {
				stop := s.load()
				if _, ok := k.events.next(`{"event":"reconnected"}`, 2*patience); !ok {
					t.Fatalf("the bridge does not come back\n%s", k.about())
				}
				stop()
				s.again()
			}
			for range 120 {
				s.call(nil)
			}
			s.end(k)
			s.account(0)
			if len(s.ran()) < 20 {
				t.Errorf("hardly anything ran\n%s", k.about())
			}
		})
	}
}

// load calls without end. stop ends that.
func (s *slaughter) load() (stop func()) {
	enough, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for s.call(enough) {
			select {
			case <-enough:
				return
			default:
			}
		}
	}()
	return func() { close(enough); <-ended }
}

// A mood is what a link does to what crosses it. It is asked anew for each
// connection, which cut ends; the carry it gives is used for both ways.
type (
	mood  func(cut func()) carry
	carry func(to io.Writer, from io.Reader, inward bool) // inward is towards the bridge
)

func late(func()) carry {
	return func(to io.Writer, from io.Reader, _ bool) {
		for buf := make([]byte, 32<<10); ; {
			n, err := from.Read(buf)
			time.Sleep(rand.N(15 * time.Millisecond))
			if _, broken := to.Write(buf[:n]); err != nil || broken != nil {
				return
			}
		}
	}
}

func drip(func()) carry {
	return func(to io.Writer, from io.Reader, _ bool) {
		for buf := make([]byte, 7); ; {
			n, err := from.Read(buf[:1+rand.N(7)])
			if _, broken := to.Write(buf[:n]); err != nil || broken != nil {
				return
			}
		}
	}
}

// framewise is a mood that looks at the text frames towards the bridge alone.
func framewise(pass func(to io.Writer, frames <-chan []byte, cut func())) mood {
	return func(cut func()) carry {
		return func(to io.Writer, from io.Reader, inward bool) {
			r := bufio.NewReader(from)
			if !inward || !upgraded(to, r) {
				plainly(to, r, inward)
				return
			}
			frames := make(chan []byte)
			passed := make(chan struct{})
			go func() { defer close(passed); pass(to, frames, cut) }()
			for {
				frame, err := frameOf(r)
				if err != nil {
					break
				}
				frames <- frame
			}
			close(frames)
			<-passed
		}
	}
}

// upgraded passes the head of an answer on and reports whether frames follow.
func upgraded(to io.Writer, r *bufio.Reader) bool {
	first := ""
	for {
		line, err := r.ReadString('\n')
		if first == "" {
			first = line
		}
		if _, broken := io.WriteString(to, line); err != nil || broken != nil || strings.TrimSpace(line) == "" {
			return strings.HasPrefix(first, "HTTP/1.1 101") && err == nil
		}
	}
}

// frameOf reads one frame of a server (RFC 6455 section 5.2).
func frameOf(r *bufio.Reader) ([]byte, error) {
	frame := make([]byte, 2, 10)
	if _, err := io.ReadFull(r, frame); err != nil {
		return nil, err
	}
	size, more := uint64(frame[1]), map[byte]int{126: 2, 127: 8}[frame[1]]
	if more > 0 {
		frame = frame[:2+more]
		if _, err := io.ReadFull(r, frame[2:]); err != nil {
			return nil, err
		}
		size = uint64(binary.BigEndian.Uint16(frame[2:]))
		if more == 8 {
			size = binary.BigEndian.Uint64(frame[2:])
		}
	}
	head := len(frame)
	frame = append(frame, make([]byte, size)...)
	_, err := io.ReadFull(r, frame[head:])
	return frame, err
}

func isText(frame []byte) bool { return frame[0]&0x0f == 1 }

var doubled = framewise(func(to io.Writer, frames <-chan []byte, _ func()) {
	for frame := range frames {
		to.Write(frame) // an end of the connection is noticed by who reads
		if isText(frame) {
			to.Write(frame)
		}
	}
})

// swapped lets every other frame wait for the one behind it, or a little while.
var swapped = framewise(func(to io.Writer, frames <-chan []byte, _ func()) {
	var held []byte
	for {
		var enough <-chan time.Time
		if held != nil {
			enough = time.After(20 * time.Millisecond)
		}
		select {
		case frame, ok := <-frames:
			if !ok {
				to.Write(held)
				return
			}
			if held == nil && isText(frame) {
				held = frame
				continue
			}
			to.Write(frame)
		case <-enough:
		}
		to.Write(held)
		held = nil
	}
})

// tornTimes is a mood that breaks each of its first connections in the middle
// of the 60th frame.
func tornTimes(n int32) mood {
	var left atomic.Int32
	left.Store(n)
	return framewise(func(to io.Writer, frames <-chan []byte, cut func()) {
		count := 0
		for frame := range frames {
			if count++; count == 60 && left.Add(-1) >= 0 {
				to.Write(frame[:len(frame)/2])
				cut()
			}
			to.Write(frame)
		}
	})
}

// silentOnce is a mood whose first connection swallows everything, both ways,
// from its 60th frame on, and is never closed. Later ones are as they should be.
func silentOnce() mood {
	var before atomic.Bool
	return func(cut func()) carry {
		var silent atomic.Bool
		noticing := framewise(func(to io.Writer, frames <-chan []byte, _ func()) {
			n := 0
			for frame := range frames {
				if n++; n == 60 && before.CompareAndSwap(false, true) {
					silent.Store(true)
				}
				to.Write(frame)
			}
		})(cut)
		return func(to io.Writer, from io.Reader, inward bool) {
			noticing(muffled{to, &silent}, from, inward)
		}
	}
}

type muffled struct {
	io.Writer
	silent *atomic.Bool
}

func (m muffled) Write(p []byte) (int, error) {
	if m.silent.Load() {
		return len(p), nil
	}
	return m.Writer.Write(p)
}
