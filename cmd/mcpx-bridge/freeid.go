package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// errTaken says that another bridge on this machine goes by our id.
var errTaken = errors.New("another bridge on this machine goes by the same id")

// takeID makes our id ours alone on this machine, or fails with errTaken. An id
// that was only derived gets a number behind it once it was waited for: two servers
// of one package beside two clients were one participant by turns, and a call
// reached the other's directory (FINDINGS P2).
func (d *door) takeID() error {
	for n := 1; ; n++ {
		id := numbered(d.opt.ID, n)
		lock, err := d.local.state.lock("seat-" + id + ".lock")
		switch {
		case err != nil:
			return err
		case lock != nil:
			if n > 1 {
				d.sayNumbered(id)
			}
			d.opt.ID, d.lock = id, lock
			return nil
		case !d.derived || !d.yields:
			return errTaken
		}
	}
}

func (d *door) sayNumbered(id string) {
	d.local.log.Warn("another participant is called " + d.opt.ID + " already, so this one is " + id)
	d.local.log.Warn("hint: --id gives it a name of its own")
}

// freeID settles who we are at this machine's gateway. An id that was asked for
// is ours, whoever has it (DESIGN 14). One that was only derived from the
// command gets a number behind it while another participant has it: the second
// bridge of two that run the same server must not put out the first, nor write
// into its record.
//
// The lock is what two that start together go by; both would find the topic
// empty. at is where the gateway is, "" if nobody can be there yet.
func (d *door) freeID(ctx context.Context, at string) error {
	var taken []string
	if at != "" && d.derived {
		var err error
		if taken, err = d.local.present(ctx, at, d.opt.Topic); err != nil {
			d.local.log.Debug("cannot tell who is in the topic", "error", err) // the locks can
		}
	}
	for n := 1; ; n++ {
		id := numbered(d.opt.ID, n)
		if slices.Contains(taken, id) {
			continue
		}
		lock, err := d.local.state.lock("seat-" + id + ".lock")
		if err != nil {
			return err
		}
		if lock == nil && d.derived {
			continue
		}
		if n > 1 {
			d.sayNumbered(id)
		}
		d.opt.ID, d.lock = id, lock
		return nil
	}
}

// numbered is an id as the nth participant gets it who wants to have it.
func numbered(id string, n int) string {
	if n == 1 {
		return id
	}
	number := fmt.Sprintf("-%d", n)
	return id[:min(len(id), 64-len(number))] + number
}
