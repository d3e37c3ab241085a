package localgateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/pause"
)

// Find returns the URL of the gateway that another process hosts, and has it prove
// that it is ours. For a gateway that is just starting or moving it waits as long as
// patience, which may be 0; for one of which there is no sign, half a second of it, as
// the bridge that will host it may have been started in the line above. The error wraps
// [ErrNobody] when there is none.
func (l *LocalGateway) Find(ctx context.Context, patience time.Duration) (string, error) {
	if patience == 0 {
		return l.find(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for began := time.Now(); ; {
		at, err := l.find(ctx)
		if err == nil {
			return at, nil
		}
		hosted, herr := l.State.hosted()
		if herr != nil || !hosted && time.Since(began) >= appearTime || !pause.For(ctx, lookAgain) {
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
		return fmt.Errorf("the program at %s is no gateway of mcpx-bridge", at)
	}
	return nil
}
