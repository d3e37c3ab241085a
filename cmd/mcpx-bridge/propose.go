package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/proposal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// maxTTL is the longest that a proposal may hold (WIRE 7.8).
const maxTTL = 10 * time.Minute

func (p *program) proposeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "propose [FLAGS] [PEER] TOOL [JSON | - | KEY=VALUE…]",
		Short: "Propose a tool call that somebody else is to make",
		Long: `Propose a tool call that somebody else is to make, and wait for the result.

With PEER the proposal goes to that participant alone, else to all. Who can and
may makes the call, after people have agreed if the rules want that. A bridge
serves by itself only what names it, with PEER or --preferred, unless its owner's
policy has "broadcast: true". Give arguments as to call.

It prints the result as call does. Who refuses says so at once, on stderr, with the
reason, the proposal's id and who is asked. It waits as call does. An interrupt,
--timeout or --ttl withdraws it, if the call has not begun.

With --plan it asks PEER once for leave for calls to come by --id, and prints the
plan's id. An argument is, is in, is under a folder, or is any:
{"items": [{"tool": "write_file", "uses": 9, "args": {"/path": {"under": "/srv"},
"/mode": {"in": [1, 2]}, "/content": {"any": true}}}], "seconds": 1800}

Exit codes: 0 it was done, 1 the tool says it failed, 8 it was refused, by PEER
or by everybody who could do it, 9 nobody decided or did it in time, or somebody
took this seat, 130 interrupted.`,
		Example: `  mcpx-bridge propose filesystem write_file path=/tmp/notes.txt content=hello
  mcpx-bridge propose deploy '{"to":"staging"}' --preferred ops --exclusive
  mcpx-bridge propose notes --plan plan.json --id intern`,
		Annotations: map[string]string{help.Rarely: "reason"}, // --why was called so once, and scripts have it
		Args:        help.InUTF8(help.Positional(1, -1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.promised = true
			return p.propose(cmd.Context(), cmd.Flags(), args)
		},
	}
	f := cmd.Flags()
	p.s.roomFlags(f)
	timeFlag(f, &p.s.Timeout, "timeout", 5*time.Minute, "how long to wait, as a `TIME` like 90s: from the decision, or if you say it, from the start")
	f.StringArrayVar(&p.s.Offer.Preferred, "preferred", nil, "the participant `ID` that should do it; repeatable")
	f.StringArrayVar(&p.s.Offer.Requires, "requires", nil, "only participants that provide `WORD` can do it: a word of --provides, or a tool's name; repeatable")
	f.BoolVar(&p.s.Offer.Exclusive, "exclusive", false, "nobody but --preferred may do it")
	timeFlag(f, &p.s.Offer.Fallback, "fallback", 0, "let others do it after a `TIME` like 10s (default 5s, with --exclusive never)")
	timeFlag(f, &p.s.Offer.TTL, "ttl", 0, "nobody may begin after a `TIME` like 30s, at most 10m (default no end but --timeout)")
	f.StringVar(&p.s.Offer.Why, "why", "", "why, in a `SENTENCE` for the approvers; all in the topic read it")
	f.StringVar(&p.s.Offer.Why, "reason", "", "the same as --why, a `SENTENCE`")
	f.StringVar(&p.s.Offer.Plan, "plan", "", "ask PEER for leave for the calls in `FILE`, or - for stdin; docs/proposals.md has its form. They run unasked then for the same --id, and grants revoke ends that")
	p.s.Offer.styleFlag(f)
	return cmd
}

func (s *offerSettings) styleFlag(f *pflag.FlagSet) {
	f.StringVar(&s.Style, "style", "auto", "how to spell it in mcpx/v0.1, as a `STYLE`: auto, v2, seed000, seed001 or seed002")
}

// style reads --style. The styles for those who answer are none for us.
func (s *offerSettings) style() (wire.Style, error) {
	style, ok := wire.ParseStyle(s.Style)
	if !ok || style == wire.Words || style == wire.Off {
		return 0, misused("it is auto, v2, seed000, seed001 or seed002", "--style: there is no style %q", s.Style)
	}
	return style, nil
}

// splitTarget tells PEER TOOL ARGUMENTS from TOOL ARGUMENTS: what is an argument
// cannot be the name of a tool.
func splitTarget(args []string) (to, name string, rest []string) {
	if len(args) == 1 || arguments.IsArgument(args[1]) {
		return "", args[0], args[1:]
	}
	return args[0], args[1], args[2:]
}

// hints checks the flags and makes the offer of them.
func (p *program) hints(f *pflag.FlagSet, to string) (o wire.Offer, style wire.Style, err error) {
	s := &p.s.Offer
	o = wire.Offer{Method: "tools/call", Preferred: s.Preferred, Needs: s.Requires, Exclusive: s.Exclusive, FallbackAfter: s.Fallback, ExclusiveFor: s.Fallback,
		FallbackToBroadcast: f.Changed("fallback"), TTL: s.TTL, Reason: s.Why, CountsRejects: to == ""}
	if style, err = s.style(); err != nil {
		return o, style, err
	}
	switch {
	case to != "" && len(s.Preferred) > 0:
		return o, style, misused("keep one of them: PEER alone is asked, those of --preferred before others", "PEER and --preferred exclude each other")
	case len(s.Preferred) == 0 && (s.Exclusive || f.Changed("fallback")):
		return o, style, misused("name them with --preferred ID", "--exclusive and --fallback are about --preferred, and there is none")
	case f.Changed("fallback") && (s.Fallback < time.Millisecond || s.Fallback > maxTTL):
		return o, style, misused("", "--fallback is between 1ms and 10m")
	case f.Changed("ttl") && (s.TTL < time.Millisecond || s.TTL > maxTTL):
		return o, style, misused("", "--ttl is between 1ms and 10m")
	case p.s.Timeout <= 0:
		return o, style, misused("--timeout 5m", "--timeout must be more than 0")
	}
	for _, id := range s.Preferred {
		if err := checkID("--preferred", id); err != nil {
			return o, style, err
		}
	}
	return o, style, nil
}

// propose makes one proposal and turns what comes of it into output and exit code.
func (p *program) propose(ctx context.Context, f *pflag.FlagSet, args []string) error {
	p.s.Bounded = f.Changed("timeout")
	if p.s.Offer.Plan != "" {
		return p.proposePlan(ctx, f, args)
	}
	to, name, rest := splitTarget(args)
	o, style, err := p.hints(f, to)
	if err != nil {
		return err
	}
	given, err := arguments.Read(rest, p.stdin)
	if err != nil {
		return err
	}
	return p.pursue(ctx, client.Proposal{To: to, Tool: name, Offer: o, Style: style}, func(q *peer) ([]byte, error) {
		return p.proposedArguments(ctx, q, to, name, given)
	})
}

// proposePlan asks somebody for leave for calls to come.
func (p *program) proposePlan(ctx context.Context, f *pflag.FlagSet, args []string) error {
	to, params, err := p.planFor(args)
	if err != nil {
		return err
	}
	o, style, err := p.hints(f, to)
	if err != nil {
		return err
	}
	o.Method = plan.Method
	return p.pursue(ctx, client.Proposal{To: to, Tool: thePlan, Offer: o, Style: style}, func(*peer) ([]byte, error) { return params, nil })
}

// pursue makes a proposal with the arguments that it is given then.
func (p *program) pursue(ctx context.Context, of client.Proposal, arguments func(*peer) ([]byte, error)) error {
	to, name := of.To, of.Tool
	client.WarnOfSecret(p.log, "--why", of.Offer.Reason, "all in the topic read it")
	var asked atomic.Pointer[string]
	asked.Store(&to)
	q, err := p.takeTurn(ctx, client.Options{OnPresence: p.saysOf(&asked), Yields: true})
	if err != nil {
		return err
	}
	defer q.Close()
	if to != "" {
		if err := q.Await(ctx, to); err != nil {
			return err
		}
	}
	of.Limit = p.limit(time.Now(), to)
	if of.Arguments, err = arguments(q); err != nil {
		return err
	}
	me, told, waits := q.Me(), make(chan struct{}), of.Limit.Waits
	of.Limit.Waits = func(w refusal.Waiting) { <-told; waits(w) } // an answer may come before what follows
	of.Say = func(words string) { <-told; p.log.Info(words) }
	w, err := q.Propose(of)
	if err != nil {
		close(told)
		return q.unsaid(err, wire.Proposal)
	}
	p.log.Info("proposed " + name + " to " + cmp.Or(to, "all") + " as " + me + ": " + w.ID)
	close(told)
	p.maybeMeant(q, w)
	r, err := w.Wait(ctx)
	if err == nil && of.Offer.Method == plan.Method {
		return p.showPlan(r)
	}
	if err == nil {
		return p.showAnswer(r.From, name, r.Answer)
	}
	err = p.undone(ctx, w, r, err)
	if f, refused := errors.AsType[*failure](err); refused && to != "" && of.Offer.Method != plan.Method && len(r.Rejected) > 0 && r.Rejected[0].Reason == "incapable" {
		if lacks, known := errors.AsType[*failure](q.Lacks(ctx, to, name)); known {
			return f.Also(lacks.Hint[0])
		}
	}
	return err
}

// maybeMeant says what may have been meant by a proposal to all.
func (p *program) maybeMeant(q *peer, w *client.ProposalWait) {
	if w.To == "" && len(w.Offer.Preferred) == 0 && q.Present(w.Tool) {
		p.log.Info("hint: " + w.Tool + " is a participant too: mcpx-bridge propose " + w.Tool + " TOOL puts TOOL to it")
	}
}

// undone words why nothing came of a proposal.
func (p *program) undone(ctx context.Context, w *client.ProposalWait, r client.Result, err error) error {
	undecided, asked := errors.AsType[*client.UndecidedError](err)
	switch {
	case asked && undecided.Within == 0:
		return fail(exitInterrupted, "", "withdrew %s: %w", w.Tool, err)
	case asked:
		return noAnswer(w.To, w.Tool, err)
	case errors.Is(err, client.ErrRejected):
		return p.rejected(w, r.Rejected)
	case exitOf(err) == exitID:
		return fail(exitNoAnswer, "mcpx-bridge watch shows what becomes of it, under another id", "another program took the seat of %s: what becomes of %s is not heard here", p.s.ID, w.Tool)
	case !errors.Is(err, client.ErrLapsed) && !errors.Is(err, client.ErrNoAnswer) && (ctx.Err() == nil || err != context.Cause(ctx)):
		return err
	}
	f := givenUp(w, r, err)
	if r.Kept != nil {
		f.Err = fmt.Errorf("%w; it could not be withdrawn: %w", f.Err, r.Kept)
	}
	return f
}

// exitOf is the exit code that an error stands for.
func exitOf(err error) int {
	if f, known := errors.AsType[*failure](err); known {
		return f.Exit
	}
	return exitFailed
}

// givenUp words that nothing was waited for any more.
func givenUp(w *client.ProposalWait, r client.Result, err error) *failure {
	switch {
	case errors.Is(err, client.ErrLapsed):
		return longer(w, "--ttl", "nobody began %s in time")
	case !errors.Is(err, client.ErrNoAnswer) && r.Kept != nil:
		return fail(exitInterrupted, "", "told to stop, and waits for %s no more", w.Tool)
	case !errors.Is(err, client.ErrNoAnswer) && r.Begun:
		return fail(exitInterrupted, "", "withdrew %s, which has begun, and may be done yet", w.Tool)
	case !errors.Is(err, client.ErrNoAnswer):
		return fail(exitInterrupted, "", "withdrew %s, which nobody had begun", w.Tool)
	case r.Begun:
		return fail(exitNoAnswer, "it may be done yet; --timeout waits longer", "%s has begun, and gave no result in time", w.Tool)
	}
	return longer(w, "--timeout", "nobody did %s in time")
}

// rejected is the end where nobody is left who might do it.
func (p *program) rejected(w *client.ProposalWait, all []client.Rejection) error {
	if p.s.JSON {
		p.print(jsonLine(struct {
			Proposal string             `json:"proposal"`
			Rejected []client.Rejection `json:"rejected"`
		}{w.ID, all}))
	}
	last := all[len(all)-1].Words(w.Tool)
	if w.To != "" && all[len(all)-1].Reason == proposal.Timeout {
		return fail(exitNoAnswer, "", "%s", last)
	}
	if w.To != "" {
		return fail(exitRefused, "", "%s", last)
	}
	p.log.Info(last)
	if w.Offer.Exclusive && !w.Offer.FallbackToBroadcast {
		return fail(exitRefused, "--fallback lets others do it", "everybody who alone might do %s refused", w.Tool)
	}
	return fail(exitRefused, "", "nobody here will do %s", w.Tool)
}

// longer is the failure where nobody has begun; format has a place for the tool.
func longer(w *client.ProposalWait, flag, format string) *failure {
	f := fail(exitNoAnswer, flag+" gives it longer", format, w.Tool)
	if w.To == "" && len(w.Offer.Preferred) == 0 {
		return f.Also("a bridge leaves alone what names nobody, unless its owner says otherwise: mcpx-bridge propose PEER " + w.Tool)
	}
	return f
}

// proposedArguments makes one JSON object of the arguments, in the time of the proposal.
func (p *program) proposedArguments(ctx context.Context, q *peer, to, name string, given arguments.Arguments) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.s.Timeout, client.ErrNoAnswer)
	defer cancel()
	object, err := p.typedFor(ctx, q, to, name, given)
	if err == nil && ctx.Err() != nil { // nobody could begin it any more (FINDINGS D7)
		err = noAnswer("the topic", "what arguments "+name+" takes", context.Cause(ctx))
	}
	return object, err
}

// typedFor gives pairs their types, where nobody is named those of the first here that has
// such a tool.
func (p *program) typedFor(ctx context.Context, q *peer, to, name string, given arguments.Arguments) ([]byte, error) {
	if to != "" || !given.NeedTypes() {
		object, err := q.Typed(ctx, to, name, given)
		return object, noAnswer(to, "tools/list", err)
	}
	c, err := q.Census(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.Tools, func(t tool) bool { return t.Name == name })
	if i < 0 {
		return nil, fail(exitFailed, client.Near(name, c.Tools), "nobody here says what arguments %q takes", name).
			Also(c.Absent()).Also(`give them as JSON: '{"key":"value"}'`)
	}
	return given.Object(arguments.TypesOf(c.Tools[i].InputSchema))
}

// unsaid words what keeps from going what concerns a proposal.
func (q *peer) unsaid(err error, kind wire.Kind) error {
	if errors.Is(err, wire.ErrInexpressible) {
		return fail(exitRefused, "use mcpx-bridge call: the same people are asked", "this topic speaks %s, which has no word for a %s", q.Dialect().Protocol, kind)
	}
	return err
}

func (p *program) withdrawCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "withdraw [FLAGS] PROPOSAL",
		Short: "Take a proposal back",
		Long: `Take a proposal back, by its id as propose prints it.

Only its proposer can, so give the --id or the token that propose had; a propose
that still waits under that id loses its seat, and ends. A call that has begun is
not undone. Participants that no longer know the proposal say nothing.`,
		Example: "  mcpx-bridge withdraw 2f1c6c1e-8a7b-4c6e-9d7e-0f5a8f1f3b11 --id alice",
		Args:    help.InUTF8(help.Positional(1, 1), "reason"),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.withdraw(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	p.s.roomFlags(f)
	f.StringVar(&p.s.Offer.Reason, "reason", "no_longer_needed", "why, a `WORD` that all in the topic read")
	p.s.Offer.styleFlag(f)
	return cmd
}

// unnamedProposer is how a withdraw ends that does not say whose proposal it is. It names who
// is here, one of whom it will be.
func (p *program) unnamedProposer(ctx context.Context) error {
	f := misused("propose printed it, as in: proposed deploy to ops as ID", "withdraw needs the --id under which it was proposed")
	q, err := p.takeSeat(ctx, client.Options{})
	if err != nil {
		return f
	}
	defer q.Close()
	if ids := q.OtherIDs(); len(ids) > 0 {
		return f.Also("here now: " + text.Some(ids))
	}
	return f
}

func (p *program) withdraw(ctx context.Context, proposal string) error {
	style, err := p.s.Offer.style()
	switch {
	case err != nil:
		return err
	case p.s.ID == "" && !p.bearsToken():
		return p.unnamedProposer(ctx)
	case proposal == "" || len(proposal) > 256 || text.Line(proposal) != proposal:
		return misused("it is the id that propose printed", "%q is no id of a proposal", proposal)
	}
	client.WarnOfSecret(p.log, "--reason", p.s.Offer.Reason, "all in the topic read it")
	q, err := p.takeSeat(ctx, client.Options{})
	if err != nil {
		return err
	}
	defer q.Close()
	if err := q.Withdraw(proposal, p.s.Offer.Reason, style); err != nil {
		return q.unsaid(err, wire.Withdraw)
	}
	p.log.Info("the withdrawal of " + proposal + " was sent")
	return nil
}
