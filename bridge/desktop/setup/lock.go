package setup

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
)

// wait is how long an edit waits for another that is under way.
const (
	wait  = 10 * time.Second
	again = 250 * time.Millisecond // between looks whether it is over
)

// Lock makes us the only process that edits clients' files. Two commands at
// once run one after the other.
func Lock(ctx context.Context, d localgateway.StateDir) (unlock func() error, err error) {
	if err := d.Open(); err != nil {
		return nil, err
	}
	for began := time.Now(); ; {
		f, err := d.Lock("client.lock")
		if err != nil {
			return nil, err
		}
		if f != nil {
			return hold(f), nil
		}
		if time.Since(began) > wait || !pause.For(ctx, again) {
			return nil, fault.New(fault.Failed, "try again when it is done, or end it", "another mcpx-bridge client is at work%s", holder(d))
		}
	}
}

// hold writes into the lock whose it is, for those who wait in vain.
func hold(f *os.File) (unlock func() error) {
	if f.Truncate(0) == nil {
		fmt.Fprintf(f, "%d\n", os.Getpid()) // who cannot write it holds the lock all the same
	}
	return f.Close
}

// holder says who has the lock, if that is known.
func holder(d localgateway.StateDir) string {
	text, err := d.Read("client.lock")
	if pid, wrong := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && wrong == nil {
		return fmt.Sprintf(": process %d", pid)
	}
	return ""
}
