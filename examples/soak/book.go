//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// patience is how long a caller waits; a call that nothing disturbs has its
// answer within prompt.
const (
	patience = 10 * time.Second
	prompt   = 5 * time.Second
)

// A trouble is a fault that calls notice, from the moment it struck until a
// call that was made after it had its result.
type trouble struct {
	kind     string
	loses    bool      // calls that it meets may have no answer
	from, to time.Time // to is zero while it lasts
}

// A book is what callers know: which calls were made, what came of them, and
// what was broken meanwhile.
type book struct {
	mu       sync.Mutex
	calls    map[string]*call // by envelope
	waiting  map[string]*call // those without an answer
	troubles []trouble
	proof    time.Time     // the latest call that had a result was made then
	rule     string        // what became of the latest call that is as the rules say: allow or deny
	ruled    time.Time     // and when it was made
	more     chan struct{} // closed, and made anew, when there is an answer
	wrong    []string      // what cannot be
	served   int           // results
	late     int           // answers after the caller's patience
	second   int           // answers to calls that were sent once more after that
}

func newBook() *book {
	return &book{calls: map[string]*call{}, waiting: map[string]*call{}, more: make(chan struct{})}
}

func (b *book) made(c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls[c.key], b.waiting[c.key] = c, c
}

// An answer is as much of a frame as a caller reads.
type answer struct {
	To      []string
	From    string
	Link    string `json:"correlation_id"`
	Payload struct {
		Method string
		Result json.RawMessage
		Error  *struct {
			Message string
			Data    struct{ Reason, Executed string }
		}
	}
}

// hear takes a frame that a caller got. Everybody hears everything.
func (b *book) hear(caller string, frame []byte) {
	var a answer
	if !bytes.Contains(frame, []byte(caller)) {
		return
	}
	if json.Unmarshal(frame, &a) != nil || a.From != bridgeID || len(a.To) != 1 || a.To[0] != caller {
		return
	}
	if a.Payload.Method == "notifications/mcpx/starting" {
		return // it waits for the server
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.calls[a.Link]
	if c == nil || c.from != caller || a.Payload.Result == nil && a.Payload.Error == nil {
		b.wrong = append(b.wrong, fmt.Sprintf("%s was told of what it did not ask: %.200s", caller, frame))
		return
	}
	c.answers++
	if e := a.Payload.Error; e != nil {
		c.reasons, c.executed = append(c.reasons, e.Data.Reason), append(c.executed, e.Data.Executed)
	} else {
		c.results++
		b.served++
		// On a full disk it says too that its end is not on record yet.
		if strings.Replace(string(a.Payload.Result), `"_meta":{"audit":"incomplete"},`, "", 1) != resultOf(c.sum) {
			b.wrong = append(b.wrong, fmt.Sprintf("%s has the result of another: %.200s", c.key, a.Payload.Result))
		}
		if c.sent.After(b.proof) {
			b.proof = c.sent
		}
	}
	if c.fate.tool == "sometimes" && c.sent.After(b.ruled) {
		b.ruled, b.rule = c.sent, map[bool]string{true: "allow", false: "deny"}[c.results > 0]
	}
	switch gone := c.answers == 1 && b.waiting[c.key] == nil; {
	case gone && c.again:
		b.second++
	case gone:
		b.late++
	}
	b.end(c)
	b.news()
}

// end is called with mu held.
func (b *book) end(c *call) {
	if c.ended.IsZero() {
		c.ended = time.Now()
	}
	c.frame = nil
	delete(b.waiting, c.key)
}

// giveUp ends the calls that have waited too long, and returns some of them to
// be sent once more: what ran must not run again.
func (b *book) giveUp(now time.Time) (again []*call, frames [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.waiting {
		if now.Sub(c.sent) < patience {
			continue
		}
		if len(c.key)%2 == 0 {
			c.again = true
			again, frames = append(again, c), append(frames, c.frame)
		}
		b.end(c)
		b.news()
	}
	return again, frames
}

// strikes notes that something is broken.
func (b *book) strikes(kind string, loses bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.troubles = append(b.troubles, trouble{kind: kind, loses: loses, from: time.Now()})
}

// heals waits until a call that is made from now on has its result, and ends
// the trouble that there is, if any.
func (b *book) heals(ctx context.Context) error {
	since := time.Now()
	return b.await(ctx, "no call has a result", func() bool {
		if !b.proof.After(since) {
			return false
		}
		if n := len(b.troubles); n > 0 && b.troubles[n-1].to.IsZero() {
			b.troubles[n-1].to = time.Now()
		}
		return true
	})
}

// follows waits until a call that is made from now on is treated as a rule says.
func (b *book) follows(ctx context.Context, rule string) error {
	since := time.Now()
	return b.await(ctx, "the rules are not in force", func() bool { return b.rule == rule && b.ruled.After(since) })
}

// settles waits until no call waits for its answer, or its caller has no more
// patience.
func (b *book) settles(ctx context.Context) error {
	return b.await(ctx, "calls wait for an answer", func() bool { return len(b.waiting) == 0 })
}

// await waits until something is so, which is looked at with mu held whenever
// there is news. The error says what is so for too long.
func (b *book) await(ctx context.Context, otherwise string, so func() bool) error {
	late := time.After(4 * patience)
	for {
		b.mu.Lock()
		more, is := b.more, so()
		b.mu.Unlock()
		if is {
			return nil
		}
		select {
		case <-more:
		case <-late:
			return fmt.Errorf("%s after %s", otherwise, 4*patience)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// news wakes who waits. It is called with mu held.
func (b *book) news() {
	close(b.more)
	b.more = make(chan struct{})
}

// count is how many calls were made, and how many had a result.
func (b *book) count() (made, served int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.calls), b.served
}

// troubled names the first trouble that touched a call, "" if there was none;
// where the call has no answer, the first that can be why. It is called when
// all is over.
func (b *book) troubled(c *call) string {
	until := c.sent.Add(prompt)
	if c.answers > 0 && c.ended.Before(until) {
		until = c.ended
	}
	for i := range b.troubles {
		t := &b.troubles[i]
		if t.from.Before(until) && (t.to.IsZero() || t.to.After(c.sent)) && (t.loses || c.answers > 0) {
			return t.kind
		}
	}
	return ""
}
