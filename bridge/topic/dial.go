package topic

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

const handshakeTimeout = 10 * time.Second

// A dialer opens connections to one gateway.
type dialer struct {
	opt  Options
	urls []string
}

// dial tries the candidates, from the first-th on and round, until one takes
// the upgrade or refuses it for a reason that another path would not mend. It
// returns which one that was.
func (d *dialer) dial(ctx context.Context, token string, first int) (Conn, int, error) {
	var err error
	for i := range d.urls {
		n := (first + i) % len(d.urls)
		var conn Conn
		if conn, err = d.upgrade(ctx, d.urls[n], token); !wrongPath(err) {
			return conn, n, err
		}
	}
	return nil, 0, err
}

// wrongPath reports whether a refusal means that the gateway knows no such
// place (WIRE 1.4), or that what answers is a web server and no gateway.
func wrongPath(err error) bool {
	e, ok := err.(*wire.CloseError)
	return ok && (e.Code == http.StatusBadRequest || e.Code == http.StatusNotFound ||
		e.Code == http.StatusMethodNotAllowed || e.Code == http.StatusUpgradeRequired || e.Code/100 == 2)
}

// upgrade opens one WebSocket.
func (d *dialer) upgrade(ctx context.Context, at, token string) (Conn, error) {
	header := http.Header{"X-Participant-Id": {d.opt.ID}} // read by the mew SDK gateway alone (WIRE 5.3)
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
		if d.opt.TokenInQuery {
			at = inQuery(at, token)
		}
	}
	var under *bufferedConn
	stopWatch := func() bool { return true }
	dialed := func(c net.Conn, err error) (net.Conn, error) {
		under = &bufferedConn{Conn: c}
		if err == nil {
			stopWatch = context.AfterFunc(ctx, func() { c.Close() }) // the dialer heeds its deadline alone
		}
		return under, err
	}
	ws := websocket.Dialer{
		HandshakeTimeout: handshakeTimeout,
		ReadBufferSize:   64 << 10,
		WriteBufferSize:  256, // control frames only
		NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialed(d.opt.netDial(ctx, network, addr))
		},
		NetDialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return dialed(d.opt.tlsDial(ctx, network, addr))
		},
	}
	conn, answer, err := ws.DialContext(ctx, at, header)
	if !stopWatch() && err == nil {
		conn.Close()
		err = context.Cause(ctx)
	}
	if answer != nil && err != nil {
		return nil, refusal(answer, token)
	}
	if err != nil {
		return nil, fmt.Errorf("dial the gateway: %w", err)
	}
	return newLink(conn, under), nil
}

func inQuery(at, token string) string {
	sep := "?"
	if strings.Contains(at, "?") {
		sep = "&"
	}
	return at + sep + "token=" + url.QueryEscape(token)
}

// refusal is an answer that is no upgrade. A redirect is not followed: it
// could carry the token to another host.
func refusal(answer *http.Response, token string) error {
	e := &wire.CloseError{Code: answer.StatusCode}
	if to := answer.Header.Get("Location"); to != "" && answer.StatusCode/100 == 3 {
		e.Reason = fmt.Sprintf("it redirects to %s, and redirects are not followed", text.Quote(redactToken(to, token), 200))
		return e
	}
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 1024))
	line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
	var said struct{ Error string } // our gateway's word, and that of others
	if json.Unmarshal(body, &said) == nil && said.Error != "" {
		line = text.Line(said.Error)
	} else if strings.HasPrefix(line, "<") {
		line = "it answers with a web page"
	}
	e.Reason = cmp.Or(text.Cut(redactToken(line, token), 200), http.StatusText(answer.StatusCode))
	return e
}

func (o *Options) netDial(ctx context.Context, network, addr string) (net.Conn, error) {
	if o.NetDial != nil {
		return o.NetDial(ctx, network, addr)
	}
	return (&net.Dialer{}).DialContext(ctx, network, addr)
}

// tlsDial does the TLS handshake itself, so that the bufferedConn lies above it.
func (o *Options) tlsDial(ctx context.Context, network, addr string) (net.Conn, error) {
	raw, err := o.netDial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{}
	if o.TLS != nil {
		cfg = o.TLS.Clone()
	}
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(addr)
	}
	cfg.NextProtos = []string{"http/1.1"}
	c := tls.Client(raw, cfg)
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return c, nil
}

// Dial opens one connection as a Seat without Options.Dial would, trying the
// usual paths. It is for an Options.Dial that first has to find its gateway.
// A refusal is a *wire.CloseError with the HTTP status.
func Dial(ctx context.Context, o Options, token string) (Conn, error) {
	at, err := parseAddress(o)
	if err != nil {
		return nil, err
	}
	conn, _, err := (&dialer{opt: o, urls: at.candidates(cmp.Or(o.Topic, at.topic), o.Dialect)}).dial(ctx, token, 0)
	return conn, err
}
