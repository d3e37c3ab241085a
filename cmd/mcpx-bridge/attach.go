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

ENDPOINT is where the server reads and writes MCP, one message per line:
  unix:PATH        a socket of this machine
  tcp:HOST:PORT    a socket; on another machine it needs --insecure
  fifo:IN,OUT      two named pipes: the bridge reads IN and writes OUT
  fd:IN,OUT        the numbers of two descriptors that this command inherits
  -                this command's stdin and stdout; messages go to stderr

Rules, questions and the record work as with run.`,
		Annotations: map[string]string{help.Further: `

The bridge does not start or stop the server. When a socket or pipe closes, the
bridge connects again, soon at first and every 30 seconds later, and refuses calls
until then. When a descriptor closes, or the endpoint is not there at the start,
the command ends with exit code 3. A server whose input stays open (a pipe that
others hold open) goes on with what it began.

A server over stdio serves one client. If another client initialised it, it may
serve the bridge too; if it refuses, or sends answers that the bridge did not ask
for, the bridge leaves it alone. Give every client a server of its own, as socat
does with fork.`},
		Example: `  socat UNIX-LISTEN:notes.sock,fork EXEC:notes-server &
  mcpx-bridge attach --allow 'list_*' unix:notes.sock

  docker exec -i notes notes-server <to >from &
  mcpx-bridge attach --id notes fifo:from,to`,
		Args: help.Positional(1, 1),
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
	f.Lookup("id").Usage = "the participant `ID` of the bridge (default: taken from the endpoint)"
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
		return node.Target{}, misused("pass it on when you start this command, as with 3<pipe in a shell", "%s: %w", text, err)
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
