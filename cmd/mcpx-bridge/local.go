package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// defaultListen is where the local gateway is, if that port is free.
const defaultListen = "127.0.0.1:7420"

// portsTried is how many ports after the default one are tried before any.
const portsTried = 20

// A local is the gateway of this user on this machine, as one process sees it:
// found, or hosted here.
//
// Exactly one process hosts, the one that holds the lock. When it ends, the
// others lose their seats and ask again; one of them gets the lock, the rest
// find it. The secret stays, so every token stays good.
type local struct {
	state  stateDir
	listen string // where to host; a port that was not asked for may be another
	asked  bool   // the address was asked for, so no other will do
	log    *slog.Logger

	mu   sync.Mutex
	host *hosting // not nil while this process hosts
}

// hosting is a gateway in this process.
type hosting struct {
	gateway *gateway.Gateway
	url     string
	server  *http.Server
	lock    *os.File
	done    chan error // what Serve returned
}

// errNobody says that no process hosts the local gateway.
var errNobody = errors.New("no gateway is running on this machine")

// localGateway opens the state directory.
func (p *program) localGateway() (*local, error) {
	state, err := stateHome(p.getenv)
	if err != nil {
		return nil, err
	}
	if err := state.open(); err != nil {
		return nil, err
	}
	return &local{state: state, listen: cmp.Or(p.s.Listen, defaultListen), asked: p.s.Listen != "" && p.s.Listen != defaultListen, log: p.log}, nil
}

// find returns the URL of the gateway that another process hosts. The error
// wraps errNobody when there is none.
func (l *local) find(ctx context.Context) (string, error) {
	hosted, err := l.state.hosted()
	if err != nil {
		return "", err
	}
	if !hosted {
		return "", errNobody
	}
	at, err := l.state.listing()
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w yet: one is starting", errNobody)
	}
	if err != nil {
		return "", err
	}
	if err := l.alive(ctx, at.URL); err != nil {
		return "", fmt.Errorf("%w: %w", errNobody, err)
	}
	return at.URL, nil
}

// findSoon is find with patience for a gateway that is just starting or moving.
func (l *local) findSoon(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for {
		at, err := l.find(ctx)
		if err == nil {
			return at, nil
		}
		if hosted, herr := l.state.hosted(); herr != nil || !hosted || !pause(ctx, 50*time.Millisecond) {
			return "", err
		}
	}
}

// findOrHost returns the URL of the local gateway, and the gateway itself if
// this process hosts it, which it then does until close.
func (l *local) findOrHost(ctx context.Context) (string, *gateway.Gateway, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.host != nil {
		return l.host.url, l.host.gateway, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		at, err := l.find(ctx)
		if err == nil {
			return at, nil, nil
		}
		if !errors.Is(err, errNobody) {
			return "", nil, err
		}
		// Who comes and goes is told by the sidecar's events already.
		if l.host, err = l.tryHost(gateway.Options{Log: slog.New(quieter{l.log.Handler()})}); err != nil {
			return "", nil, err
		}
		if l.host != nil {
			return l.host.url, l.host.gateway, nil
		}
		if !pause(ctx, 50*time.Millisecond) {
			return "", nil, fail(exitFailed, "mcpx-bridge doctor says more",
				"another process hosts the local gateway, but it does not answer")
		}
	}
}

// tryHost hosts the gateway unless another process does, which is no error but
// nil.
func (l *local) tryHost(o gateway.Options) (*hosting, error) {
	lock, err := l.state.lock(hostLock)
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

func (l *local) hostLocked(o gateway.Options) (*hosting, error) {
	before, _ := l.state.listing() // only for its port
	// What is listed is not true any more, and who finds us hosting must not
	// believe it.
	if err := os.Remove(l.state.file("gateway.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	var err error
	if o.Secret, err = l.state.secret(); err != nil {
		return nil, err
	}
	listener, err := l.openPort(before.URL)
	if err != nil {
		return nil, err
	}
	h, err := serveGateway(listener, "ws", o)
	if err != nil {
		return nil, err
	}
	if err := l.state.list(listing{URL: h.url, PID: os.Getpid()}); err != nil {
		h.stop()
		return nil, fmt.Errorf("state directory: %w", err)
	}
	return h, nil
}

// openPort listens where the last host did if that is free, so that everyone
// who knew the address still does; else at the default port or one after it.
func (l *local) openPort(before string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(l.listen)
	if err != nil {
		return nil, badListen(err)
	}
	var tries []string
	if u, err := url.Parse(before); err == nil && u.Hostname() == host && u.Port() != "" {
		tries = append(tries, u.Port())
	}
	switch first, _ := strconv.Atoi(port); {
	case l.asked && port != "0":
		tries = []string{port}
	case l.asked:
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
	return nil, fail(exitFailed, "choose another address with --listen", "the gateway cannot listen: %w", err)
}

// serveGateway serves a new gateway on a listener, which it takes over.
func serveGateway(listener net.Listener, scheme string, o gateway.Options) (*hosting, error) {
	o.MaxConns = connsFor(fileLimit())
	if o.MaxConns > 0 {
		o.MaxUnseated = min(256, o.MaxConns/2)
	}
	g, err := gateway.New(o)
	if err != nil {
		listener.Close()
		return nil, err
	}
	h := &hosting{gateway: g, url: scheme + "://" + reachable(listener.Addr()), done: make(chan error, 1), server: g.Server()}
	h.server.ErrorLog = slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)
	go func() { h.done <- h.server.Serve(listener) }()
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

// stop ends all sessions, then everything else, and gives back the lock.
func (h *hosting) stop() {
	h.gateway.Close()
	h.server.Close()
	<-h.done
	if h.lock != nil {
		h.lock.Close()
	}
}

// close stops hosting, if this process does. The listing stays: it tells the
// next host which port everyone knows.
func (l *local) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.host != nil {
		l.host.stop()
		l.host = nil
	}
}

// mint makes a token for the local gateway, wherever it is hosted.
func (l *local) mint(c gateway.Claims) (string, error) {
	secret, err := l.state.secret()
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

// alive reports whether what answers there is this machine's gateway.
func (l *local) alive(ctx context.Context, at string) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	conn, err := l.dial(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	return conn.Close()
}

// present lists who is in a topic of the local gateway.
func (l *local) present(ctx context.Context, at, topic string) ([]string, error) {
	token, err := l.mint(gateway.Claims{ID: randomID(), Topic: topic})
	if err != nil {
		return nil, err
	}
	var said struct {
		Participants []struct {
			ID string `json:"id"`
		} `json:"participants"`
	}
	err = l.ask(ctx, at, "/v0.1/topics/"+url.PathEscape(topic)+"/participants", token, &said)
	var ids []string
	for _, p := range said.Participants {
		ids = append(ids, p.ID)
	}
	return ids, err
}

// ask reads the JSON with which this machine's gateway answers a GET.
func (l *local) ask(ctx context.Context, at, path, token string, into any) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	u.Scheme = map[string]string{"ws": "http", "wss": "https"}[u.Scheme]
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.Scheme+"://"+u.Host+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	client := http.Client{Transport: &http.Transport{DialContext: l.dial, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(into); err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("what answers at %s is no gateway of ours", at)
	}
	return nil
}

// pause waits, and reports false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
