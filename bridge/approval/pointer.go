package approval

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// timeoutArg stands for the server's time for the call, where an edit would
// otherwise name an argument (WIRE 7.5).
const timeoutArg = "@timeout"

// steps are the names on the way of a JSON pointer (RFC 6901).
func steps(pointer string) []string {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts
}

// pointerTo returns the pointer to a member of what parent points to.
func pointerTo(parent, name string) string {
	return parent + "/" + strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// child finds a member or an element of the container at i.
func child(t []byte, i int, step string) (member, bool) {
	switch t[i] {
	case '{':
		for m := range members(t, i) {
			if m.name == step {
				return m, true
			}
		}
	case '[':
		n := 0
		for m := range elements(t, i) {
			if strconv.Itoa(n) == step {
				return m, true
			}
			n++
		}
	}
	return member{}, false
}

// lookup returns the value that a pointer names, nil if there is none.
func lookup(t []byte, pointer string) []byte {
	m, ok := member{start: space(t, 0)}, true
	for _, step := range steps(pointer) {
		if m, ok = child(t, m.start, step); !ok {
			return nil
		}
	}
	return t[m.start:m.end:m.end]
}

// put returns a copy of the object t in which a pointer names value, every
// other byte being as it was. It reports false where the parent is missing or
// holds no members; an element of an array must be there already.
func put(t []byte, pointer string, value []byte) ([]byte, bool) {
	way := steps(pointer)
	at := space(t, 0)
	for _, step := range way[:len(way)-1] {
		m, ok := child(t, at, step)
		if !ok {
			return nil, false
		}
		at = m.start
	}
	name := way[len(way)-1]
	if m, ok := child(t, at, name); ok {
		return slices.Concat(t[:m.start], value, t[m.end:]), true
	}
	if t[at] != '{' {
		return nil, false
	}
	added := append(jsonrpc.AppendQuote(nil, name), ':')
	added = append(added, value...)
	if t[space(t, at+1)] != '}' {
		added = append(added, ',')
	}
	return slices.Concat(t[:at+1], added, t[at+1:]), true
}
