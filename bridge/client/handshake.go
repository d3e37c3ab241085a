package client

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/meta"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// revision is the one that our handshakes name.
const revision = `"` + jsonrpc.CommonRevision + `"`

// Patience is how long a request waits for somebody who may never answer.
type Patience struct {
	Greet time.Duration // for the handshake, before it goes on without
	First time.Duration // for the first answer to what is asked; 0 for as long as the context lasts
}

// The patience with one peer that a person named, and with each of all peers. Native
// participants of some dialects never answer a handshake (FINDINGS D3), and most of those
// that do not answer soon when all are asked never do (D7).
var (
	WithOne = Patience{Greet: 2 * time.Second}
	WithAll = Patience{Greet: 500 * time.Millisecond, First: time.Second}
)

// ErrStarting is why somebody did not answer in time who says that it has not come up.
var ErrStarting = errors.New("is still starting, so nothing ran")

// Greet does the MCP handshake with a peer once, where the dialect wants that before any
// other request (WIRE 2.6, 5.5). It waits for the answer for most; if none comes, it returns
// nil, and a later answer is still taken. But who says that it is starting is waited for as
// long as ctx lasts; that it did not come up is a [*fault.Error].
func (c *Client) Greet(ctx context.Context, to string, most time.Duration) error {
	c.mu.Lock()
	done := c.initialized[to] || !c.dialect.Handshake()
	c.initialized[to] = true
	c.mu.Unlock()
	if done {
		return nil
	}
	came := make(chan error, 1)
	err := c.Begin(Request{ID: newID(), To: to, Method: "initialize", Params: c.initializeParams(), Done: func(a Answer) {
		if a.Fault != nil {
			came <- a.Fault
			return
		}
		if c.hasStarted(to) && a.Err != nil {
			came <- notStarted(to, a.Err)
			return
		}
		// An error answer is taken too: some servers of this dialect know tools/list
		// and tools/call alone.
		came <- c.Notify(to, "notifications/initialized")
	}})
	if err != nil {
		return err
	}
	enough := time.NewTimer(most)
	defer enough.Stop()
	for {
		select {
		case err := <-came:
			return err
		case <-enough.C:
			if c.Starting(to) == "" {
				return nil
			}
		case <-c.ended:
			return c.Err()
		case <-ctx.Done():
			if cause := context.Cause(ctx); cause != ErrNoAnswer || c.Starting(to) == "" {
				return cause
			}
			return fault.New(fault.NoAnswer, "--timeout gives it longer; where it was started its log says what it waits for", "%s %w", to, ErrStarting)
		}
	}
}

// Starting is what a participant that we asked something last said of its start, in words;
// "" if it said nothing, or has come up.
func (c *Client) Starting(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.starting[id].words
}

const (
	startingMost = 1024        // participants that may tell us that they are starting
	startingTold = time.Second // between two words of one that are passed on, so that nobody fills a screen
)

// heardStarting takes a participant's word to us that it is starting.
func (c *Client) heardStarting(e *wire.Envelope) {
	said := refusal.HearStart(e.Message.Get(jsonrpc.Params))
	words := said.Starting()
	if c.takeStarting(e, words) && c.opt.OnStarting != nil {
		c.opt.OnStarting(e.From, words)
	}
}

// takeStarting keeps that word, if we asked the participant something, and reports whether it is
// to be passed on.
func (c *Client) takeStarting(e *wire.Envelope, words string) (tell bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.starting[e.From]
	asked := c.pending.count(func(w *pendingAnswer) bool { return w.to == e.From }) > 0
	if !asked || !slices.Contains(e.To, c.you.ID) || !known && len(c.starting) >= startingMost {
		return false
	}
	last.words = words
	if tell = time.Since(last.told) >= startingTold; tell {
		last.told = time.Now()
	}
	c.starting[e.From] = last
	return tell
}

// hasStarted forgets that somebody was starting, and reports whether that was so.
func (c *Client) hasStarted(id string) (wasStarting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, wasStarting = c.starting[id]
	delete(c.starting, id)
	return wasStarting
}

// notStarted words the error with which somebody said that its server did not come up.
func notStarted(who string, raw []byte) error {
	var e struct{ Message string }
	json.Unmarshal(raw, &e) // nothing more is lost than words
	return fault.New(fault.Refused, "where it was started its log says more", "%s did not start, so nothing ran: %s", who, e.Message)
}

// initializeParams are the params of our initialize.
func (c *Client) initializeParams() []byte {
	return append(jsonrpc.AppendQuote([]byte(`{"protocolVersion":`+revision+`,"capabilities":{},"clientInfo":{"name":"mcpx-bridge","version":`), c.opt.Version), "}}"...)
}

// An Introduction is what a participant says of itself: its own word.
type Introduction struct {
	Server   *ServerInfo // nil: it does not say
	Provides []string    // what it is for, 64 words at most; only our bridges say so
	Starting string      // in words, that it has not come up yet; only our bridges say so
}

// ServerInfo is the server of a participant, by its own word.
type ServerInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// Introductions asks all of those at once for what they say of themselves (initialize),
// and returns, by id, what came before ctx ended, which is the only limit.
func (c *Client) Introductions(ctx context.Context, all []wire.Participant) map[string]Introduction {
	var mu sync.Mutex
	var asking sync.WaitGroup
	said := map[string]Introduction{} // guarded by mu
	for _, other := range all {
		asking.Go(func() {
			a, err := c.Ask(ctx, other.ID, "initialize", c.initializeParams(), nil)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			said[other.ID] = introduced(a.Result)
		})
	}
	asking.Wait()
	for _, other := range all {
		if _, answered := said[other.ID]; !answered {
			said[other.ID] = Introduction{Starting: c.Starting(other.ID)}
		}
	}
	return said
}

func introduced(result []byte) (i Introduction) {
	var said struct {
		ServerInfo json.RawMessage            `json:"serverInfo"`
		Meta       map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(result, &said) != nil {
		return i
	}
	var server ServerInfo
	if json.Unmarshal(said.ServerInfo, &server) == nil && server != (ServerInfo{}) {
		i.Server = &server
	}
	if json.Unmarshal(said.Meta[meta.ProvidesKey], &i.Provides) != nil {
		i.Provides = nil
	}
	i.Provides = i.Provides[:min(len(i.Provides), 64)]
	return i
}
