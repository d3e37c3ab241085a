package stdio

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// A sign is what is to be done upon something overheard.
type sign uint8

const (
	nothingYet  sign = iota
	askDiscover      // the server is known to be modern, but not what it is
	met              // the handshake is done
)

// overheard is what the talk of a host with its server has told about the
// handshake so far. Two goroutines take part: one hears the host, one the server.
// It is over when there is nothing more to learn.
type overheard struct {
	version    string // ours
	discoverID []byte // of our own server/discover

	over atomic.Bool // nobody need listen any more
	up   atomic.Bool // the handler knows

	mu    sync.Mutex
	asked []asking // the host's questions that tell something, guarded by mu like the rest
	known bool     // initialize was answered well; only the host's next word is missing
	spoke bool     // the host has said that word already, without waiting for the answer
	hello Hello    // changes no more when over
}

// An asking is a request of the host's whose answer tells something.
type asking struct {
	id       []byte
	method   string
	revision string // that a modern request named
	elicits  bool   // initialize said that the client can put a form before its person
}

// askingMost bounds what is remembered of a host that gets no answers.
const askingMost = 64

// host hears a line of the host's, after the server got it.
func (o *overheard) host(line []byte) sign {
	m, err := jsonrpc.Parse(bytes.TrimSpace(line), jsonrpc.Passed)
	if err != nil {
		return nothingYet
	}
	method, class := m.Text(jsonrpc.Method), m.Class()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over.Load() {
		return nothingYet
	}
	revision := namedRevision(&m)
	switch {
	case class == jsonrpc.Request && (method == "initialize" || revision != ""):
		o.spoke = false
		if len(o.asked) == askingMost {
			o.asked = o.asked[1:]
		}
		o.asked = append(o.asked, asking{slices.Clone(m.Get(jsonrpc.ID)), method, revision, elicits(&m)})
	case method == "notifications/initialized", class == jsonrpc.Request && method != "ping":
		if o.known {
			return o.meetLocked()
		}
		o.spoke = true
	}
	return nothingYet
}

// unsaid hears a request of the host's that the server does not get before the
// handshake is done: it must not wait for its answer.
func (o *overheard) unsaid(m *jsonrpc.Message) sign {
	o.mu.Lock()
	defer o.mu.Unlock()
	revision := namedRevision(m)
	switch {
	case o.over.Load():
		return nothingYet
	case o.known:
		return o.meetLocked()
	case revision != "":
		o.hello = Hello{Modern: true, Revision: revision, Meta: ModernMeta(revision, o.version)}
		o.over.Store(true)
		return askDiscover
	}
	o.spoke = true
	return nothingYet
}

// elicits reports whether an initialize declares that forms can be shown. Before
// there were others, {} said so.
func elicits(m *jsonrpc.Message) bool {
	can := rawjson.Find(m.Get(jsonrpc.Params), jsonrpc.Passed, "capabilities", "elicitation")
	return len(can) > 0 && can[0] == '{' && (rawjson.At(can, "/form") != nil || rawjson.At(can, "/url") == nil)
}

// namedRevision is what a request of 2026-07-28 or later says in its _meta; ""
// for any other.
func namedRevision(m *jsonrpc.Message) string {
	revision, _ := rawjson.Text(m.Get(jsonrpc.Meta), jsonrpc.Passed, "io.modelcontextprotocol/protocolVersion")
	return revision
}

// server hears a line of the server's.
func (o *overheard) server(line []byte, rules jsonrpc.Rules) sign {
	m, err := jsonrpc.Parse(bytes.TrimSpace(line), rules)
	if err != nil || m.Class() != jsonrpc.Response {
		return nothingYet
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.asked, func(a asking) bool { return bytes.Equal(a.id, m.Get(jsonrpc.ID)) })
	if i < 0 || o.over.Load() {
		return nothingYet
	}
	a := o.asked[i]
	o.asked = slices.Delete(o.asked, i, i+1)
	switch {
	case m.Has(jsonrpc.Err):
		return nothingYet
	case a.method == "initialize":
		hello, why := readHello(&m, false, o.version)
		hello.Elicits = a.elicits
		if o.hello, o.known = hello, why == ""; o.known && o.spoke {
			return o.meetLocked()
		}
		return nothingYet
	case a.method == "server/discover":
		return o.discoverLocked(&m)
	}
	o.hello = Hello{Modern: true, Revision: a.revision, Meta: ModernMeta(a.revision, o.version)}
	o.over.Store(true)
	return askDiscover
}

func (o *overheard) discoverLocked(m *jsonrpc.Message) sign {
	hello, why := readHello(m, true, o.version)
	if why != "" {
		return nothingYet
	}
	o.hello = hello
	return o.meetLocked()
}

func (o *overheard) meetLocked() sign {
	o.over.Store(true)
	o.up.Store(true)
	o.asked = nil
	return met
}

// discovered hears the answer to our own server/discover. Without a good one
// the server is still what its answers to the host have shown.
func (o *overheard) discovered(m *jsonrpc.Message) sign {
	o.mu.Lock()
	defer o.mu.Unlock()
	if hello, why := readHello(m, true, o.version); why == "" {
		o.hello = hello
	}
	return o.meetLocked()
}

// undiscovered: the server cannot be asked. It is what its answers to the host
// have shown.
func (o *overheard) undiscovered() sign {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.meetLocked()
}
