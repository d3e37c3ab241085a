package node

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Options say what is bridged, where to, under which rules, and who hears of it. Server
// and State must be given; every other zero means the default that stands beside it.
type Options struct {
	Server Target
	Dir    string      // in which the server is started; "": ours
	Env    Environment // what the server gets; its zero is nothing at all

	StartTimeout time.Duration                                    // from the start of the server to the end of the handshake; 30 s
	TraceServer  func(dir string, line []byte)                    // as stdio.Options.Trace
	Sweep        bool                                             // as stdio.Options.Sweep: this process runs one server and nothing else
	Version      string                                           // of this program, as the server and the record are told; "dev"
	State        localgateway.StateDir                            // where everything is kept, see localgateway.Home
	ID           string                                           // our participant id; "": taken from Server
	Topic        string                                           // without Connect: the topic; "lobby"
	Connect      func(id string) (*localgateway.Connector, error) // the way to the topic, as id; nil: this machine's own gateway

	Policy  string          // a policy file, read again whenever it is saved; "": none
	Rules   *policy.Policy  // laid over the file, or alone; nil: everything is asked about
	Reload  <-chan struct{} // the file is read again when something comes; nil: never
	Guarded []Guarded       // files that the server's tools should not reach, beside Policy, Record and State

	Timeout    time.Duration                // the server's time for one call; 60 s
	MaxCalls   int                          // at the server at one time; 1024
	MaxPending int                          // questions that wait at one time; 10 000
	Notify     string                       // a command for the system's shell that is told of each question at this machine, see package notify; "": none
	Link       func(question string) string // the page where it is answered, for notices; nil or "": there is none
	NoPage     bool                         // nobody comes to a page of this bridge, on which a passkey could sign
	LookOnly   bool                         // nobody answers through the socket: who comes that way may look

	TrustUnverified bool       // participants may decide though the gateway does not verify who speaks
	Provides        []string   // what the server is for; each a policy.CheckWord
	ProposalStatus  bool       // see engine.Config
	ProposalStyle   wire.Style // see engine.Config
	LenientParams   bool       // see engine.Config
	ToolsRequest    bool       // see engine.Config

	Record RecordOptions

	// Emit gets what happens from the moment at which Run is called, as [bridge.Options.Emit]
	// says: in order and under no lock, so it may use the Inbox, but must not wait. Who
	// writes it to others puts a bounded writer between, as asyncwriter is. nil: nobody
	// wants to know.
	Emit func(*record.Record)

	// Ready is called each time a seat was taken, before calls are served there. nil: nobody
	// wants to know.
	Ready func(Ready)

	// Started is called once, when calls are served and nothing more is to be done for the
	// start, or after some seconds. nil: nobody wants to know.
	Started func()

	// Hurry ends when calls that have begun are not waited for any longer. nil: never.
	Hurry context.Context

	Log *slog.Logger // for people; nil: nobody reads it
}

// RecordOptions say how the record of decisions and calls is kept.
type RecordOptions struct {
	Off      bool          // there is none
	File     string        // "": below State, by our id
	Sync     audit.Mode    // what waits for the disk; zero: what a person decided
	KeepSize int64         // the oldest files are removed beyond so many bytes; 0: never
	KeepFor  time.Duration // files older than this are removed; 0: never
}

// Ready is what there is to say when calls are served.
type Ready struct {
	ID        string // who we are, as the gateway says
	Topic     string
	Gateway   string // its URL
	Hosted    bool   // by this process
	Dialect   string // that is spoken there
	Tools     int    // that are served
	Waits     bool   // for an MCP client to greet the server; see Passthrough
	ServerPID int    // 0: there is no process
	Control   string // the socket through which questions are answered
	Resources string // who can read them, in words
	Prompts   string // who can get them, in words
}

// file is where the record of a bridge is.
func (r RecordOptions) file(state localgateway.StateDir, id string) string {
	return cmp.Or(r.File, filepath.Join(string(state), "audit", id+".jsonl"))
}

// Exposed are warnings about files that decide what runs under these rules, or tell what
// ran, and that the server's own tools might write (FINDINGS M1): they lie where a rule
// lets calls work, or in a directory that the server is started on or told to work in. Of
// the options it takes Server, Dir, State and the files; tools are those of the server,
// nil if they are not known.
func (o *Options) Exposed(now *policy.Policy, tools []policy.Tool) []string {
	all := append([]Guarded{{What: "the policy file", Path: o.Policy}}, o.Guarded...)
	if !o.Record.Off {
		all = append(all, Guarded{What: "the record of --audit", Path: o.Record.File})
	}
	_, secrets := now.Secrets()
	for _, file := range secrets {
		all = append(all, Guarded{What: "the secret of a channel (notify)", Path: file})
	}
	all = append(all, Guarded{"the state directory", string(o.State), "for all commands, set XDG_STATE_HOME to"})
	return exposed(now, all, o.Server.Args, o.Dir, tools)
}

// defaults fills in what is nil.
func (o *Options) defaults() {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Emit == nil {
		o.Emit = func(*record.Record) {}
	}
	if o.Ready == nil {
		o.Ready = func(Ready) {}
	}
	if o.Started == nil {
		o.Started = func() {}
	}
	if o.Hurry == nil {
		o.Hurry = context.Background()
	}
	if o.Connect == nil {
		o.Connect = o.ownGateway
	}
	o.Version = cmp.Or(o.Version, "dev")
}

// ownGateway is the way to a topic at this machine's own gateway.
func (o *Options) ownGateway(id string) (*localgateway.Connector, error) {
	if err := o.State.Open(); err != nil {
		return nil, err
	}
	return &localgateway.Connector{
		Local: localgateway.New(localgateway.Options{State: o.State, Listen: localgateway.DefaultListen, Log: o.Log, GatewayLog: slog.New(slog.DiscardHandler)}),
		Join:  topic.Options{URL: "ws://" + localgateway.DefaultListen, Topic: cmp.Or(o.Topic, "lobby"), ID: id, Log: o.Log},
		Hosts: true,
	}, nil
}
