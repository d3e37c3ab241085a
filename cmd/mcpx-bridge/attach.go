package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/help"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

func (p *program) attachCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "attach [FLAGS] ENDPOINT",
		Short: "Join a topic on behalf of an MCP server that is already running",
		Long: `Join a topic on behalf of an MCP server that is already running.

ENDPOINT is where it reads and writes MCP, one message per line:
  unix:PATH        a socket of this machine
  tcp:HOST:PORT    a socket; another machine than this one needs --insecure
  fifo:IN,OUT      two named pipes: we read IN and write OUT
  fd:IN,OUT        two descriptors that we were started with, by their numbers
  -                our own stdin and stdout; what we have to say goes to stderr

From there on everything is as with run: the rules, the questions, the record.`,
		Annotations: map[string]string{help.Further: `

But the server is not ours to start or stop. When a socket or pipe closes, we go
back to it, sooner at first and every 30 seconds later on, and calls are refused
until it is there; a descriptor that closes is the end, with exit code 3, and so
is an endpoint that is not there when we start. A server whose input does not
end with ours (a pipe that others hold open) keeps what it began.

A server over stdio serves one client. If it was initialised by somebody else,
it may serve us too; if it refuses, or answers questions that are not ours, we
leave it alone. Give every client a server of its own, as socat does with fork.`},
		Example: `  socat UNIX-LISTEN:notes.sock,fork EXEC:notes-server &
  mcpx-bridge attach --allow 'list_*' unix:notes.sock

  docker exec -i notes notes-server <to >from &
  mcpx-bridge attach --id notes fifo:from,to`,
		Args: positional(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := p.endpoint(args[0])
			if err != nil {
				return err
			}
			return p.bridge(cmd.Context(), t)
		},
	}
	f := cmd.Flags()
	p.bridgingFlags(f)
	p.s.startFlag(f)
	f.Lookup("id").Usage = "our participant `ID` (default: taken from the endpoint)"
	f.Lookup("insecure").Usage = "allow clear text to a gateway (ws) or server (tcp) on another machine"
	return cmd
}

func (p *program) endpoint(text string) (node.Target, error) {
	if scheme, _, _ := strings.Cut(text, "://"); strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https") {
		return node.Target{}, misused("an adapter behind run speaks it: mcpx-bridge run -- npx -y mcp-remote '"+strings.ReplaceAll(text, "'", "%27")+"'", "attach does not speak MCP over HTTP")
	}
	at, err := stdio.ParseEndpoint(text)
	if err != nil {
		return node.Target{}, misused("for example unix:/run/notes.sock, or tcp:127.0.0.1:9000", "%q: %w", text, err)
	}
	if err := at.Check(); err != nil {
		return node.Target{}, misused("give it to us when you start us, as with 3<pipe in a shell", "%s: %w", text, err)
	}
	if at.Network == "tcp" && !p.s.Insecure && localgateway.OffLoopback(at.In) {
		return node.Target{}, misused("tunnel it, for example with ssh -L, or allow it with --insecure", "%s: everybody on the way can read and change what is said", text)
	}
	return node.Target{At: at}, nil
}

// attachedToUs reports whether the server's stdin and stdout are ours, so that we
// ask nobody there and say what we have to say on stderr.
func attachedToUs(cmd *cobra.Command) bool {
	at, err := stdio.ParseEndpoint(cmd.Flags().Arg(0))
	return cmd.Name() == "attach" && err == nil && at.Network == "fd" && (at.In == "0" || at.Out == "1")
}
