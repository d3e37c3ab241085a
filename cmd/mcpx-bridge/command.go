package main

import (
	"os"
	"strings"

	"github.com/google/shlex"
)

// command finds the server's command: what stands behind --, untouched, or
// --server, split as a shell would. What stands there takes the place of a server that
// the environment or the file of --config names, as every word of the command line does.
func (p *program) command(args []string) ([]string, error) {
	const usage = "for example: mcpx-bridge run --allow 'read_*' -- npx -y @modelcontextprotocol/server-filesystem /tmp"
	if len(args) > 0 && p.gave("server") {
		return nil, misused("keep one of them", "the server is given twice, by --server and after --")
	}
	if len(args) == 0 && p.s.Server != "" {
		words, err := shlex.Split(p.s.Server)
		if err != nil {
			return nil, misused("quote it as in a shell, or put the command after --", "--server: it is no command line")
		}
		args = words
	}
	if len(args) == 0 || args[0] == "" {
		return nil, misused(usage, "run needs the command of a server")
	}
	for _, a := range args {
		if strings.ContainsRune(a, 0) {
			return nil, misused("no system can start that; was it pasted from a file that is no text?", "the server's command has a NUL character")
		}
	}
	return args, nil
}

const cwdHint = "name a directory that is there, for the server to be started in"

// checkDir refuses a working directory that is none.
func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return misused(cwdHint, "--cwd: %w", err)
	}
	if !info.IsDir() {
		return misused(cwdHint, "--cwd: %s is no directory", dir)
	}
	return nil
}
