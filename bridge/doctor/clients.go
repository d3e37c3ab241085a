package doctor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/catalog"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// stockTime is the most that a stock client may take with a server in this process.
const stockTime = 10 * time.Second

// Clients has a client of another make look at what serve would show of the tools of the
// participant id, in both eras of MCP: a second opinion on whether clients take it. It says
// how many are listed, and what serve notes of the others. It goes nowhere, and takes 10
// seconds an era at most; the error is that of [Blame].
func Clients(ctx context.Context, face desktop.Config, id string, tools []client.Tool) (detail string, notes []string, err error) {
	h := newShowcase(face, id, tools)
	listed := 0
	for _, revision := range []string{mcp.LATEST_PROTOCOL_VERSION, mcp.LATEST_LEGACY_PROTOCOL_VERSION} {
		if listed, notes, err = h.listedIn(ctx, revision); err != nil {
			return "", notes, Blame(err, h.tools, func(some []client.Tool) error {
				_, _, err := (&showcase{h.face, h.id, some}).listedIn(ctx, revision)
				return err
			})
		}
	}
	detail = "a stock MCP client initialises against serve and lists " + text.Counted(listed, "tool")
	if of := listed - (desktop.LeastLimit - 1); of > 0 {
		return detail + fmt.Sprintf(", %d of them the server's", of), notes, nil
	}
	return detail + ", all of them serve's own", notes, nil
}

// A showcase is a topic in which nobody sits but the server that was tried.
type showcase struct {
	face  desktop.Config
	id    string
	tools []client.Tool // that run would offer
}

func newShowcase(face desktop.Config, id string, tools []client.Tool) *showcase {
	unoffered := map[string]bool{}
	for _, u := range catalog.UnofferedOf(definitions(tools)) {
		unoffered[u.Name] = u.Why != "tool_name_twice"
	}
	return &showcase{face, id, slices.DeleteFunc(slices.Clone(tools), func(t client.Tool) bool { return unoffered[t.Name] })}
}

func definitions(tools []client.Tool) []jsontext.Value {
	all := make([]jsontext.Value, len(tools))
	for i, t := range tools {
		all[i] = jsontext.Value(t.Raw)
	}
	return all
}

// Carry answers for the server, as a desktop.Upstream.
func (h *showcase) Carry(a desktop.Act) desktop.Event {
	ask, ok := a.(desktop.Ask)
	switch {
	case !ok:
		return nil
	case ask.Method == string(mcp.MethodToolsList):
		raw := make([][]byte, len(h.tools))
		for i, t := range h.tools {
			raw[i] = t.Raw
		}
		return desktop.Answered{Ref: ask.Ref, Result: slices.Concat([]byte(`{"tools":[`), bytes.Join(raw, []byte(",")), []byte("]}"))}
	}
	return desktop.Answered{Ref: ask.Ref, Err: []byte(`{"code":-32601,"message":"not here"}`)}
}

// listedIn has a stock client initialize against serve and list the tools, and returns
// how many it got and what serve notes of the others. It is an error if these are not all
// that serve shows.
func (h *showcase) listedIn(ctx context.Context, revision string) (listed int, notes []string, err error) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ready := 0
	server := desktop.NewServer(h.face, h, desktop.Options{Out: out, Ready: func(tools int) { ready = tools },
		Note: func(_, text string) { notes = append(notes, text) }})
	server.Step(desktop.Seated{Me: "doctor", Topic: "doctor", Peers: []desktop.Peer{{ID: h.id}}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Read(ctx, in) // ends with the client
		_ = server.Close(ctx)
		out.Close()
	}()
	tools, err := List(ctx, revision, h.face.Version, fromServer, toServer)
	toServer.Close()
	_, _ = io.Copy(io.Discard, fromServer) // to its end: the client may have stopped reading before
	<-ended
	if all := ready + desktop.LeastLimit - 1; err == nil && len(tools) != all {
		err = fmt.Errorf("it lists %s where serve shows %d", text.Counted(len(tools), "tool"), all)
	}
	if err != nil {
		err = fmt.Errorf("MCP %s: %w", revision, err)
	}
	return len(tools), notes, err
}

// Blame says that a stock client cannot use what serve shows, and because of which tool
// if one of them alone is enough for that, as trying shows.
func Blame(why error, tools []client.Tool, try func([]client.Tool) error) error {
	hint := "this is not the server's doing: please report it, with what mcpx-bridge doctor --json prints"
	if try(nil) == nil {
		hint = "look at how the server defines its tools: mcpx-bridge policy check -- CMD lists them"
		for _, t := range tools {
			if try([]client.Tool{t}) != nil {
				hint = fmt.Sprintf("it is the definition of %s, and many clients refuse a whole list for one tool that they cannot read; until it is mended, serve --exclude '*/%s' leaves it out", t.Name, t.Name)
				break
			}
		}
	}
	return fault.New(fault.Failed, hint, "a stock MCP client cannot use what serve shows: %w", why)
}

// List lists the tools of a server at a pipe as programs with mcp-go do.
func List(ctx context.Context, revision, version string, from io.Reader, to io.WriteCloser) ([]mcp.Tool, error) {
	ctx, stop := context.WithTimeout(ctx, stockTime)
	defer stop()
	c := mcpclient.NewClient(transport.NewIO(from, to, io.NopCloser(strings.NewReader(""))), mcpclient.WithProtocolVersion(revision))
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	defer c.Close()
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion, hello.Params.ClientInfo = revision, mcp.Implementation{Name: "mcpx-bridge doctor", Version: version}
	met, err := c.Initialize(ctx, hello)
	switch {
	case err != nil:
		return nil, fmt.Errorf("initialize: %w", err)
	case met.ProtocolVersion != revision:
		return nil, fmt.Errorf("initialize: it is answered in MCP %s", met.ProtocolVersion)
	}
	all, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, fmt.Errorf("tools/list: %w", err)
	}
	return all.Tools, nil
}
