package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

func (p *program) doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor [FLAGS] [-- CMD [ARG…]]",
		Short: "Prove that what a bridge needs works here",
		Long: `Prove that what a bridge needs works here: the state directory, a gateway, a
token, a seat in the topic, the policy and, if one is given, the server. The
server is started, asked for its tools, and stopped; no tool is called. The flags
that say what may run are those of run; doctor says who would be asked, and
warns, as policy check does, of what is hardly meant.

Each check is one line, with a hint where it fails. One that fails makes the
exit code 1.`,
		Example: `  mcpx-bridge doctor
  mcpx-bridge doctor -- npx -y @modelcontextprotocol/server-filesystem /tmp
  mcpx-bridge doctor --gateway wss://gateway.example --token-file ~/.mcpx-token`,
		Args: arguments(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.doctor(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	p.s.roomFlags(f)
	p.s.serverFlags(f)
	p.s.ruleFlags(f)
	return cmd
}

// A finding is what one check came to.
type finding struct {
	Check    string   `json:"check"`
	OK       bool     `json:"ok"`
	Detail   string   `json:"detail"`
	Hint     string   `json:"hint,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// A doctor runs checks and prints each finding as it comes.
type doctor struct {
	p    *program
	door *door // nil until the settings were found good
	sick bool
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
	d := &doctor{p: p}
	if d.settings() && d.state() && d.gateway(ctx) {
		d.seat(ctx)
	}
	if d.door != nil {
		d.door.close()
	}
	var tools []tool
	if argv != nil && d.command(argv) {
		tools = d.server(ctx, argv)
	}
	d.policy(tools)
	if d.sick {
		return &failure{Exit: exitFailed}
	}
	return nil
}

// report prints a finding and returns whether all was well.
func (d *doctor) report(check, detail string, err error, warnings ...string) bool {
	f := finding{Check: check, OK: err == nil, Detail: detail, Warnings: warnings}
	if err != nil {
		f.Detail = err.Error()
		if known, ok := errors.AsType[*failure](err); ok {
			f.Hint = strings.Join(known.Hint, "; ")
		}
		d.sick = true
	}
	if d.p.s.JSON {
		d.p.print(jsonLine(f))
		return f.OK
	}
	mark := "ok  "
	if !f.OK {
		mark = "FAIL"
	}
	line := fmt.Appendf(nil, "%s  %-9s %s\n", mark, f.Check, visible(f.Detail))
	if f.Hint != "" {
		line = fmt.Appendf(line, "                hint: %s\n", visible(f.Hint))
	}
	for _, w := range f.Warnings {
		line = fmt.Appendf(line, "                warning: %s\n", visible(w))
	}
	d.p.print(line)
	return f.OK
}

// settings checks what can be checked without going anywhere.
func (d *doctor) settings() bool {
	id := d.p.s.ID
	if id == "" {
		id = randomID()
	}
	err := checkID("--id", id)
	if err == nil {
		d.door, err = d.p.newDoor(id, true)
	}
	return d.report("settings", "version "+version()+", topic "+d.p.s.Topic, err)
}

func (d *doctor) state() bool {
	if d.door.local == nil {
		return true
	}
	_, err := d.door.local.state.secret()
	return d.report("state", string(d.door.local.state)+" is ours alone", err)
}

// gateway finds one, or proves that one can be hosted.
func (d *doctor) gateway(ctx context.Context) bool {
	if d.door.local == nil {
		if err := d.door.source.first(ctx); err != nil {
			return d.report("token", "", err)
		}
		return true // the seat will show whether it is there
	}
	at, err := d.door.local.findSoon(ctx)
	if err == nil {
		d.door.hosts = false
		return d.report("gateway", "this machine's gateway is at "+at, nil)
	}
	if !errors.Is(err, errNobody) {
		return d.report("gateway", "", err)
	}
	h, err := d.rehearse()
	if err != nil {
		return d.report("gateway", "", err)
	}
	d.door.local.host = h
	detail := "none is running; one can be hosted"
	if l, err := net.Listen("tcp", defaultListen); err == nil {
		l.Close()
	} else {
		detail += " (not at " + defaultListen + ", which is taken)"
	}
	return d.report("gateway", detail, nil)
}

// rehearse hosts a gateway that nobody else is told of.
func (d *doctor) rehearse() (*hosting, error) {
	secret, err := d.door.local.state.secret()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fail(exitFailed, "does something forbid listening on loopback?", "%w", err)
	}
	return serveGateway(listener, "ws", gateway.Options{Secret: secret, Log: d.p.log})
}

// seat joins the topic over the network, as callers do.
func (d *doctor) seat(ctx context.Context) {
	q := newPeer(d.door)
	d.door.overNetwork = true
	if err := q.take(ctx); err != nil {
		d.report("seat", "", err)
		return
	}
	defer q.close()
	at, _ := d.door.where()
	q.mu.Lock()
	who, dialect := q.you.ID, q.dialect.Protocol
	q.mu.Unlock()
	d.report("seat", fmt.Sprintf("welcome at %s as %s, speaking %s, with %d others", at, who, dialect, len(q.others())), nil)
}

// command finds the program before it is started, to say more than "not found".
func (d *doctor) command(argv []string) bool {
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
func (d *doctor) policy(tools []tool) {
	rules, now, err := d.p.newRulebook(d.p.s.ID)
	if err != nil {
		d.report("policy", "", err)
		return
	}
	detail := "no file"
	if rules.file != "" {
		detail = rules.file
	}
	deciders := "nobody is asked"
	if who := now.Deciders(); len(who) > 0 {
		deciders = "who may be asked: " + strings.Join(who, ", ")
	}
	detail += fmt.Sprintf(", %s, default %s; %s", counted(now.Rules(), "rule"), now.Default, deciders)
	d.report("policy", detail, nil, now.Warnings(forPolicy(tools))...)
}

// server starts the server, lists its tools and stops it.
func (d *doctor) server(ctx context.Context, argv []string) []tool {
	env, err := d.p.childEnv()
	if err != nil {
		d.report("server", "", err)
		return nil
	}
	c := newCheckup(d.p, argv, env)
	began := time.Now()
	err = c.run(ctx)
	if c.hello.Revision != "" {
		d.report("handshake", fmt.Sprintf("MCP %s, %s after the start", c.hello.Revision, c.up.Sub(began).Round(time.Millisecond)), nil)
	}
	if err != nil {
		d.report("server", "", err)
		return nil
	}
	d.report("tools", fmt.Sprintf("%d tools: %s", len(c.tools), brieflyNamed(c.tools)), c.listed, unoffered(c.tools)...)
	d.report("stdout", "nothing but messages", c.noisy())
	d.report("stop", "stopped, and nothing is left of it", c.left())
	return c.tools
}

// unoffered says which tools "run" would not offer, and why.
func unoffered(tools []tool) (warnings []string) {
	twins := map[string][]byte{}
	for _, t := range tools {
		switch twin, there := twins[t.Name]; {
		case !bridge.ToolName(t.Name):
			warnings = append(warnings, fmt.Sprintf("the tool %q is not offered: a name has up to 128 of A-Z a-z 0-9 _ . / -, so that it can be told from others", t.Name))
		case there && twin != nil && !bytes.Equal(twin, t.Raw):
			warnings = append(warnings, fmt.Sprintf("two tools called %s that differ are not offered: nobody knows which of them would run", t.Name))
			twins[t.Name] = nil // which is said once
		case !there:
			twins[t.Name] = t.Raw
		}
	}
	return warnings
}

func brieflyNamed(tools []tool) string {
	var names []string
	for _, t := range tools[:min(len(tools), 8)] {
		names = append(names, t.Name)
	}
	if len(tools) > 8 {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}
