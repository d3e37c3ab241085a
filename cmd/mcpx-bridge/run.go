package main

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

func (p *program) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run [FLAGS] -- CMD [ARG…]",
		Short: "Start an MCP server and join a topic on its behalf",
		Long: `Start an MCP server and join a topic on its behalf.

The server is any program that speaks MCP over stdin and stdout. The others in
the topic find its tools under the bridge's id.

Every call waits until you agree to it, here, in a browser or with approve, or
until somebody agrees whom --approver names. Tools that --allow names run
unasked, tools that --deny names are refused; * stands for any characters.
--policy FILE says all this with rules; mcpx-bridge policy init drafts one.`,
		Annotations: map[string]string{help.Further: `

The command after -- is started without a shell, and stopped with everything it
started when the bridge ends. The bridge joins as soon as the server is launched;
calls wait until it is up, and mcpx-bridge who lists it as starting. A server that
ends is started again; when it ends for the sixth time within five minutes, up for
less than a minute each time, the bridge gives up, with exit code 3. A server that
never came up is tried twice. The bridge's id is taken from the command unless --id
names another.

A deny beats an allow. With default: deny in the policy, --allow is a closed list:
nothing else runs, and nobody is asked. Without a record nothing runs.

Without --gateway the bridge joins this machine's own gateway, and hosts it if no
other mcpx-bridge does. When the bridge that hosts it ends, another takes over;
callers only need to join again.

With --json each event is one line on stdout. The first is "ready" and means
that calls are served. An interrupt lets calls that have begun finish, for 10
seconds; a second one does not.

With --stdio an MCP client on this machine (Claude Desktop, an editor) has the
server as its own: put this command in front of the server's in the client's
settings. The two talk as if nothing stood between. The topic has the server too,
under your rules, once the client has initialized it. No rule sees what the client
itself asks for. Events and log go to stderr; no trouble with the topic reaches the
client. The server ends with the client, and the bridge ends with the server and
with its exit code.

With --gate-host your rules judge the client's own tool calls too, as those of a
caller with the id "host". If "host" is an approver, as with --approver host, the
client puts the question to its person, if it can; the other approvers are asked as
always. All else passes as before.`},
		Example: `  mcpx-bridge run --allow 'read_*' --allow 'list_*' -- npx -y \
      @modelcontextprotocol/server-filesystem /tmp
  mcpx-bridge run --allow '*' --deny 'delete_*' -- uvx mcp-server-notes
  mcpx-bridge run --approver alice --within 10m -- uvx mcp-server-notes
  mcpx-bridge run --stdio --policy policy.yaml -- uvx mcp-server-notes`,
		Args: help.Positional(0, -1),
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
	f.BoolVar(&p.s.Stdio, "stdio", false, "let the MCP client that starts this use the server; they talk over stdin and stdout")
	f.BoolVar(&p.s.GateHost, "gate-host", false, "with --stdio: judge the client's tool calls too; they wait for your rules and your yes as those of \"host\"")
	f.Lookup("id").Usage = "the participant `ID` of the bridge (default: taken from the command)"
}

// bridgingFlags are those of all who bridge a server.
func (p *program) bridgingFlags(f *pflag.FlagSet) {
	p.s.roomFlags(f)
	p.s.policyFlags(f)
	timeFlag(f, &p.s.Timeout, "timeout", time.Minute, "the `TIME` the server has for a call")
	f.IntVar(&p.s.MaxCalls, "max-calls", 0, "let at most `N` calls be at the server at one time (default 1024)")
	f.IntVar(&p.s.MaxPending, "max-pending", 0, "let at most `N` questions wait for an answer at one time (default 10000)")
	f.StringVar(&p.s.Answers, "answers", "any", "`WHERE` you may answer: any, or terminal; that is the terminal of run, and nowhere else")
	f.StringVar(&p.s.Inbox, "inbox", "", "where to answer in a browser, `ADDR`, or off; on this machine only; left out: 127.0.0.1:7421, or any port that is free")
	f.StringVar(&p.s.Notify, "notify", "", "run `CMD` in a shell for each question to you; it gets that as one JSON object on stdin")
	p.s.listenFlags(f, "where to host this machine's gateway if nobody does, `HOST:PORT`")
}

func (p *program) runServer(ctx context.Context, args []string) error {
	argv, err := p.command(args)
	if err != nil {
		return err
	}
	t := node.Target{Args: argv}
	if p.s.Stdio {
		return p.passThrough(ctx, t)
	}
	return p.bridge(ctx, t)
}

// bridge checks everything before it starts anything.
func (p *program) bridge(ctx context.Context, t node.Target) error {
	o, err := p.bridgeOptions(t)
	if err != nil {
		return err
	}
	p.hearReloads(&o)
	e, page := p.newEvents(p.stdout), &inboxPage{}
	o.Emit, o.Ready, o.Link = e.Emit, func(r node.Ready) { sayReady(e, r, page.address()) }, func(id string) string { return page.Question(id) }
	n, err := node.New(ctx, o)
	if err == nil {
		if err = p.openPage(page, n.Inbox(), n.ID()); err != nil {
			n.Close()
		}
	}
	if err != nil {
		e.Discard()
		return err
	}
	defer e.Close()
	p.hintAllow()
	p.sayPage(page)
	return n.Run(ctx, func(ctx context.Context) error { return p.keepAsking(ctx, n, page) }, page.serve)
}

// passThrough has the client at our stdin and stdout talk to the server.
func (p *program) passThrough(ctx context.Context, t node.Target) error {
	o, err := p.bridgeOptions(t)
	if err != nil {
		return err
	}
	p.hearReloads(&o)
	e, page := p.newEvents(p.stdout), &inboxPage{}
	o.Emit, o.Ready, o.Link = e.Emit, func(r node.Ready) { sayReady(e, r, page.address()) }, func(id string) string { return page.Question(id) }
	pt, err := node.NewPassthrough(o, p.s.GateHost)
	if err != nil {
		e.Discard()
		return err
	}
	defer e.Close()
	in, out, err := clientPipes()
	if err != nil {
		return err
	}
	defer in.Close()
	defer out.Close()
	if !pt.Alone() {
		p.hintAllow()
	}
	defer p.pageBeside(ctx, page, pt.Inbox(), cmp.Or(o.ID, t.ID()))()
	return pt.Run(ctx, stdio.Host{In: in.Interruptible(), Out: out, Errors: p.stderr})
}

// hearReloads has a hangup mean that the policy is to be read again, from now on. It is no part of
// bareOptions: doctor makes these too, and a hangup ends it.
func (p *program) hearReloads(o *node.Options) {
	if p.reload != nil && o.Policy != "" {
		o.Reload = p.reload.Hear()
	}
}

// hintAllow says what a person who has just begun will wonder about.
func (p *program) hintAllow() {
	here, where := "here", "with mcpx-bridge approve"
	if in := terminal(p.stdin); in != nil && !prompt.InForeground(in) {
		here = "here once it is in the foreground (fg)"
	}
	switch {
	case p.s.Answers == "terminal":
		where = here + ", and nowhere else"
	case p.prompt != nil:
		where = here + ", or " + where
	}
	who := "you agree to it"
	if len(p.s.Approver) > 0 {
		who = "somebody agrees to it: " + strings.Join(append([]string{"you"}, p.approvers()...), ", ")
	}
	switch {
	case p.s.Policy != "":
	case len(p.s.Allow)+len(p.s.Deny) > 0 || p.asks():
		rest := "what is not allowed or denied"
		if slices.Contains(slices.Concat(p.s.Allow, p.s.Deny), "*") {
			rest = "no tool call waits; anything else that others ask for, such as a resource,"
		}
		p.log.Info(rest + " waits until " + who)
		p.log.Info("hint: you answer " + where)
	default:
		p.log.Info("every call waits until you agree to it: " + where)
		p.log.Info("hint: --allow 'read_*' lets others call the tools that begin with read_, --policy FILE says more")
	}
}

// bridgeOptions are what the flags say of a bridge. Its errors are usage errors.
func (p *program) bridgeOptions(t node.Target) (o node.Options, err error) {
	if o, err = p.bareOptions(t); err != nil {
		return o, err
	}
	if o.Rules, err = p.flagRules(); err != nil {
		return o, err
	}
	o.Record, err = p.recordOptions()
	return o, err
}

// bareOptions are bridgeOptions without rules and record.
func (p *program) bareOptions(t node.Target) (o node.Options, err error) {
	chosen := p.chosenID(true)
	id := cmp.Or(chosen, t.ID())
	if err := cmp.Or(checkID("--id", id), p.checkApprovers(id), p.checkRun()); err != nil {
		return o, err
	}
	o = node.Options{
		Server: t, Dir: p.s.Cwd, Env: p.environment(), StartTimeout: p.s.StartTimeout, Sweep: p.alone, Version: version(), ID: chosen,
		Policy: p.s.Policy, Guarded: p.guarded(),
		Timeout: p.s.Timeout, MaxCalls: p.s.MaxCalls, MaxPending: p.s.MaxPending, Notify: p.s.Notify, LookOnly: p.s.Answers == "terminal", NoPage: p.pageless() || p.s.Answers == "terminal" || p.readByOthers && p.prompt == nil,
		TrustUnverified: p.s.TrustUnverified, Provides: p.s.Provides, ProposalStatus: p.s.ProposalStatus,
		LenientParams: p.s.LenientParams, ToolsRequest: p.s.ToolsRequest,
		Started: startIsOver, Hurry: p.hurry, Log: p.log,
	}
	if o.TraceServer, err = p.trace("stdio", nil); err != nil {
		return o, err
	}
	var ok bool
	if o.ProposalStyle, ok = wire.ParseStyle(cmp.Or(p.s.ProposalStyle, "auto")); !ok {
		return o, misused("it is one of "+strings.Join(wire.StyleNames(), ", "), "--proposal-style: there is no style %q", p.s.ProposalStyle)
	}
	o.State, _ = localgateway.Home(p.getenv) // wayAs says what is wrong with it
	o.Connect = func(id string) (*localgateway.Connector, error) {
		c, err := p.wayAs(id)
		if err != nil {
			return nil, err
		}
		return c.Connector, nil
	}
	return o, nil
}

// wayAs is the way of a bridge to the topic.
func (p *program) wayAs(id string) (*connector, error) {
	c, err := p.newConnector(id, true)
	if err == nil {
		_, err = localgateway.Home(p.getenv) // a bridge keeps more there than what the gateway needs
	}
	return c, err
}

// recordOptions are what the flags say of the record.
func (p *program) recordOptions() (r node.RecordOptions, err error) {
	if r.KeepSize, r.KeepFor, err = p.s.auditKeep(); err != nil || p.s.Audit == "off" {
		r.Off = true
		return r, err
	}
	r.File = p.s.Audit
	if r.Sync, err = audit.ParseMode(p.s.AuditSync); err != nil {
		return r, misused("--audit-sync decisions", "--audit-sync: %w", err)
	}
	return r, nil
}

// auditKeep reads what of the record is to be kept; zeros: all of it.
func (s *settings) auditKeep() (size int64, age time.Duration, err error) {
	age, ok := text.Days(s.AuditKeepDays)
	if !ok || s.AuditKeepDays < 0 {
		return 0, 0, misused("--audit-keep-days 90", "--audit-keep-days: %v is no number of days", s.AuditKeepDays)
	}
	if s.AuditKeepSize == "" {
		return 0, age, nil
	}
	if size, ok = text.Bytes(s.AuditKeepSize); !ok || size < 1<<20 {
		return 0, 0, misused("--audit-keep-size 1GB; 1MB at least", "--audit-keep-size: %q is no size to keep", s.AuditKeepSize)
	}
	return size, age, nil
}

// environment is what the flags say of the server's variables.
func (p *program) environment() node.Environment {
	return node.Environment{Ours: p.environ(), Clean: p.s.EnvClean, Pass: p.s.EnvPass, Set: p.s.Env}
}

// exposed are warnings about files that the server's own tools might write.
func (p *program) exposed(now *policy.Policy, file string, argv []string, tools []policy.Tool) []string {
	o := node.Options{Server: node.Target{Args: argv}, Dir: p.s.Cwd, Policy: file, Guarded: p.guarded(),
		Record: node.RecordOptions{Off: p.s.Audit == "off", File: p.s.Audit}}
	o.State, _ = localgateway.Home(p.getenv) // without one there is nothing in it
	return o.Exposed(now, tools)
}

// guarded are the files that the flags name and node does not know.
func (p *program) guarded() []node.Guarded {
	return []node.Guarded{{What: "the file of --config", Path: p.s.Config}}
}

func (p *program) checkRun() error {
	switch {
	case p.s.GateHost && !p.s.Stdio:
		return misused("add --stdio, or drop it", "--gate-host needs --stdio: it is about the client that starts this command")
	case p.s.StartTimeout <= 0:
		return misused("--start-timeout 30s", "--start-timeout must be more than 0")
	case p.s.MaxCalls < 0:
		return misused("--max-calls 64", "--max-calls must be more than 0")
	case p.s.MaxPending < 0:
		return misused("--max-pending 100", "--max-pending must be more than 0")
	case p.s.Answers != "any" && p.s.Answers != "terminal":
		return misused("--answers any, or --answers terminal", "--answers: %q is no place to answer", p.s.Answers)
	case p.s.Answers == "terminal" && p.prompt == nil:
		return misused("start it at a terminal, without --json and --stdio; or let --approver or the policy name others who answer", "--answers terminal: there is no terminal here to answer at")
	case p.s.Gateway != "" && p.s.Listen != localgateway.DefaultListen:
		return misused("drop --listen, or drop --gateway to host one", "--listen has no meaning with --gateway")
	case localgateway.OffLoopback(p.s.Listen):
		return misused("\"mcpx-bridge gateway --listen\" serves other machines, with TLS", "--listen: run hosts a gateway for this machine only")
	}
	if err := cmp.Or(p.s.checkTimeout(), p.checkPage()); err != nil {
		return err
	}
	if _, _, err := p.s.auditKeep(); err != nil {
		return err
	}
	return checkDir(p.s.Cwd)
}
