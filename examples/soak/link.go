//go:build linux

package main

import (
	"io"
	"net"
	"sync"
)

// A link is the road between bridge and gateway: it passes bytes on until it
// is cut, and waits while it is stalled.
type link struct {
	at      net.Listener
	to      string
	running sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn    // both ends of what was opened since the last cut
	flows chan struct{} // closed while bytes flow
}

func newLink(to string) (*link, error) {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{at: at, to: to, flows: make(chan struct{})}
	close(l.flows)
	l.running.Go(func() {
		for {
			near, err := at.Accept()
			if err != nil {
				return
			}
			l.pass(near)
		}
	})
	return l, nil
}

func (l *link) pass(near net.Conn) {
	far, err := net.Dial("tcp", l.to)
	if err != nil {
		near.Close()
		return
	}
	l.mu.Lock()
	l.conns = append(l.conns, near, far)
	l.mu.Unlock()
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		l.running.Go(func() {
			_, _ = io.Copy(gate{l, way[0]}, way[1])
			way[0].Close()
		})
	}
}

// A gate is one end of a connection, which takes nothing while the link is stalled.
type gate struct {
	l  *link
	to io.Writer
}

func (g gate) Write(b []byte) (int, error) {
	g.l.mu.Lock()
	flows := g.l.flows
	g.l.mu.Unlock()
	<-flows
	return g.to.Write(b)
}

// cut ends every connection without a word.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.conns {
		conn.Close()
	}
	l.conns = nil
}

// stall lets nothing pass until the function that it returns is called.
func (l *link) stall() (flow func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	flows := make(chan struct{})
	l.flows = flows
	return func() { close(flows) }
}

func (l *link) close() {
	l.at.Close()
	l.cut()
	l.running.Wait()
}
