package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
)

// Open listens. Its errors are *fault.Error.
func Open(o Options) (*Server, error) {
	at, err := listen(o.Listen)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, at: at, guard: newGuard(at.addr())}
	s.inside = http.StripPrefix(s.guard.root, s.routes())
	s.http = &http.Server{Handler: socket.Unrecovered(s), ConnContext: withUser, MaxHeaderBytes: maxHeader, ReadHeaderTimeout: readTime, ReadTimeout: readTime,
		WriteTimeout: patience, IdleTimeout: idleTime, ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug)}
	return s, nil
}

// Address is that of the page, for a browser that is logged in.
func (s *Server) Address() string { return "http://" + s.at.addr().String() + s.guard.root + "/" }

// Question is where a browser that is logged in answers one of the only bridge of the page, by its
// whole id; "" where s is nil.
func (s *Server) Question(id string) string {
	if s == nil {
		return ""
	}
	return s.Address() + "q/" + url.PathEscape(s.o.Only.Key) + "/" + url.PathEscape(id)
}

// Link makes a link that lets one browser in, once, within the hour.
func (s *Server) Link() string { return s.Address() + "in/" + s.guard.link(time.Now()) }

// Links makes links as Link does, but with each, those of before that nobody has used work no
// more. It is nil where s is.
func (s *Server) Links() func() string {
	if s == nil {
		return nil
	}
	return func() string {
		s.guard.voidLinks()
		return s.Link()
	}
}

// Serve serves the page until ctx ends, and has seen everybody out when it returns. It must
// be called once.
func (s *Server) Serve(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var parts sync.WaitGroup
	defer parts.Wait()
	defer stop()
	s.http.BaseContext = func(net.Listener) context.Context { return ctx }
	looked := make(chan struct{})
	parts.Go(func() { s.look(ctx, s.o.Only, s.o.Find, func() { close(looked) }) })
	select {
	case <-looked:
	case <-time.After(lookTime):
	}
	defer context.AfterFunc(ctx, func() { s.http.Close() })()
	defer s.http.Close()
	over := make(chan error, len(s.at.all))
	for _, at := range s.at.all {
		parts.Go(func() { over <- s.http.Serve(at) })
	}
	err := <-over
	if errors.Is(err, http.ErrServerClosed) || ctx.Err() != nil {
		return nil
	}
	return err
}

// Close is for a Server that is not served.
func (s *Server) Close() { s.at.close() }

func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /in/{link}", s.enter)
	mux.HandleFunc("POST /in/{link}", s.redeem)
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("GET /q/{bridge}/{id}", s.question)
	mux.HandleFunc("POST /q/{bridge}/{id}", s.answer)
	mux.HandleFunc("GET /alike/{bridge}/{id}", s.together)
	mux.HandleFunc("POST /alike/{bridge}/{id}", s.answerTogether)
	mux.HandleFunc("GET /history", s.history)
	mux.HandleFunc("GET /remembered", s.remembered)
	mux.HandleFunc("POST /remembered", s.revoke)
	mux.HandleFunc("GET /bridges", s.bridges)
	mux.HandleFunc("POST /bridges", s.halt)
	mux.HandleFunc("POST /sign/{bridge}/{id}", s.toSign)
	mux.HandleFunc("GET /passkeys", s.passkeys)
	mux.HandleFunc("POST /passkeys", s.keep)
	mux.HandleFunc("POST /passkeys/challenge", s.challenge)
	mux.HandleFunc("POST /passkeys/remove", s.drop)
	mux.HandleFunc("POST /localhost", s.move)
	mux.HandleFunc("GET /events", s.events)
	socket.Mount(mux, "/api/{bridge}", s.inboxOf, patience)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		s.page(w, r, http.StatusNotFound, sheet{title: "No such page", body: element("h1", words("There is no such page"))})
	})
	return mux
}

// ServeHTTP is around everything. The way in is open to whoever has a link, and what pages look
// like to everybody.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range headers {
		w.Header().Set(name, value)
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	inside, below := strings.CutPrefix(r.URL.Path, s.guard.root+"/")
	switch {
	case !s.guard.called(r):
		http.Error(w, "this name is not that of the page", http.StatusMisdirectedRequest)
	case !reads(r) && !s.guard.ownPage(r):
		s.page(w, r, http.StatusForbidden, s.away("This was sent by another page, and nothing was done."))
	case strings.HasPrefix(r.URL.Path, "/static/"):
		http.FileServerFS(static).ServeHTTP(w, r)
	case !below:
		s.page(w, r, http.StatusForbidden, s.away("This browser is not logged in."))
	case strings.HasPrefix(inside, "in/"):
		s.inside.ServeHTTP(w, r)
	default:
		one := s.guard.of(r)
		if one == nil || !s.guard.ownPage(r) {
			s.shut(w, r)
			return
		}
		s.within(w, r, one)
	}
}

// within serves a browser that is logged in, for as long as it is.
func (s *Server) within(w http.ResponseWriter, r *http.Request, one *session) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(one.over, cancel)()
	if r.Method == http.MethodPost && r.URL.Path == s.guard.root+"/out" {
		http.SetCookie(w, s.guard.signOut(one))
		s.page(w, r, http.StatusOK, s.away("This browser is signed out."))
		return
	}
	s.inside.ServeHTTP(w, r.WithContext(ctx))
}

// shut is for who may not see a page, or not like this: a browser that is logged in keeps its
// cookie back where another page has led to it, and sends it from here.
func (s *Server) shut(w http.ResponseWriter, r *http.Request) {
	back := r.URL.EscapedPath()
	below, _ := strings.CutPrefix(back, s.guard.root)
	if r.Method != http.MethodGet || back != path.Clean(back) || below == "/events" || strings.HasPrefix(below, "/api/") {
		back = s.guard.root + "/"
	}
	s.page(w, r, http.StatusForbidden, s.door(back, s.guard.ownPage(r)))
}
