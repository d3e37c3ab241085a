package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// ListTime is how long a participant may take to list its tools, once it has begun, and all
// of them together in a [Census].
const ListTime = 10 * time.Second

// maxPages ends a list that never does.
const maxPages = 200

// A Tool is one of a peer's, with the bytes of its definition.
type Tool struct {
	Peer        string          `json:"-"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Raw         json.RawMessage `json:"-"` // as its server defines it
}

// Tools lists a peer's tools, all pages of them: 200 pages at most, and no more than serve
// takes, 512 tools and 4 MiB; what is beyond these is left out, and logged. With an error come those of the pages
// before; it is one of [Client.Ask], or of [ErrorOf] if the peer answers with an error.
func (c *Client) Tools(ctx context.Context, of string, as Patience) ([]Tool, error) {
	if err := c.Greet(ctx, of, as.Greet); err != nil {
		return nil, err
	}
	var all []Tool
	params, seen, size := []byte(nil), map[string]bool{}, 0
	for {
		a, err := c.askWithin(ctx, as.First, of, "tools/list", params)
		if err != nil {
			return all, err
		}
		as.First = 0 // who has begun is waited for
		if a.Err != nil {
			return all, ErrorOf(of, "tools/list", a.Err)
		}
		page, next, err := ReadTools(of, a.Result)
		if err != nil {
			return all, err
		}
		for _, t := range page {
			if size += len(t.Raw); len(all) == desktop.MaxTools || size > desktop.MaxListSize {
				c.tellRest(of, t.Name)
				return all, nil
			}
			all = append(all, t)
		}
		if next == "" || seen[next] {
			return all, nil
		}
		if size += len(next); size > desktop.MaxListSize || len(seen) == maxPages-1 { // cursors are kept too
			c.tellRest(of, "the next page")
			return all, nil
		}
		seen[next] = true
		params = slices.Concat([]byte(`{"cursor":`), jsonrpc.AppendQuote(nil, next), []byte(`}`))
	}
}

// tellRest says from where on a list is not taken.
func (c *Client) tellRest(of, from string) {
	c.opt.Log.Warn(fmt.Sprintf("%s lists more than %d tools, %d MiB or %d pages: what comes from %s on is left out", of, desktop.MaxTools, desktop.MaxListSize>>20, maxPages, text.Quote(from, 80)))
}

// askWithin is Ask with a time of its own, 0 for none.
func (c *Client) askWithin(ctx context.Context, most time.Duration, to, method string, params []byte) (Answer, error) {
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, most, ErrNoAnswer)
		defer cancel()
	}
	return c.Ask(ctx, to, method, params, nil)
}

// ReadTools reads one page of the tools of a participant, and the cursor of the next, "" for
// none. The tools keep pieces of result.
func ReadTools(of string, result []byte) (tools []Tool, next string, err error) {
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor string            `json:"nextCursor"`
	}
	if err := json.Unmarshal(result, &page); err != nil {
		return nil, "", fault.New(fault.Failed, "mcpx-bridge watch --json shows its answer; the fault is in its server", "%s answers tools/list with something that is no list of tools: %w", of, err)
	}
	for _, raw := range page.Tools {
		t := Tool{Peer: of, Raw: raw}
		if err := json.Unmarshal(raw, &t); err != nil || t.Name == "" {
			continue // one malformed tool does not hide the others
		}
		tools = append(tools, t)
	}
	return tools, page.NextCursor, nil
}

// A Standing is what a bridge says of our own calls of a tool.
type Standing struct {
	Word       string // allow, ask, deny, or depends where arguments or limits decide
	SomeDenied bool   // some arguments are denied, and Word, which is allow or ask, is for all others
}

// Denies reports whether some arguments of this tool are denied, while others are not. Of a
// tool that has none, none can be.
func (s Standing) Denies(t Tool) bool { return s.SomeDenied && arguments.Words(t.InputSchema) != "" }

// Standing asks a bridge what its rules say of our own calls of these tools, by tool. Of what it
// does not answer within a second nothing is said: only our bridges do.
func (c *Client) Standing(ctx context.Context, of string, tools []string) map[string]Standing {
	all := map[string]Standing{}
	for round := 0; len(tools) > 0 && round < standingRounds; round++ {
		names, err := json.Marshal(tools[:min(len(tools), 64)])
		if err != nil {
			panic(err) // strings alone
		}
		a, err := c.askWithin(ctx, time.Second, of, engine.StandingMethod, slices.Concat([]byte(`{"tools":`), names, []byte("}")))
		var said struct {
			Standing  map[string]string `json:"standing"`
			Otherwise map[string]string `json:"otherwise"`
		}
		if err != nil || a.Err != nil || json.Unmarshal(a.Result, &said) != nil {
			return all
		}
		rest := slices.DeleteFunc(slices.Clone(tools), func(name string) bool {
			word := said.Standing[name]
			if but := said.Otherwise[name]; word == "depends" && (but == "allow" || but == "ask") {
				all[name] = Standing{but, true}
			} else if slices.Contains(standings, word) {
				all[name] = Standing{Word: word}
			}
			return word != ""
		})
		if len(rest) == len(tools) {
			return all
		}
		tools = rest
	}
	return all
}

// What may be said, and how often somebody is asked who says little at a time: for as many
// seconds as that we wait at most.
var standings = []string{"allow", "ask", "deny", "depends"}

const standingRounds = 32

// Standings asks all whose tools these are, at once, for our [Client.Standing] with them, and
// returns it by peer.
func (c *Client) Standings(ctx context.Context, tools []Tool) map[string]map[string]Standing {
	names := map[string][]string{}
	for _, t := range tools {
		names[t.Peer] = append(names[t.Peer], t.Name)
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	all := map[string]map[string]Standing{} // guarded by mu
	for peer, named := range names {
		asking.Go(func() {
			said := c.Standing(ctx, peer, named)
			mu.Lock()
			defer mu.Unlock()
			all[peer] = said
		})
	}
	asking.Wait()
	return all
}

// A Census is what everybody said of their tools when all were asked.
type Census struct {
	Tools    []Tool
	Heard    int      // how many answered
	Silent   []string // who did not
	Starting []string // who did not, and says that it has not come up
}

// Absent says in words who did not answer, "" if everybody did (FINDINGS D20). It is not made
// safe to show.
func (c Census) Absent() string {
	var words []string
	if len(c.Starting) > 0 {
		words = append(words, "still starting: "+text.Series(c.Starting, 20))
	}
	if len(c.Silent) > 0 {
		words = append(words, text.Series(c.Silent, 20)+" did not answer tools/list")
	}
	return strings.Join(words, "; ")
}

// Census asks all at once for their tools: a second is for the first word of each, ListTime
// for everything. Who serves nothing says so. The error is the cause of ctx; what is wrong
// with one participant is logged.
func (c *Client) Census(ctx context.Context) (Census, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, ListTime, ErrNoAnswer)
	defer cancel()
	others := slices.DeleteFunc(c.Others(), func(other wire.Participant) bool {
		return !other.Caps.Permits(&wire.Envelope{Kind: wire.Response, Method: "tools/list"}) // it could not answer (WIRE 9.3)
	})
	lists, errs := make([][]Tool, len(others)), make([]error, len(others))
	var asking sync.WaitGroup
	for i, other := range others {
		asking.Go(func() { lists[i], errs[i] = c.Tools(ctx, other.ID, WithAll) })
	}
	asking.Wait()
	if err := context.Cause(ctx); err != nil && err != ErrNoAnswer {
		return Census{}, err
	}
	said := Census{Tools: slices.Concat(lists...)}
	for i, err := range errs {
		if errors.Is(err, ErrNoAnswer) {
			said.Silent = append(said.Silent, others[i].ID)
			continue
		}
		if errors.Is(err, ErrStarting) {
			said.Starting = append(said.Starting, others[i].ID)
			continue
		}
		said.Heard++
		if err != nil && !errors.Is(err, ErrServesNone) {
			c.opt.Log.Warn("no tools from "+others[i].ID, "why", err)
		}
	}
	return said, nil
}
