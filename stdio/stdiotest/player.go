package stdiotest

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
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

func (p *player) result(id, result []byte) {
	line := jsonrpc.AppendResult(nil, id, result)
	if p.Null {
		line = append(line[:len(line)-1], `,"error":null}`...)
	}
	p.write(line)
}

func (p *player) refuse(id []byte, code int, message string, data string) {
	p.write(jsonrpc.AppendError(nil, id, code, message, []byte(data)))
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

func (p *player) notifyFlood(n int, method string) {
	for i := 0; n < 0 || i < n; i++ {
		p.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"level":"info","data":"flood %d"}}`, method, i))
	}
}

func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// complete makes an object of members, with what a modern result has besides.
func (p *player) complete(members string) []byte {
	if p.Era == "modern" {
		return []byte(`{"resultType":"complete",` + members + "}")
	}
	return []byte("{" + members + "}")
}

func (p *player) floodStderr() {
	for {
		fmt.Fprintln(os.Stderr, strings.Repeat("stderr ", 10))
	}
}

func (p *player) info() string {
	return fmt.Sprintf(`{"name":%q,"version":"1"}`, cmp.Or(p.Name, "stdiotest"))
}

func quote(s string) string { return string(jsonrpc.AppendQuote(nil, s)) }

// wellFormed: a modern request names its revision.
func (p *player) wellFormed(m *jsonrpc.Message) bool {
	return bytes.Contains(m.Get(jsonrpc.Meta), []byte(`"io.modelcontextprotocol/protocolVersion"`)) &&
		bytes.Contains(m.Get(jsonrpc.Meta), []byte(`"io.modelcontextprotocol/clientCapabilities"`))
}
