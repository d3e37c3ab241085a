package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// listingTime is how long a server may take to list its tools.
const listingTime = 15 * time.Second

// A Checkup starts a server once, or connects to it, lists its tools, for which it has 15
// seconds, and stops it or leaves it alone.
type Checkup struct {
	server *stdio.Server
	stop   context.CancelCauseFunc

	// All of these are written by the server's goroutine, and read when Run
	// has returned.
	hello  stdio.Hello
	up     time.Time
	tools  []client.Tool
	listed error // why the tools are not known
	noise  int
	head   string // of the first line of noise
	exit   stdio.Exit
	done   bool
}

// errChecked is the cause when all that was wanted is known.
var errChecked = errors.New("checked")

// NewCheckup makes one of a server, which is not restarted. Nothing is started yet.
func NewCheckup(o stdio.Options) *Checkup {
	o.Restart = stdio.Budget{Restarts: -1}
	return &Checkup{
		listed: fault.New(fault.Failed, "it answers initialize and then keeps silent; run it by hand", "the server did not list its tools within %s", text.Span(listingTime)),
		server: stdio.New(o),
	}
}

// Run does it, once, and returns what kept the server from coming up: a *stdio.StartError
// where it did not start. It is called before all else.
func (c *Checkup) Run(ctx context.Context) error {
	ctx, c.stop = context.WithCancelCause(ctx)
	defer c.stop(nil)
	err := c.server.Run(ctx, (*handler)(c))
	if e, ok := errors.AsType[*stdio.StartError](err); ok && !c.done {
		return e
	}
	if cause := context.Cause(ctx); cause != errChecked && !c.done {
		return cause
	}
	return nil
}

// Hello is what the server said of itself, and when; nil if it did not come up.
func (c *Checkup) Hello() (h *stdio.Hello, at time.Time) {
	if c.hello.Revision == "" {
		return nil, at
	}
	return &c.hello, c.up
}

// Tools are those that it listed, and why it did not list all.
func (c *Checkup) Tools() ([]client.Tool, error) { return c.tools, c.listed }

// A handler hears the server of a Checkup.
type handler Checkup

func (c *handler) ServerUp(h stdio.Hello) {
	c.hello, c.up = h, time.Now()
	time.AfterFunc(listingTime, func() { c.stop(errChecked) })
	c.list("")
}

// list asks for one page of tools.
func (c *handler) list(cursor string) {
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

func (c *handler) ServerMessage(m jsonrpc.Message) {
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

func (c *handler) finish(err error) {
	c.listed, c.done = err, true
	c.stop(errChecked)
}

func (c *handler) ServerNoise(n stdio.Noise) {
	if c.noise = n.Count; c.head == "" {
		c.head = string(n.Head)
	}
}

func (c *handler) ServerDown(x stdio.Exit) { c.exit = x }
func (c *handler) ServerIdle()             { c.server.Flush() }

// Noisy is an error if there was something else than messages on its stdout.
func (c *Checkup) Noisy() error {
	if c.noise == 0 {
		return nil
	}
	return fault.New(fault.Failed, "a server's stdout is for MCP alone; let it print to stderr",
		"%d lines on stdout are no messages; the first: %s", c.noise, strings.TrimSpace(c.head))
}

// Left is an error if something is left of it, or had to be ended.
func (c *Checkup) Left() error {
	if n := len(c.exit.Swept); n > 0 {
		return fault.New(fault.Failed, "it started something that left its process group, and that did not end with it", "%d processes had to be ended: %v", n, c.exit.Swept)
	}
	if n := len(c.exit.Survivors); n > 0 {
		return fault.New(fault.Failed, "it started something that left its process group", "%d processes live on: %v", n, c.exit.Survivors)
	}
	return nil
}
