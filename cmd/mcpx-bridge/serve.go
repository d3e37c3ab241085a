package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// lastWords is how long the client and the gateway have for what we say last.
const lastWords = 2 * time.Second

func (p *program) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [FLAGS]",
		Short: "Show a topic to an MCP client as one stdio MCP server",
		Long: `Show a topic to an MCP client as one stdio MCP server. It is for the client to
start: Claude Desktop, Cursor, VS Code and others speak to it over its stdin and
stdout. It takes a seat in the topic and ends when the client closes its input.

The tools of everybody in the topic are called peer__tool there. What cannot be
written so without loss, or not in --max-name bytes, gets a short digest behind
it; a name never changes and never means another tool. Prompts are named the
same way, a resource is mcpx://PEER/URI, and the page of an app ui://PEER/….
For clients that do not notice changes there are always mcpx_peers, mcpx_call,
mcpx_approvals and mcpx_result. What cannot be offered (a schema that no client
takes, names nobody could see, more than 512 tools of one participant) is left
out by itself; mcpx_peers and the log say why.

A call that waits for somebody's approval says so in its progress. After
--patience it is answered with a ticket, and mcpx_result or the same call again
gets the answer: it never runs twice. What is refused is an answer with isError,
which says in words why.

Questions that bridges put to --id are put to the person at the client, while a
call of the client's is under way, with what may be changed of the call and to
whom they may be passed on; mcpx-bridge approve shows them too.
Nothing that the model says answers them.

In --include and --exclude, PATTERN is for PEER/NAME, and * stands for any
characters. stdout is the client's; all else, --json events too, is on stderr.`,
		Example: `  mcpx-bridge serve --id alice
  mcpx-bridge serve --include 'filesystem/*' --exclude '*/delete_*'
  mcpx-bridge serve --gateway wss://gateway.example --topic team --id alice --token-file ~/.mcpx-token`,
		Args: positional(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.serve(cmd.Context()) },
	}
	f := cmd.Flags()
	p.s.roomFlags(f)
	f.DurationVar(&p.s.Patience, "patience", 50*time.Second, "how long a call may take before it is answered with a ticket, as a `TIME` like 50s")
	f.IntVar(&p.s.MaxName, "max-name", 46, "the most `BYTES` a name may have, 32 to 64")
	f.IntVar(&p.s.Limit, "limit", 0, "show at most `N` tools, the four mcpx_ tools included (default: all)")
	p.s.choiceFlags(f, "show")
	return cmd
}

// A serving is one serve: a client at our stdin and stdout, and a seat.
type serving struct {
	p      *program
	q      *peer
	server *desktop.Server
	asked  *client.ApprovalInbox
	events *events
	door   *socket.Server // nil if there can be none

	mu   sync.Mutex
	envs map[uint64]sent // by what the server calls it
}

// A sent is a request under way.
type sent struct{ env, to string }

// serve shows the topic until the client ends its input, or we are told to
// stop.
func (p *program) serve(ctx context.Context) error {
	s, err := p.newServing()
	if err != nil {
		return err
	}
	if terminal(p.stdin) != nil {
		p.log.Warn("this speaks MCP over stdin and stdout: it is for a client to start, and you are at a terminal")
	}
	in, out, restore, err := p.clientPipes()
	if err != nil {
		return err
	}
	defer restore()
	s.server = desktop.NewServer(p.face(), s, desktop.Options{Out: out, Log: p.log, Note: s.events.note, Ready: s.ready})
	defer s.events.close()
	s.claim(ctx)
	if err := s.q.Start(ctx); err != nil {
		return err
	}
	s.openDoor()
	err = together(ctx,
		func(ctx context.Context) error { return s.listen(ctx, in) },
		func(ctx context.Context) error { return s.keepSeat(ctx) },
		func(ctx context.Context) error { return s.keepDoor(ctx) },
	)
	s.close()
	if errors.Is(err, errSignalled) || errors.Is(err, context.Canceled) || errors.Is(err, errHungUp) {
		return nil
	}
	return err
}

// clientPipes are our stdin and stdout, in a form that can be waited for
// without holding a thread and be interrupted, where they are pipes.
func (p *program) clientPipes() (in io.Reader, out io.Writer, restore func(), err error) {
	if p.stdin != io.Reader(os.Stdin) {
		return p.stdin, p.stdout, func() {}, nil // we are called, and are no process
	}
	i, err := stdio.OpenDescriptor(0)
	if err != nil {
		return nil, nil, nil, fail(exitFailed, "a client starts this command and speaks to it over stdin and stdout", "stdin: %w", err)
	}
	o, err := stdio.OpenDescriptor(1)
	if err != nil {
		i.Close()
		return nil, nil, nil, fail(exitFailed, "a client starts this command and speaks to it over stdin and stdout", "stdout: %w", err)
	}
	return i, o, func() {
		o.Close()
		i.Close()
	}, nil
}

// errHungUp says that the client ended its input, which is how it says goodbye.
var errHungUp = errors.New("the client hung up")

// checkServe reports what is wrong with the flags that are serve's alone.
func (p *program) checkServe() error {
	switch {
	case p.s.Patience < time.Second:
		return misused("--patience 50s", "--patience must be a second or more")
	case p.s.MaxName < desktop.LeastName || p.s.MaxName > desktop.MaxName:
		return misused("--max-name 46", "--max-name must be from %d to %d", desktop.LeastName, desktop.MaxName)
	case p.s.Limit != 0 && p.s.Limit < desktop.LeastLimit:
		return misused("--limit 100", "--limit must be %d or more: four tools are always there", desktop.LeastLimit)
	}
	return p.s.checkChoice()
}

func (s *settings) checkChoice() error {
	return cmp.Or(checkPatterns("include", s.Include), checkPatterns("exclude", s.Exclude))
}

// checkPatterns refuses a pattern that can fit nothing, which showed nothing, or
// excluded nothing, without a word (FINDINGS P18).
func checkPatterns(flag string, all []string) error {
	for _, pattern := range all {
		if word := strings.Trim(pattern, "/"); !strings.ContainsAny(pattern, "/*") || len(word) < len(pattern) {
			return misused(fmt.Sprintf("--%s '%s/*' is for all of that participant, --%s '*/%s' for a tool of that name", flag, word, flag, word),
				"--%s: %q fits nothing: a pattern is for PEER/NAME", flag, pattern)
		}
	}
	return nil
}

func (p *program) newServing() (*serving, error) {
	if err := p.checkServe(); err != nil {
		return nil, err
	}
	d, err := p.newConnector(cmp.Or(p.s.ID, randomID()), false)
	if err != nil {
		return nil, err
	}
	s := &serving{p: p, asked: &client.ApprovalInbox{}, events: p.newEvents(p.stderr), envs: map[uint64]sent{}}
	s.asked.Opened, s.asked.Closed = s.open, s.settled
	s.q = p.newPeer(d, client.Options{Approvals: s.asked, Also: s})
	return s, nil
}

func (p *program) face() desktop.Config {
	return desktop.Config{Version: version(), NewID: uuid.NewString, Patience: p.s.Patience, MaxName: p.s.MaxName,
		Limit: p.s.Limit, Include: p.s.Include, Exclude: p.s.Exclude}
}

// listen hears the client to the end. A Read that nothing interrupts is left
// behind: we are about to end then.
func (s *serving) listen(ctx context.Context, in io.Reader) error {
	heard := make(chan error, 1)
	go func() { heard <- s.server.Read(ctx, in) }()
	select {
	case err := <-heard:
		return cmp.Or(err, errHungUp)
	case <-ctx.Done():
		if f, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && f.SetReadDeadline(time.Unix(1, 0)) == nil {
			<-heard
		}
		return context.Cause(ctx)
	}
}

// keepSeat ends when the seat can not be had.
func (s *serving) keepSeat(ctx context.Context) error {
	select {
	case <-s.q.Done():
		return s.q.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *serving) close() {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	if err := s.server.Close(ctx); err != nil {
		s.p.log.Debug("the client did not read everything", "error", err)
	}
	s.q.Close()
	if s.door != nil {
		s.door.Close()
	}
	s.asked.Close()
	s.q.door.Close()
}

// ready says that the client sees what there is.
func (s *serving) ready(tools int) {
	url, _ := s.q.door.Where()
	id := cmp.Or(s.q.Me(), s.q.door.Join.ID)
	first := s.events.begin(struct {
		Event   string `json:"event"`
		ID      string `json:"id"`
		Topic   string `json:"topic"`
		Gateway string `json:"gateway"`
		Dialect string `json:"dialect,omitempty"`
		Tools   int    `json:"tools"`
		PID     int    `json:"pid"`
	}{"ready", id, s.q.door.Join.Topic, url, s.q.Dialect().Protocol, tools, os.Getpid()},
		"the client sees the topic "+s.q.door.Join.Topic+" through "+id)
	if first {
		go startIsOver()
	}
}
