package socket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
)

// Options are what a Server is opened with.
type Options struct {
	Dir   string // where sockets are; made (0700) if need be
	ID    string // of the bridge
	Inbox inbox.Inbox

	MaxClients int           // connections at one time; default 128
	Patience   time.Duration // how long a client may take to read what it asked for; default 10 s
	Log        *slog.Logger  // nil: discard
}

// How long a request may take to come in, and a connection may be idle.
const (
	readTime = 10 * time.Second
	idleTime = 10 * time.Minute
)

// A Server is a socket of a bridge, listening.
type Server struct {
	o     Options
	place *place
	http  *http.Server

	mu      sync.Mutex
	clients map[*conn]struct{}
	shut    bool

	serving sync.WaitGroup // connections, until the last of their requests is done
}

// Open listens. It refuses a directory that others can get into, and never
// takes over the socket of a live bridge.
func Open(o Options) (*Server, error) {
	o.MaxClients = cmp.Or(o.MaxClients, 128)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p, err := take(o.Dir, o.ID)
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, place: p, clients: map[*conn]struct{}{}}
	s.http = &http.Server{
		Handler: Unrecovered(Handler(o.Inbox, o.Patience)), MaxHeaderBytes: 16 << 10,
		ReadHeaderTimeout: readTime, ReadTimeout: readTime, WriteTimeout: cmp.Or(o.Patience, defaultPatience), IdleTimeout: idleTime,
		ConnState: s.count, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// Unrecovered lets a panic end the program, as it does wherever else it comes up: net/http
// would go on, with a bridge that holds its lock for ever.
func Unrecovered(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				stack := debug.Stack()
				go panic(fmt.Sprintf("%v\n\n%s", p, stack))
				select {}
			}
		}()
		h.ServeHTTP(w, r)
	})
}

// Path is the name of the socket.
func (s *Server) Path() string { return s.place.path }

// Serve serves clients until ctx ends or Close is called, and has seen them
// all out when it returns. The socket is gone then. It must be called once.
func (s *Server) Serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.Close)()
	defer s.serving.Wait()
	defer s.Close()
	err := s.http.Serve(listener{s})
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Close sees everybody out and removes the socket. It may be called more than
// once.
func (s *Server) Close() {
	s.http.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = true
	for c := range s.clients {
		c.Conn.Close()
	}
	s.place.leave()
}

func (s *Server) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.serving.Add(1)
	case http.StateClosed:
		s.serving.Done()
	}
}

// A listener accepts those who may come in.
type listener struct{ s *Server }

func (l listener) Addr() net.Addr { return l.s.place.Addr() }
func (l listener) Close() error   { return l.s.place.Listener.Close() }

func (l listener) Accept() (net.Conn, error) {
	for {
		c, err := l.s.place.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.s.admit(c); c != nil {
			return c, nil
		}
	}
}

// admit decides who may come in; who may not is closed.
func (s *Server) admit(c net.Conn) net.Conn {
	err := sameUser(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.o.Log.Warn("a caller at the control socket was turned away", "error", err)
	case len(s.clients) >= s.o.MaxClients:
		s.o.Log.Warn("a caller at the control socket was turned away", "error", "too many are connected already")
	case !s.shut:
		in := &conn{Conn: c, s: s}
		s.clients[in] = struct{}{}
		return in
	}
	c.Close()
	return nil
}

// A conn is one connection.
type conn struct {
	net.Conn
	s     *Server
	heard bool // its first byte
}

// Read tells clients of earlier versions, which spoke JSON-RPC here, what is the matter. They
// read one line, and show the error in it.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.heard {
		c.heard = true
		if b[0] == '{' {
			c.SetWriteDeadline(time.Now().Add(readTime))
			io.WriteString(c, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"this bridge is of a later version of mcpx-bridge and speaks HTTP: ask with that version"}}`+"\n")
			return 0, io.EOF
		}
	}
	return n, err
}

func (c *conn) Close() error {
	c.s.mu.Lock()
	delete(c.s.clients, c)
	c.s.mu.Unlock()
	return c.Conn.Close()
}
