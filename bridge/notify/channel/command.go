package channel

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// A command is run for each notice, which it gets on its stdin as one line of JSON. Nothing of
// the notice is part of what the shell reads, and what it prints is not shown.
type command struct {
	line   string // for the shell of the system
	env    []string
	within time.Duration
}

func newCommand(line string, o Options) *command {
	return &command{line, o.Env, cmp.Or(o.Within, 30*time.Second)}
}

// Send runs the command once: one that fails is not run again for the same notice.
func (c *command) Send(ctx context.Context, n *Notice) (string, error) {
	if err := c.run(ctx, append(n.JSON(), '\n')); err != nil {
		return "", &Error{Err: err, Final: true}
	}
	return "", nil
}

// run runs it in a session of its own, so that it cannot draw on the terminal.
func (c *command) run(ctx context.Context, stdin []byte) error {
	limited, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	cmd := exec.CommandContext(limited, shell[0], shell[1], c.line)
	cmd.Env, cmd.Stdin, cmd.WaitDelay = c.env, bytes.NewReader(stdin), time.Second
	alone(cmd)
	err := stdio.Beside(cmd) // else the bridge would reap it, and end it with the server
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it did not end within %s, and was killed", c.within)
	}
	return err
}
