package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

func (p *program) approvalsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "List and answer questions, for scripts",
		Long: `List and answer the questions of the bridges on this machine, for scripts.

Without a command it lists them. Name a question by its digest, which stands in
brackets wherever it is shown, by its id, or by a beginning that no other has.
For people "approve" is easier: it shows each question and asks.`,
		Example: `  mcpx-bridge approvals
  mcpx-bridge approvals show 9c01
  mcpx-bridge approvals allow 9c01d2ee
  mcpx-bridge approvals deny 9c01 --reason "ask me tomorrow"`,
		Args: help.NoSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.listQuestions(cmd.Context()) },
	}
	cmd.AddCommand(p.approvalsListCommand(), p.approvalsShowCommand(), p.approvalsAllowCommand(), p.approvalsDenyCommand())
	return cmd
}

func (p *program) approvalsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [FLAGS]",
		Short: "List the questions that wait for an answer",
		Long: `List the questions that wait for an answer, oldest first.

With --json each is one object on a line:
id digest bridge from tool args rule asked deadline need have.`,
		Example: "  mcpx-bridge approvals list\n  mcpx-bridge approvals list --json | jq -r .id",
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.listQuestions(cmd.Context()) },
	}
}

func (p *program) approvalsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show [FLAGS] (ID | DIGEST)",
		Short: "Show the whole of a question",
		Long: `Show the whole of a question: who asks for what, with which arguments, by which
rule, until when. Characters that cannot be seen are shown as \u{…}.`,
		Example: "  mcpx-bridge approvals show 9c01",
		Args:    help.Positional(1, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.showQuestion(cmd.Context(), args[0]) },
	}
}

func (p *program) approvalsAllowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "allow [FLAGS] (ID | DIGEST)",
		Short: "Let a call run, once",
		Long: `Let a call run, once.

--digest is the digest that "list" and "show" print: if the question has another
one now, nothing is allowed. Without --digest the allowed call is printed.

Exit: 0 done, or sent to whoever asked where it was put to a "serve", 1 there is
no such question or more than one, 8 somebody else decided first or the call does
not run after all.`,
		Example: `  mcpx-bridge approvals allow 9c01 --digest 9c01d2ee
  mcpx-bridge approvals allow 9c01 --set modifiedTarget=staging --remember session`,
		Args: help.InUTF8(help.Positional(1, 1), "reason"),
		RunE: func(cmd *cobra.Command, args []string) error { return p.decide(cmd.Context(), args[0], true) },
	}
	p.s.answerFlags(cmd.Flags())
	f := cmd.Flags()
	f.StringArrayVar(&p.s.Set, "set", nil, "change the call, `FIELD=VALUE`, where the question offers that; repeatable")
	f.StringVar(&p.s.Remember, "remember", "", "remember this answer, `HOW`: once, session (until the bridge stops or the caller leaves, 8 hours at most), folder or tool (as session, for more than these arguments: approvals show says what) or always (30 days), where the question offers that")
	f.StringVar(&p.s.DelegateTo, "delegate-to", "", "let `WHO` decide instead, where the question offers that")
	return cmd
}

func (p *program) approvalsDenyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "deny [FLAGS] (ID | DIGEST)",
		Short: "Refuse a call",
		Long: `Refuse a call. --reason tells its caller why.

Exit: 0 done, or sent to whoever asked where it was put to a "serve", 1 there is
no such question or more than one, 8 somebody else decided first.`,
		Example: `  mcpx-bridge approvals deny 9c01 --reason "not on a Friday"`,
		Args:    help.InUTF8(help.Positional(1, 1), "reason"),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.decide(cmd.Context(), args[0], false) },
	}
	p.s.answerFlags(cmd.Flags())
	return cmd
}

// answerFlags are those of every answer.
func (s *settings) answerFlags(f *pflag.FlagSet) {
	f.StringVar(&s.Digest, "digest", "", "answer only if this is the `DIGEST` of the question")
	f.StringVar(&s.Reason, "reason", "", "tell the caller `WHY`")
}

// controlDir is where their local doors are.
func (p *program) controlDir() (string, error) {
	home, err := localgateway.Home(p.getenv)
	if err != nil {
		return "", err
	}
	return home.File("control"), nil
}

// bridges are all of this user that live on this machine.
func (p *program) bridges(ctx context.Context) ([]*socket.Client, error) {
	dir, err := p.controlDir()
	if err != nil {
		return nil, err
	}
	all, err := socket.All(ctx, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.log.Warn("some bridges do not answer", "error", err)
	}
	return all, nil
}

func (p *program) listQuestions(ctx context.Context) error {
	all, err := p.bridges(ctx)
	if err != nil {
		return err
	}
	l := p.list("QUESTION", "BRIDGE", "FROM", "TOOL", "RULE", "AGREED", "LEFT")
	for _, c := range all {
		questions, err := c.List(ctx, p.s.JSON)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Known.ID, err)
		}
		for _, q := range questions {
			what := q.Tool
			if q.AboutPolicy {
				what = "was changed"
			}
			q.AboutPolicy = false // which is for our own surfaces
			l.add(q, "["+q.Short+"]", q.Bridge, q.From, what, cmp.Or(q.Rule, "-"),
				strconv.Itoa(q.Have)+" of "+strconv.Itoa(q.Need), leftOf(&q))
		}
	}
	return l.end("nothing waits for an answer", "bridges", len(all))
}

// leftOf says how much time there is to decide.
func leftOf(q *approval.Summary) string {
	left, frozen := q.Left(time.Now())
	said := text.Span(left.Round(time.Second))
	if frozen {
		said += ", halted"
	}
	return said
}

// question is the one of that name, as a person here sees it.
func (p *program) question(ctx context.Context, name string) (q socket.Pending, v approval.View, err error) {
	all, err := p.bridges(ctx)
	if err != nil {
		return q, v, err
	}
	if q, err = socket.Find(ctx, all, name); err != nil {
		return q, v, err
	}
	if v, err = q.At.Show(ctx, q.ID); err == nil && !v.Named(name) {
		err = socket.NotOpen(name)
	}
	return q, v, notCounted(err)
}

func (p *program) showQuestion(ctx context.Context, name string) error {
	_, v, err := p.question(ctx, name)
	if err != nil {
		return err
	}
	if !p.s.JSON {
		return p.print([]byte(prompt.Text(&v) + prompt.Offers(&v)))
	}
	// How it is set out is for surfaces: scripts have the values themselves.
	v.Arguments, v.More, v.Compact, v.BesideText, v.Priority, v.Me, v.Choice, v.RememberMeans, v.AboutPolicy = nil, 0, "", "", "", "", false, nil, false
	return p.print(jsonLine(v))
}

// decide answers the question of that name.
func (p *program) decide(ctx context.Context, name string, allow bool) error {
	p.promised = true
	q, v, err := p.question(ctx, name)
	if err != nil {
		return err
	}
	r, err := p.reply(&v, allow)
	if err != nil {
		return err
	}
	switch given := strings.TrimPrefix(p.s.Digest, "sha256:"); {
	case given != "" && given != v.Short && given != v.Digest:
		return fail(exitFailed, "mcpx-bridge approvals show "+name, "the digest of this question is %s, not the one you gave: nothing was allowed", v.Short)
	case given == "" && p.s.JSON:
		io.WriteString(p.stderr, prompt.Text(&v))
	case given == "":
		p.print([]byte(prompt.Text(&v)))
	}
	o, err := q.At.Decide(ctx, inbox.Decide(&v, &r))
	if err != nil {
		return notCounted(err)
	}
	return p.printOutcome(q, r, o)
}

// reply is the answer that the flags make.
func (p *program) reply(v *approval.View, allow bool) (r approval.Reply, err error) {
	r.Reason = p.s.Reason
	if !allow {
		return r, nil
	}
	if to := p.s.DelegateTo; to != "" {
		if len(p.s.Set) > 0 || p.s.Remember != "" {
			return r, misused("", "--delegate-to lets somebody else decide: leave out --set and --remember")
		}
		if !slices.Contains(v.DelegateTo, to) {
			return r, misused("", "--delegate-to: this question cannot be passed on to %q; it can be passed on to: %s", to, cmp.Or(strings.Join(v.DelegateTo, ", "), "nobody"))
		}
		r.To = to
		return r, nil
	}
	r.Allow = true
	if p.s.Remember != "" {
		if err := prompt.Remember(&r, v, p.s.Remember); err != nil {
			return r, misused("", "--remember: %w", err)
		}
	}
	if err := prompt.Set(&r, v, p.s.Set); err != nil {
		return r, misused("mcpx-bridge approvals show says what may be changed", "--set: %w", err)
	}
	return r, nil
}

// A decidedEvent is what allow --json and deny --json print.
type decidedEvent struct {
	ID     string `json:"id"`
	Bridge string `json:"bridge"`
	From   string `json:"from"`
	Tool   string `json:"tool"`
	Digest string `json:"digest"`
	inbox.Outcome
	To string `json:"delegated_to,omitempty"`
}

func (p *program) printOutcome(q socket.Pending, r approval.Reply, o inbox.Outcome) error {
	if p.s.JSON {
		p.print(jsonLine(decidedEvent{q.ID, q.Bridge, q.From, q.Tool, q.Short, o, r.To}))
	}
	what := fmt.Sprintf("%s for %s on %s [%s]", q.Tool, q.From, q.Bridge, q.Short)
	switch {
	case o.Outcome == inbox.Sent:
		p.log.Info("sent to " + q.Bridge + ", which decides: " + what)
	case o.Outcome == inbox.Pending && r.To != "":
		p.log.Info("passed on to " + r.To + ": " + what)
	case o.Outcome == inbox.Pending:
		p.log.Info("counted; others must agree too: " + what)
	case r.Allow && o.Outcome != approval.Allowed.String():
		return fail(exitRefused, "", "%s: %s, although you allowed it (%s)", what, o.Outcome, text.Words(o.Reason))
	case r.To != "":
		return fail(exitRefused, "", "%s: %s, although you passed it on (%s)", what, o.Outcome, text.Words(o.Reason))
	default:
		p.log.Info(o.Outcome + ": " + what)
	}
	return nil
}

// notCounted is how a command ends whose answer did not count.
func notCounted(err error) error {
	r, refused := errors.AsType[*inbox.Refusal](err)
	switch {
	case !refused:
		return err
	case r.Reason == inbox.AlreadyDecided:
		return fail(exitRefused, "", "%w", err)
	}
	return fail(exitFailed, "mcpx-bridge approvals list says what is open", "%w", err)
}
