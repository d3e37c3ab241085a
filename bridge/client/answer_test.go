package client

import (
	"context"
	"testing"
)

// An answer that is there counts, though the seat is given up or the time is over by then: one in
// two was lost when a bridge answered its last call and went.
func TestAnAnswerThatCameIsNotLost(t *testing.T) {
	over, cancel := context.WithCancelCause(t.Context())
	cancel(ErrNoAnswer)
	gone := &Client{ended: make(chan struct{})}
	close(gone.ended)
	for name, c := range map[string]*Client{"the time is over": {ended: make(chan struct{})}, "the seat is given up, too": gone} {
		for range 50 {
			came := make(chan Answer, 1)
			came <- Answer{Result: []byte("{}")}
			if a, _, err := c.answer(over, came); err != nil || string(a.Result) != "{}" {
				t.Fatalf("%s: %s, %v", name, a.Result, err)
			}
		}
	}
}
