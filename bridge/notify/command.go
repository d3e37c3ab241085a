package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// runShell runs a command with a question at its stdin. Nothing of the question is part of
// what the shell reads.
func runShell(ctx context.Context, command string, env []string, within time.Duration, question []byte) error {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cmd := exec.CommandContext(limited, shell[0], shell[1], command)
	cmd.Env, cmd.Stdin, cmd.WaitDelay = env, bytes.NewReader(question), time.Second
	alone(cmd)
	err := stdio.Beside(cmd) // else the bridge would reap it, and end it with the server
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it did not end within %s, and was killed", within)
	}
	return err
}
