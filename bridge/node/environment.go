package node

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/commandline"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio"
)

// An Environment says which variables the server gets.
type Environment struct {
	Ours  []string // those of this process, as [os.Environ] has them
	Clean bool     // pass on nothing of Ours but what is in Pass
	Pass  []string // names
	Set   []string // KEY=VALUE, in the place of what would be passed on

	hidden []string // names of Ours that nobody gets: they hold secrets of channels
}

// Whole is the whole environment of the server: ours without what is meant for a bridge
// (MCPX_…), or only what was asked for (DESIGN 14). Its errors are misuse.
func (v Environment) Whole() ([]string, error) {
	if len(v.Pass) > 0 && !v.Clean {
		return nil, fault.Misuse("add --env-clean to pass on nothing else", "--env-pass has no meaning without --env-clean: everything is passed on")
	}
	vars := slices.DeleteFunc(v.forOthers(), func(kv string) bool { return v.Clean && !passes(v.Pass, envKey(kv)) })
	for _, key := range v.Pass {
		if isOurs(key) || strings.Contains(key, "=") {
			return nil, fault.Misuse("use --env KEY=VALUE to set it", "--env-pass: %q cannot be passed on", envKey(key))
		}
	}
	for _, kv := range v.Set {
		key := envKey(kv)
		if key == "" || key == kv || strings.ContainsRune(kv, 0) {
			return nil, fault.Misuse("--env KEY=VALUE", "--env: a variable needs a name, =, and a value")
		}
		vars = slices.DeleteFunc(vars, func(have string) bool { return sameKey(envKey(have), key) })
		vars = append(vars, kv)
	}
	return vars, nil
}

// forOthers are the variables of this process without what is meant for a bridge, its token and
// the secrets of its channels among them.
func (v Environment) forOthers() []string {
	vars := []string{} // not nil: that would mean all of ours
	for _, kv := range v.Ours {
		if !isOurs(envKey(kv)) && !passes(v.hidden, envKey(kv)) {
			vars = append(vars, kv)
		}
	}
	return vars
}

// Hiding is v without the variables that hold secrets of a policy's channels, too; nil has none.
func (v Environment) Hiding(of *policy.Policy) Environment {
	if of == nil {
		return v
	}
	variables, _ := of.Secrets()
	v.hidden = append(slices.Clip(v.hidden), variables...)
	return v
}

// lookup is the value of one of the variables of this process.
func (v Environment) lookup(name string) (string, bool) {
	for _, kv := range v.Ours {
		if key := envKey(kv); sameKey(key, name) && key != kv {
			return kv[len(key)+1:], true
		}
	}
	return "", false
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

// serverDir is the directory in which the server is started, without links on the way
// there, which may lead elsewhere by the next start; dir "" is ours. It is "" where
// that cannot be told, and no yes can be bound to it.
func serverDir(dir string) (string, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return "", fault.Misuse("change to a directory that is there", "the current directory: %w", err)
	}
	if real, err := filepath.EvalSymlinks(whole); err == nil {
		return real, nil
	}
	return "", nil
}

// Unstarted says why a server does not start, and what to do about it, without what looks
// like a secret in its command line. Other errors, and nil, it returns as they are.
func Unstarted(err error) error {
	e, ok := errors.AsType[*stdio.StartError](err)
	if !ok {
		return err
	}
	shown := *e
	shown.Args = commandline.PublicWords(e.Args)
	return fault.New(fault.Server, startHint(e), "%w", &shown)
}

// startHint says what to do about a server that does not start.
func startHint(e *stdio.StartError) string {
	if e.Endpoint != (stdio.Endpoint{}) {
		return attachHint(e.Exit.Cause)
	}
	if errors.Is(e, os.ErrNotExist) || errors.Is(e, exec.ErrNotFound) {
		return "is it installed, and is its folder in PATH? mcpx-bridge doctor -- CMD says more"
	}
	if !e.WasUp && e.Exit.Stdout != "" {
		return "a server's stdout is for MCP alone: what it says to people belongs on its stderr"
	}
	return "run the command by hand to see what it says, or: mcpx-bridge doctor -- CMD"
}

// attachHint says what to do about a server that cannot be kept.
func attachHint(cause string) string {
	switch cause {
	case stdio.CauseUnreached:
		return "is the server running, and is this where it listens?"
	case stdio.CauseHandshake, stdio.CauseInUse, stdio.CauseInitTimeout:
		return "a server over stdio serves one client: does another one have it? socat … fork gives each connection a server of its own"
	}
	return "the server's own log says more"
}

// misused is an error that the options brought about.
