package prompt

import (
	"cmp"
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// Options are what a Prompt is made with.
type Options struct {
	In, Out *os.File // a terminal, both

	// Resident is for the prompt of a bridge that runs at this terminal: while
	// nothing is asked it shows at most the keys that are about the bridge, and it
	// ends only with its context.
	Resident bool
	Plain    bool          // no colours
	Guard    time.Duration // after a question came up keys decide nothing for so long, and a yes typed as fast counts if none follows for so long; default 400 ms
	Silence  time.Duration // after a key that means nothing, no answer is taken until nothing was typed for so long; default 1 s
}

// A Prompt asks the person at a terminal.
type Prompt struct {
	o      Options
	screen *screen
	m      *model
	posted chan func() // what is to be done by Run's goroutine
}

// How often things are looked at.
const (
	everySecond   = time.Second // the clock, and whether we are in the foreground
	findAgain     = 2 * time.Second
	lastLinesTime = time.Second // how long a terminal has to take our last lines
)

// logLines is how many lines above a question of many lines are left to the log.
const logLines = 4

// New returns a Prompt that has not touched the terminal.
func New(o Options) *Prompt {
	o.Guard = cmp.Or(o.Guard, 400*time.Millisecond)
	o.Silence = cmp.Or(o.Silence, time.Second)
	return &Prompt{o: o, screen: &screen{out: o.Out, plain: o.Plain, off: true, panel: panel{cursor: -1}},
		m: newModel(o.Guard, o.Silence, o.Resident), posted: make(chan func(), 16)}
}

// Above is where others may write while Run has the terminal: what they write
// goes above the question. It may be used before and after, too.
func (p *Prompt) Above() io.Writer { return p.screen }

// Run asks what find finds, until the person quits or ctx ends. It leaves the
// terminal as it was. It must be called once. Where a terminal takes no output when ctx
// ends (Ctrl-S), it waits for it a second and no longer, and what writes there goes on.
func (p *Prompt) Run(ctx context.Context, find Finder) error {
	t, err := openTerminal(p.o.In)
	if err != nil {
		return err
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		p.attend(ctx, t, find)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
	}
	t.restore()
	select {
	case <-over:
	case <-time.After(lastLinesTime):
	}
	return nil
}

// attend is Run, but waits for the terminal however long that takes no output.
func (p *Prompt) attend(ctx context.Context, t *terminal, find Finder) {
	ctx, stop := context.WithCancelCause(ctx)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer stop(nil)
	keys := newTyped()
	defer t.unmarkPastes()
	defer p.flush()
	defer p.screen.hide(false)
	defer t.restore()
	parts.Go(func() { t.read(ctx, keys) })
	parts.Go(func() { p.find(ctx, &parts, find) })
	tick := time.NewTicker(everySecond)
	defer tick.Stop()
	for {
		p.draw(t)
		select {
		case <-ctx.Done():
			return
		case f := <-p.posted:
			f()
		case <-keys.more:
			k, some := keys.take()
			if !some {
				continue
			}
			w, r := p.m.press(k)
			if w == quit {
				return
			}
			p.do(ctx, &parts, w, r)
		case <-after(p.m.countsAt()):
			if keys.none() { // nothing has followed it
				w, r := p.m.wait(time.Now())
				p.do(ctx, &parts, w, r)
			}
		case <-tick.C:
		}
		p.fetch(ctx, &parts)
	}
}

// draw puts on the screen what there is to see, as long as the terminal is
// ours.
func (p *Prompt) draw(t *terminal) {
	columns, lines := t.size()
	switch ours, fresh := t.ours(); {
	case !ours:
		p.screen.hide(true)
		p.m.unseen()
		return
	case fresh:
		p.screen.on()
		p.m.unseen()
	}
	p.flush()
	if p.o.Resident && p.m.mode != confirming && !p.m.locked(time.Now()) {
		lines = max(lines-logLines, min(lines, 16)) // leave something of the log to be seen
	}
	p.screen.call(p.m.ring, len(p.m.items))
	p.m.ring = false
	now := time.Now()
	p.screen.show(p.m.draw(now, columns, lines), columns)
	p.m.seen(now)
}

func (p *Prompt) flush() {
	for _, line := range p.m.said {
		p.screen.Write([]byte(line + "\n"))
	}
	p.m.said = nil
}

// after is told of a time when it has come; never of the zero time.
func after(at time.Time) <-chan time.Time {
	if at.IsZero() {
		return nil
	}
	return time.After(time.Until(at))
}

// do does what is wished, but for the end.
func (p *Prompt) do(ctx context.Context, parts *sync.WaitGroup, w wish, r approval.Reply) {
	switch w {
	case send:
		p.send(ctx, parts, r)
	case link:
		p.m.say("this link lets one browser in, once, within an hour; an older one does not any more:")
		p.m.say("%s", p.m.paged().Page())
	case resume:
		p.resume(ctx, parts, p.m.resumes)
	}
}

// resume has a bridge go on. That it does, it says itself.
func (p *Prompt) resume(ctx context.Context, parts *sync.WaitGroup, src *Found) {
	parts.Go(func() {
		c, cancel := ask(ctx)
		defer cancel()
		if err := src.Inbox.(inbox.Halter).Resume(c, ""); err != nil {
			p.post(ctx, func() { p.m.say("%s: %s", text.Cell(src.Label), text.Line(err.Error())) })
		}
	})
}

// send sends an answer.
func (p *Prompt) send(ctx context.Context, parts *sync.WaitGroup, r approval.Reply) {
	for _, l := range p.m.letters(&r) {
		parts.Go(func() {
			c, cancel := ask(ctx)
			defer cancel()
			o, err := l.it.src.Decide(c, l.d)
			p.post(ctx, func() { p.m.answered(l.it, r, o, err) })
		})
	}
}

// fetch asks for the open question, if it is not here yet.
func (p *Prompt) fetch(ctx context.Context, parts *sync.WaitGroup) {
	it := p.m.current()
	if it == nil || p.m.view != nil && !p.m.stale || p.m.mode == listing || p.m.fetching == it.ref() {
		return
	}
	p.m.fetching, p.m.stale = it.ref(), false
	src, r := it.src, it.ref()
	parts.Go(func() {
		c, cancel := ask(ctx)
		defer cancel()
		v, err := src.Show(c, r.id)
		p.post(ctx, func() { p.m.fetching = ref{}; p.m.shown(r, v, err) })
	})
}

// post has Run's goroutine do something.
func (p *Prompt) post(ctx context.Context, f func()) {
	select {
	case p.posted <- f:
	case <-ctx.Done():
	}
}

// find looks for sources, again and again, and listens to each.
func (p *Prompt) find(ctx context.Context, parts *sync.WaitGroup, find Finder) {
	var mu sync.Mutex
	known := map[string]bool{}
	for {
		found, err := find(ctx, func(name string) bool {
			mu.Lock()
			defer mu.Unlock()
			return known[name]
		})
		if err != nil {
			p.post(ctx, func() { p.m.hint = text.Line(err.Error()) })
		}
		for _, src := range found {
			mu.Lock()
			known[src.Name] = true
			mu.Unlock()
			parts.Go(func() {
				p.listen(ctx, src)
				p.post(ctx, func() { p.m.lost(src) })
				mu.Lock()
				delete(known, src.Name)
				mu.Unlock()
			})
		}
		if !pause.For(ctx, findAgain) {
			return
		}
	}
}

// listen keeps the list of one source as it is, until the source ends.
func (p *Prompt) listen(ctx context.Context, src *Found) {
	events, stop := gather(ctx, src)
	defer stop()
	for heard := range events {
		if heard.err != nil {
			return
		}
		c, cancel := ask(ctx)
		status, err := src.Status(c)
		var list []approval.Summary
		if err == nil {
			list, err = src.List(c, false)
		}
		cancel()
		if err != nil {
			return
		}
		p.post(ctx, func() {
			p.m.sources[src.Name] = src
			p.m.take(src, status, list, heard.events)
		})
	}
}

// heard is what happened since the last time one looked.
type heard struct {
	events []inbox.Event
	err    error
}

// gather puts the events of a source together, so that a burst of them costs
// one look at the list. The channel holds the latest; it is closed at the end.
func gather(ctx context.Context, src *Found) (<-chan heard, func()) {
	ctx, cancel := context.WithCancel(ctx)
	out := make(chan heard, 1)
	var done sync.WaitGroup
	done.Go(func() {
		defer close(out)
		for e, err := range src.Watch(ctx) {
			h := heard{err: err}
			select {
			case was := <-out:
				h.events = was.events
			default:
			}
			h.events = append(h.events, e)
			out <- h
		}
	})
	return out, func() {
		cancel()
		done.Wait()
	}
}
