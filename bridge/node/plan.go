package node

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// A plan is options that were checked, and what follows from them. Nothing was started,
// and nothing on the disk touched.
type plan struct {
	o       Options
	id      string // who we would like to be
	dir     string // in which the server is started; "" where that cannot be told
	launch  stdio.Options
	program programFile // that is started; none where we attach
	source  *policySource
	engine  engine.Config
	way     *localgateway.Connector // nil before connect
}

// newPlan checks o and makes a plan without rules, and without a way to the topic. Its errors are misuse.
func newPlan(o Options) (*plan, error) {
	if len(o.Server.Args) == 0 && (!o.Server.Attached() || o.Server.At == (stdio.Endpoint{})) {
		return nil, fault.Misuse("say which command starts it, or where it is", "there is no server to bridge")
	}
	o.defaults()
	p := &plan{o: o, id: cmp.Or(o.ID, o.Server.ID())}
	if !wire.ValidID(p.id) {
		return nil, fault.Misuse("an id is "+wire.IDGrammar, "%q is no participant id", p.id)
	}
	for _, word := range o.Provides {
		if err := policy.CheckWord(word); err != nil {
			return nil, fault.Misuse("--provides filesystem", "--provides: %q: %w", word, err)
		}
	}
	env, err := o.Env.Whole()
	if err != nil {
		return nil, err
	}
	if p.dir, err = serverDir(o.Dir); err != nil {
		return nil, err
	}
	where := cmp.Or(p.dir, o.Dir)
	if !o.Server.Attached() {
		p.program = findProgram(o.Server.Args[0], where)
	}
	p.launch = stdio.Options{Args: o.Server.Args, Endpoint: o.Server.At, Dir: where, Env: env, StartTimeout: o.StartTimeout,
		Version: o.Version, Log: o.Log, Trace: o.TraceServer, Sweep: o.Sweep}
	p.engine = engine.Config{
		NewID:    uuid.NewString,
		Random:   fresh128,
		Timeout:  o.Timeout,
		MaxCalls: o.MaxCalls,
		Desk:     approval.Options{MaxPending: o.MaxPending, NoPage: o.NoPage},
		Session:  newSession(),
		Server:   o.Server.String(),
		Program:  o.Server.Program(),
		Dir:      p.dir,
		IDPrefix: o.Server.idPrefix(),

		Local:           true,
		TrustUnverified: o.TrustUnverified,
		Provides:        o.Provides,
		ProposalStatus:  o.ProposalStatus,
		ProposalStyle:   o.ProposalStyle,
		LenientParams:   o.LenientParams,
		ToolsRequest:    o.ToolsRequest,
	}
	return p, nil
}

// takeRules reads what may run. host says that the calls of an MCP client are judged too.
// Its errors are misuse.
func (p *plan) takeRules(host bool) (err error) {
	rules := p.o.Rules
	if rules == nil {
		if rules, err = policy.Flags(nil, nil); err != nil {
			return err
		}
	}
	p.source = &policySource{file: p.o.Policy, rules: rules, self: p.id, host: host}
	if p.engine.Policy, err = p.source.read(); err != nil {
		return PolicyFault(err)
	}
	p.o.Env = p.o.Env.Hiding(p.engine.Policy)
	p.launch.Env, err = p.o.Env.Whole()
	return err
}

// flagged are the rules that flags gave, by their names.
func (p *plan) flagged() []string {
	if p.o.Rules == nil {
		return nil
	}
	return p.o.Rules.Names()
}

// connect chooses the way to the topic, and who we would like to be there.
func (p *plan) connect() (err error) {
	if p.way, err = p.o.Connect(p.id); err != nil {
		return err
	}
	p.way.Derived = p.o.ID == ""
	p.engine.Topic, p.engine.Verified = p.way.Join.Topic, p.way.Local != nil
	if p.way.Local == nil {
		p.engine.Gateway = gatewayName(p.way.Join.URL)
	}
	return nil
}

// planWithRules is a plan with rules; it warns of what is hardly meant. It has no way to the
// topic yet.
func planWithRules(o Options, host bool) (*plan, error) {
	p, err := newPlan(o)
	if err != nil {
		return nil, err
	}
	if err := p.takeRules(host); err != nil {
		return nil, err
	}
	if err := notify.Check(p.notifyOptions(p.engine.Policy)); err != nil {
		return nil, err
	}
	for _, w := range p.o.Exposed(p.engine.Policy, nil) {
		p.o.Log.Warn(w)
	}
	return p, nil
}

// fullPlan is a plan with rules that has its way. Where only that is wrong the plan comes with
// the error.
func fullPlan(o Options, host bool) (*plan, error) {
	p, err := planWithRules(o, host)
	if err != nil {
		return nil, err
	}
	return p, p.connect()
}

// Check reports what New would say of o, or NewPassthrough if judged, but for the way to the
// topic, and touches nothing. Its errors are misuse.
func Check(o Options, judged bool) error {
	_, err := planWithRules(o, judged)
	return err
}

// notifyOptions say how people hear of questions under a policy, which may name other secrets than
// that of the start did.
func (p *plan) notifyOptions(now *policy.Policy) notify.Options {
	return notify.Options{Channels: now.Channels(), Command: p.o.Notify, Env: p.o.Env.Hiding(now).forOthers(), Getenv: p.o.Env.lookup, Link: p.o.Link, Log: p.o.Log}
}

// gatewayName is a gateway as people know it: without a query, which may hold
// what is nobody's business.
func gatewayName(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return "" // topic.New says what is wrong with it
	}
	return u.Scheme + "://" + strings.ToLower(u.Host) + strings.TrimSuffix(u.Path, "/")
}

// families are those whose runs were killed, as this plan sees them.
func (p *plan) families() families { return families{p.o.State, p.o.Env.Ours, p.o.Log} }

// unverifiedIn is what to say of a gateway that does not make sure who speaks, and what that
// means for what the rules ask about: otherwise every ask would end in -31003, or forged
// answers count, without a word (WIRE 7.2, FINDINGS C3); "" where it does. This machine's
// own does, whatever it speaks.
func (p *plan) unverifiedIn(d wire.Dialect) (warning, hint string) {
	if d.Verified() || p.way.Local != nil {
		return "", ""
	}
	warning = "gateways that speak " + d.Protocol + " do not verify who speaks: anybody in the topic can call, and answer, in anybody's name"
	if p.o.TrustUnverified {
		return warning, "--trust-unverified-from is given, so approvers in the topic are asked, and a forged answer counts as theirs; leave it out to ask at this machine alone"
	}
	return warning, "approvers in the topic are not asked: the person at this machine is (of: [local]), or else the call is refused with -31003; " +
		"add --trust-unverified-from if you trust everybody in the topic"
}
