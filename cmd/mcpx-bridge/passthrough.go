package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A passthrough is a run in which our stdin and stdout are those of an MCP
// client, to whom the server belongs. The server comes first and goes its way;
// beside it we are in the topic whenever that can be, with a bridging for each
// time:
//
//	server up ─────────────────────────────────────────────> its end is ours
//	  place taken -> in the topic -> trouble -> place taken -> …
//
// It is the handler of its server and hands on what concerns the topic.
type passthrough struct {
	p       *program
	target  target
	program programFile // of the server, as it was before that was started
	server  *stdio.Server
	events  *events
	mark    string     // begins the ids of all our requests
	exit    stdio.Exit // how the server ended; set before its Run returns
	turns   int        // how many places there were
	alone   bool       // there is no directory for what being in the topic takes
	since   time.Time  // when our id was first found to be another's; zero if it is not
	seal    string     // begins the ids of what we ask the client; "" if its calls are not judged

	launched chan struct{} // closed when the server is there
	pid      int64         // then

	mu    sync.Mutex
	place *bridging    // nil while we are not in the topic
	hello *stdio.Hello // nil while the client has not greeted the server
	early []*earlyCall // of the client, made while we had no place
}

const (
	lastLeave  = 3 * time.Second        // for leaving the topic when all is over
	lastCalls  = time.Second            // for calls of the topic when we are told to stop: the client will not wait
	freeAgain  = 250 * time.Millisecond // between looks whether our id is free
	placeAgain = 5 * time.Second        // at most between tries to get into the topic
	notWelcome = 30 * time.Second       // before a gateway is tried again that has refused us
)

// passThrough checks everything, then starts the server, then sees to the topic.
func (p *program) passThrough(ctx context.Context, t target) error {
	checked, err := p.newBridging(t)
	stateless := err
	alone := errors.Is(err, localgateway.ErrNoState) && checked != nil && !p.s.GateHost // which no client's call could be judged without
	if f, ok := errors.AsType[*failure](err); checked == nil || ok && f.Exit == exitMisused && !alone {
		return err // else it is trouble with the topic, of which the client shall hear nothing
	}
	pt := &passthrough{p: p, target: t, program: checked.program, mark: newMark(), events: p.newEvents(p.stdout), launched: make(chan struct{})}
	defer pt.events.close()
	if p.s.GateHost {
		pt.seal = "mcpx-" + rand.Text() + "-"
	}
	defer p.adopt(ctx, cmp.Or(p.s.ID, t.id()), &checked.launch)()
	leave, err := pt.meetHost(checked.launch)
	defer leave()
	if err != nil {
		return err
	}
	if pt.alone = alone; alone {
		p.log.Warn("the client has its server, but the server is not in the topic: " + stateless.Error())
		p.log.Warn("hint: set XDG_STATE_HOME to an absolute path, or HOME, in the client's entry")
	} else {
		p.hintAllow()
	}
	return pt.run(ctx)
}

// meetHost makes the server that belongs to whoever is at our stdin and stdout.
// These are given back by leave, error or not.
func (pt *passthrough) meetHost(o stdio.Options) (leave func(), err error) {
	in, inErr := stdio.OpenDescriptor(0)
	out, outErr := stdio.OpenDescriptor(1)
	leave = func() {
		for _, d := range []*stdio.Descriptor{in, out} {
			if d != nil {
				d.Close()
			}
		}
	}
	if err := errors.Join(inErr, outErr); err != nil {
		return leave, fail(exitFailed, "--stdio is for MCP clients, which start us with a stdin and stdout", "%w", err)
	}
	o.Host = &stdio.Host{In: in.Interruptible(), Out: out, Errors: pt.p.stderr, IDPrefix: pt.mark, Occupied: pt.occupied,
		Launched: func(pid int) {
			pt.pid = int64(pid)
			close(pt.launched)
		}}
	if pt.seal != "" {
		o.Host.Gate, o.Host.HostIDPrefix = hostGate{pt}, pt.seal
	}
	pt.server = stdio.New(o)
	return leave, nil
}

func (pt *passthrough) run(ctx context.Context) error {
	inTopic, leave := context.WithCancel(context.WithoutCancel(ctx))
	left := make(chan struct{})
	go func() {
		defer close(left)
		pt.keepPlace(inTopic)
	}()
	err := together(context.WithoutCancel(ctx), pt.keepServer,
		func(inner context.Context) error { return pt.untilTold(ctx, inner) })
	leave()
	select {
	case <-left:
	case <-time.After(lastLeave): // the client waits for our end
	}
	switch {
	case errors.Is(err, errSignalled):
		return nil
	case errors.Is(err, context.Canceled): // the server ended
		return pt.asServer()
	}
	return err
}

// asServer is the end of the server as ours. That it was ended with its client
// is no failure.
func (pt *passthrough) asServer() error {
	status := pt.exit.Status
	if pt.exit.Code < 0 && pt.exit.Cause == stdio.CauseHostLeft {
		status = exitDone
	}
	if status == exitDone {
		return nil
	}
	return &failure{Exit: status}
}

func (pt *passthrough) keepServer(ctx context.Context) error {
	err := pt.server.Run(ctx, pt)
	if e, ok := errors.AsType[*stdio.StartError](err); ok {
		return unstarted(e)
	}
	return err
}

// untilTold waits for the signal. A client sends it when it has lost patience.
func (pt *passthrough) untilTold(told, inner context.Context) error {
	select {
	case <-inner.Done():
		return nil
	case <-told.Done():
	}
	if b := pt.here(); b != nil {
		ctx, cancel := context.WithTimeout(pt.p.hurry, lastCalls)
		defer cancel()
		b.sidecar.Drain(ctx)
	}
	context.AfterFunc(pt.p.hurry, pt.server.Kill)
	return errSignalled
}

// keepPlace is in the topic whenever that can be. Why it cannot is said once,
// and to nobody but the log.
func (pt *passthrough) keepPlace(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-pt.launched:
	}
	if pt.alone {
		<-ctx.Done()
		return
	}
	said, wait := "", freeAgain
	for {
		began := time.Now()
		err := pt.inTopic(ctx)
		if ctx.Err() != nil {
			return
		}
		if text := err.Error(); text != said {
			said = text
			pt.p.log.Warn("not in the topic, trying again", "error", text)
			if errors.Is(err, localgateway.ErrTaken) && pt.p.s.ID != "" {
				pt.p.log.Warn("hint: another client may have the same --id=" + pt.p.s.ID + "; give each of them its own")
			}
		}
		if time.Since(began) > placeAgain {
			wait = freeAgain
		}
		switch f, refused := errors.AsType[*failure](err); {
		case errors.Is(err, localgateway.ErrTaken):
			wait = freeAgain
		case refused && (f.Exit == exitGateway || f.Exit == exitID):
			wait = notWelcome
		default:
			wait = min(2*wait, placeAgain)
		}
		if !pause.For(ctx, wait) {
			return
		}
	}
}

// inTopic takes a place in the topic and keeps it.
func (pt *passthrough) inTopic(ctx context.Context) error {
	b, err := pt.p.newBridging(pt.target)
	if err != nil {
		return err
	}
	pt.turns++
	b.server, b.events, b.door.Exclusive, b.program = pt.server, pt.events, true, pt.program
	b.door.Yields = !pt.since.IsZero() && time.Since(pt.since) > claimTime
	b.pid.Store(pt.pid)
	b.opt.Engine.Hosted, b.opt.Engine.Mark = true, pt.mark+strconv.Itoa(pt.turns)+"k"
	b.opt.Engine.HostSeal, b.opt.TellHost = pt.seal, pt.server.Tell
	if err := b.takePlace(ctx); err != nil {
		if errors.Is(err, localgateway.ErrTaken) && pt.since.IsZero() {
			pt.since = time.Now()
		}
		b.abandon()
		return err
	}
	pt.since = time.Time{}
	defer b.door.Close()
	defer b.closeAudit(errSignalled) // how we end is the server's to say
	pt.enter(b)
	defer pt.leave(ctx, b)
	return together(ctx, b.place()...)
}

// enter has b hear of the server from now on, and of what has been.
func (pt *passthrough) enter(b *bridging) {
	pt.mu.Lock()
	defer pt.mu.Unlock()
	pt.place = b
	if b != nil && pt.hello != nil {
		fromServer{b}.ServerUp(*pt.hello)
		fromServer{b}.ServerIdle()
	}
	if b != nil {
		pt.sendEarlyLocked(b)
	}
}

// leave gives the place up. The client hears what becomes of its calls.
func (pt *passthrough) leave(ctx context.Context, b *bridging) {
	pt.enter(nil)
	if pt.seal != "" && ctx.Err() == nil { // else the client is about to hear our end
		over, cancel := context.WithCancel(ctx)
		cancel()
		b.sidecar.Drain(over)
	}
}

func (pt *passthrough) here() *bridging {
	pt.mu.Lock()
	defer pt.mu.Unlock()
	return pt.place
}

func (pt *passthrough) occupied() bool {
	b := pt.here()
	return b != nil && b.sidecar.Occupied()
}

func (pt *passthrough) ServerUp(h stdio.Hello) {
	pt.mu.Lock()
	defer pt.mu.Unlock()
	pt.hello = &h
	if pt.place != nil {
		fromServer{pt.place}.ServerUp(h)
	}
}

func (pt *passthrough) ServerMessage(m jsonrpc.Message) {
	if b := pt.here(); b != nil {
		fromServer{b}.ServerMessage(m)
	}
}

func (pt *passthrough) ServerNoise(n stdio.Noise) {
	if b := pt.here(); b != nil {
		fromServer{b}.ServerNoise(n)
	}
}

func (pt *passthrough) ServerDown(x stdio.Exit) {
	pt.exit = x
	if b := pt.here(); b != nil {
		fromServer{b}.ServerDown(x)
	}
}

func (pt *passthrough) ServerIdle() {
	if b := pt.here(); b != nil {
		fromServer{b}.ServerIdle()
	}
}
