package node

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A Passthrough is a run in which a server belongs to an MCP client. The server comes
// first and goes its way; beside it we are in the topic whenever that can be, with a
// [Node] for each time:
//
//	server up ─────────────────────────────────────────────> its end is ours
//	  place taken -> in the topic -> trouble -> place taken -> …
//
// It is the handler of its server and hands on what concerns the topic.
type Passthrough struct {
	*plan
	judged       bool // the client's own tool calls come under the rules, as those of "host"
	server       *stdio.Server
	gate         *hostGate
	inbox        *localInbox
	idPrefix     string        // begins the ids of all our requests
	hostIDPrefix string        // begins the ids of what we ask the client; "" if its calls are not judged
	alone        bool          // there is no directory for what being in the topic takes
	exit         stdio.Exit    // how the server ended; set before its Run returns
	turns        int           // how many places there were
	since        time.Time     // when our id was first found to be another's; zero if it is not
	launched     chan struct{} // closed when the server is there
	pid          int64         // then
}

const (
	lastLeave  = 3 * time.Second  // for leaving the topic when all is over
	lastCalls  = time.Second      // for calls of the topic when we are told to stop: the client will not wait
	placeAgain = 5 * time.Second  // at most between tries to get into the topic
	notWelcome = 30 * time.Second // before a gateway is tried again that has refused us
)

// NewPassthrough checks o, and starts nothing. judged has the client's own tool calls come
// under the rules, as those of "host". Misuse is an error; other trouble with the
// topic is none, for the client shall hear nothing of it: it is tried again while the
// server runs. Without a state directory the client has its server, and the topic has
// not; unless its calls are judged, for nobody could.
func NewPassthrough(o Options, judged bool) (*Passthrough, error) {
	p, err := fullPlan(o, judged)
	alone := errors.Is(err, localgateway.ErrNoState) && p != nil && !judged
	if f, ok := errors.AsType[*fault.Error](err); err != nil && (p == nil || ok && f.Exit == fault.Misused && !alone) {
		return nil, err
	}
	pt := &Passthrough{plan: p, judged: judged, gate: &hostGate{log: p.o.Log}, inbox: p.newInbox(), idPrefix: newIDPrefix(), alone: alone, launched: make(chan struct{})}
	if judged {
		pt.hostIDPrefix = "mcpx-" + rand.Text() + "-"
	}
	if alone {
		p.o.Log.Warn("the client has its server, but the server is not in the topic: " + err.Error())
		p.o.Log.Warn("hint: set XDG_STATE_HOME to an absolute path, or HOME, in the client's entry")
	}
	return pt, nil
}

// Alone reports whether the topic will not have the server.
func (pt *Passthrough) Alone() bool { return pt.alone }

// Inbox is what the person at this machine is asked, and how they answer, while there is a
// place in the topic: without one there are no questions. It may be used from any goroutine
// while Run runs, and watched through all places.
func (pt *Passthrough) Inbox() inbox.Publisher { return pt.inbox }

// Run starts the server and returns when that has ended, and all that was started here
// with it. host is the client, of which In, Out and Errors are said; the rest is ours to
// set. The error has the server's exit code. ctx ends it as Node.Run does, but the
// client does not wait: calls have a second. It is called once.
func (pt *Passthrough) Run(ctx context.Context, host stdio.Host) error {
	defer pt.families().adopt(ctx, pt.id, &pt.launch)()
	pt.complete(&host)
	pt.launch.Host = &host
	pt.server = stdio.New(pt.launch)
	pt.gate.tell = pt.server.Tell
	defer pt.inbox.Feed.Close()
	inTopic, leave := context.WithCancel(context.WithoutCancel(ctx))
	left := make(chan struct{})
	go func() {
		defer close(left)
		pt.keepPlace(inTopic)
	}()
	err := together(context.WithoutCancel(ctx), pt.keepServer,
		func(inner context.Context) error { return pt.untilTold(ctx, inner, lastCalls, pt.server, pt.gate.here) })
	leave()
	select {
	case <-left:
	case <-time.After(lastLeave): // the client waits for our end
	}
	switch {
	case errors.Is(err, errTold):
		return nil
	case errors.Is(err, context.Canceled): // the server ended
		return pt.asServer()
	}
	return err
}

// complete says what the server is to be told of the client.
func (pt *Passthrough) complete(h *stdio.Host) {
	h.IDPrefix, h.Occupied = pt.idPrefix, pt.occupied
	h.Launched = func(pid int) {
		pt.pid = int64(pid)
		close(pt.launched)
	}
	if pt.hostIDPrefix != "" {
		h.Gate, h.HostIDPrefix = pt.gate, pt.hostIDPrefix
	}
}

// asServer is the end of the server as ours. That it was ended with its client
// is no failure.
func (pt *Passthrough) asServer() error {
	status := pt.exit.Status
	if status == 0 || pt.exit.Code < 0 && pt.exit.Cause == stdio.CauseHostLeft {
		return nil
	}
	return &fault.Error{Exit: status}
}

func (pt *Passthrough) keepServer(ctx context.Context) error {
	return Unstarted(pt.server.Run(ctx, pt))
}

// keepPlace is in the topic whenever that can be. Why it cannot is said once,
// and to nobody but the log.
func (pt *Passthrough) keepPlace(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-pt.launched:
	}
	if pt.alone {
		<-ctx.Done()
		return
	}
	said, wait := "", localgateway.FreeAgain
	for {
		began := time.Now()
		err := pt.inTopic(ctx)
		if ctx.Err() != nil {
			return
		}
		if text := err.Error(); text != said {
			said = text
			pt.o.Log.Warn("not in the topic, trying again", "error", text)
			if errors.Is(err, localgateway.ErrTaken) && pt.o.ID != "" {
				pt.o.Log.Warn("hint: another client may have the same --id=" + pt.o.ID + "; give each of them its own")
			}
		}
		if time.Since(began) > placeAgain {
			wait = localgateway.FreeAgain
		}
		switch f, refused := errors.AsType[*fault.Error](err); {
		case errors.Is(err, localgateway.ErrTaken):
			wait = localgateway.FreeAgain
		case refused && (f.Exit == fault.Gateway || f.Exit == fault.ID):
			wait = notWelcome
		default:
			wait = min(2*wait, placeAgain)
		}
		if !pause.For(ctx, wait) {
			return
		}
	}
}

// nextPlan is a plan for the next place, under the rules that were in force in the last one: the
// server has run since they were read, and may have written the file. So what stands there now
// counts as a file does that is saved during a run: at once if it lets nothing more through,
// else when the watch has asked.
func (pt *Passthrough) nextPlan() (*plan, error) {
	p, err := newPlan(pt.o)
	if err != nil {
		return nil, err
	}
	p.source, p.engine.Policy, p.engine.Backed = pt.source, pt.engine.Policy, pt.engine.Backed
	now, err := p.source.read()
	counts := err == nil && len(policy.Looser(p.engine.Policy, now)) == 0
	if counts {
		p.engine.Policy = now
		pt.inbox.policyWrong(nil)
	}
	p.source.again = !counts // the watch asks, or says what is wrong
	return p, p.connect()
}

// inTopic takes a place in the topic and keeps it.
func (pt *Passthrough) inTopic(ctx context.Context) error {
	p, err := pt.nextPlan()
	if err != nil {
		return err
	}
	pt.turns++
	p.program, p.way.Exclusive = pt.program, true                                      // the program as it was before the start
	p.way.Yields = !pt.since.IsZero() && time.Since(pt.since) > localgateway.ClaimTime // if it was ours to choose, we take one that nobody has
	n, err := assemble(ctx, p, pt.server, pt.inbox, &hosting{idPrefix: pt.idPrefix + strconv.Itoa(pt.turns) + "k", hostIDPrefix: pt.hostIDPrefix, tell: pt.server.Tell})
	if err != nil {
		if errors.Is(err, localgateway.ErrTaken) && pt.since.IsZero() {
			pt.since = time.Now()
		}
		return err
	}
	n.pid.Store(pt.pid)
	pt.since = time.Time{}
	defer n.way.Close()
	defer pt.inbox.leave()
	defer func() { pt.engine.Policy, pt.engine.Backed = n.sidecar.Rules() }()
	defer n.close(errTold) // how we end is the server's to say
	pt.gate.enter(n)
	defer pt.leave(ctx, n)
	return together(ctx, n.parts()...)
}

// leave gives the place up. The client hears what becomes of its calls.
func (pt *Passthrough) leave(ctx context.Context, n *Node) {
	pt.gate.enter(nil)
	if pt.hostIDPrefix != "" && ctx.Err() == nil { // else the client is about to hear our end
		over, cancel := context.WithCancel(ctx)
		cancel()
		n.sidecar.Drain(over)
	}
}

func (pt *Passthrough) occupied() bool {
	n := pt.gate.here()
	return n != nil && n.sidecar.Occupied()
}

// ServerUp and the following are those of stdio.Handler.
func (pt *Passthrough) ServerUp(h stdio.Hello) { pt.gate.greeted(h) }

func (pt *Passthrough) ServerMessage(m jsonrpc.Message) {
	if n := pt.gate.here(); n != nil {
		n.fromServer().ServerMessage(m)
	}
}

func (pt *Passthrough) ServerNoise(s stdio.Noise) {
	if n := pt.gate.here(); n != nil {
		n.fromServer().ServerNoise(s)
	}
}

func (pt *Passthrough) ServerDown(x stdio.Exit) {
	pt.exit = x
	if n := pt.gate.here(); n != nil {
		n.fromServer().ServerDown(x)
	}
}

func (pt *Passthrough) ServerIdle() {
	if n := pt.gate.here(); n != nil {
		n.fromServer().ServerIdle()
	}
}
