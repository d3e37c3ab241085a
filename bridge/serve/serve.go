package serve

import (
	"io"
	"log/slog"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// Options are how a topic is shown. All must be given but Log and Trace. The functions are called by
// the goroutines that read the topic and the client, several at one time, and must not wait
// for either.
type Options struct {
	Shown desktop.Config
	Out   io.Writer                         // to the client; stays the caller's
	Log   *slog.Logger                      // nil: none
	Emit  func(*record.Record)              // what happened; the record is the caller's again when it returns
	Note  func(by, text string)             // what a peer has brought about, for a log with bounds; by is "" if none has
	Asked func(by string, r *record.Record) // Emit for a question of by's, for a log with bounds
	Ready func(tools int)                   // the client sees so many tools

	Trace func(dir string, line []byte) // sees what the client says ("recv") and hears ("send"), and must not keep it; nil: nobody does
}

// A Server is a client at two pipes, and a seat in a topic.
type Server struct {
	Client *client.Client // the seat

	o      Options
	way    *localgateway.Connector
	proxy  *desktop.Server
	asked  *client.ApprovalInbox
	socket *socket.Server // nil if there is none

	mu   sync.Mutex
	envs map[uint64]sent // by what the proxy calls it
}

// A sent is a request under way.
type sent struct{ env, to string }
