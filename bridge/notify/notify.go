package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// Options say by what command questions are told. Command, Env and Log must be given.
type Options struct {
	Command string   // for the shell of the system
	Env     []string // its environment, without what it must not know
	Log     *slog.Logger

	Within time.Duration // how long a command may take before it is killed; default 30 s
}

const (
	atOnce  = 4  // commands that run at one time
	queued  = 64 // questions that wait for one
	watched = time.Second
)

// Run tells of every question that is put to the person whose inbox it is, until ctx ends. It
// returns when all commands have ended; they are killed with ctx.
func Run(ctx context.Context, in inbox.Publisher, o Options) {
	o.Within = cmp.Or(o.Within, 30*time.Second)
	n := notifier{o: o, in: inbox.Public(in), asked: make(chan string, queued), known: map[string]bool{}}
	var parts sync.WaitGroup
	defer parts.Wait()
	for range atOnce {
		parts.Go(func() { n.work(ctx) })
	}
	for {
		n.watch(ctx)
		if !pause.For(ctx, watched) { // it ended before us: we read too slowly, or there is no place in the topic
			return
		}
	}
}

type notifier struct {
	o      Options
	in     inbox.Inbox
	asked  chan string     // ids of questions
	known  map[string]bool // those that are open and were queued, or left out; watch has it
	failed atomic.Bool     // it was said that commands fail, and none has gone well since
	full   atomic.Bool     // the same of questions left out
}

func (n *notifier) watch(ctx context.Context) {
	for e, err := range n.in.Watch(ctx) {
		if err != nil {
			return
		}
		switch e.Event {
		case "":
			n.missed(ctx)
		case "asked":
			n.queue(e.ID)
		case "closed":
			delete(n.known, e.ID)
		}
	}
}

// missed queues what was asked while nobody watched.
func (n *notifier) missed(ctx context.Context) {
	open, err := n.in.List(ctx, false)
	if err != nil {
		return
	}
	before := n.known
	n.known = map[string]bool{}
	for _, q := range open {
		switch {
		case before[q.ID]:
			n.known[q.ID] = true
		case slices.Contains(q.Asking, "local"):
			n.queue(q.ID)
		}
	}
}

func (n *notifier) queue(id string) {
	if n.known[id] {
		return
	}
	n.known[id] = true
	select {
	case n.asked <- id:
		n.full.Store(false)
	default:
		if !n.full.Swap(true) {
			n.o.Log.Warn(fmt.Sprintf("more than %d questions wait for the command of --notify; it does not get all of them", queued))
		}
	}
}

func (n *notifier) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-n.asked:
			n.tell(ctx, id)
		}
	}
}

// tell runs the command, unless the question has been answered meanwhile.
func (n *notifier) tell(ctx context.Context, id string) {
	v, err := n.in.Show(ctx, id)
	if err != nil {
		return
	}
	v.AboutPolicy = false // which is for our own surfaces
	question, err := json.Marshal(v)
	if err == nil {
		err = runShell(ctx, n.o.Command, n.o.Env, n.o.Within, append(text.EscapeJSON(question), '\n'))
	}
	switch {
	case err == nil:
		n.failed.Store(false)
	case ctx.Err() == nil && !n.failed.Swap(true):
		n.o.Log.Warn("the command of --notify fails", "error", text.Line(err.Error()))
	}
}
