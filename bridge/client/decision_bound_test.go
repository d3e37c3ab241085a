package client

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A bridge that went on saying that people decide, each time for a day from then, held whoever
// called it without --timeout for ever; so did one that said in between that it was decided.
func TestNobodyIsHeldLongerThanAQuestionMayLast(t *testing.T) {
	const waiting = `{"_meta":{"mcpx/approval":{"waiting":true,"digest":"9d1a91e4","of":["local"],"left_ms":%d}}}`
	const decided = `{"_meta":{"mcpx/approval":{"decision_id":"x","by":["local"]}}}`
	for name, says := range map[string][]string{ // one after the other, a minute apart
		"a day more each time":     {fmt.Sprintf(waiting, 1<<40)},
		"a little more each time":  {fmt.Sprintf(waiting, 90_000)},
		"decided and not, in turn": {fmt.Sprintf(waiting, 90_000), decided},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				const limit = 61 * time.Second
				d := &decision{limit: Limit{Time: limit}, late: time.AfterFunc(limit, func() { cancel(ErrNoAnswer) })}
				defer d.end()
				began := time.Now()
				for n := 0; ctx.Err() == nil && time.Since(began) < 100*time.Hour; n++ {
					d.progressed([]byte(says[n%len(says)]))
					select {
					case <-ctx.Done():
					case <-time.After(time.Minute):
					}
				}
				if held := time.Since(began); held < 24*time.Hour || held > 24*time.Hour+limit {
					t.Errorf("held for %v", held)
				}
			})
		})
	}
}

// Who gives up by itself says how long people had, which is more than the call would have had.
func TestWhoGivesUpSaysHowLongPeopleHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &decision{limit: Limit{Time: time.Minute}, late: time.AfterFunc(time.Minute, func() {})}
		defer d.end()
		d.progressed([]byte(`{"_meta":{"mcpx/approval":{"waiting":true,"digest":"9d1a91e4","left_ms":300000}}}`))
		time.Sleep(6 * time.Minute)
		err, _ := errors.AsType[*UndecidedError](d.undecided("x", ErrNoAnswer, nil, true))
		if got := err.Error(); got != "nobody decided about x within 6m; the question is withdrawn, nothing ran" {
			t.Error(got)
		}
	})
}
