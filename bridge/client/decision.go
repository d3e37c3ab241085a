package client

import (
	"context"
	"time"
)

// CallWithin is Call with a limit of time, and with why it is made, in words; "" says nothing. Its
// errors are those of Call, [ErrNoAnswer] when the time is over, and an [*UndecidedError] where it ends while people decide. A bridge that
// does not say that they do is waited for as for any call.
func (c *Client) CallWithin(ctx context.Context, to, tool string, arguments []byte, why string, l Limit) (Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	d := &decision{limit: l, late: time.AfterFunc(l.first(), func() { cancel(ErrNoAnswer) })}
	defer d.end()
	env, came := newID(), make(chan Answer, 1)
	defer c.pending.forget(env)
	r := Request{ID: env, To: to, Method: "tools/call", Params: callParams(tool, arguments, why), Progress: d.progressed, Done: func(a Answer) { came <- a }}
	gaps := c.gapsSoFar()
	if err := c.Begin(r); err != nil {
		return Answer{}, err
	}
	a, over, err := c.answer(ctx, came)
	if !over {
		return a, err
	}
	cancelErr := c.sendCancel(to, env, err.Error())
	if !d.waits() {
		return Answer{}, err
	}
	heard := cancelErr == nil && c.hasHeard(to) && c.gapsSoFar() == gaps && !c.seat.Paced()
	select {
	case a := <-came: // it was decided, and done, before they heard
		return a, a.Fault
	default:
	}
	if !d.waits() {
		return Answer{}, err
	}
	return Answer{}, d.undecided(tool, err, cancelErr, heard)
}

// hearTime is how long it is waited for that somebody has heard what was sent before.
const hearTime = 2 * time.Second

// hasHeard reports whether somebody has taken all that we sent: what it says of that comes
// before the answer to this.
func (c *Client) hasHeard(to string) bool {
	ctx, cancel := context.WithTimeoutCause(context.Background(), hearTime, ErrNoAnswer)
	defer cancel()
	_, err := c.Ask(ctx, to, "ping", nil, nil)
	return err == nil
}

// gapsSoFar counts the times at which a word to us may have been lost: that it was decided, too.
func (c *Client) gapsSoFar() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gaps
}
