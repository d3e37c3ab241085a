//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage"
)

// ledgerVar names the file of the ledger, and logVar the audit log. They are in
// the environment of the server, which is this program itself.
const (
	ledgerVar = "MCPX_SOAK_LEDGER"
	logVar    = "MCPX_SOAK_LOG"
)

func init() {
	if os.Getenv(ledgerVar) != "" {
		if err := serve(os.Getenv(ledgerVar), os.Getenv(logVar)); err != nil {
			fmt.Fprintln(os.Stderr, "ledger:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// A ledger is a server that writes down each call that it runs, synced, and
// whether the audit log said by then that it may.
type ledger struct {
	book    *os.File
	path    string          // of the log
	log     *os.File        // as far as it is read; nil at first
	torn    []byte          // a line of it that is not whole yet
	allowed map[string]bool // envelopes of which it says that they may run
}

func serve(book, log string) error {
	f, err := os.OpenFile(book, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	l := &ledger{book: f, path: log, allowed: map[string]bool{}}
	return stage.Serve("ledger", l.answer)
}

func (l *ledger) answer(r stage.Request) (result string, err error) {
	switch r.Method {
	case "tools/list":
		var tools []string
		for _, f := range fates {
			tools = append(tools, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}}`, f.tool))
		}
		return `{"tools":[` + strings.Join(tools, ",") + `]}`, nil
	case "tools/call":
		var p struct{ Arguments json.RawMessage }
		if err := json.Unmarshal(r.Params, &p); err != nil {
			return "", err
		}
		sum := sumOf(p.Arguments)
		return resultOf(sum), l.run(p.Arguments, sum)
	}
	return "{}", nil
}

// run runs a call: it writes that down.
func (l *ledger) run(arguments []byte, sum string) error {
	var of struct{ Key string }
	if err := json.Unmarshal(arguments, &of); err != nil {
		return err
	}
	key := of.Key
	if !l.allowed[key] {
		l.look()
	}
	word := "recorded"
	if !l.allowed[key] {
		word = "unrecorded"
	}
	delete(l.allowed, key) // so that a second time shows, and none is kept for ever
	if _, err := fmt.Fprintf(l.book, "%s %s %s\n", key, word, sum); err != nil {
		return err
	}
	return l.book.Sync()
}

// look reads what is new in the log. When another file has its name, the one
// before is read to its end first.
func (l *ledger) look() {
	l.read()
	if now, err := os.Stat(l.path); err == nil && !l.open(now) {
		l.read()
		if f, err := os.Open(l.path); err == nil {
			if l.log != nil {
				l.log.Close()
			}
			l.log, l.torn = f, nil
			l.read()
		}
	}
}

// open reports whether this is the file that we read.
func (l *ledger) open(now os.FileInfo) bool {
	if l.log == nil {
		return false
	}
	ours, err := l.log.Stat()
	return err == nil && os.SameFile(ours, now)
}

func (l *ledger) read() {
	if l.log == nil {
		return
	}
	text, _ := io.ReadAll(l.log)
	text = append(l.torn, text...)
	whole := bytes.LastIndexByte(text, '\n') + 1
	l.torn = bytes.Clone(text[whole:])
	for line := range bytes.Lines(text[:whole]) {
		var r record
		if json.Unmarshal(line, &r) == nil && r.allows() {
			l.allowed[r.Env] = true
		}
	}
}

// A record is as much of a record as is needed here.
type record struct {
	Event, Env, Verdict, Method string
}

func (r record) allows() bool { return r.decides("allow") }

func (r record) decides(verdict string) bool {
	return r.Event == "decided" && r.Verdict == verdict && r.Method == "tools/call"
}
