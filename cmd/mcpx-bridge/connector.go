package main

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/google/shlex"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plainlog"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/token"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A connector is the way into a topic with what the command line says of it: the
// tokens, and who sees the traffic.
type connector struct {
	*localgateway.Connector
	tokens *token.Source
}

// chosenID is who we are to be by --id, else by the word of the token that we join with, as
// far as it is at hand: one that a command prints is not yet. It is "" where neither says.
func (p *program) chosenID(hosts bool) string {
	if p.s.ID != "" || p.s.TokenCommand != "" || p.s.Gateway == "" && (hosts || p.s.TokenFile == "") {
		return p.s.ID
	}
	bearer := p.getenv("MCPX_AUTH_TOKEN")
	if p.s.TokenFile != "" {
		bearer, _ = token.FromFile(p.s.TokenFile) // tokenSource says what is wrong with it
	}
	return topic.ReadClaims(bearer).ID
}

// bearsToken reports whether the command line brings a token along, which says who we are.
func (p *program) bearsToken() bool {
	return p.s.TokenFile != "" || p.s.TokenCommand != "" || p.s.Gateway != "" && p.getenv("MCPX_AUTH_TOKEN") != ""
}

// participant is the way into the topic of who joins it and hosts nothing, under the chosen id.
func (p *program) participant() (*connector, error) {
	c, err := p.newConnector(p.chosenID(false), false)
	if err == nil {
		c.State, _ = localgateway.OpenHome(p.getenv) // without one nobody knows of anybody
	}
	return c, err
}

// newConnector checks what can be checked without going there. Without an id it has one at
// random. Its errors are usage errors, except for those of the state directory.
func (p *program) newConnector(id string, hosts bool) (*connector, error) {
	c, err := p.checkedConnector(id, hosts)
	if err != nil || p.s.Gateway != "" {
		return c, err
	}
	given := p.s.TokenFile != "" || p.s.TokenCommand != ""
	if c.Bears = given && !hosts; given && hosts {
		p.log.Warn("the token is not used: this machine's own gateway needs none; --gateway names another")
	}
	if c.Local, err = p.localGateway(); err != nil {
		return nil, err
	}
	return c, nil
}

// checkedConnector is a connector that touches nothing of this machine's yet, and so goes
// nowhere where no gateway is named. Its errors are usage errors.
func (p *program) checkedConnector(id string, hosts bool) (*connector, error) {
	derived := id == ""
	if derived {
		id = randomID()
	}
	if err := checkID("--id", id); err != nil {
		return nil, err
	}
	pace, err := parsePace(p.s.Pace)
	if err != nil {
		return nil, err
	}
	join := topic.Options{
		URL: p.s.Gateway, Insecure: p.s.Insecure, Topic: p.s.Topic, ID: id, PinID: p.s.PinID,
		Dialect: p.s.Dialect, TokenInQuery: p.s.TokenInQuery, Pace: pace, Log: p.log,
	}
	if p.s.Gateway == "" {
		join.URL = "ws://" + localgateway.DefaultListen // until it is found
		if err := checkTopic(p.s.Topic); err != nil {
			return nil, err
		}
	}
	if _, err := topic.New(join); err != nil {
		return nil, localgateway.Fault(err)
	}
	tokens, err := p.tokenSource()
	if err != nil {
		return nil, err
	}
	if join.Trace, err = p.trace("wire", tokens); err != nil {
		return nil, err
	}
	return &connector{&localgateway.Connector{Tokens: tokens, Join: join, Hosts: hosts, Derived: derived}, tokens}, nil
}

// localGateway is this machine's gateway. It opens the state directory.
func (p *program) localGateway() (*localgateway.LocalGateway, error) {
	state, err := localgateway.OpenHome(p.getenv)
	if err != nil {
		return nil, err
	}
	return localgateway.New(localgateway.Options{State: state, Listen: p.s.Listen, Files: fileLimit(), Log: p.log,
		GatewayLog: slog.New(plainlog.Quieter(p.log.Handler()))}), nil // the events tell already who comes and goes
}

// tokenSource chooses where the token comes from: file, command, environment,
// in this order. Without any it is empty, which some gateways accept.
func (p *program) tokenSource() (*token.Source, error) {
	switch {
	case p.s.TokenFile != "" && p.s.TokenCommand != "":
		return nil, misused("keep one of them", "--token-file and --token-command exclude each other")
	case p.s.TokenFile != "":
		return token.File(p.s.TokenFile)
	case p.s.TokenCommand != "":
		argv, err := shlex.Split(p.s.TokenCommand)
		if err != nil || len(argv) == 0 {
			return nil, misused("quote it as in a shell", "--token-command: it is no command line")
		}
		return token.Command(argv, p.stdin, p.stderr), nil
	}
	return token.Static("MCPX_AUTH_TOKEN", p.getenv("MCPX_AUTH_TOKEN"))
}

// checkTopic reports why our own gateways would not keep a topic. Others may.
func checkTopic(name string) error {
	if wire.ValidTopic(name) {
		return nil
	}
	return misused("use "+wire.TopicGrammar, "--topic: %q is no name for a topic", name)
}

// parsePace reads "50/min", or "50" alone.
func parsePace(said string) (int, error) {
	if said == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(said, "/min"))
	if err != nil || n < 1 {
		return 0, misused("--pace 50/min", "--pace: %q is no number of messages per minute", said)
	}
	return n, nil
}

// trace shows raw traffic of one kind on stderr, if --debug asks for it: one
// line each, with an arrow, and never a token.
func (p *program) trace(kind string, source *token.Source) (func(dir string, shown []byte), error) {
	wanted := false
	for _, k := range p.s.Debug {
		if k != "wire" && k != "stdio" {
			return nil, misused("it is wire, stdio, or both", "--debug: there is no kind %q", k)
		}
		wanted = wanted || k == kind
	}
	if !wanted {
		return nil, nil
	}
	return func(dir string, shown []byte) {
		arrow := "<-"
		if dir == "send" {
			arrow = "->"
		}
		if source != nil {
			shown = source.Hide(shown)
		}
		fmt.Fprintf(p.stderr, "mcpx-bridge: %s %s %s\n", kind, arrow, text.Line(string(shown)))
	}, nil
}

// see adds one who sees every frame, without tokens.
func (c *connector) see(f func(dir string, frame []byte)) {
	before := c.Join.Trace
	c.Join.Trace = func(dir string, frame []byte) {
		if before != nil {
			before(dir, frame)
		}
		f(dir, c.tokens.Hide(frame))
	}
}
