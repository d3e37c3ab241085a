package notify

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify/channel"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// answers are those of one channel.
type answers struct {
	policy.Channel
	from channel.Listener
	in   inbox.Inbox                                               // where it says what is asked here
	seat func(ctx context.Context, id string) (inbox.Inbox, error) // nil: none counts
	log  *slog.Logger
}

// Taker takes answers as those that come by c are taken, and returns what came of each, for whoever gave
// it. in says what the bridge asks; seat is as in [Options].
func Taker(c policy.Channel, in inbox.Inbox, seat func(ctx context.Context, id string) (inbox.Inbox, error), log *slog.Logger) func(context.Context, channel.Answer) string {
	return (&answers{Channel: c, in: in, seat: seat, log: log}).take
}

// listen takes the answers of a channel until ctx ends.
func (a *answers) listen(ctx context.Context) {
	wait, shared := firstPause, false // shared: it was said
	for {
		began := time.Now()
		err := a.from.Listen(ctx, a.take)
		if ctx.Err() != nil {
			return
		}
		e, is := errors.AsType[*channel.Error](err)
		conflict := is && e.Shared
		if time.Since(began) > longestWait && !conflict {
			wait = firstPause
		}
		if conflict && !shared || !conflict && err != nil && wait == firstPause {
			a.log.Warn("answers by "+named(a.Name)+" do not come", "error", text.Line(err.Error()))
		}
		shared = shared || conflict
		if !pause.For(ctx, wait) {
			return
		}
		wait = min(2*wait, longestWait)
	}
}

// take takes one answer as that of the participant whom the policy says it is from, and
// returns what came of it, for whoever gave it.
func (a *answers) take(ctx context.Context, said channel.Answer) string {
	who, known := a.People[said.Person]
	if !known || a.seat == nil {
		return "your answer does not count: the policy of the bridge does not name you"
	}
	seat, err := a.seat(ctx, who)
	if err != nil {
		a.log.Warn("an answer by "+named(a.Name)+" does not count", "for", who, "error", text.Line(err.Error()))
		return "your answer does not count: the bridge has no seat for " + who + " in the topic now"
	}
	v, err := a.put(ctx, who, seat, said)
	if err != nil {
		return "your answer does not count: " + err.Error()
	}
	o, err := seat.Decide(ctx, inbox.Decide(&v, &approval.Reply{Allow: said.Allow, Reason: "by " + a.Kind}))
	if err != nil {
		return "your answer does not count: " + err.Error()
	}
	if o.Outcome == inbox.Sent {
		return "your answer is sent"
	}
	return o.Outcome
}

var (
	errNotPut  = errors.New("the question is closed, or is not put to you")
	errNotHere = errors.New("this bridge asks no such question: it is closed, or is of another bridge, which needs a bot of its own")
)

// put is the question that an answer is to, as it was put to who. Others may put questions
// to them too, under any digest they like. It waits until the question is there, for onTheWay at
// most, while it is open, and only if the bridge has put it to them.
func (a *answers) put(ctx context.Context, who string, seat inbox.Inbox, said channel.Answer) (v approval.View, err error) {
	ours, err := a.in.Show(ctx, said.Question)
	if err != nil || ours.ID != said.Question {
		return v, errNotHere
	}
	if ours.Short != said.Digest {
		return v, errNotPut
	}
	if v, found, err := sameIn(ctx, seat, &ours); found || err != nil {
		return v, err
	}
	if !slices.Contains(ours.Asking, approval.Participant(who).String()) {
		return v, errNotPut
	}
	waiting, cancel := context.WithTimeout(ctx, onTheWay)
	var hearing sync.WaitGroup
	defer hearing.Wait()
	defer cancel()
	hearing.Go(func() {
		for range a.in.Watch(waiting) {
			if now, err := a.in.Show(waiting, ours.ID); err != nil || now.Digest != ours.Digest {
				cancel()
			}
		}
	})
	for _, err := range seat.Watch(waiting) {
		if err != nil {
			return v, err
		}
		if v, found, err := sameIn(ctx, seat, &ours); found || err != nil {
			return v, err
		}
	}
	return v, errNotPut
}

// onTheWay is how long an answer waits for its question to reach the seat of whom it is from: it
// went to the channel and into the topic at once, and either may be faster.
const onTheWay = 5 * time.Second

// sameIn is a question of this bridge as it stands in somebody's inbox, if it does.
func sameIn(ctx context.Context, seat inbox.Inbox, ours *approval.View) (v approval.View, found bool, err error) {
	open, err := seat.List(ctx, false)
	if err != nil {
		return v, false, err
	}
	for _, q := range open {
		if q.Bridge != ours.Bridge || q.Short != ours.Short {
			continue
		}
		if v, err = seat.Show(ctx, q.ID); err == nil && v.Digest != ours.Digest {
			err = errNotPut // somebody has changed the call meanwhile
		}
		return v, true, err
	}
	return v, false, nil
}

// flagName is the name of the channel of Options.Command. None of a policy has it.
const flagName = "--notify"

// named is a channel as the log names it.
func named(name string) string {
	if name == flagName {
		return "the command of " + flagName
	}
	return "the channel " + name + " (notify)"
}
