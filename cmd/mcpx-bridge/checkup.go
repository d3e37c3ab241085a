package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// listingTime is how long a server may take to list its tools.
const listingTime = 15 * time.Second

// A checkup starts a server once, or connects to it, lists its tools, and stops it or
// leaves it alone.
type checkup struct {
	server *stdio.Server
	stop   context.CancelCauseFunc

	// All of these are written by the server's goroutine, and read when Run
	// has returned.
	hello  stdio.Hello
	up     time.Time
	tools  []tool
	listed error // why the tools are not known
	noise  int
	head   string // of the first line of noise
	exit   stdio.Exit
	done   bool
}

// errChecked is the cause when all that was wanted is known.
var errChecked = errors.New("checked")

func newCheckup(p *program, t target, env []string) *checkup {
	trace, _ := p.trace("stdio", nil) // its error was reported with the settings
	return &checkup{
		listed: fail(exitFailed, "it answers initialize and then keeps silent; run it by hand", "the server did not list its tools within %v", listingTime),
		server: stdio.New(stdio.Options{Args: t.argv, Endpoint: t.at, Dir: p.s.Cwd, Env: env, StartTimeout: p.s.StartTimeout,
			Sweep: p.alone, Restart: stdio.Budget{Restarts: -1}, Version: version(), Log: slog.New(hushed{p.log.Handler()}), Trace: trace}),
	}
}

// hushed is a log that says what is normal only to those who want details: a
// server that is started to be looked at comes and goes.
type hushed struct{ slog.Handler }

func (h hushed) Enabled(ctx context.Context, l slog.Level) bool {
	return h.Handler.Enabled(ctx, l-(slog.LevelInfo-slog.LevelDebug))
}
func (h hushed) WithAttrs(all []slog.Attr) slog.Handler { return hushed{h.Handler.WithAttrs(all)} }
func (h hushed) WithGroup(name string) slog.Handler     { return hushed{h.Handler.WithGroup(name)} }

// run returns what kept the server from coming up.
func (c *checkup) run(ctx context.Context) error {
	ctx, c.stop = context.WithCancelCause(ctx)
	defer c.stop(nil)
	err := c.server.Run(ctx, c)
	if e, ok := errors.AsType[*stdio.StartError](err); ok && !c.done {
		return unstarted(e)
	}
	if cause := context.Cause(ctx); cause != errChecked && !c.done {
		return cause
	}
	return nil
}

func (c *checkup) ServerUp(h stdio.Hello) {
	c.hello, c.up = h, time.Now()
	time.AfterFunc(listingTime, func() { c.stop(errChecked) })
	c.list("")
}

// list asks for one page of tools.
func (c *checkup) list(cursor string) {
	params := []byte("{")
	if c.hello.Meta != nil {
		params = slices.Concat([]byte(`{"_meta":{`), c.hello.Meta, []byte("}"))
	}
	if cursor != "" {
		if len(params) > 1 {
			params = append(params, ',')
		}
		params = jsonrpc.AppendQuote(append(params, `"cursor":`...), cursor)
	}
	params = append(params, '}')
	if err := c.server.Put(jsonrpc.AppendRequest(nil, []byte("1"), "tools/list", params)); err != nil {
		c.listed = err
		c.stop(errChecked)
	}
}

func (c *checkup) ServerMessage(m jsonrpc.Message) {
	if m.Class() != jsonrpc.Response || string(m.Get(jsonrpc.ID)) != "1" {
		return
	}
	if raw := m.Get(jsonrpc.Err); raw != nil {
		c.finish(client.ErrorOf("the server", "tools/list", raw))
		return
	}
	page, next, err := client.ReadTools("the server", m.Get(jsonrpc.Result))
	c.tools = append(c.tools, page...)
	if err == nil && next != "" && len(c.tools) < 100_000 {
		c.list(next)
		return
	}
	c.finish(err)
}

func (c *checkup) finish(err error) {
	c.listed, c.done = err, true
	c.stop(errChecked)
}

func (c *checkup) ServerNoise(n stdio.Noise) {
	if c.noise = n.Count; c.head == "" {
		c.head = string(n.Head)
	}
}

func (c *checkup) ServerDown(x stdio.Exit) { c.exit = x }
func (c *checkup) ServerIdle()             { c.server.Flush() }

func (c *checkup) noisy() error {
	if c.noise == 0 {
		return nil
	}
	return fail(exitFailed, "a server's stdout is for MCP alone; let it print to stderr",
		"%d lines on stdout are no messages; the first: %s", c.noise, strings.TrimSpace(c.head))
}

func (c *checkup) left() error {
	if n := len(c.exit.Swept); n > 0 {
		return fail(exitFailed, "it started something that left its process group, and that did not end with it", "%d processes had to be ended: %v", n, c.exit.Swept)
	}
	if n := len(c.exit.Survivors); n > 0 {
		return fail(exitFailed, "it started something that left its process group", "%d processes live on: %v", n, c.exit.Survivors)
	}
	return nil
}
