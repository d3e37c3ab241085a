package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/commandline"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

const (
	// drainTime is how long calls that have begun may take after we were told to
	// stop (DESIGN 9).
	drainTime = 10 * time.Second
)

// A start takes its time where a server must be fetched first. We are in the topic by then,
// and calls wait (see package engine); Options.Ready is called when both are there.
const (
	// slowAfter is when people are told what a start waits for.
	slowAfter = 3 * time.Second

	// hashAfter is when a program is read though no calls are served yet: it may be the
	// program that is to blame.
	hashAfter = 5 * time.Second
)

// errTold is the cause of an end that was asked for.
var errTold = errors.New("told to stop")

// A Node is one run of a bridge: a server, a seat, and the sidecar between them.
//
//	server launched -> seat taken, calls wait -> server up, tools listed -> ready -> …
//	                -> drain -> seat left -> server stopped
type Node struct {
	*plan
	id      string
	server  *stdio.Server
	hosted  *hosting // nil: the server is ours
	seat    *topic.Seat
	sidecar *bridge.Sidecar
	inbox   *localInbox
	socket  *socket.Server
	kept    *remembered
	halt    *haltFile
	looker  looker
	audit   *audit.Log // nil if no record is kept
	pace    pace
	disown  func() // when the server is gone

	pid      atomic.Int64 // the server's process, 0 while there is none
	tools    atomic.Int64
	launched latch                 // set when there is a server to speak for
	serving  latch                 // set when the tools are known
	seated   latch                 // set when we have been in the topic
	taken    atomic.Pointer[Ready] // the seat of which nobody was told yet
	joined   chan struct{}         // closed when there is a sidecar
	reloaded chan struct{}         // has something when another policy is in force

	unverified sync.Once // said that nobody verifies who speaks
}

// A hosting is what is different where the server belongs to an MCP client.
type hosting struct {
	idPrefix, hostIDPrefix string
	tell                   func(line []byte)
}

// New checks o, then finds the gateway or hosts it, makes our id ours, and opens what is
// kept under that. It waits for the gateway's host, or a token, until ctx ends. Whoever
// gets a Node calls Run or Close.
func New(ctx context.Context, o Options) (*Node, error) {
	p, err := fullPlan(o, false)
	if err != nil {
		return nil, err
	}
	disown := p.families().adopt(ctx, p.id, &p.launch)
	launched := newLatch()
	p.launch.Launched = launched.close
	n, err := assemble(ctx, p, stdio.New(p.launch), p.newInbox(), nil)
	if err != nil {
		disown()
		return nil, err
	}
	n.disown, n.launched = disown, launched
	return n, nil
}

// assemble finds the gateway and who we are there, opens the record that is kept under
// that name, and joins the parts. What it got before it failed it gives back.
func assemble(ctx context.Context, p *plan, server *stdio.Server, in *localInbox, hosted *hosting) (*Node, error) {
	n := &Node{plan: p, server: server, inbox: in, hosted: hosted, serving: newLatch(), seated: newLatch(), joined: make(chan struct{}), reloaded: make(chan struct{}, 1), disown: func() {}}
	if err := n.take(ctx); err != nil {
		n.giveBack()
		return nil, err
	}
	n.join()
	return n, nil
}

// take gets what a bridge needs beside its server, in the order in which a person wants to
// hear what is wrong.
func (n *Node) take(ctx context.Context) (err error) {
	if err := n.way.Ready(ctx); err != nil {
		return err
	}
	if n.seat, err = n.way.Seat(); err != nil {
		return err
	}
	n.id = n.way.Join.ID
	if n.socket, err = n.openSocket(n.id, n.inbox); err != nil {
		return err
	}
	if n.kept, err = n.openRemembered(n.id); err != nil {
		return err
	}
	n.halt = n.openHalted(n.id)
	if n.audit, err = n.openAudit(n.id, n.auditChanged); err != nil {
		return n.orTwin(err)
	}
	return n.kept.record(n.audit)
}

// orTwin is err, or, where that is because of another bridge that has our id, says so.
func (n *Node) orTwin(err error) error {
	pid := n.way.Holder()
	if pid == 0 || !errors.Is(err, audit.ErrLocked) {
		return err
	}
	return fault.New(fault.ID, "stop that one, or give this one another --id", "a bridge called %s runs already, pid %d", n.id, pid)
}

// join makes the sidecar of what there is.
func (n *Node) join() {
	o := bridge.Options{Engine: n.engine, Told: n.inbox.told, Remember: n.remember, Emit: n.emit, Serving: n.serves}
	if n.audit != nil {
		o.Audit, o.SyncAll = n.audit, n.o.Record.Sync.Waits(false)
	}
	if h := n.hosted; h != nil {
		o.Engine.Hosted, o.Engine.IDPrefix, o.Engine.HostIDPrefix, o.TellHost = true, h.idPrefix, h.hostIDPrefix, h.tell
	}
	n.looker.done = func(ev engine.Looked) {
		n.sidecar.Handle(ev)
		n.sidecar.Flush()
	}
	o.Look = n.looker.look
	n.sidecar = bridge.New(o)
	n.sidecar.Bind(seatOf{n.seat}, n.server)
	keys := newKeyring(passkey.In(n.o.State.File("passkeys"), n.inTopic(n.id)), n.audit, n.sidecar, n.inbox)
	n.inbox.enter(&place{id: n.id, topic: n.engine.Topic, where: n.way.Where, sidecar: n.sidecar, audit: n.audit, kept: n.kept, keys: keys, halt: n.halt, pace: &n.pace})
	close(n.joined)
}

// emit tells of what happened, and those at this machine to look who is here.
func (n *Node) emit(r *record.Record) {
	n.o.Emit(r)
	switch {
	case r.Event == record.Peer:
		n.inbox.Post(inbox.Event{Event: "changed"})
	case r.Event == record.Asked && !r.Unasked && n.sidecar.Halted() != nil:
		n.inbox.Post(inbox.Event{Event: "changed", ID: r.Question}) // it is put to nobody yet
	case r.Event == record.Reloaded:
		n.inbox.Post(inbox.Event{Event: "changed", Because: inbox.OtherRules})
		select {
		case n.reloaded <- struct{}{}:
		default:
		}
	}
}

// giveBack is the end of a node that does not run.
func (n *Node) giveBack() {
	if n.socket != nil {
		n.socket.Close()
	}
	if n.kept != nil {
		n.kept.held.Close()
	}
	if n.audit != nil {
		n.audit.Close()
	}
	n.way.Close()
}

// Close gives back what New took. It is for a Node that is not run.
func (n *Node) Close() {
	n.giveBack()
	n.disown()
}

// ID is our participant id, which may be another than was asked for: somebody else at this
// machine may have that.
func (n *Node) ID() string { return n.id }

// Topic is the one that we are in.
func (n *Node) Topic() string { return n.engine.Topic }

// Inbox is what the person at this machine is asked, and how they answer. It may be used
// from any goroutine while Run runs.
func (n *Node) Inbox() inbox.Publisher { return n.inbox }

// Run starts the server, and keeps it and the seat until ctx ends, which is no error, or
// the first of the parts does. Calls that have begun then have 10 seconds to end, or until
// Options.Hurry ends. beside are run with it: they are cancelled when the bridge ends, and
// when one of them returns it ends. Run returns when all that it started has ended; it is
// called once.
func (n *Node) Run(ctx context.Context, beside ...func(context.Context) error) (err error) {
	defer n.disown()
	defer n.way.Close()
	defer n.inbox.Feed.Close()
	defer func() { err = n.close(err) }()
	parts := append(n.parts(), n.keepServer, func(inner context.Context) error {
		return n.untilTold(ctx, inner, drainTime, n.server, func() *Node { return n })
	})
	err = together(context.WithoutCancel(ctx), append(parts, beside...)...)
	if errors.Is(err, errTold) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// close says that we end, because of err or as we should.
func (n *Node) close(err error) error {
	n.sidecar.Leave()
	return n.closeAudit(n.audit, err)
}

// parts is what it takes to be in the topic.
func (n *Node) parts() []func(context.Context) error {
	return []func(context.Context) error{n.keepSeat, n.sidecar.Run, n.keepRules, n.keepWitness, n.keepSocket, n.keepNotifying, n.keepGrants, n.keepPace, n.afterStart}
}

func (n *Node) fromServer() fromServer { return fromServer{n.sidecar, n.inbox, &n.pid} }

func (n *Node) keepServer(ctx context.Context) error {
	return Unstarted(n.server.Run(ctx, n.fromServer()))
}

// keepSeat joins the topic as soon as the server was launched, and does not wait until it is
// up: calls will.
func (n *Node) keepSeat(ctx context.Context) error {
	if n.engine.Halted != nil {
		n.tell(engine.Tick{}) // it says so before all else
	}
	if n.hosted == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-n.launched.set:
		}
	}
	return localgateway.Fault(n.seat.Run(ctx, fromTopic{n.sidecar, n.server.Linger, n.welcomed}))
}

// untilTold waits for told, then lets the calls finish that have begun, as long as most. here
// is the place in the topic by then, nil if there is none.
func (p *plan) untilTold(told, inner context.Context, most time.Duration, server *stdio.Server, here func() *Node) error {
	defer func() { context.AfterFunc(p.o.Hurry, server.Kill) }() // from the end on, whyever that is
	select {
	case <-inner.Done():
		return nil
	case <-told.Done():
	}
	if n := here(); n != nil {
		ctx, cancel := context.WithTimeout(p.o.Hurry, most)
		defer cancel()
		n.sidecar.Drain(ctx)
	}
	return errTold
}

// keepRules puts every new policy in force.
func (n *Node) keepRules(ctx context.Context) error {
	n.source.watch(ctx, n.o.Reload,
		func(p *policy.Policy) {
			n.inbox.policyWrong(nil)
			n.tell(engine.Saved{Policy: p, File: n.o.Policy})
		},
		func(err error) {
			n.inbox.policyWrong(err)
			n.sidecar.Say(&record.Record{Event: record.ReloadFailed, Detail: err.Error()})
		})
	<-ctx.Done()
	return nil
}

func (n *Node) keepWitness(ctx context.Context) error {
	if n.audit != nil {
		witness(ctx, n.audit, func(c engine.Checkpoint) { n.tell(c) })
	}
	<-ctx.Done()
	return nil
}

// keepSocket serves the person at this machine until ctx ends.
func (n *Node) keepSocket(ctx context.Context) error { return n.socket.Serve(ctx) }

func (n *Node) keepNotifying(ctx context.Context) error {
	(&notifying{n.plan, n.inbox, n.sidecar.Policy, n.reloaded, n.seated}).run(ctx)
	return nil
}

func (n *Node) keepGrants(ctx context.Context) error {
	n.kept.run(ctx, n.o.Log)
	return nil
}

// keepPace marks what was counted until ctx ends.
func (n *Node) keepPace(ctx context.Context) error {
	each := time.NewTicker(time.Second)
	defer each.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-each.C:
			n.pace.mark(n.sidecar.Calls())
		}
	}
}

// tell is for what comes from neither the topic nor the server.
func (n *Node) tell(ev engine.Event) {
	n.sidecar.Handle(ev)
	n.sidecar.Flush()
}

// auditChanged hears that records cannot be written, or can be again.
func (n *Node) auditChanged(err error) {
	select {
	case <-n.joined:
	default:
		return // what fails before there is a sidecar is an error of the start
	}
	if err != nil {
		n.tell(engine.Unrecorded{Err: err})
	} else {
		n.tell(engine.AuditUp{})
	}
}

// remember is called under the sidecar's lock.
func (n *Node) remember(g approval.Grant) {
	if !n.kept.remember(g) {
		n.o.Log.Error("a grant is forgotten when this bridge ends: too many at once", "grant", g.ID)
	}
}

// serves hears from the sidecar that the tools are known.
func (n *Node) serves(s engine.Serving) {
	n.tools.Store(int64(s.Tools))
	n.inbox.serverUp(true)
	n.serving.close()
}

// welcomed hears of each seat taken.
func (n *Node) welcomed(d wire.Dialect, w wire.Welcome) {
	n.inbox.seatedAs(d, w)
	if warning, hint := n.unverifiedIn(d); warning != "" {
		n.unverified.Do(func() {
			n.o.Log.Warn(warning)
			n.o.Log.Warn("hint: " + hint)
		})
	}
	at, hosted := n.way.Where()
	n.taken.Store(&Ready{ID: w.You.ID, Topic: n.engine.Topic, Gateway: at, Hosted: hosted, Dialect: d.Protocol,
		Control: n.socket.Path(), Resources: n.engine.Policy.Reach("resources/read"), Prompts: n.engine.Policy.Reach("prompts/get")})
	n.seated.close()
	if n.hosted != nil || n.serving.isSet() {
		n.ready()
	}
}

// ready says of the seat that was taken last that calls are served, unless it was said.
func (n *Node) ready() {
	r := n.taken.Swap(nil)
	if r == nil {
		return
	}
	r.Tools, r.ServerPID = int(n.tools.Load()), int(n.pid.Load())
	r.Waits = n.hosted != nil && r.Tools == 0
	n.o.Ready(*r)
}

// afterStart does what nobody is to wait for, when calls are served: the hash of the
// server's program goes on record, for to read a large one takes longer than all else
// that a start does.
func (n *Node) afterStart(ctx context.Context) error {
	late := time.After(hashAfter)
	served := n.served(ctx, time.After(slowAfter))
	if !served && ctx.Err() == nil {
		n.tellSlow()
		served = n.served(ctx, late)
	}
	if n.audit != nil {
		n.program.record(ctx, n.audit)
	}
	n.o.Started()
	if !served {
		n.served(ctx, nil)
	}
	<-ctx.Done()
	return nil
}

// served waits until calls are served, and says so; false: late came first, or ctx ended.
func (n *Node) served(ctx context.Context, late <-chan time.Time) bool {
	waits := []<-chan struct{}{n.seated.set}
	if n.hosted == nil {
		waits = append(waits, n.serving.set)
	}
	for _, set := range waits {
		select {
		case <-ctx.Done():
			return false
		case <-late:
			return false
		case <-set:
		}
	}
	n.ready()
	return true
}

// tellSlow says what the start waits for, if it is the server.
func (n *Node) tellSlow() {
	if n.hosted != nil || n.serving.isSet() {
		return
	}
	n.o.Log.Info(fmt.Sprintf("still starting: %s (%s at most, see --start-timeout); calls wait", n.awaited(), text.Span(cmp.Or(n.o.StartTimeout, 30*time.Second))))
}

// awaited is what a start waits for, in words.
func (n *Node) awaited() string {
	if n.o.Server.Attached() {
		return "the server at " + n.o.Server.String() + " has not answered yet"
	}
	if name := commandline.Fetcher(n.o.Server.Args); name != "" {
		return name + " may be downloading the server"
	}
	return "the server has not answered yet"
}
