package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// hostDialect is what our own seat speaks at a gateway in this process when
// nobody asked for a dialect.
const hostDialect = "mcpx/v0.1"

// A door is the way into a topic: to the gateway that was named, or to this
// machine's own, which is looked for anew at every joining.
type door struct {
	local  *local // nil if a gateway was named
	source *tokenSource
	opt    topic.Options // as for the network
	caps   []byte        // what our tokens for the local gateway say we may send; nil for what it grants by default
	hosts  bool          // may host the local gateway
	bears  bool          // joins the local gateway too with the token that was given, which may permit less than ours

	waits   bool     // our id is to be ours alone, or the way is closed
	yields  bool     // it was waited for; another that nobody has will do if nobody chose ours
	derived bool     // nobody chose our id, so another may do
	lock    *os.File // on our id, while we have it

	overNetwork bool // join a gateway in this process over the network too

	mu     sync.Mutex
	url    string // where we are, or tried to be
	hosted bool   // by this process
	token  string // for the joining that is going on
}

// newDoor checks what can be checked without going there. Its errors are usage
// errors, except for those of the state directory.
func (p *program) newDoor(id string, hosts bool) (*door, error) {
	d, err := p.checkedDoor(id, hosts)
	if err != nil || p.s.Gateway != "" {
		return d, err
	}
	given := p.s.TokenFile != "" || p.s.TokenCommand != ""
	if d.bears = given && !hosts; given && hosts {
		p.log.Warn("the token is not used: this machine's own gateway needs none; --gateway names another")
	}
	if d.local, err = p.localGateway(); err != nil {
		return nil, err
	}
	return d, nil
}

// checkedDoor is a door that touches nothing of this machine's yet, and so goes
// nowhere where no gateway is named. Its errors are usage errors.
func (p *program) checkedDoor(id string, hosts bool) (*door, error) {
	if err := checkID("--id", id); err != nil {
		return nil, err
	}
	pace, err := parsePace(p.s.Pace)
	if err != nil {
		return nil, err
	}
	d := &door{hosts: hosts, opt: topic.Options{
		URL: p.s.Gateway, Insecure: p.s.Insecure, Topic: p.s.Topic, ID: id, PinID: p.s.PinID,
		Dialect: p.s.Dialect, TokenInQuery: p.s.TokenInQuery, Pace: pace, Log: p.log,
	}}
	if p.s.Gateway == "" {
		d.opt.URL = "ws://" + defaultListen // until it is found
		if err := checkTopic(p.s.Topic); err != nil {
			return nil, err
		}
	}
	if _, err := topic.New(d.opt); err != nil {
		return nil, topicError(err)
	}
	if d.source, err = p.tokenSource(); err != nil {
		return nil, err
	}
	if d.opt.Trace, err = p.trace("wire", d.source); err != nil {
		return nil, err
	}
	d.url = d.opt.URL
	return d, nil
}

// alive finds the local gateway before anything is tried, so that a person
// who has none running hears that and not of a time-out.
func (d *door) alive(ctx context.Context) error {
	if d.local == nil {
		return nil
	}
	at, err := d.local.findSoon(ctx)
	if err != nil && errors.Is(err, errNobody) {
		return fail(exitFailed, "start one with \"mcpx-bridge run\" or \"mcpx-bridge gateway\", or name one with --gateway", "%w", err)
	}
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.url = at
	return nil
}

// ready fetches the first token, or finds or hosts the local gateway, so that
// what is wrong with either is heard of before a server is started. Then it is
// settled who we are.
func (d *door) ready(ctx context.Context) error {
	if d.local == nil || d.bears {
		return d.source.first(ctx)
	}
	if !d.hosts {
		return nil
	}
	if d.waits { // before we host anything, which we could not keep up
		if err := d.takeID(); err != nil {
			return err
		}
	}
	at, own, err := d.local.findOrHost(ctx)
	if err != nil || d.waits {
		return err
	}
	if own != nil {
		at = ""
	}
	return d.freeID(ctx, at)
}

// gatewayName is a gateway as people know it: without a query, which may hold
// what is nobody's business. "" is this machine's own.
func gatewayName(at string) string {
	u, err := url.Parse(at)
	if err != nil || at == "" {
		return "" // newDoor says what is wrong with it
	}
	return u.Scheme + "://" + strings.ToLower(u.Host) + strings.TrimSuffix(u.Path, "/")
}

// checkTopic reports why our own gateways would not keep a topic. Others may.
func checkTopic(name string) error {
	if gateway.ValidTopic(name) {
		return nil
	}
	return misused("use 1 to 128 letters, digits, _ . - : @ # + ~ = ,", "--topic: %q is no name for a topic", name)
}

// seat makes the seat that goes through this door.
func (d *door) seat() (*topic.Seat, error) {
	o := d.opt
	o.Token = d.nextToken
	if d.local != nil {
		o.Dial = d.dialLocal
	}
	s, err := topic.New(o)
	return s, topicError(err)
}

// nextToken fetches a token, or mints one for the local gateway.
func (d *door) nextToken(ctx context.Context, again bool) (token string, err error) {
	if d.local == nil || d.bears {
		token, err = d.source.Token(ctx, again)
	} else if token, err = d.local.mint(gateway.Claims{ID: d.opt.ID, Topic: d.opt.Topic, Capabilities: d.caps}); err != nil {
		err = fatal(exitFailed, err)
	}
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.token = token
	return token, nil
}

// dialLocal finds this machine's gateway, or becomes it.
func (d *door) dialLocal(ctx context.Context) (topic.Conn, error) {
	at, own, err := d.place(ctx)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.url, d.hosted = at, own != nil
	token := d.token
	d.mu.Unlock()
	if own != nil && !d.overNetwork {
		return d.attach(own)
	}
	o := d.opt
	o.URL, o.NetDial = at, d.local.dial
	return topic.Dial(ctx, o, token)
}

// place finds the local gateway, or hosts it. No failure is final here: what we
// cannot do, another process may.
func (d *door) place(ctx context.Context) (string, *gateway.Gateway, error) {
	if d.hosts {
		return d.local.findOrHost(ctx)
	}
	at, err := d.local.find(ctx)
	return at, nil, err
}

// attach takes a seat at the gateway in this process.
func (d *door) attach(own *gateway.Gateway) (topic.Conn, error) {
	protocol := d.opt.Dialect
	if protocol == "" || protocol == "auto" {
		protocol = hostDialect
	}
	dialect, ok := wire.Lookup(protocol)
	if !ok {
		return nil, fatal(exitMisused, fmt.Errorf("there is no dialect %q", protocol))
	}
	caps, err := wire.ParseCaps(d.caps)
	if err != nil {
		return nil, fatal(exitFailed, err)
	}
	return own.Attach(d.opt.Topic, d.opt.ID, caps, dialect)
}

// where says at which gateway we are, and whether this process is it.
func (d *door) where() (url string, hosted bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	shown, _, _ := strings.Cut(d.url, "?") // some put their token there
	return shown, d.hosted
}

// close stops the gateway in this process, if there is one, and gives back our
// id.
func (d *door) close() {
	if d.local != nil {
		d.local.close()
	}
	d.lock.Close() // which takes no offence at nil
}

func fatal(exit int, err error) error { return &topic.FatalError{Exit: exit, Err: err} }

// topicError words the errors of package topic: what was misused, and what
// makes further trying useless.
func topicError(err error) error {
	if u, ok := errors.AsType[*topic.UsageError](err); ok {
		return misused(u.Hint, "%s", u.What)
	}
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	if f, ok := errors.AsType[*topic.FatalError](err); ok {
		return fail(f.Exit, f.Hint, "%w", f.Err)
	}
	return err
}

// parsePace reads "50/min", or "50" alone.
func parsePace(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(text, "/min"))
	if err != nil || n < 1 {
		return 0, misused("--pace 50/min", "--pace: %q is no number of messages per minute", text)
	}
	return n, nil
}

// trace shows raw traffic of one kind on stderr, if --debug asks for it: one
// line each, with an arrow, and never a token.
func (p *program) trace(kind string, source *tokenSource) (func(dir string, text []byte), error) {
	wanted := false
	for _, k := range p.s.Debug {
		if k != "wire" && k != "stdio" {
			return nil, misused("it is wire, stdio, or both", "--debug: %q is nothing that can be shown", k)
		}
		wanted = wanted || k == kind
	}
	if !wanted {
		return nil, nil
	}
	return func(dir string, text []byte) {
		arrow := "<-"
		if dir == "send" {
			arrow = "->"
		}
		if source != nil {
			text = source.hide(text)
		}
		fmt.Fprintf(p.stderr, "mcpx-bridge: %s %s %s\n", kind, arrow, visible(string(text)))
	}, nil
}

// offLoopback reports whether others than this machine can reach an address
// to listen at.
func offLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil || strings.EqualFold(host, "localhost") {
		return false // a malformed one is refused elsewhere
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip == nil || !ip.IsLoopback()
}
