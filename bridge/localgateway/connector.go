package localgateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// hostDialect is what our own seat speaks at a gateway in this process when
// nobody asked for a dialect.
const hostDialect = "mcpx/v0.1"

// startPatience is how long Locate waits for a gateway that is just starting.
const startPatience = 3 * time.Second

// ErrTaken says that another bridge on this machine has our id.
var ErrTaken = errors.New("another bridge on this machine goes by the same id")

// Tokens yields the tokens for a gateway that is not ours.
type Tokens interface {
	// First fetches the first token ahead of time, to find out whether there is one.
	First(ctx context.Context) error
	// Token is as topic.Options.Token.
	Token(ctx context.Context, again bool) (string, error)
}

// A Connector makes seats at a gateway: the one that was named, or this machine's own, which
// is looked for anew at every joining. Its fields are set before its first method is called;
// after [Connector.Ready], Join.ID is our id.
type Connector struct {
	Local  *LocalGateway // nil if a gateway was named
	State  StateDir      // where those of one id on this machine lock each other out; "" if nobody is known of
	Tokens Tokens        // for a gateway that was named, and for Local if Bears
	Join   topic.Options // how to take the seat; Token and Dial are ours to set
	Caps   []byte        // what our tokens for Local say we may send, as JSON; nil for what it grants by default

	Hosts       bool // may host the local gateway
	Bears       bool // joins the local gateway with Tokens too, which may permit less than ours
	OverNetwork bool // joins a gateway in this process over the network too

	Derived   bool // nobody chose our id, so another may do
	Exclusive bool // our id must be ours alone, else FreeID fails
	Yields    bool // an Exclusive id that is Derived may be replaced by a numbered one

	lock     *os.File // on our id, while we have it
	approver bool     // we answer questions under our id, and hold the lock that says so

	mu     sync.Mutex
	url    string // where we are, or tried to be
	hosted bool   // by this process
	token  string // for the joining that is going on
}

// Locate finds the local gateway, so that a person who has none running is told that at once
// and not of a time-out. It is for programs that do not host it.
func (c *Connector) Locate(ctx context.Context) error {
	if c.Local == nil {
		return nil
	}
	at, err := c.Local.Find(ctx, startPatience)
	if err != nil && errors.Is(err, ErrNobody) {
		return fault.New(fault.Failed, "start one with \"mcpx-bridge run\" or \"mcpx-bridge gateway\", or name one with --gateway", "%w", err)
	}
	if err != nil {
		return err
	}
	c.at(at, false)
	return nil
}

// Ready fetches the first token, or finds or hosts the local gateway and decides our id (see
// [Connector.FreeID]), so that errors of these come before a server is started.
func (c *Connector) Ready(ctx context.Context) error {
	if c.Local == nil || c.Bears {
		return c.Tokens.First(ctx)
	}
	if !c.Hosts {
		return nil
	}
	if c.Exclusive { // before we host anything, which we could not keep up
		if err := c.FreeID(ctx, ""); err != nil {
			return err
		}
	}
	at, own, err := c.Local.FindOrHost(ctx)
	if err != nil || c.Exclusive {
		return err
	}
	if own != nil {
		at = ""
	}
	return c.FreeID(ctx, at)
}

// FreeID decides which id we have at this machine's gateway, and puts it into Join.ID. An id
// that a person chose is used whoever has it (DESIGN 14). A [Connector.Derived] one gets a
// number behind it if another participant has it: the second of two bridges of the same
// server must not evict the first, nor write into its record (FINDINGS P2).
//
// at is the URL of the gateway, "" if nobody can be there yet. Two bridges that start
// together both find the topic empty; for them the lock decides.
//
// An [Connector.Exclusive] id is ours alone or FreeID fails with [ErrTaken].
func (c *Connector) FreeID(ctx context.Context, at string) error {
	var taken []string
	if at != "" && c.Derived {
		var err error
		if taken, err = c.Local.Present(ctx, at, c.Join.Topic); err != nil {
			c.Local.Log.Debug("cannot tell who is in the topic", "error", err) // the locks can
		}
	}
	for n, wanted := 1, c.Join.ID; ; n++ {
		id := Numbered(wanted, n)
		if slices.Contains(taken, id) {
			continue
		}
		ours, err := c.tryID(c.Local.State, id)
		switch {
		case err != nil:
			return err
		case ours:
			if n > 1 {
				c.Local.Log.Warn("another participant is called " + wanted + " already, so this one is " + id)
				c.Local.Log.Warn("hint: --id gives it a name of its own")
			}
			return nil
		case c.Exclusive && (!c.Derived || !c.Yields):
			return ErrTaken
		case !c.Derived:
			return nil
		}
	}
}

// Some clients start a command twice in a row, and the first is about to end. So an id that
// another process of this machine has is waited for, as long as ClaimTime, with a look each
// FreeAgain.
const (
	ClaimTime = 3 * time.Second
	FreeAgain = 250 * time.Millisecond
)

// tryID locks id on this machine and puts it into Join.ID. It reports false if another process
// holds the lock. [Connector.Close] releases it.
func (c *Connector) tryID(state StateDir, id string) (bool, error) {
	lock, err := state.Lock("seat-" + id + ".lock")
	if err != nil || lock == nil {
		return false, err
	}
	c.Join.ID, c.lock = id, lock
	if lock.Truncate(0) == nil { // who finds it locked wants to know by whom, and can do without
		fmt.Fprintln(lock, os.Getpid())
	}
	return true, nil
}

// Holder is the process of this machine that has the lock on our id, 0 if it cannot be told.
func (c *Connector) Holder() int {
	if c.Local == nil || c.lock != nil {
		return 0
	}
	text, err := c.Local.State.Read("seat-" + c.Join.ID + ".lock")
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text))) // 0 of what another version has left there
	return pid
}

// HoldsID reports whether we hold the lock on our id.
func (c *Connector) HoldsID() bool { return c.lock != nil }

// Numbered returns the id that the nth participant gets of those who want id: from the second
// on it ends in -n. It has 64 bytes at most.
func Numbered(id string, n int) string {
	if n == 1 {
		return id
	}
	number := fmt.Sprintf("-%d", n)
	return id[:min(len(id), 64-len(number))] + number
}

// Seat returns a seat at that gateway. The caller runs it.
func (c *Connector) Seat() (*topic.Seat, error) {
	o := c.Join
	o.Token, o.AnyID = c.nextToken, c.Derived
	if c.Local != nil {
		o.Dial = c.dialLocal
	}
	s, err := topic.New(o)
	return s, Fault(err)
}

// nextToken fetches a token, or mints one for the local gateway.
func (c *Connector) nextToken(ctx context.Context, again bool) (token string, err error) {
	if c.Local == nil || c.Bears {
		token, err = c.Tokens.Token(ctx, again)
	} else if token, err = c.Local.Mint(gateway.Claims{ID: c.Join.ID, Topic: c.Join.Topic, Capabilities: c.Caps}); err != nil {
		err = &topic.FatalError{Exit: fault.Failed, Err: err}
	}
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = token
	return token, nil
}

// dialLocal finds this machine's gateway, or becomes it. No failure is final here:
// what we cannot do, another process may.
func (c *Connector) dialLocal(ctx context.Context) (conn topic.Conn, err error) {
	var at string
	var own *gateway.Gateway
	if c.Hosts {
		at, own, err = c.Local.FindOrHost(ctx)
	} else {
		at, err = c.Local.Find(ctx, 0)
	}
	if err != nil {
		return nil, err
	}
	token := c.at(at, own != nil)
	if own != nil && !c.OverNetwork {
		return c.attach(own)
	}
	o := c.Join
	o.URL, o.NetDial = at, c.Local.Dial
	return topic.Dial(ctx, o, token)
}

// at notes where we are. It returns the token to join with.
func (c *Connector) at(url string, hosted bool) (token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.url, c.hosted = url, hosted
	return c.token
}

// attach takes a seat at the gateway in this process.
func (c *Connector) attach(own *gateway.Gateway) (topic.Conn, error) {
	protocol := c.Join.Dialect
	if protocol == "" || protocol == "auto" {
		protocol = hostDialect
	}
	dialect, ok := wire.Lookup(protocol)
	if !ok {
		return nil, &topic.FatalError{Exit: fault.Misused, Err: fmt.Errorf("there is no dialect %q", protocol)}
	}
	caps, err := wire.ParseCaps(c.Caps)
	if err != nil {
		return nil, &topic.FatalError{Exit: fault.Failed, Err: err}
	}
	return own.Attach(c.Join.Topic, c.Join.ID, caps, dialect)
}

// Where says at which gateway we are, or tried to be, and whether this process is it.
// The URL is without its query, where some put their token.
func (c *Connector) Where() (url string, hosted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	url = c.url
	if url == "" {
		url = c.Join.URL
	}
	url, _, _ = strings.Cut(url, "?")
	return url, c.hosted
}

// Close stops the gateway in this process, if there is one, and gives back our
// id.
func (c *Connector) Close() {
	if c.Local != nil {
		c.Local.Close()
	}
	c.lock.Close() // which takes no offence at nil
}

// Fault words the errors of package topic: what was misused, and what makes further
// trying useless. Others, and nil, it returns as they are.
func Fault(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if f, ok := errors.AsType[*topic.FatalError](err); ok {
		return fault.New(f.Exit, f.Hint, "%w", f.Err)
	}
	return err
}
