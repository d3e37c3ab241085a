package main

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit/show"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/web"
)

func (p *program) inboxCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inbox [FLAGS] [BRIDGE…]",
		Short: "Answer questions in a browser",
		Long: `Answer questions in a browser of this machine: those of the bridges here, or of
the named ones alone.

The link that is printed lets one browser in, once, within an hour. The page is not
to be reached from elsewhere; ssh -L brings it to another machine. Questions of a
bridge that was started with --answers terminal are shown, and answered there.

run has a page for its own questions, and prints its link; o at its terminal shows
another. A yes that takes a passkey counts there, and not here.`,
		Example: `  mcpx-bridge inbox
  mcpx-bridge inbox --port 9000 notes`,
		Args: help.Positional(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.inbox(cmd.Context(), args) },
	}
	cmd.Flags().Uint16Var(&p.s.Port, "port", 0, "the page's port on this machine, `N` (default: 7421, or any that is free)")
	return cmd
}

// inbox serves a page for all bridges of this machine until ctx ends.
func (p *program) inbox(ctx context.Context, named []string) error {
	dir, err := p.controlDir()
	if err != nil {
		return err
	}
	at := ""
	if p.s.Port != 0 {
		at = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(p.s.Port)))
	}
	s, err := web.Open(web.Options{Listen: at, Log: p.log, Find: web.Bridges(dir, func(s inbox.Status) bool {
		return len(named) == 0 || slices.Contains(named, s.ID)
	}), Ended: func() []string { return show.Of(p.auditDir(), named) }})
	if err != nil {
		return err
	}
	link := s.Link()
	if p.s.JSON {
		p.print(jsonLine(map[string]string{"event": "ready", "inbox": link}))
	} else {
		p.print([]byte(link + "\n"))
		p.log.Info("open it in a browser: it works once, within an hour; Ctrl-C ends the page")
	}
	return s.Serve(ctx)
}

// An inboxPage is what run shows of its questions in a browser. Its zero value is none.
type inboxPage struct {
	*web.Server
	link  string      // "" where nobody is to read it
	ready atomic.Bool // the link was said with "ready"
}

// address is the link the first time, and later the plain address.
func (g *inboxPage) address() string {
	switch {
	case g.link == "":
		return ""
	case g.ready.Swap(true):
		return g.Address()
	}
	return g.link
}

// serve is one part of a run.
func (g *inboxPage) serve(ctx context.Context) error {
	if g.Server == nil {
		<-ctx.Done()
		return nil
	}
	return g.Serve(ctx)
}

// pageless: a bridge has no page of its own. Where answers count at the terminal alone, and beside
// a server of a client, which shows nobody our first lines, only who asks for it gets one.
func (p *program) pageless() bool {
	return p.s.Inbox == "off" || p.s.Inbox == "" && (p.s.Answers == "terminal" || p.s.Stdio)
}

// openPage opens the page of a bridge, if there is to be one. Where answers count at the terminal
// alone it is to look.
func (p *program) openPage(g *inboxPage, in inbox.Inbox, id string) (err error) {
	atTerminal := p.s.Answers == "terminal"
	if p.pageless() {
		return nil
	}
	keys, _ := in.(inbox.Keyholder)
	if atTerminal {
		in, keys = inbox.LookOnly(in), nil
	}
	if g.Server, err = web.Open(web.Options{Listen: p.s.Inbox, Only: &web.Source{Inbox: in, Key: id, Label: id + " in " + p.s.Topic, Keys: keys}, Log: p.log}); err != nil {
		return err
	}
	if !p.readByOthers {
		g.link = g.Link()
	}
	return nil
}

// pageBeside serves a page beside a server that belongs to a client: no trouble with it ends
// anything.
func (p *program) pageBeside(ctx context.Context, g *inboxPage, in inbox.Inbox, id string) (end func()) {
	if p.pageless() {
		return func() {}
	}
	if err := p.openPage(g, in, id); err != nil {
		p.log.Warn("there is no page", "error", err)
	}
	ctx, stop := context.WithCancel(ctx)
	var serving sync.WaitGroup
	serving.Go(func() { g.serve(ctx) })
	p.sayPage(g)
	return func() {
		stop()
		serving.Wait()
	}
}

// sayPage says where one answers in a browser.
func (p *program) sayPage(g *inboxPage) {
	switch {
	case g.Server == nil, p.readByOthers && p.prompt != nil: // the screen has a key for a link
	case p.readByOthers:
		p.log.Info("hint: others read what is written here: mcpx-bridge inbox prints a link, to answer in a browser all but what takes a passkey")
	default:
		p.log.Info("hint: in a browser you answer at " + g.link)
		p.log.Info("hint: this link works once, within an hour; \"mcpx-bridge inbox\" prints one to a page for all bridges")
	}
}

func (p *program) checkPage() error {
	if p.s.Inbox == "" || p.s.Inbox == "off" {
		return nil
	}
	return web.Check(p.s.Inbox)
}
