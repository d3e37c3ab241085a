package main

import (
	"net"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// crowd opens connections that say nothing.
func crowd(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	for range n {
		conn, err := net.Dial("tcp", strings.TrimPrefix(args[0], "ws://"))
		ts.Check(err)
		ts.Defer(func() { conn.Close() })
	}
}
