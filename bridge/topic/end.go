package topic

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

const (
	firstWait = 500 * time.Millisecond
	maxWait   = 30 * time.Second
	minWait   = 250 * time.Millisecond // after our old socket has gone (WIRE W-2)

	settled   = 30 * time.Second // a session that lasts so long forgives the failures before it
	duplicate = 30 * time.Second // before the one try against somebody who uses our id
	forgotten = 10 * time.Minute // a session that lasts so long forgives that too
)

var (
	errNoWelcome = errors.New("the gateway did not welcome us in time")
	errSilent    = errors.New("the gateway does not answer pings")
	errGhost     = errors.New("the gateway does not list us among the participants")
)

// An outcome is what the end of a session means for the next.
type outcome uint8

const (
	retry     outcome = iota // try later
	refused                  // our token is not taken
	evicted                  // somebody joined under our id
	misplaced                // the gateway has no such place
)

// outcomeOf reads the end of a session (WIRE 2.4).
func outcomeOf(err error) outcome {
	e, ok := errors.AsType[*wire.CloseError](err)
	if !ok {
		return retry
	}
	switch e.Code {
	case http.StatusUnauthorized, http.StatusForbidden, 4401, 4403:
		return refused
	case 4001:
		return evicted
	case 1000:
		if strings.HasPrefix(e.Reason, "Duplicate connection") {
			return evicted
		}
	case 1008:
		return outcomeOfPolicy(strings.ToLower(e.Reason))
	}
	if wrongPath(e) || e.Code/100 == 3 {
		return misplaced
	}
	return retry
}

// outcomeOfPolicy reads the reason of a close 1008, which gateways use for
// everything.
func outcomeOfPolicy(reason string) outcome {
	switch {
	case strings.HasSuffix(reason, "is full"):
		return retry
	case strings.Contains(reason, "topic parameter"):
		return misplaced
	case strings.Contains(reason, "token"), strings.Contains(reason, "auth"):
		return refused
	}
	return retry
}

// An ending is how a session ended.
type ending struct {
	err   error
	lived time.Duration // since the welcome; 0 without one
}

// A retryState decides whether and when the next session begins. It has no clock.
type retryState struct {
	welcomed bool // ever
	failures int  // since a session that lasted
	refused  bool // one token was refused since then
	evicted  bool // once
	yields   bool // the first time is enough
}

// next returns how long to wait before the next try, or why there is none.
func (p *retryState) next(e ending, canRefresh bool) (time.Duration, *FatalError) {
	if f, ok := errors.AsType[*FatalError](e.err); ok {
		return 0, f
	}
	if e.lived >= settled {
		p.failures, p.refused = 0, false
	}
	if e.lived >= forgotten {
		p.evicted = false
	}
	switch outcomeOf(e.err) {
	case refused:
		if p.refused || !canRefresh {
			return 0, &FatalError{Exit: fault.Gateway, Err: e.err} // which notTaken words
		}
		p.refused = true
	case evicted:
		if p.evicted || p.yields {
			return 0, &FatalError{Exit: fault.ID, Err: fmt.Errorf("somebody else joins the topic under our id: %w", e.err), Hint: "stop the other one, or choose another --id"}
		}
		p.evicted = true
		return duplicate + rand.N(duplicate/10), nil
	case misplaced:
		if !p.welcomed {
			return 0, &FatalError{Exit: fault.Gateway, Err: fmt.Errorf("there is no topic to join at this address: %w", e.err), Hint: "check the gateway's URL, with its path if it has one"}
		}
	}
	return p.backoff(), nil
}

// backoff doubles from 0.5 s to 30 s, with full jitter.
func (p *retryState) backoff() time.Duration {
	ceiling := min(maxWait, firstWait<<min(p.failures, 10))
	p.failures++
	return max(minWait, rand.N(ceiling))
}
