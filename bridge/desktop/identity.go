package desktop

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A seat says nothing of who sits there: when one server leaves and another takes its id,
// the names of tools stay what they were (FINDINGS P2). So whoever offers tools is asked
// what its server says of itself, and what is another than before is told.

// provides is the member of _meta in a bridge's answer to initialize that says what its
// server is for.
const provides = "mcpx/provides"

const (
	maxProvided = 16
	maxKnown    = 1000 // ids that are remembered
)

func (who identity) String() string {
	words := strings.TrimSpace(who.Name + " " + who.Version)
	if words == "" {
		words = "a server without a name"
	}
	if len(who.Provides) > 0 {
		words += ", for " + strings.Join(who.Provides, ", ")
	}
	return words
}

// readIdentity reads the answer to initialize; ok is false if it says nothing.
func readIdentity(result []byte) (who identity, ok bool) {
	at, err := peek(result, "serverInfo", "_meta")
	if err != nil || !isObject(at[0]) {
		return who, false
	}
	info, err := peek(at[0], "name", "version")
	if err != nil {
		return who, false
	}
	name, _ := jsonrpc.Unquote(info[0])
	version, _ := jsonrpc.Unquote(info[1])
	who.Name, who.Version = clip(name, 80), clip(version, 40)
	if isObject(at[1]) {
		var words []string
		if meta, err := peek(at[1], provides); err == nil && json.Unmarshal(meta[0], &words) == nil {
			for _, word := range words[:min(len(words), maxProvided)] {
				who.Provides = append(who.Provides, clip(word, 40))
			}
		}
	}
	return who, true
}

// acquainted is what is known under an id, nil if there is no room for more.
func (f *Proxy) acquainted(id string) *acquaintance {
	if f.known[id] == nil && len(f.known) < maxKnown {
		f.known[id] = &acquaintance{}
	}
	return f.known[id]
}

// returns: somebody sits down under an id, be it who left it.
func (f *Proxy) returns(p *peer) {
	p.identified, p.before, p.fresh = false, nil, true
	if k := f.known[p.ID]; k != nil && k.left {
		k.left = false
		p.again = f.clock.now
	}
}

// leaves: what is known under an id may be another's from now on.
func (f *Proxy) leaves(id string) {
	if k := f.known[id]; k != nil {
		k.left = true
	}
}

// askIdentity asks a peer that has tools who it is, where nobody shakes hands before.
func (f *Proxy) askIdentity(p *peer) {
	if f.greets || p.identified || p.hello != 0 || len(p.lists[tools].all) == 0 {
		return
	}
	p.identified = true // once for each time that it comes
	p.hello = f.ask(p.ID, methodInitialize, f.helloParams(), asking{done: func(a Answered) {
		p.hello = 0
		f.identify(p, a.Result)
	}})
}

// helloParams are what we say to a peer in initialize: that we show apps where our client
// does, in its words.
func (f *Proxy) helloParams() []byte {
	var can mcp.ClientCapabilities
	if f.ui != nil {
		can.Extensions = map[string]any{appExtension: json.RawMessage(f.ui)}
	}
	return compose(mcp.InitializeParams{ProtocolVersion: jsonrpc.CommonRevision, Capabilities: can, ClientInfo: mcp.Implementation{Name: ourName, Version: f.c.Version}})
}

// identify takes what a peer's server says of itself.
func (f *Proxy) identify(p *peer, result []byte) {
	who, ok := readIdentity(result)
	k := f.acquainted(p.ID)
	if !ok {
		return
	}
	p.who = who
	if k == nil {
		return
	}
	if was := k.identity; k.said && was.String() != who.String() {
		p.before = &was
		f.noteOf(p, fmt.Sprintf("another server sits at %s now: %s; before it was %s", clip(p.ID, 80), who, was))
	}
	k.identity, k.said = who, true
}

// compareTools notes when somebody comes back with other tools.
func (f *Proxy) compareTools(p *peer) {
	k := f.acquainted(p.ID)
	if k == nil {
		return
	}
	h := sha256.New()
	for _, d := range p.lists[tools].all {
		h.Write(appendObject(nil, d.fields))
	}
	now := [sha256.Size]byte(h.Sum(nil))
	if p.fresh && k.listed && k.tools != now && !p.again.IsZero() {
		f.noteOf(p, clip(p.ID, 80)+" left and came back with other tools; another server may sit there now")
	}
	p.fresh, k.tools, k.listed = false, now, true
}

// seat is what mcpx_peers says of who sits where, a line each.
func (p *peer) seat() (lines []string) {
	if p.before != nil {
		lines = append(lines, "another server than before, which was "+p.before.String())
	}
	if !p.again.IsZero() {
		lines = append(lines, "the server that was there left; this one came at "+p.again.UTC().Format(time.RFC3339))
	}
	return lines
}
