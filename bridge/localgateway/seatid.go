package localgateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrTaken says that another bridge on this machine goes by our id.
var ErrTaken = errors.New("another bridge on this machine goes by the same id")

// FreeID settles who we are at this machine's gateway. An id that was asked for
// is ours, whoever has it (DESIGN 14). One that was only derived from the
// command gets a number behind it while another participant has it: the second
// bridge of two that run the same server must not put out the first, nor write
// into its record (FINDINGS P2).
//
// The lock is what two that start together go by; both would find the topic
// empty. at is where the gateway is, "" if nobody can be there yet.
//
// An [Connector.Exclusive] id is ours alone or FreeID fails with [ErrTaken].
func (c *Connector) FreeID(ctx context.Context, at string) error {
	var taken []string
	if at != "" && c.Derived {
		var err error
		if taken, err = c.Local.Present(ctx, at, c.Join.Topic); err != nil {
			c.Local.Log.Debug("cannot tell who is in the topic", "error", err) // the locks can
		}
	}
	for n, wanted := 1, c.Join.ID; ; n++ {
		id := Numbered(wanted, n)
		if slices.Contains(taken, id) {
			continue
		}
		ours, err := c.TryID(c.Local.State, id)
		switch {
		case err != nil:
			return err
		case ours:
			if n > 1 {
				c.Local.Log.Warn("another participant is called " + wanted + " already, so this one is " + id)
				c.Local.Log.Warn("hint: --id gives it a name of its own")
			}
			return nil
		case c.Exclusive && (!c.Derived || !c.Yields):
			return ErrTaken
		case !c.Derived:
			return nil
		}
	}
}

// TryID makes id ours on this machine, for as long as the Connector is open, unless
// another process has it, and reports whether it is ours.
func (c *Connector) TryID(state StateDir, id string) (bool, error) {
	lock, err := state.Lock("seat-" + id + ".lock")
	if err != nil || lock == nil {
		return false, err
	}
	c.Join.ID, c.lock = id, lock
	return true, nil
}

// HoldsID reports whether our id is ours alone on this machine.
func (c *Connector) HoldsID() bool { return c.lock != nil }

// Numbered is an id as the nth participant gets it who wants to have it: at most 64
// bytes.
func Numbered(id string, n int) string {
	if n == 1 {
		return id
	}
	number := fmt.Sprintf("-%d", n)
	return id[:min(len(id), 64-len(number))] + number
}
