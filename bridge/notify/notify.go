package notify

import (
	"context"
	"errors"
	"fmt"
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

// Options say by which channels questions are told, and how. Log must be given.
type Options struct {
	Channels []policy.Channel
	Command  string // another one, for the shell of the system, which hears of each question to the person at this machine once; "": none

	Env    []string                         // of commands, without what they must not know
	Getenv func(name string) (string, bool) // for secrets; nil: there are none
	Link   func(question string) string     // the page where one answers it; nil or "": there is none
	Log    *slog.Logger

	// Seat is the inbox of a participant, for answers that come by a channel. nil: none counts.
	Seat func(ctx context.Context, id string) (inbox.Inbox, error)

	Within time.Duration // how long a command may take before it is killed; default 30 s
}

// channels are all of them.
func (o *Options) channels() []policy.Channel {
	all := slices.Clip(o.Channels)
	if o.Command != "" {
		all = append(all, policy.Channel{Name: flagName, Kind: "command", To: []policy.Value{{Text: o.Command}}, For: []string{"local"}, Once: true})
	}
	return all
}

func (o *Options) channelOptions() channel.Options {
	getenv := o.Getenv
	if getenv == nil {
		getenv = func(string) (string, bool) { return "", false }
	}
	return channel.Options{Env: o.Env, Getenv: getenv, Within: o.Within}
}

// Check reports why some channel cannot be opened, as where a secret is missing; nil if all can.
// The error is misuse, and names the field.
func Check(o Options) error {
	for _, c := range o.channels() {
		if _, err := channel.Open(c, o.channelOptions()); err != nil {
			return err
		}
	}
	return nil
}

// watched is how long it takes until somebody is watched again who let us go.
const watched = time.Second

// Run tells of questions until ctx ends, and takes answers where the policy says so. It says then,
// for some seconds at most, that nothing more is told, and returns when all that it started has
// ended. A channel that cannot be opened is left out, with an error in the log.
func Run(ctx context.Context, in inbox.Publisher, o Options) {
	n := &notifier{o: o, in: inbox.Public(in), events: make(chan inbox.Event), results: make(chan result), views: map[string]approval.View{}, some: map[int]string{}}
	var opened []policy.Channel
	for _, c := range o.channels() {
		out, err := channel.Open(c, o.channelOptions())
		if err != nil {
			o.Log.Error(named(c.Name)+" is not used", "error", text.Line(err.Error()))
			continue
		}
		opened, n.out = append(opened, c), append(n.out, out)
	}
	n.schedule, n.channels = NewSchedule(opened), opened
	defer n.parts.Wait()
	for i := range n.out {
		if l, can := n.out[i].(channel.Listener); can && len(opened[i].People) > 0 {
			n.parts.Go(func() { (&answers{opened[i], l, n.in, o.Seat, o.Log}).listen(ctx) })
		}
	}
	n.parts.Go(func() { n.watch(ctx) })
	n.keep(ctx)
	n.leave(ctx)
}

type notifier struct {
	o        Options
	in       inbox.Inbox
	channels []policy.Channel
	out      []channel.Channel // beside channels
	events   chan inbox.Event
	results  chan result
	parts    sync.WaitGroup

	// What follows is keep's.
	schedule *Schedule
	flying   int                      // jobs whose results have not come
	views    map[string]approval.View // of the questions in it, as they were shown last
	some     map[int]string           // what was said last of those whom a channel does not reach
	full     bool                     // it was said that there are too many
}

type result struct {
	job Job
	Result
	some error // why not all whom the channel leads to have it
}

// watch passes on what happens to questions.
func (n *notifier) watch(ctx context.Context) {
	for {
		for e, err := range n.in.Watch(ctx) {
			if err != nil || !n.pass(ctx, e) {
				break
			}
		}
		if !pause.For(ctx, watched) { // it ended before us: we read too slowly, or there is no place in the topic
			return
		}
	}
}

func (n *notifier) pass(ctx context.Context, e inbox.Event) bool {
	select {
	case n.events <- e:
		return true
	case <-ctx.Done():
		return false
	}
}

// keep runs the schedule.
func (n *notifier) keep(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-n.events:
			n.happened(ctx, e)
		case r := <-n.results:
			n.flying--
			n.done(r)
		case <-timer.C:
		}
		for _, j := range n.schedule.Take(time.Now()) {
			n.start(ctx, j)
		}
		if next := n.schedule.Next(); !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

// farewell is how long Run goes on after its context to say that nothing more is told. It
// is less than the lastLeave of bridge/node, three seconds, in which the record has to be closed
// too, after this.
const farewell = 2 * time.Second

// leave says so of what is open yet wherever it was told, so that nobody answers what nobody hears.
func (n *notifier) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	for ; n.flying > 0; n.flying-- {
		r := <-n.results
		r.Err = nil // whether it had come by the time we stopped, nobody can say
		n.schedule.Done(time.Now(), r.job, r.Result)
	}
	for _, id := range n.schedule.Open() {
		n.schedule.Closed(time.Now(), id, "nothing more is told of it here", "")
	}
	for ctx.Err() == nil {
		jobs := n.schedule.Take(time.Now())
		if len(jobs) == 0 {
			return
		}
		var last sync.WaitGroup
		results := make([]Result, len(jobs))
		for i, j := range jobs {
			notice, _ := n.notice(ctx, j) // of what is closed there is always one
			last.Go(func() { _, results[i].Err = n.out[j.Channel].Send(ctx, notice) })
		}
		last.Wait()
		for i, j := range jobs {
			n.schedule.Done(time.Now(), j, results[i])
		}
	}
}

// toAll are the events that are about all questions.
var toAll = []string{inbox.WasHalted, inbox.GoesOn, inbox.OtherRules}

func (n *notifier) happened(ctx context.Context, e inbox.Event) {
	switch {
	case e.Event == "", e.ID == "" && slices.Contains(toAll, e.Because):
		n.missed(ctx)
	case e.ID == "":
	case e.Event == "closed":
		n.closed(e)
	default:
		n.look(ctx, e.ID)
	}
}

// missed looks at what happened while nobody watched, or to all questions at once.
func (n *notifier) missed(ctx context.Context) {
	open, err := n.in.List(ctx, false)
	if err != nil {
		return
	}
	is := map[string]bool{}
	for _, q := range open {
		is[q.ID] = true
		n.look(ctx, q.ID)
	}
	for _, id := range n.schedule.Open() {
		if !is[id] {
			n.closed(inbox.Event{ID: id, Because: "closed"})
		}
	}
}

// look takes a question as it is now.
func (n *notifier) look(ctx context.Context, id string) {
	v, err := n.in.Show(ctx, id)
	if err != nil {
		return
	}
	var answered []string
	for _, p := range v.People {
		if p.Over() {
			answered = append(answered, p.Who)
		}
	}
	if !n.schedule.Asked(v.ID, v.Digest, v.Asked, v.Deadline, v.Asking, answered) {
		if !n.full {
			n.o.Log.Warn(fmt.Sprintf("more than %d questions are open: nobody is notified of all of them", maxOpen))
		}
		n.full = true
		return
	}
	if _, frozen := v.Left(time.Now()); frozen {
		n.schedule.Freeze(v.ID)
	}
	n.full = false
	n.views[v.ID] = brief(v)
}

// brief is what is kept of a question to tell that it is closed.
func brief(v approval.View) approval.View {
	return approval.View{Summary: approval.Summary{ID: v.ID, Short: v.Short, Bridge: v.Bridge, From: v.From, Tool: v.Tool, Rule: v.Rule, Asked: v.Asked, Deadline: v.Deadline},
		Digest: v.Digest, Headline: v.Headline}
}

func (n *notifier) closed(e inbox.Event) {
	n.schedule.Closed(time.Now(), e.ID, e.Because, e.By)
	n.forget(e.ID)
}

func (n *notifier) forget(id string) {
	if !n.schedule.Knows(id) {
		delete(n.views, id)
	}
}

// start tells by one channel.
func (n *notifier) start(ctx context.Context, j Job) {
	notice, err := n.notice(ctx, j)
	if err != nil { // it is closed, of which we hear yet
		n.schedule.Done(time.Now(), j, Result{Void: true})
		return
	}
	j.Digest = notice.Question.Digest // it may have changed since
	n.flying++
	n.parts.Go(func() {
		ref, err := n.out[j.Channel].Send(ctx, notice)
		r := result{job: j, Result: Result{Ref: ref, Err: err}}
		if e, known := errors.AsType[*channel.Error](err); known {
			r.Again, r.After = !e.Final, e.After
			if e.Sent {
				r.Err, r.some = nil, err
			}
		}
		n.results <- r
	})
}

// notice is what a job tells.
func (n *notifier) notice(ctx context.Context, j Job) (*channel.Notice, error) {
	out := &channel.Notice{ID: channel.NoticeID(n.views[j.Question], string(j.Event)), Event: string(j.Event), Question: n.views[j.Question],
		Left: max(0, time.Until(j.Deadline)), Command: "mcpx-bridge approve", Because: text.Line(j.Because), By: text.Line(j.By), Ref: j.Ref}
	if n.o.Link != nil {
		out.Link = n.o.Link(j.Question)
	}
	if j.Event == Closed {
		return out, nil
	}
	v, err := n.in.Show(ctx, j.Question)
	out.ID = channel.NoticeID(v, string(j.Event))
	if j.Event == Reminder {
		out.ID += fmt.Sprint("-", j.N)
	}
	out.Question, out.Buttons = v, len(n.channels[j.Channel].People) > 0
	return out, err
}

func (n *notifier) done(r result) {
	fails := n.schedule.Done(time.Now(), r.job, r.Result)
	n.forget(r.job.Question)
	if r.some != nil && n.some[r.job.Channel] != r.some.Error() {
		n.some[r.job.Channel] = r.some.Error()
		n.o.Log.Warn(named(n.channels[r.job.Channel].Name)+" does not reach all", "error", text.Line(r.some.Error()))
	}
	if fails {
		n.o.Log.Warn(named(n.channels[r.job.Channel].Name)+" fails", "error", text.Line(r.Err.Error()))
	}
}
