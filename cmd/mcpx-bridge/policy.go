package main

import (
	"context"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/doctor"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plainlog"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/policy/report"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// The commands about policy files read them as run does. They start nothing
// but a server that they are told to ask for its tools, and no tool of it is
// called.

// policyFiles are the files that a command is about: those behind it, else the
// one that --policy, the environment or the configuration names.
func (p *program) policyFiles(cmd *cobra.Command, named []string) ([]string, error) {
	switch {
	case len(named) == 0 && p.s.Policy == "":
		return nil, misused("usage: "+cmd.UseLine(), "policy %s needs a file", cmd.Name())
	case len(named) == 0:
		return []string{p.s.Policy}, nil
	case p.s.Policy != "" && !slices.Contains(named, p.s.Policy):
		p.log.Warn("--policy is ignored, because other files are named", "policy", p.s.Policy)
	}
	return named, nil
}

// onePolicy reads a file, or says all that is wrong with it.
func (p *program) onePolicy(file string) (*policy.Policy, error) {
	now, err := loadPolicy(file)
	problems := report.Problems(err)
	if err == nil || len(problems) == 0 {
		return now, node.PolicyFault(err)
	}
	for _, each := range problems {
		complain(p.stderr, misused(each.Suggestion, "%s", each.Where()))
	}
	return nil, &failure{Exit: exitMisused}
}

func loadPolicy(file string) (*policy.Policy, error) {
	text, err := readPolicy(file)
	if err != nil {
		return nil, err
	}
	return policy.Load(file, text)
}

// forReport is what a policy is drafted from.
func forReport(tools []tool) (all []report.Tool) {
	for i, about := range forPolicy(tools) {
		all = append(all, report.Tool{Tool: about, Description: tools[i].Description})
	}
	return all
}

// forPolicy is what rules are held against.
func forPolicy(tools []tool) (all []policy.Tool) {
	for _, t := range tools {
		all = append(all, policy.Tool{Name: t.Name, InputSchema: t.InputSchema, Hints: report.ReadHints(t.Raw)})
	}
	return all
}

// serverTools starts a server, asks it for its tools, and stops it. Variables that hold secrets
// of the channels in rules are kept from it.
func (p *program) serverTools(ctx context.Context, argv []string, rules []*policy.Policy) ([]tool, error) {
	if err := checkDir(p.s.Cwd); err != nil {
		return nil, err
	}
	vars := p.environment()
	for _, r := range rules {
		vars = vars.Hiding(r)
	}
	env, err := vars.Whole()
	if err != nil {
		return nil, err
	}
	c := newCheckup(p, node.Target{Args: argv}, env)
	if err := node.Unstarted(c.Run(ctx)); err != nil {
		return nil, err
	}
	return c.Tools()
}

// behindDash parts the arguments of a command from what stands behind --.
func behindDash(cmd *cobra.Command, args []string) (ours, argv []string) {
	if at := cmd.ArgsLenAtDash(); at >= 0 {
		return args[:at], args[at:]
	}
	return args, nil
}

func newCheckup(p *program, t node.Target, env []string) *doctor.Checkup {
	trace, _ := p.trace("stdio", nil) // its error was reported with the settings
	return doctor.NewCheckup(stdio.Options{Args: t.Args, Endpoint: t.At, Dir: p.s.Cwd, Env: env, StartTimeout: p.s.StartTimeout,
		Sweep: p.alone, Version: version(), Log: slog.New(plainlog.Hushed(p.log.Handler())), Trace: trace})
}
