package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/grants"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// drainTime is how long calls that have begun may take after we were told to
// stop (DESIGN 9).
const drainTime = 10 * time.Second

func (p *program) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [FLAGS] -- CMD [ARG…]",
		Short: "Start an MCP server and join a topic on its behalf",
		Long: `Start an MCP server and join a topic on its behalf.

The server is any program that speaks MCP over stdin and stdout. The others in
the topic find its tools under our id.

Every call waits until you agree to it, here at the terminal or with mcpx-bridge
approve, or somebody does whom --approver names. What --allow names runs
unasked, what --deny names is refused; in a pattern * stands for any run of
characters. --policy FILE says it all with rules; mcpx-bridge policy init drafts
one. What was decided, and what ran, is kept in the audit log.`,
		Annotations: map[string]string{further: `

The server is started as it stands behind --, without a shell, and stopped with
everything it started when this command ends. Should it end first it is started
again; when it ends for the sixth time within five minutes, up for less than a
minute each time, this command gives up, with exit code 3. Our id is taken from
the command unless --id names another.

A deny beats an allow. With default: deny in the policy, --allow is a closed list:
nothing else runs, and nobody is asked. Without a record nothing runs.

Without --gateway it joins this machine's own gateway, and hosts that itself
when no other mcpx-bridge does. When the one that hosts it ends, another takes
over; callers only need to join again.

With --json each event is one line on stdout. The first is "ready" and means
that calls are served. An interrupt lets calls that have begun finish, for 10
seconds; a second one does not.

With --stdio an MCP client on this machine (Claude Desktop, an editor) has the
server as its own: put this command in front of the server's in the client's
settings. The two talk as if nothing stood between, and the topic has the server
too, under your rules, from the moment the client has greeted it. No rule sees what
the client itself asks for. Events and log go to stderr; no trouble with the topic
reaches the client. The server ends with the client, and we with the server and
its exit code.

With --gate-host the client's own tool calls come under your rules too, as those
of a caller with the id "host". Where "host" is among those who decide, as with
--approver host, the client puts the question before its person, if it can; the
others are asked as always. All else passes as before.`},
		Example: `  mcpx-bridge run --allow 'read_*' --allow 'list_*' -- npx -y \
      @modelcontextprotocol/server-filesystem /tmp
  mcpx-bridge run --allow '*' --deny 'delete_*' -- uvx mcp-server-notes
  mcpx-bridge run --approver alice --within 10m -- uvx mcp-server-notes
  mcpx-bridge run --stdio --policy policy.yaml -- uvx mcp-server-notes`,
		Args: positional(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.runServer(cmd.Context(), args) },
	}
	p.runFlags(cmd.Flags())
	return cmd
}

// runFlags are those of run, and of doctor, which tries what run would do with them.
func (p *program) runFlags(f *pflag.FlagSet) {
	f.SetInterspersed(false)
	p.s.serverFlags(f)
	p.bridgingFlags(f)
	f.BoolVar(&p.s.Stdio, "stdio", false, "be the server to the MCP client that starts us: it talks to the server over our stdin and stdout")
	f.BoolVar(&p.s.GateHost, "gate-host", false, "with --stdio: the tool calls of that client wait for your rules and your yes too, as those of \"host\"")
	f.Lookup("id").Usage = "our participant `ID` (default: taken from the command)"
}

// bridgingFlags are those of all who bridge a server.
func (p *program) bridgingFlags(f *pflag.FlagSet) {
	p.s.roomFlags(f)
	p.s.policyFlags(f)
	f.DurationVar(&p.s.Timeout, "timeout", time.Minute, "how long the server may take for a call, as a `TIME` like 90s")
	f.IntVar(&p.s.MaxCalls, "max-calls", 0, "let at most `N` calls be at the server at one time (default 1024)")
	f.IntVar(&p.s.MaxPending, "max-pending", 0, "let at most `N` questions wait for an answer at one time (default 10000)")
	f.StringVar(&p.s.Answers, "answers", "any", "`WHERE` the person at this machine may answer: any, or terminal for nowhere but the terminal that run has")
	p.s.listenFlags(f, "where to host this machine's gateway if nobody does, `HOST:PORT`")
}

// A bridging is one run: a server, a seat, and the sidecar between them.
//
//	server up, tools listed -> seat taken -> ready -> … -> drain -> seat left -> server stopped
type bridging struct {
	p          *program
	door       *connector
	seat       *topic.Seat
	server     *stdio.Server
	sidecar    *bridge.Sidecar
	rules      *rulebook
	attendance *attendance
	id         string // ours, as far as we know before the gateway says it
	target     target

	kept       grants.Keeper       // the yeses that are to last
	holding    io.Closer           // of their file
	unrecorded []grants.Revocation // of the time before

	audit   *audit.Log     // nil if no record is kept
	launch  stdio.Options  // of the server
	program programFile    // that is started; none where we attach
	opt     bridge.Options // of the sidecar
	events  *events

	pid     atomic.Int64  // the server's process, 0 while there is none
	joined  chan struct{} // closed when there is a sidecar
	serving latch         // set when the tools are known
	seated  latch         // set when that is so and we have been in the topic
	tools   atomic.Int64

	unverified sync.Once // said that nobody verifies who speaks
}

func (p *program) runServer(ctx context.Context, args []string) error {
	argv, err := p.command(args)
	if err != nil {
		return err
	}
	t := target{argv: argv}
	if p.s.Stdio {
		return p.passThrough(ctx, t)
	}
	return p.bridge(ctx, t)
}

// bridge checks everything before it starts anything.
func (p *program) bridge(ctx context.Context, t target) error {
	b, err := p.newBridging(t)
	if err != nil {
		return err
	}
	defer p.adopt(ctx, cmp.Or(p.s.ID, t.id()), &b.launch)()
	b.server = stdio.New(b.launch)
	if err := b.takePlace(ctx); err != nil {
		b.abandon()
		return err
	}
	p.hintAllow()
	return b.run(ctx)
}

// abandon gives back what takePlace got before it failed.
func (b *bridging) abandon() {
	if b.attendance != nil && b.attendance.door != nil {
		b.attendance.door.Close()
	}
	b.door.Close()
}

// hintAllow says what a person who has just begun will wonder about.
func (p *program) hintAllow() {
	where := "with mcpx-bridge approve"
	switch {
	case p.s.Answers == "terminal":
		where = "here, and nowhere else"
	case p.prompt != nil:
		where = "here, or " + where
	}
	who := "you agree to it"
	if len(p.s.Approver) > 0 {
		who = "somebody agrees to it: " + strings.Join(append([]string{"you"}, p.approvers()...), ", ")
	}
	switch {
	case p.s.Policy != "":
	case len(p.s.Allow)+len(p.s.Deny) > 0 || p.asks():
		p.log.Info("what is not allowed or denied waits until " + who)
		p.log.Info("hint: you answer " + where)
	default:
		p.log.Info("every call waits until you agree to it: " + where)
		p.log.Info("hint: --allow 'read_*' lets others call the tools that begin with read_, --policy FILE says more")
	}
}

// newBridging checks what was asked for. What is wrong with the way to the topic
// it finds out last, and then returns the rest too.
func (p *program) newBridging(t target) (*bridging, error) {
	b, err := p.checkedBridging(t)
	if err != nil {
		return nil, err
	}
	return b, b.chooseDoor()
}

// chooseDoor finds the way to the topic, and who we would like to be there.
func (b *bridging) chooseDoor() (err error) {
	if b.door, err = b.p.newConnector(cmp.Or(b.p.s.ID, b.target.id()), true); err == nil {
		b.door.Derived = b.p.s.ID == ""
	}
	return err
}

// checkedBridging is a bridging without a door, and touches nothing yet. Its
// errors are usage errors.
func (p *program) checkedBridging(t target) (*bridging, error) {
	b, err := p.bareBridging(t)
	if err != nil {
		return nil, err
	}
	warnings, err := b.takeRules()
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		p.log.Warn(w)
	}
	return b, nil
}

// takeRules reads what may run, and returns what is hardly meant about where it is kept.
func (b *bridging) takeRules() (warnings []string, err error) {
	rules, now, err := b.p.newRulebook(cmp.Or(b.p.s.ID, b.target.id()))
	if err != nil {
		return nil, err
	}
	b.rules, b.opt.Engine.Policy = rules, now
	return b.p.exposed(now, b.p.s.Policy, b.target.argv, b.p.s.Cwd, nil), nil
}

// bareBridging is a checkedBridging that has no rules yet.
func (p *program) bareBridging(t target) (*bridging, error) {
	b := &bridging{p: p, target: t, serving: newLatch(), seated: newLatch(), joined: make(chan struct{})}
	id := cmp.Or(p.s.ID, t.id())
	if err := cmp.Or(checkID("--id", id), p.checkApprovers(id)); err != nil {
		return nil, err
	}
	if err := p.checkRun(); err != nil {
		return nil, err
	}
	for _, word := range p.s.Provides {
		if err := policy.CheckWord(word); err != nil {
			return nil, misused("--provides filesystem", "--provides: %q: %w", word, err)
		}
	}
	env, err := p.childEnv()
	if err != nil {
		return nil, err
	}
	trace, err := p.trace("stdio", nil)
	if err != nil {
		return nil, err
	}
	dir, err := serverDir(p.s.Cwd)
	if err != nil {
		return nil, err
	}
	if !t.attached() {
		b.program = findProgram(t.argv[0], cmp.Or(dir, p.s.Cwd))
	}
	b.launch = stdio.Options{Args: t.argv, Endpoint: t.at, Dir: cmp.Or(dir, p.s.Cwd), Env: env, StartTimeout: p.s.StartTimeout,
		Version: version(), Log: p.log, Trace: trace, Sweep: p.alone}
	style, ok := wire.ParseStyle(cmp.Or(p.s.ProposalStyle, "auto"))
	if !ok {
		return nil, misused("it is one of "+strings.Join(wire.StyleNames(), ", "), "--proposal-style: there is no style %q", p.s.ProposalStyle)
	}
	b.opt = bridge.Options{
		Engine: engine.Config{
			NewID:    uuid.NewString,
			Random:   fresh128,
			Timeout:  p.s.Timeout,
			MaxCalls: p.s.MaxCalls,
			Desk:     approval.Options{MaxPending: p.s.MaxPending},
			Session:  newSession(),
			Topic:    p.s.Topic,
			Gateway:  gatewayName(p.s.Gateway),
			Server:   t.String(),
			Program:  t.program(),
			Dir:      dir,
			Mark:     t.mark(),

			Local:           true,
			Verified:        p.s.Gateway == "",
			TrustUnverified: p.s.TrustUnverified,
			Provides:        p.s.Provides,
			ProposalStatus:  p.s.ProposalStatus,
			ProposalStyle:   style,
			LenientParams:   p.s.LenientParams,
			ToolsRequest:    p.s.ToolsRequest,
		},
		Emit:    func(r *record.Record) { b.events.emit(r) }, // b.events is made later
		Serving: b.serves,
	}
	return b, nil
}

func (p *program) checkRun() error {
	switch {
	case p.s.GateHost && !p.s.Stdio:
		return misused("add --stdio, or drop it", "--gate-host is about the client that starts us with --stdio")
	case p.s.StartTimeout <= 0:
		return misused("--start-timeout 30s", "--start-timeout must be more than nothing")
	case p.s.MaxCalls < 0:
		return misused("--max-calls 64", "--max-calls must be more than nothing")
	case p.s.MaxPending < 0:
		return misused("--max-pending 100", "--max-pending must be more than nothing")
	case p.s.Answers != "any" && p.s.Answers != "terminal":
		return misused("--answers any, or --answers terminal", "--answers: %q is no place to answer", p.s.Answers)
	case p.s.Answers == "terminal" && p.prompt == nil:
		return misused("start it at a terminal, without --json and --stdio; or let --approver or the policy name others who answer", "--answers terminal: there is no terminal here to answer at")
	case p.s.Gateway != "" && p.s.Listen != localgateway.DefaultListen:
		return misused("drop --listen, or drop --gateway to host one", "--listen has no meaning with --gateway")
	case localgateway.OffLoopback(p.s.Listen):
		return misused("\"mcpx-bridge gateway --listen\" serves other machines, with TLS", "--listen: run hosts a gateway for this machine only")
	}
	if err := p.s.checkTimeout(); err != nil {
		return err
	}
	if _, _, err := p.s.auditKeep(); err != nil {
		return err
	}
	return checkDir(p.s.Cwd)
}

// run keeps the parts together until the first of them ends. The cause says
// why, and decides the exit code.
func (b *bridging) run(ctx context.Context) (err error) {
	b.events = b.p.newEvents(b.p.stdout)
	defer b.events.close()
	defer b.door.Close()
	defer func() { err = b.closeAudit(err) }()
	err = together(context.WithoutCancel(ctx), append(b.place(),
		b.keepServer,
		b.keepAsking,
		func(inner context.Context) error { return b.untilTold(ctx, inner) },
	)...)
	if errors.Is(err, errSignalled) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// place is what it takes to be in the topic, once takePlace has been done.
func (b *bridging) place() []func(context.Context) error {
	return []func(context.Context) error{b.keepSeat, b.sidecar.Run, b.keepRules, b.keepWitness, b.keepDoor, b.keepGrants, b.afterStart}
}

func (b *bridging) keepServer(ctx context.Context) error {
	err := b.server.Run(ctx, fromServer{b})
	if e, ok := errors.AsType[*stdio.StartError](err); ok {
		return unstarted(e)
	}
	return err
}

// keepSeat joins the topic as soon as there is something to serve, but does not
// wait for the client to whom the server belongs: calls will.
func (b *bridging) keepSeat(ctx context.Context) error {
	if !b.opt.Engine.Hosted {
		select {
		case <-ctx.Done():
			return nil
		case <-b.serving.set:
		}
	}
	return localgateway.Fault(b.seat.Run(ctx, fromTopic{b.sidecar, b}))
}

// untilTold waits for the signal, then lets the calls finish that have begun.
func (b *bridging) untilTold(told, inner context.Context) error {
	select {
	case <-inner.Done():
		return nil
	case <-told.Done():
	}
	ctx, cancel := context.WithTimeout(b.p.hurry, drainTime)
	defer cancel()
	b.sidecar.Drain(ctx)
	context.AfterFunc(b.p.hurry, b.server.Kill)
	return errSignalled
}

// serves hears from the sidecar that the tools are known.
func (b *bridging) serves(s engine.Serving) {
	b.tools.Store(int64(s.Tools))
	b.attendance.serverUp(true)
	b.serving.close()
}

// A readyEvent is the first event of run (DESIGN 5).
type readyEvent struct {
	Event     string `json:"event"`
	ID        string `json:"id"`
	Topic     string `json:"topic"`
	Gateway   string `json:"gateway"`
	Hosted    bool   `json:"hosted"`
	Dialect   string `json:"dialect"`
	Tools     int    `json:"tools"`
	PID       int    `json:"pid"`
	ServerPID int    `json:"server_pid,omitempty"`
	Control   string `json:"control"`
	Resources string `json:"resources"` // who can read them, in words
	Prompts   string `json:"prompts"`   // who can get them
}

func (b *bridging) ready(d wire.Dialect, w wire.Welcome) {
	at, hosted := b.door.Where()
	r := readyEvent{"ready", w.You.ID, b.door.Join.Topic, at, hosted, d.Protocol, int(b.tools.Load()), os.Getpid(), int(b.pid.Load()), b.attendance.door.Path(),
		b.opt.Engine.Policy.Reach("resources/read"), b.opt.Engine.Policy.Reach("prompts/get")}
	text := fmt.Sprintf("%s serves %d tools in %s at %s", r.ID, r.Tools, r.Topic, r.Gateway)
	if b.opt.Engine.Hosted && r.Tools == 0 {
		text = fmt.Sprintf("%s is in %s at %s and serves calls as soon as the client has greeted the server", r.ID, r.Topic, r.Gateway)
	}
	if hosted {
		text += ", hosted here"
	}
	b.events.begin(r, text, "resources: "+visible(r.Resources), "prompts: "+visible(r.Prompts))
	b.seated.close()
}

// TopicIdle stays awake for the answer to a single call. Where there are several,
// more than one is answered by the time we have been to sleep, so that it costs
// each of them less.
func (t fromTopic) TopicIdle() {
	t.Sidecar.TopicIdle()
	if t.Running() == 1 {
		t.b.server.Linger()
	}
}

// fromServer tells the sidecar what happens to the server.
type fromServer struct{ b *bridging }

func (s fromServer) ServerUp(h stdio.Hello) {
	s.b.pid.Store(int64(h.PID))
	s.b.sidecar.Handle(engine.ServerUp{Hello: engine.Hello{PID: h.PID, Elicits: h.Elicits, Revision: h.Revision, Result: h.Result, Modern: h.Modern,
		Meta: h.Meta, ServerInfo: h.ServerInfo, Capabilities: h.Capabilities, Instructions: h.Instructions}})
}

func (s fromServer) ServerMessage(m jsonrpc.Message) {
	s.b.sidecar.Handle(engine.ServerSaid{Message: m})
}

func (s fromServer) ServerNoise(n stdio.Noise) {
	s.b.sidecar.Handle(engine.ServerNoise{Reason: n.Reason, Head: n.Head, Count: n.Count, Answer: n.Answer, ID: n.ID})
}

func (s fromServer) ServerDown(x stdio.Exit) {
	s.b.pid.Store(0)
	s.b.attendance.serverUp(false)
	retry := time.Duration(-1)
	if x.Restarting {
		retry = x.In
	}
	s.b.sidecar.Handle(engine.ServerDown{Reason: x.Cause, Cause: x.String(), ExitCode: x.Code, Signal: x.Signal,
		Stderr: x.Stderr, Unsent: x.Unsent, Retry: retry})
	s.b.sidecar.Flush()
}

func (s fromServer) ServerIdle() { s.b.sidecar.Flush() }
