package gateway

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// A crowd is the connections of a gateway. Those without a seat are bounded in all and by
// address, and all of them together, so that descriptors are left for what else the
// process does. Where there are too many without a seat the one that has waited longest is
// closed, not the new one: who is let in needs milliseconds, who only wants to be in the
// way waits.
type crowd struct {
	most     int    // without a seat; under 1: any number
	mostFrom int    // of those, from one address; under 1: any number
	all      int    // with and without; under 1: any number
	turned   func() // called, with mu held, for each that is closed for the others' sake

	mu      sync.Mutex
	waiting []caller // without a seat, the longest first
	seated  map[net.Conn]bool
}

// A caller is a connection without a seat.
type caller struct {
	conn net.Conn
	from netip.Prefix // zero if that is not known
}

// state follows a connection; http.Server calls it. One that became a WebSocket is followed
// by its socket (sit, gone).
func (c *crowd) state(conn net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		c.enter(conn)
	case http.StateClosed:
		c.gone(conn)
	}
}

func (c *crowd) enter(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := network(conn.RemoteAddr())
	alike := func(o caller) bool { return o.from == from }
	if c.mostFrom > 0 && c.count(alike) >= c.mostFrom {
		c.turnAway(slices.IndexFunc(c.waiting, alike))
	}
	if full := c.most > 0 && len(c.waiting) >= c.most; full || c.all > 0 && len(c.waiting)+len(c.seated) >= c.all {
		if len(c.waiting) == 0 { // all have seats
			c.turned()
			hangUp(conn)
			return
		}
		c.turnAway(0)
	}
	c.waiting = append(c.waiting, caller{conn, from})
}

func (c *crowd) count(alike func(caller) bool) (n int) {
	for _, o := range c.waiting {
		if alike(o) {
			n++
		}
	}
	return n
}

// turnAway closes one of those who wait. The caller holds c.mu.
func (c *crowd) turnAway(i int) {
	c.turned()
	hangUp(c.waiting[i].conn)
	c.waiting = slices.Delete(c.waiting, i, i+1)
}

// sit notes that a connection gets a seat: its bearer has shown a token.
func (c *crowd) sit(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.find(conn); i >= 0 { // else nobody follows it, or it was turned away
		c.waiting = slices.Delete(c.waiting, i, i+1)
		if c.seated == nil {
			c.seated = map[net.Conn]bool{}
		}
		c.seated[conn] = true
	}
}

// gone notes that a connection is closed.
func (c *crowd) gone(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.seated, conn)
	if i := c.find(conn); i >= 0 {
		c.waiting = slices.Delete(c.waiting, i, i+1)
	}
}

func (c *crowd) find(conn net.Conn) int {
	return slices.IndexFunc(c.waiting, func(o caller) bool { return o.conn == conn })
}

// size is how many connections there are without a seat.
func (c *crowd) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// network is what counts as one address: of IPv6 the 64 bits that a site has at its own
// disposal.
func network(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip := at.Addr().Unmap()
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits)
	return p
}

// hangUp closes a connection at once: TLS would say goodbye first, and wait for that.
func hangUp(conn net.Conn) {
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = t.NetConn()
	}
	conn.Close()
}
