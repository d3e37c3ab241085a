package install

import (
	"slices"
	"strings"
)

// OurName is what our entry is called in every client: short, because some
// clients count it into the length of tool names (MCP 3.2).
const OurName = "mcpx"

// An Entry is what a client starts: a program and its arguments, as they are
// written (a client may still fill in variables).
type Entry struct {
	Command string
	Args    []string

	// Env are variables for the program, as KEY=VALUE. Only Install writes them,
	// into an entry that it makes: those of an entry that is there are nobody's
	// business but its owner's.
	Env []string
}

func (e Entry) equal(o Entry) bool {
	return e.Command == o.Command && slices.Equal(e.Args, o.Args)
}

// bridge reports whether e starts a bridge: exe, or another of that name.
func (e Entry) bridge(exe string) bool {
	base := e.Command[strings.LastIndexAny(e.Command, `/\`)+1:]
	if len(base) > 4 && strings.EqualFold(base[len(base)-4:], ".exe") {
		base = base[:len(base)-4]
	}
	return base == "mcpx-bridge" || exe != "" && e.Command == exe
}

// behind is e with a bridge in front of it.
func (e Entry) behind(exe string, flags []string) Entry {
	args := append([]string{"run", "--stdio"}, flags...)
	args = append(args, "--", e.Command)
	return Entry{Command: exe, Args: append(args, e.Args...)}
}

// front returns how many of the arguments are the bridge's own, the server's
// command counted in; 0 if there is no bridge in front of anything.
func (e Entry) front(exe string) int {
	dashes := slices.Index(e.Args, "--")
	if !e.bridge(exe) || dashes < 2 || dashes+1 == len(e.Args) || e.Args[0] != "run" || !slices.Contains(e.Args[:dashes], "--stdio") {
		return 0
	}
	return dashes + 2
}

// freed is e without the bridge in front of it; front is what front returned.
func (e Entry) freed(front int) Entry {
	return Entry{Command: e.Args[front-1], Args: e.Args[front:]}
}

// variables are Env as a file has them, with what stands between a key and its value there.
func (e Entry) variables(assign string) string {
	var all []string
	for _, kv := range e.Env {
		key, value, _ := strings.Cut(kv, "=")
		all = append(all, quoted(key)+assign+quoted(value))
	}
	return strings.Join(all, ", ")
}
