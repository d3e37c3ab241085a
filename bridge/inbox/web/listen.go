package web

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/loopback"
)

// DefaultListen is where a page is looked for.
const DefaultListen = "127.0.0.1:7421"

// Check reports what is wrong with an address for a page, nil if nothing.
func Check(address string) error {
	host, port, err := net.SplitHostPort(address)
	number, _ := net.LookupPort("tcp", port)
	switch {
	case err != nil:
		return fault.New(fault.Misused, "write it as HOST:PORT, for example "+DefaultListen, "%q is no address for the inbox: %w", address, err)
	case !loopback.Is(host):
		return fault.New(fault.Misused, "from elsewhere, reach it by ssh -L 7421:"+DefaultListen, "the inbox is for this machine only, and %s is not", address)
	case number == 80:
		return fault.New(fault.Misused, "choose another port", "no browser would get in at port 80, which they leave out of the name of a page")
	}
	return nil
}

// localhost are the addresses to which browsers go by that name, whichever is there.
var localhost = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}

const (
	maxClients   = 128 // connections at one time
	maxStrangers = 16  // those of other users of this machine, where the system says whose they are
)

// freePorts is how many ports are tried where any will do.
const freePorts = 16

// A doorway is where a page listens: at one address, and at those of localhost, to which passkeys
// lead a browser. Another user who has one of those would get the link.
type doorway struct {
	all   []net.Listener // the first is at the address that was wanted
	apart error          // why localhost may lead to somebody else; nil: it leads here
}

func (d doorway) addr() net.Addr { return d.all[0].Addr() }

func (d doorway) close() {
	for _, l := range d.all {
		l.Close()
	}
}

func listen(address string) (doorway, error) {
	if err := Check(cmp.Or(address, DefaultListen)); err != nil {
		return doorway{}, err
	}
	d, err := open(cmp.Or(address, DefaultListen))
	if address == "" && (err != nil || d.apart != nil) {
		d.close()
		d, err = open("127.0.0.1:0")
	}
	if err != nil {
		return doorway{}, fault.New(fault.Failed, "choose another port", "the inbox: %w", err)
	}
	in, strangers := make(chan struct{}, maxClients), make(chan struct{}, maxStrangers)
	for i, l := range d.all {
		d.all[i] = limited{l, in, strangers}
	}
	return d, nil
}

// open takes an address; of any port, one that localhost has too.
func open(address string) (doorway, error) {
	d, err := take(address)
	_, port, _ := net.SplitHostPort(address)
	for n := 1; n < freePorts && strings.Trim(port, "0") == "" && d.apart != nil; n++ {
		d.close()
		d, err = take(address)
	}
	return d, err
}

func take(address string) (d doorway, err error) {
	first, err := net.Listen("tcp", address)
	if err != nil {
		return d, err
	}
	d.all = append(d.all, first)
	at := first.Addr().(*net.TCPAddr).AddrPort()
	for _, ip := range localhost {
		if ip == at.Addr().Unmap() || !exists(ip) {
			continue
		}
		beside := netip.AddrPortFrom(ip, at.Port())
		if l, err := net.Listen("tcp", beside.String()); err == nil {
			d.all = append(d.all, l)
		} else {
			d.apart = fmt.Errorf("passkeys need this page at localhost, and that is %s too, where somebody else may be (%w): start this again with another port", beside, err)
		}
	}
	return d, nil
}

// exists reports whether this machine has an address, as far as it says so.
func exists(ip netip.Addr) bool {
	all, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(all, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip.AsSlice())
	})
}

// A limited listener lets so many in at one time, together with those it shares its places with;
// the others wait. Other users of this machine have a few places of their own, and do not wait:
// whoever takes those shuts nobody out.
type limited struct {
	net.Listener
	in, strangers chan struct{}
}

func (l limited) Accept() (net.Conn, error) {
	for {
		l.in <- struct{}{}
		c, err := l.Listener.Accept()
		if err == nil && !stranger(c) {
			return &counted{Conn: c, in: l.in}, nil
		}
		<-l.in
		if err != nil {
			return nil, err
		}
		select {
		case l.strangers <- struct{}{}:
			return &counted{Conn: c, in: l.strangers}, nil
		default:
			c.Close()
		}
	}
}

// stranger reports whether a connection is another user's, as far as that is known.
func stranger(c net.Conn) bool { return another(loopback.User(c)) }

// another reports whether a user is known (see loopback.User), and is not ours.
func another(user int) bool { return user >= 0 && user != os.Geteuid() }

type counted struct {
	net.Conn
	in   chan struct{}
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { <-c.in })
	return c.Conn.Close()
}
