package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/doctor"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

func (p *program) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor [FLAGS] [-- CMD [ARG…]]",
		Short: "Prove that what a bridge needs works here",
		Long: `Prove that what a bridge needs works here: state directory, gateway, token, control
socket, remembered answers, the record, a seat, approvers, the policy and, if one
is given, the server. The server is started, asked for its tools, and stopped,
unless the policy is wrong; with --attach, doctor connects to it and leaves it
running. A stock MCP client lists what serve would show of it. No tool is called,
and nothing is put on record.

It takes the flags of run or, with --attach, of attach, and joins as they would,
under the same id if that is free. It says who would be asked, and gives the
warnings of policy check.

Each check is one line, with a hint if it fails; the exit code is 1 then.`,
		Example: `  mcpx-bridge doctor
  mcpx-bridge doctor --policy policy.yaml --id notes -- uvx mcp-server-notes
  mcpx-bridge doctor --attach unix:notes.sock
  mcpx-bridge doctor --gateway wss://gateway.example --token-file my.token`,
		Annotations: map[string]string{help.Rarely: "answers audit cwd env gate-host inbox notify start-timeout stdio timeout"},

		Args: help.Positional(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.doctor(cmd.Context(), args) },
	}
	p.runFlags(cmd.Flags())
	cmd.Flags().StringVar(&p.s.Attach, "attach", "", "try the server at this `ENDPOINT`, as attach would (mcpx-bridge attach --help)")
	cmd.Flags().Lookup("id").Usage = "the participant `ID` of the bridge (default: taken from the command, or made up)"
	return cmd
}

func (p *program) doctor(ctx context.Context, args []string) error {
	var argv []string
	if len(args) > 0 || p.s.Server != "" {
		var err error
		if argv, err = p.command(args); err != nil {
			return err
		}
	}
	if err := checkDir(p.s.Cwd); err != nil {
		return err
	}
	d := &patient{p: p, t: node.Target{Args: argv}}
	switch {
	case p.s.Attach != "" && argv != nil:
		return misused("leave out one of the two", "--attach is for a server that runs already, and %s is one to start", argv[0])
	case p.s.Attach != "":
		var err error
		if d.t, err = p.endpoint(p.s.Attach); err != nil {
			return err
		}
	case argv == nil:
		d.t.Args = []string{"server"} // it stands for any
		chosen := p.chosenID(true)
		d.made, p.s.ID = chosen == "", cmp.Or(chosen, randomID())
	}
	rules, wrong := d.p.flagRules()
	if wrong == nil {
		rules, wrong = node.ReadRules(d.p.s.Policy, rules, cmp.Or(d.p.s.ID, d.t.ID()), d.p.s.GateHost)
	}
	if d.settings() {
		d.place(ctx)
		d.way.Close()
	}
	var tools []tool
	switch {
	case d.t.Attached() && d.reachable():
		tools = d.server(ctx, rules)
	case argv != nil && d.command(argv):
		tools = d.server(ctx, rules)
	}
	d.clients(ctx, tools)
	d.policy(argv, tools, rules, wrong)
	switch {
	case ctx.Err() != nil: // what failed may have failed for that
		return context.Cause(ctx)
	case d.sick:
		return &failure{Exit: exitFailed}
	}
	return nil
}

// settings checks what can be checked without going anywhere.
func (d *patient) settings() bool {
	if d.p.s.Answers == "terminal" && terminal(d.p.stdin) != nil && terminal(d.p.stderr) != nil {
		d.p.s.Answers = "any" // run would have a terminal here
	}
	o, err := d.p.bareOptions(d.t)
	if err == nil {
		o.Rules, _ = d.p.flagRules() // what is wrong with them is said with the policy, and with this as the record is tried
		o.Record, _ = d.p.recordOptions()
		o.Connect = func(id string) (way *localgateway.Connector, err error) {
			if d.way, err = d.p.wayAs(id); err == nil {
				way = d.way.Connector
			}
			return way, err
		}
		d.trial, err = node.Try(o)
	}
	return d.report("settings", "version "+version()+", topic "+d.p.s.Topic, err)
}

// command finds the program before it is started, to say more than "not found".
func (d *patient) command(argv []string) bool {
	path, err := exec.LookPath(argv[0])
	if err == nil {
		return d.report("command", path, nil)
	}
	hint := "is it installed?"
	switch {
	case errors.Is(err, fs.ErrPermission):
		hint = "make it executable: chmod +x " + argv[0]
	case strings.ContainsRune(argv[0], filepath.Separator):
		hint = "is the path right? it is taken from " + d.p.workDir()
	case argv[0] == "run" && len(argv) > 1:
		hint = "doctor takes the place of run: mcpx-bridge doctor [FLAGS] -- CMD"
	case argv[0] == "npx" || argv[0] == "node":
		hint = "install Node.js, or put its folder into PATH"
	case argv[0] == "uvx" || argv[0] == "uv":
		hint = "install uv, or put its folder (often ~/.local/bin) into PATH"
	}
	return d.report("command", "", fail(exitFailed, hint+"; PATH is "+d.p.getenv("PATH"), "%s cannot be started: %w", argv[0], err))
}

func (p *program) workDir() string {
	if p.s.Cwd != "" {
		return p.s.Cwd
	}
	dir, _ := filepath.Abs(".")
	return dir
}

// policy looks at what would be in force, and who would be asked.
func (d *patient) policy(argv []string, tools []tool, now *policy.Policy, err error) {
	if err != nil {
		d.report("policy", "", err)
		return
	}
	detail := cmp.Or(d.p.s.Policy, "no file")
	deciders := "nobody is asked"
	if who := now.Deciders(); len(who) > 0 {
		deciders = "who may be asked: " + strings.Join(who, ", ")
	}
	detail += fmt.Sprintf(", %s, default %s; %s", text.Counted(now.Rules(), "rule"), now.Default, deciders)
	d.report("policy", detail, nil, append(now.Warnings(forPolicy(tools)), d.p.exposed(now, d.p.s.Policy, argv, forPolicy(tools))...)...)
}

// reachable reports whether the server of an endpoint can be tried: one at pipes or
// descriptors takes the end of a try for that of its client, and may end with it.
func (d *patient) reachable() bool {
	try := d.t.At.Network == "unix" || d.t.At.Network == "tcp"
	detail := d.t.String()
	if !try {
		detail += " is not tried: a server at pipes would think that its client has ended"
	}
	return d.report("endpoint", detail, nil) && try
}

// server starts the server, or connects to it, lists its tools and stops or leaves it. It gets no
// secrets of the rules; nil: they are wrong, so that nobody knows which these are, and run
// would not start it either.
func (d *patient) server(ctx context.Context, rules *policy.Policy) []tool {
	if rules == nil {
		d.report("server", "is not tried: its policy is wrong", nil)
		return nil
	}
	env, err := d.p.environment().Hiding(rules).Whole()
	if err != nil {
		d.report("server", "", err)
		return nil
	}
	c := newCheckup(d.p, d.t, env)
	began := time.Now()
	err = node.Unstarted(c.Run(ctx))
	if hello, up := c.Hello(); hello != nil {
		d.report("handshake", fmt.Sprintf("MCP %s, after %s", hello.Revision, up.Sub(began).Round(time.Millisecond)), nil)
	}
	if err != nil {
		d.report("server", "", err)
		return nil
	}
	tools, listed := c.Tools()
	d.report("tools", fmt.Sprintf("%d tools: %s", len(tools), doctor.Names(tools)), listed, doctor.Unoffered(tools)...)
	d.report("stdout", "nothing but messages", c.Noisy())
	if !d.t.Attached() {
		d.report("stop", "stopped, and nothing is left of it", c.Left())
	}
	return tools
}

// clients has a stock client look at what serve would show of the server.
func (d *patient) clients(ctx context.Context, tools []tool) {
	detail, notes, err := doctor.Clients(ctx, d.p.face(), cmp.Or(d.p.s.ID, d.t.ID()), tools)
	d.report("client", detail, err, notes...)
}
