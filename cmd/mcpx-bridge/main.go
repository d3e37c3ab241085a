// Mcpx-bridge lets the participants of an MCPx topic use a plain MCP server
// under its owner's rules. This package is the only one that knows every room:
// it reads flags, environment and files, joins the parts, and speaks to people.
package main

import (
	"cmp"
	"context"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/signals"
	"github.com/mcpx-protocol/mcpx-bridge/cmd/mcpx-bridge/threads"
)

func main() {
	keepToOurselves()
	collectLess()
	wakeFewer(os.Args[1:])
	// The terminal that we were started at: stdin may be elsewhere, as behind & in a script.
	at := cmp.Or(terminal(os.Stdin), terminal(os.Stderr), terminal(os.Stdout))
	reload := signals.NewReloads(func() bool { return at == nil || terminal(at) != nil })
	ctx, hurry := signals.Until(reload, errSignalled)
	os.Exit(run(ctx, os.Args[1:], env{os.Stdin, os.Stdout, os.Stderr, os.Getenv, os.Environ, hurry, reload, true}))
}

// collectLess has garbage collected when the heap has grown eightfold instead of
// twofold. What lives is a few megabytes and what is thrown away are frames, so
// the default collects many times a second under load, and the calls that are
// under way then pay for it with the worst of their latencies. It costs some
// 30 MiB after a busy hour. From 256 MiB on it is collected as often as it takes to
// stay there, if that is possible (RELIABILITY section 3). GOGC and GOMEMLIMIT in
// the environment say otherwise.
func collectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(700)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(256 << 20)
	}
}

// wakeFewer has our code run on fewer threads at a time than there are cores. What
// a bridge does for a call it does in a row, under one lock; each further thread
// is woken only to find nothing to do, which takes longer than the work, and the
// core from the server and the callers. A gateway may serve many. GOMAXPROCS in
// the environment says otherwise.
func wakeFewer(args []string) {
	n := 1
	switch {
	case os.Getenv("GOMAXPROCS") != "":
		n = threads.Before
	case len(args) > 0 && args[0] == "gateway":
		n = max(1, threads.Before/2)
	}
	runtime.GOMAXPROCS(n)
}

// run is the program: it does what args say and returns the exit code.
func run(ctx context.Context, args []string, e env) int {
	if e.hurry == nil {
		e.hurry = context.Background()
	}
	p := &program{env: e}
	root := p.root()
	root.SetArgs(args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	err := root.ExecuteContext(ctx)
	p.keepPromise(err)
	last := e.stderr
	if p.errors != nil {
		defer p.errors.Close()
		last = p.errors // nor do our last words wait for who reads them
	}
	if f := p.unprinted.Load(); f != nil && err == nil {
		err = f
	}
	return complain(last, err)
}

// keepPromise prints the failure of a command that has not printed the object it promised.
func (p *program) keepPromise(err error) {
	if err == nil || !p.promised || !p.s.JSON || p.printed.Load() {
		return
	}
	f := failureOf(err)
	var said struct {
		Error struct {
			Message string   `json:"message"`
			Exit    int      `json:"exit"`
			Hints   []string `json:"hints,omitempty"`
		} `json:"error"`
	}
	said.Error.Message, said.Error.Exit, said.Error.Hints = err.Error(), f.Exit, f.Hint
	p.print(jsonLine(said))
}
