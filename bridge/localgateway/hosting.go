package localgateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
)

// FindOrHost returns the URL of the local gateway, and the gateway itself if this
// process hosts it, which it then does until [LocalGateway.Close]. It tries for ten
// seconds at most.
func (l *LocalGateway) FindOrHost(ctx context.Context) (string, *gateway.Gateway, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.host != nil {
		return l.host.url, l.host.gateway, nil
	}
	ctx, cancel := context.WithTimeout(ctx, hostTime)
	defer cancel()
	for {
		at, err := l.find(ctx)
		if err == nil {
			return at, nil, nil
		}
		if !errors.Is(err, ErrNobody) {
			return "", nil, err
		}
		if l.host, err = l.tryHost(gateway.Options{Log: l.GatewayLog}); err != nil {
			return "", nil, err
		}
		if l.host != nil {
			return l.host.url, l.host.gateway, nil
		}
		if !pause.For(ctx, lookAgain) {
			return "", nil, fault.New(fault.Failed, "mcpx-bridge doctor says more",
				"another process hosts the local gateway, but it does not answer")
		}
	}
}

// portsTried is how many ports after the default one are tried before any.
const portsTried = 20

// HostByHand serves a gateway that a person started, over TLS where config is not
// nil. Unless another process hosts this machine's gateway, or others than this
// machine's programs alone are to reach it, or it speaks TLS, it becomes that. Where
// another does, and nobody said where this one is to listen, it is not needed, and an
// error. The secret is this machine's either way, so o needs none.
func (l *LocalGateway) HostByHand(ctx context.Context, o gateway.Options, config *tls.Config) (*Hosting, error) {
	if config == nil && l.inReach() {
		h, err := l.hostSoon(ctx, o)
		if h != nil || err != nil {
			return h, err
		}
		if l.anyPort {
			return nil, l.runsAlready()
		}
		at, _ := l.Find(ctx, 0)
		l.Log.Info("another process hosts this machine's gateway already; this is a second one", "other", at)
	}
	var err error
	if o.Secret, err = l.State.Secret(); err != nil {
		return nil, err
	}
	listener, err := l.openPort("")
	if err != nil {
		return nil, err
	}
	scheme := "ws"
	if config != nil {
		scheme, listener = "wss", tls.NewListener(listener, config)
	}
	return l.serve(listener, scheme, o)
}

// runsAlready says who hosts this machine's gateway.
func (l *LocalGateway) runsAlready() error {
	where := ""
	if at, err := l.State.listing(); err == nil {
		where = fmt.Sprintf(", at %s (pid %d)", at.URL, at.PID)
	}
	f := fault.New(fault.Failed, "all commands find that one, so there is no need to start any; when the program that hosts it ends, another bridge here hosts the next",
		"this machine's gateway runs already%s", where)
	return f.Also("--listen 127.0.0.1:0 starts one beside it, which others must be told of with --gateway")
}

// inReach reports whether the address to listen at is one that this machine's programs can
// join without TLS.
func (l *LocalGateway) inReach() bool {
	host, _, _ := net.SplitHostPort(l.Listen)
	ip := net.ParseIP(host)
	return !OffLoopback(l.Listen) || host == "" || ip != nil && ip.IsUnspecified()
}

// hostSoon is tryHost, repeated for a moment: the lock is taken briefly by every process that
// looks whether there is a host.
func (l *LocalGateway) hostSoon(ctx context.Context, o gateway.Options) (*Hosting, error) {
	for {
		h, err := l.tryHost(o)
		if h != nil || err != nil {
			return h, err
		}
		if hosted, err := l.State.hosted(); hosted || err != nil || !pause.For(ctx, 20*time.Millisecond) {
			return nil, err
		}
	}
}

// tryHost hosts the gateway. It returns nil and no error if another process does.
func (l *LocalGateway) tryHost(o gateway.Options) (*Hosting, error) {
	lock, err := l.State.Lock(hostLock)
	if err != nil || lock == nil {
		return nil, err
	}
	h, err := l.hostLocked(o)
	if err != nil {
		lock.Close()
		return nil, err
	}
	h.lock = lock
	return h, nil
}

func (l *LocalGateway) hostLocked(o gateway.Options) (*Hosting, error) {
	before, _ := l.State.listing() // only for its port
	// What is listed is not true any more, and who finds us hosting must not
	// believe it.
	if err := os.Remove(l.State.File(listingFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	var err error
	if o.Secret, err = l.State.Secret(); err != nil {
		return nil, err
	}
	listener, err := l.openPort(before.URL)
	if err != nil {
		return nil, err
	}
	h, err := l.serve(listener, "ws", o)
	if err != nil {
		return nil, err
	}
	if err := l.State.list(listing{URL: h.url, PID: os.Getpid()}); err != nil {
		h.Stop()
		return nil, fmt.Errorf("state directory: %w", err)
	}
	return h, nil
}

// Rehearse tries what it takes to host the gateway that others find, and then hosts
// one that nobody is told of, until [LocalGateway.Close]; [LocalGateway.FindOrHost]
// returns it. It reports whether the usual port is taken, so that the gateway would
// be elsewhere than everybody expects. It is for doctor; nobody else may use l.
func (l *LocalGateway) Rehearse() (elsewhere bool, err error) {
	lock, err := l.State.Lock(hostLock)
	if err != nil {
		return false, err
	}
	lock.Close() // at once: a run that begins now shall not wait for us; it may be nil
	listed := l.State.File(listingFile)
	if info, err := os.Lstat(listed); err == nil && info.IsDir() {
		return false, fault.New(fault.Failed, "remove it", "%s is a directory, and must be a file: it says where the gateway is", listed)
	}
	before, _ := l.State.listing() // only for its port
	port, err := l.openPort(before.URL)
	if err != nil {
		return false, err
	}
	elsewhere = l.anyPort && before.URL == "" && port.Addr().String() != DefaultListen
	port.Close()
	secret, err := l.State.Secret()
	if err != nil {
		return elsewhere, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return elsewhere, fault.New(fault.Failed, "does something forbid listening on loopback?", "%w", err)
	}
	l.host, err = l.serve(listener, "ws", gateway.Options{Secret: secret, Log: l.GatewayLog})
	return elsewhere, err
}

// openPort listens where the last host did if that is free, so that everyone
// who knew the address still does; else at the default port or one after it.
func (l *LocalGateway) openPort(before string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(l.Listen)
	if err != nil {
		return nil, CheckListen(l.Listen)
	}
	var tries []string
	if u, err := url.Parse(before); err == nil && u.Hostname() == host && u.Port() != "" {
		tries = append(tries, u.Port())
	}
	switch first, _ := strconv.Atoi(port); {
	case !l.anyPort && port != "0":
		tries = []string{port}
	case !l.anyPort:
		tries = append(tries, "0")
	default:
		for i := range portsTried {
			tries = append(tries, strconv.Itoa(first+i))
		}
		tries = append(tries, "0")
	}
	for _, port := range tries {
		var listener net.Listener
		if listener, err = net.Listen("tcp", net.JoinHostPort(host, port)); err == nil {
			return listener, nil
		}
	}
	return nil, fault.New(fault.Failed, "choose another address with --listen", "the gateway cannot listen: %w", err)
}

// serve serves a new gateway on a listener, which it takes over.
func (l *LocalGateway) serve(listener net.Listener, scheme string, o gateway.Options) (*Hosting, error) {
	if o.Log == nil {
		o.Log = l.Log
	}
	o.MaxConns = connsFor(l.Files)
	if o.MaxConns > 0 {
		o.MaxUnseated = min(256, o.MaxConns/2)
	}
	g, err := gateway.New(o)
	if err != nil {
		listener.Close()
		return nil, err
	}
	h := &Hosting{gateway: g, url: scheme + "://" + reachable(listener.Addr()), done: make(chan struct{}), server: g.Server()}
	h.server.ErrorLog = slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)
	go func() {
		h.err = h.server.Serve(listener)
		close(h.done)
	}()
	return h, nil
}

// keptFiles are the descriptors that the connections of a gateway leave to the rest of the
// process: its server, record, state, and the local door, through which people answer.
const keptFiles = 64

// connsFor is how many connections a gateway may have where a process may have so many
// files open; 0, any number, where that is not known.
func connsFor(files uint64) int {
	switch {
	case files == 0:
		return 0
	case files <= 2*keptFiles:
		return max(1, int(files/2))
	}
	return int(min(files, 1<<30) - keptFiles)
}

// reachable is how this machine's programs reach an address that is listened
// at: one that stands for all addresses is none to dial.
func reachable(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return a.String()
}
