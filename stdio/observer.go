package stdio

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// An observation is what is to be done about a line that was observed.
type observation uint8

const (
	nothingYet    observation = iota
	askDiscover               // the server is known to be modern, but not what it is
	handshakeDone             // the handshake is done
)

// A handshakeObserver follows the handshake of a host with its server, of which it gets
// every line. Two goroutines use it: the one that reads the host and the one that reads the
// server. It is over when the Hello is complete.
type handshakeObserver struct {
	version    string // ours
	discoverID []byte // of our own server/discover

	over atomic.Bool // no more lines are needed
	up   atomic.Bool // handshakeDone was returned

	mu          sync.Mutex
	asked       []hostRequest // the host's questions that tell something, guarded by mu like the rest
	initialized bool          // initialize was answered well; only the host's next word is missing
	hostWentOn  bool          // the host has said that word already, without waiting for the answer
	hello       Hello         // changes no more when over
}

// A hostRequest is a request of the host's whose answer tells something of the server.
type hostRequest struct {
	id       []byte
	method   string
	revision string // that a modern request named
	elicits  bool   // initialize said that the client can put a form before its person
}

// maxHostRequests is how many of these are remembered; then the oldest is forgotten.
const maxHostRequests = 64

// fromHost takes a line of the host's, after the server got it.
func (o *handshakeObserver) fromHost(line []byte) observation {
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
		o.hostWentOn = false
		if len(o.asked) == maxHostRequests {
			o.asked = o.asked[1:]
		}
		o.asked = append(o.asked, hostRequest{slices.Clone(m.Get(jsonrpc.ID)), method, revision, elicits(&m)})
	case method == "notifications/initialized", class == jsonrpc.Request && method != "ping":
		if o.initialized {
			return o.doneLocked()
		}
		o.hostWentOn = true
	}
	return nothingYet
}

// withheld takes a request of the host's that the server does not get yet. The handshake
// must then be done without its answer.
func (o *handshakeObserver) withheld(m *jsonrpc.Message) observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	revision := namedRevision(m)
	switch {
	case o.over.Load():
		return nothingYet
	case o.initialized:
		return o.doneLocked()
	case revision != "":
		o.hello = Hello{Modern: true, Revision: revision, Meta: ModernMeta(revision, o.version)}
		o.over.Store(true)
		return askDiscover
	}
	o.hostWentOn = true
	return nothingYet
}

// elicits reports whether an initialize declares that forms can be shown. Before
// there were others, {} said so.
func elicits(m *jsonrpc.Message) bool {
	can := rawjson.Find(m.Get(jsonrpc.Params), jsonrpc.Passed, "capabilities", "elicitation")
	return len(can) > 0 && can[0] == '{' && (rawjson.At(can, "/form") != nil || rawjson.At(can, "/url") == nil)
}

// namedRevision returns the revision that a request of 2026-07-28 or later has in its _meta,
// "" for any other.
func namedRevision(m *jsonrpc.Message) string {
	revision, _ := rawjson.Text(m.Get(jsonrpc.Meta), jsonrpc.Passed, "io.modelcontextprotocol/protocolVersion")
	return revision
}

// fromServer takes a line of the server's.
func (o *handshakeObserver) fromServer(line []byte, rules jsonrpc.Rules) observation {
	m, err := jsonrpc.Parse(bytes.TrimSpace(line), rules)
	if err != nil || m.Class() != jsonrpc.Response {
		return nothingYet
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.asked, func(a hostRequest) bool { return bytes.Equal(a.id, m.Get(jsonrpc.ID)) })
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
		if o.hello, o.initialized = hello, why == ""; o.initialized && o.hostWentOn {
			return o.doneLocked()
		}
		return nothingYet
	case a.method == "server/discover":
		return o.discoverLocked(&m)
	}
	o.hello = Hello{Modern: true, Revision: a.revision, Meta: ModernMeta(a.revision, o.version)}
	o.over.Store(true)
	return askDiscover
}

func (o *handshakeObserver) discoverLocked(m *jsonrpc.Message) observation {
	hello, why := readHello(m, true, o.version)
	if why != "" {
		return nothingYet
	}
	o.hello = hello
	return o.doneLocked()
}

func (o *handshakeObserver) doneLocked() observation {
	o.over.Store(true)
	o.up.Store(true)
	o.asked = nil
	return handshakeDone
}

// discovered takes the answer to our own server/discover. If it is an error, what is known
// from the server's answers to the host has to do.
func (o *handshakeObserver) discovered(m *jsonrpc.Message) observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	if hello, why := readHello(m, true, o.version); why == "" {
		o.hello = hello
	}
	return o.doneLocked()
}

// cannotDiscover ends the handshake when our own server/discover could not be sent. What is
// known from the server's answers to the host has to do.
func (o *handshakeObserver) cannotDiscover() observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.doneLocked()
}
