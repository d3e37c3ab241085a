// Load makes calls of a tool called echo and times them. It speaks the same
// way to everything that is measured; only the wrapping of a call differs
// (an envelope of mcpx/v0.1 in a topic, nothing around it elsewhere).
//
// Each line on stdin is an order; each is answered by a line on stdout:
//
//	{"size":1024,"inflight":16,"calls":2000,"ms":500}
//	{"calls":2000,"lost":0,"per_second":31000,"p50":450000,"p99":900000,"max":1200000}
//
// A round ends after the calls or the time, whichever is first.
//
// With -crowd it takes many seats instead, in one topic; one of them speaks and
// all others hear:
//
//	{"size":1024,"rate":150,"ms":2000,"fill":6291456,"sleeper":true}
//	{"calls":30000,"lost":0,"per_second":15000,"p50":900000,"p99":2000000,"max":3000000}
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/mcpx-protocol/mcpx-bridge/examples/bench/order"
)

func main() {
	var where place
	flag.StringVar(&where.URL, "url", "", "WebSocket to dial; without it the arguments are a command to start")
	flag.StringVar(&where.Token, "token-file", "", "file with the token to show")
	flag.StringVar(&where.ID, "id", "load", "who we are in the topic")
	flag.StringVar(&where.To, "to", "", "whose echo to call; without it there is no topic and no envelope")
	ears := flag.Int("crowd", 0, "take so many seats and hear what one more says; in url and token-file, {} stands for who it is: mouth, sleeper, ear0 and so on")
	flag.Parse()
	where.Command = flag.Args()
	if err := run(where, *ears, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// run carries out orders over one link, or to a crowd.
func run(where place, ears int, in io.Reader, out io.Writer) error {
	if ears > 0 {
		c, err := where.gather(ears)
		if err != nil {
			return err
		}
		return obey(in, out, c.round)
	}
	l, err := where.open()
	if err != nil {
		return err
	}
	defer l.Close()
	g := &generator{link: l, calls: where.calls()}
	if err := g.prove(); err != nil {
		return err
	}
	return obey(in, out, g.round)
}

// obey says that all is ready, and then answers each order on in, until there
// are no more, with what do says came of it.
func obey(in io.Reader, out io.Writer, do func(order.Order) (order.Result, error)) error {
	answers := json.NewEncoder(out)
	if err := answers.Encode(map[string]string{"event": "ready"}); err != nil {
		return err
	}
	for orders := json.NewDecoder(in); ; {
		var o order.Order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r, err := do(o)
		if err != nil {
			return fmt.Errorf("%+v: %w", o, err)
		}
		if err := answers.Encode(r); err != nil {
			return err
		}
	}
}
