// Bare is what the bridge is measured against: a relay, a bridge and a
// wrapper as one would write them in an afternoon, that check nothing. They
// have no policy, no tokens, no limits, no history, no reconnect and no
// restart; they trust every frame and every line. Do not use them.
//
//	bare relay             serve topics on loopback, pass every frame to everybody else
//	bare bridge URL CMD…   start CMD and serve it in a topic
//	bare wrapper CMD…      serve CMD's own messages over a WebSocket, one process per connection
//	bare logged FILE CMD…  the same, and put each message on record before it is passed on
//	bare pipe CMD…         copy our stdin to CMD's, and its stdout to ours
//
// But for pipe, the first line on stdout is "ready" and, for all that serve, the URL.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/gorilla/websocket"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "relay":
		r := &relay{topics: map[string]map[string]*peer{}}
		return listen(r.serve)
	case len(args) >= 3 && args[0] == "bridge":
		return bridge(args[1], args[2:])
	case len(args) >= 2 && args[0] == "wrapper":
		return listen((&wrapper{argv: args[1:]}).serve)
	case len(args) >= 3 && args[0] == "logged":
		log, err := openRecord(args[1])
		if err != nil {
			return err
		}
		return listen((&wrapper{args[2:], log}).serve)
	case len(args) >= 2 && args[0] == "pipe":
		return pipe(args[1:])
	}
	return fmt.Errorf("usage: bare relay | bridge URL CMD… | wrapper CMD… | logged FILE CMD… | pipe CMD…")
}

// listen serves each WebSocket that is opened on loopback, until serve returns.
func listen(serve func(*websocket.Conn, *http.Request)) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("ready ws://%s\n", l.Addr())
	var upgrader websocket.Upgrader
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if conn, err := upgrader.Upgrade(w, req, nil); err == nil {
			defer conn.Close()
			serve(conn, req)
		}
	}))
}
