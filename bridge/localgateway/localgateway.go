package localgateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
)

// DefaultListen is where the local gateway is, if that port is free.
const DefaultListen = "127.0.0.1:7420"

const (
	hostTime  = 10 * time.Second      // for which FindOrHost tries
	lookAgain = 50 * time.Millisecond // between two looks for a host
	askTime   = 2 * time.Second       // for one answer of the gateway
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

// New returns this machine's gateway. It touches nothing yet.
func New(o Options) *LocalGateway {
	o.Listen = cmp.Or(o.Listen, DefaultListen)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.GatewayLog = cmp.Or(o.GatewayLog, o.Log)
	return &LocalGateway{Options: o, anyPort: o.Listen == DefaultListen}
}

// Find returns the URL of the gateway that another process hosts, and has it prove
// that it is ours. For a gateway that is just starting or moving it waits as long as
// patience, which may be 0. The error wraps [ErrNobody] when there is none.
func (l *LocalGateway) Find(ctx context.Context, patience time.Duration) (string, error) {
	if patience == 0 {
		return l.find(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		at, err := l.find(ctx)
		if err == nil {
			return at, nil
		}
		if hosted, herr := l.State.hosted(); herr != nil || !hosted || !pause.For(ctx, lookAgain) {
			return "", err
		}
	}
}

func (l *LocalGateway) find(ctx context.Context) (string, error) {
	hosted, err := l.State.hosted()
	if err != nil {
		return "", err
	}
	if !hosted {
		return "", ErrNobody
	}
	at, err := l.State.listing()
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w yet: one is starting", ErrNobody)
	}
	if err != nil {
		return "", err
	}
	if err := l.alive(ctx, at.URL); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNobody, err)
	}
	return at.URL, nil
}

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

// alive reports whether what answers there is this machine's gateway.
func (l *LocalGateway) alive(ctx context.Context, at string) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	conn, err := l.Dial(ctx, "tcp", u.Host)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Present lists the ids of those who are in a topic of the local gateway, which is at
// the URL at.
func (l *LocalGateway) Present(ctx context.Context, at, topic string) ([]string, error) {
	token, err := l.Mint(gateway.Claims{ID: "cli-" + rand.Text(), Topic: topic})
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
func (l *LocalGateway) ask(ctx context.Context, at, path, token string, into any) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	u.Scheme = map[string]string{"ws": "http", "wss": "https"}[u.Scheme]
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.Scheme+"://"+u.Host+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	client := http.Client{Transport: &http.Transport{DialContext: l.Dial, DisableKeepAlives: true}}
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
