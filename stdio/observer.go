package stdio

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// An observation is how far a handshake that is observed has come.
type observation int32

const (
	nothingYet    observation = iota
	askDiscover               // the server is known to be modern, but not what it is: that is to be asked
	handshakeDone             // the handshake is done
)

// A handshakeObserver follows the handshake of a host with its server, of which it gets
// every line. Two goroutines use it: the one that reads the host and the one that reads the
// server. What its methods return is what has now been reached, nothingYet if it is nothing new.
type handshakeObserver struct {
	version    string // ours
	discoverID []byte // of our own server/discover

	reached atomic.Int32 // an observation

	mu          sync.Mutex
	asked       []hostRequest // the host's questions that tell something, guarded by mu like the rest
	initialized bool          // initialize was answered well; only the host's next word is missing
	hostWentOn  bool          // the host has said that word already, without waiting for the answer
	hello       Hello         // changes no more when the handshake is done
}

// over reports whether no more lines are needed.
func (o *handshakeObserver) over() bool { return o.reached.Load() != int32(nothingYet) }

// up reports whether the handshake is done.
func (o *handshakeObserver) up() bool { return o.reached.Load() == int32(handshakeDone) }

func (o *handshakeObserver) reachLocked(now observation) observation {
	o.reached.Store(int32(now))
	o.asked = nil
	return now
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
	return o.hostSaid(&m, false)
}

// hostSaid takes a message of the host's. If it is a request that is withheld, the server
// does not get it yet, and the handshake must be done without its answer.
func (o *handshakeObserver) hostSaid(m *jsonrpc.Message, withheld bool) observation {
	method, asks := m.Text(jsonrpc.Method), m.Class() == jsonrpc.Request
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over() {
		return nothingYet
	}
	revision := namedRevision(m)
	switch {
	case withheld && revision != "" && !o.initialized:
		return o.modernLocked(revision)
	case !withheld && asks && (method == "initialize" || revision != ""):
		o.hostWentOn = false
		if len(o.asked) == maxHostRequests {
			o.asked = o.asked[1:]
		}
		o.asked = append(o.asked, hostRequest{slices.Clone(m.Get(jsonrpc.ID)), method, revision, elicits(m)})
	case method == "notifications/initialized", asks && method != "ping":
		if o.initialized {
			return o.reachLocked(handshakeDone)
		}
		o.hostWentOn = true
	}
	return nothingYet
}

// modernLocked notes that the server speaks a modern revision.
func (o *handshakeObserver) modernLocked(revision string) observation {
	o.hello = Hello{Modern: true, Revision: revision, Meta: ModernMeta(revision, o.version)}
	return o.reachLocked(askDiscover)
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
	if i < 0 || o.over() {
		return nothingYet
	}
	a := o.asked[i]
	o.asked = slices.Delete(o.asked, i, i+1)
	switch {
	case m.Has(jsonrpc.Err):
		return nothingYet
	case a.method == questions[initialize]:
		hello, why := readHello(&m, initialize, o.version)
		hello.Elicits = a.elicits
		if o.hello, o.initialized = hello, why == ""; o.initialized && o.hostWentOn {
			return o.reachLocked(handshakeDone)
		}
		return nothingYet
	case a.method == questions[discover]:
		hello, why := readHello(&m, discover, o.version)
		if why != "" {
			return nothingYet
		}
		o.hello = hello
		return o.reachLocked(handshakeDone)
	}
	return o.modernLocked(a.revision)
}

// discovered takes the answer to our own server/discover; nil if that could not be sent. If
// it tells nothing, what is known from the server's answers to the host has to do.
func (o *handshakeObserver) discovered(m *jsonrpc.Message) observation {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.up() {
		return nothingYet
	}
	if m != nil {
		if hello, why := readHello(m, discover, o.version); why == "" {
			o.hello = hello
		}
	}
	return o.reachLocked(handshakeDone)
}
