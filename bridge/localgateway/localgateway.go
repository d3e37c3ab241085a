package localgateway

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// DefaultListen is where the local gateway is, if that port is free.
const DefaultListen = "127.0.0.1:7420"

const (
	hostTime  = 10 * time.Second      // for which FindOrHost tries
	lookAgain = 50 * time.Millisecond // between two looks for a host
	askTime   = 2 * time.Second       // for one answer of the gateway

	appearTime = 500 * time.Millisecond // for a first sign of a host
)

// ErrNobody says that no process hosts the local gateway.
var ErrNobody = errors.New("no gateway is running on this machine")

// Options say where this machine's gateway is looked for, and where and how this
// process would host it.
type Options struct {
	State  StateDir     // that was opened
	Listen string       // HOST:PORT where to host; "" is DefaultListen, or a port after it that is free
	Files  uint64       // how many files this process may have open; 0: not known
	Log    *slog.Logger // nil: none

	// GatewayLog is the log of a gateway that FindOrHost hosts, nil for Log.
	GatewayLog *slog.Logger
}

// A LocalGateway is the gateway of this user on this machine, as one process sees it:
// found, or hosted here. Its methods may be called from any goroutine.
type LocalGateway struct {
	Options
	anyPort bool // nobody chose the port, so another will do

	mu   sync.Mutex
	host *Hosting // not nil while this process hosts
}

// A Hosting is a gateway that this process serves. Who got it stops it.
type Hosting struct {
	gateway *gateway.Gateway
	url     string
	server  *http.Server
	lock    *os.File
	done    chan struct{}
	err     error // of the server, once done is closed
}

// New returns this machine's gateway. It touches nothing yet.
func New(o Options) *LocalGateway {
	o.Listen = cmp.Or(o.Listen, DefaultListen)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.GatewayLog = cmp.Or(o.GatewayLog, o.Log)
	return &LocalGateway{Options: o, anyPort: o.Listen == DefaultListen}
}

// Close stops hosting, if this process does. The address stays on file: it tells the
// next host which port everyone knows.
func (l *LocalGateway) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.host != nil {
		l.host.Stop()
		l.host = nil
	}
}

// Mint makes a token for the local gateway, wherever it is hosted, and whether it is
// or not.
func (l *LocalGateway) Mint(c gateway.Claims) (string, error) {
	secret, err := l.State.Secret()
	if err != nil {
		return "", err
	}
	g, err := gateway.New(gateway.Options{Secret: secret})
	if err != nil {
		return "", err
	}
	defer g.Close()
	return g.Mint(c)
}

// URL is where the gateway is reached from this machine.
func (h *Hosting) URL() string { return h.url }

// Local reports whether it is this machine's own gateway, which others find.
func (h *Hosting) Local() bool { return h.lock != nil }

// Done is closed when the gateway is served no more; Err then says why.
func (h *Hosting) Done() <-chan struct{} { return h.done }

// Err is why the gateway is served no more. It may be called once Done is closed.
func (h *Hosting) Err() error { return h.err }

// Stop ends all sessions, then everything else, and gives back the lock. When it
// returns nothing of the gateway runs any more.
func (h *Hosting) Stop() {
	h.gateway.Close()
	h.server.Close()
	<-h.done
	if h.lock != nil {
		h.lock.Close()
	}
}
