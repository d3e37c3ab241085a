package stdiotest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A player is the server. One goroutine reads; calls that take their time have
// one each.
type player struct {
	Script
	in *bufio.Reader

	mu      sync.Mutex
	cancels map[string]chan struct{} // of calls that wait, by raw id; guarded by mu
	answers map[string]chan []byte   // of our requests, by raw id; guarded by mu
	grown   []string                 // tools added; guarded by mu

	writing sync.Mutex // held for each write to stdout
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

func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

func (p *player) floodStderr() {
	for {
		fmt.Fprintln(os.Stderr, strings.Repeat("stderr ", 10))
	}
}

// note appends a pid to the file for them.
func (p *player) note(pid int) {
	if p.Pids != "" {
		appendTo(p.Pids, fmt.Appendln(nil, pid))
	}
}

func appendTo(path string, data []byte) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(data)
		f.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stdiotest:", err)
	}
}

// fork leaves a process behind that holds our stdin, stdout and stderr.
func (p *player) fork(session bool) int {
	exe, _ := os.Executable()
	cmd := exec.Command(exe, playSleeper)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if session {
		ownSession(cmd)
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "stdiotest:", err)
		return 0
	}
	p.note(cmd.Process.Pid)
	return cmd.Process.Pid
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

func (p *player) notifyFlood(n int, method string) {
	for i := 0; n < 0 || i < n; i++ {
		p.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"level":"info","data":"flood %d"}}`, method, i))
	}
}

func (p *player) answered(m *jsonrpc.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := string(m.Get(jsonrpc.ID))
	if c, ok := p.answers[id]; ok {
		delete(p.answers, id)
		c <- m.Raw
	}
}

// cancelled returns a channel that is closed when the call is cancelled.
func (p *player) cancelled(id []byte) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := make(chan struct{})
	p.cancels[string(id)] = c
	return c
}

// write writes one message and its newline, dressed as the script wants.
func (p *player) write(message []byte) {
	end, line := "\n", message
	if p.CRLF {
		end = "\r\n"
	}
	if p.Pretty {
		line = bytes.Replace(line, []byte(","), []byte(",\n  "), 1)
	}
	if p.Blank {
		line = append([]byte(end), line...)
	}
	p.raw(append(line[:len(line):len(line)], end...))
}

func (p *player) raw(b []byte) {
	p.writing.Lock()
	defer p.writing.Unlock()
	os.Stdout.Write(b)
}

func (p *player) result(id, result []byte) { p.write(jsonrpc.AppendResult(nil, id, result)) }

func (p *player) refuse(id []byte, code int, message string, data string) {
	var raw []byte
	if data != "" {
		raw = []byte(data)
	}
	p.write(jsonrpc.AppendError(nil, id, code, message, raw))
}
