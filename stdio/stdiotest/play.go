package stdiotest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A server has no use for what other packages of the test binary prepare themselves with, the
// compiler of schemas alone for 6 ms, and for 60 under the race detector. As this one imports
// little, it comes before them. It is the only init here: of two, the files' names choose the first.
func init() { Main() }

// Main plays the server and exits if the arguments of this process are those of a Command,
// which only who writes os.Args needs. Otherwise it does nothing.
func Main() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case playServer:
		syscall.Exit(play(os.Args[2])) // not os.Exit, which under -race takes a second
	case playSleeper:
		time.Sleep(1000 * time.Second)
		syscall.Exit(0)
	}
}

// play plays the script and returns the exit status.
func play(text string) int {
	s, err := readScript(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stdiotest:", err)
		return 2
	}
	p := &player{
		Script: s, in: bufio.NewReaderSize(os.Stdin, 1<<20),
		cancels: map[string]chan struct{}{}, answers: map[string]chan []byte{},
	}
	if done, status := p.start(); done {
		return status
	}
	return p.serve()
}

func (p *player) start() (done bool, status int) {
	if p.IgnoreTerm {
		ignoreTerm()
	}
	p.note(os.Getpid())
	for _, line := range p.Stderr {
		fmt.Fprintln(os.Stderr, line)
	}
	if p.StderrFlood {
		go p.floodStderr()
	}
	for _, line := range p.Start {
		p.write([]byte(line))
	}
	if p.Grandchild != "" {
		p.fork(p.Grandchild == "session")
	}
	if p.Deaf {
		hang()
	}
	if p.Exit != nil {
		return true, *p.Exit
	}
	return false, 0
}

// serve reads to the end of stdin.
func (p *player) serve() int {
	for n := 1; ; n++ {
		line, err := p.in.ReadBytes('\n')
		if p.Record != "" && len(line) > 0 {
			appendTo(p.Record, line)
		}
		if n == p.DieAfter {
			return 3
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if done, status := p.take(line); done {
				return status
			}
		}
		switch {
		case err == nil:
		case p.IgnoreEOF:
			hang()
		case err == io.EOF:
			return 0
		default:
			return 4
		}
	}
}

// take takes one line. done ends the process.
func (p *player) take(line []byte) (done bool, status int) {
	m, err := jsonrpc.Parse(line, jsonrpc.Passed)
	if err != nil {
		p.write(jsonrpc.AppendError(nil, []byte("null"), -32700, err.Error(), nil))
		return false, 0
	}
	switch m.Class() {
	case jsonrpc.Request:
		return p.request(&m)
	case jsonrpc.Notification:
		p.notified(&m)
	case jsonrpc.Response:
		p.answered(&m)
	}
	return false, 0
}

func (p *player) notified(m *jsonrpc.Message) {
	switch m.Text(jsonrpc.Method) {
	case "notifications/initialized":
		if p.Flood != 0 {
			go p.notifyFlood(p.Flood, "notifications/message")
		}
	case "notifications/cancelled":
		p.mu.Lock()
		defer p.mu.Unlock()
		if c, ok := p.cancels[string(m.Get(jsonrpc.RequestID))]; ok {
			delete(p.cancels, string(m.Get(jsonrpc.RequestID)))
			close(c)
		}
	}
}
