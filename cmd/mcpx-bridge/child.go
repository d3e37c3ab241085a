package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/shlex"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/commandline"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// command finds the server's command: what stands behind --, untouched, or
// --server, split as a shell would.
func (p *program) command(args []string) ([]string, error) {
	const usage = "for example: mcpx-bridge run --allow 'read_*' -- npx -y @modelcontextprotocol/server-filesystem /tmp"
	if len(args) > 0 && p.s.Server != "" {
		return nil, misused("keep one of them", "the server is given twice, by --server and behind --")
	}
	if len(args) == 0 && p.s.Server != "" {
		words, err := shlex.Split(p.s.Server)
		if err != nil {
			return nil, misused("quote it as in a shell, or put the command behind --", "--server: it is no command line")
		}
		args = words
	}
	if len(args) == 0 || args[0] == "" {
		return nil, misused(usage, "run needs the command of a server")
	}
	for _, a := range args {
		if strings.ContainsRune(a, 0) {
			return nil, misused("no system can start that; was it pasted from a file that is no text?", "the server's command holds a NUL character")
		}
	}
	return args, nil
}

// childEnv is the whole environment of the server: ours without what is meant
// for us, or only what was asked for (DESIGN 14).
func (p *program) childEnv() ([]string, error) {
	if len(p.s.EnvPass) > 0 && !p.s.EnvClean {
		return nil, misused("add --env-clean to pass on nothing else", "--env-pass has no meaning without --env-clean: everything is passed on")
	}
	vars := []string{} // not nil: that would mean all of ours
	for _, kv := range p.environ() {
		key := envKey(kv)
		if !isOurs(key) && (!p.s.EnvClean || passes(p.s.EnvPass, key)) {
			vars = append(vars, kv)
		}
	}
	for _, key := range p.s.EnvPass {
		if isOurs(key) || strings.Contains(key, "=") {
			return nil, misused("use --env KEY=VALUE to set it", "--env-pass: %q cannot be passed on", envKey(key))
		}
	}
	for _, kv := range p.s.Env {
		key := envKey(kv)
		if key == "" || key == kv || strings.ContainsRune(kv, 0) {
			return nil, misused("--env KEY=VALUE", "--env: a variable needs a name, =, and a value")
		}
		vars = slices.DeleteFunc(vars, func(have string) bool { return sameKey(envKey(have), key) })
		vars = append(vars, kv)
	}
	return vars, nil
}

// envKey is the name of a variable. On Windows some begin with =.
func envKey(kv string) string {
	if i := strings.Index(kv[min(1, len(kv)):], "="); i >= 0 {
		return kv[:i+1]
	}
	return kv
}

func isOurs(key string) bool { return strings.HasPrefix(strings.ToUpper(key), "MCPX_") }

func passes(keys []string, key string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return sameKey(k, key) })
}

func sameKey(a, b string) bool {
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
}

const cwdHint = "name a directory that is there, for the server to be started in"

// serverDir is the directory in which the server is started, without links on the way
// there, which may lead elsewhere by the next start; dir "" is ours. It is "" where
// that cannot be told, and no yes can be bound to it.
func serverDir(dir string) (string, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return "", misused("change to a directory that is there", "our own directory: %w", err)
	}
	if real, err := filepath.EvalSymlinks(whole); err == nil {
		return real, nil
	}
	return "", nil
}

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

// unstarted says why a server does not start, and what to do about it, without what looks
// like a secret in its command line.
func unstarted(e *stdio.StartError) *failure {
	shown := *e
	shown.Args = commandline.PublicWords(e.Args)
	return fail(exitServer, startHint(e), "%w", &shown)
}

// startHint says what to do about a server that does not start.
func startHint(e *stdio.StartError) string {
	if e.Endpoint != (stdio.Endpoint{}) {
		return attachHint(e.Exit.Cause)
	}
	if errors.Is(e, os.ErrNotExist) || errors.Is(e, exec.ErrNotFound) {
		return "is it installed, and is its folder in PATH? mcpx-bridge doctor -- CMD says more"
	}
	return "run the command by hand to see what it says, or: mcpx-bridge doctor -- CMD"
}
