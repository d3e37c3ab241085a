package web

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

const (
	readTime  = 10 * time.Second
	idleTime  = 2 * time.Minute
	patience  = 10 * time.Second // how long a browser may take to read what it asked for
	lookTime  = time.Second      // how long the first page may wait for what bridges there are
	maxHeader = 16 << 10
	maxForm   = 1 << 20 // what is sent with a form: fields of 64 KiB, each byte in three
)

// Options are what a Server is opened with. Only or Find must be given.
type Options struct {
	// Listen is HOST:PORT on loopback. "" is DefaultListen, or any port that is free where
	// somebody else has that. The addresses of localhost are taken beside it: where one of them
	// cannot be had at that port, no passkey is taken.
	Listen string
	Only   *Source // whose questions are shown, for as long as there is a page
	Find   Finder  // without Only: whose are; it is asked again and again

	// Ended are the logs of bridges that need not run any more, by their paths; those of
	// the ones that are found beside may be among them. nil: there are none.
	Ended func() []string

	Log *slog.Logger // nil: nobody reads it
}

// A Server is a page, listening. Its methods may be called from any goroutine.
type Server struct {
	o      Options
	at     doorway
	inside http.Handler // below the root
	guard  *guard
	found
	glances glances
	http    *http.Server

	reading sync.Mutex // held by the one who reads records
}
