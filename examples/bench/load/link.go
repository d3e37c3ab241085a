package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"

	"github.com/gorilla/websocket"

	"github.com/mcpx-protocol/mcpx-bridge/examples/stage/seat"
)

// A link carries one message at a time. Read and Write may be used from one
// goroutine each; what Read returns is good until the next Read.
type link interface {
	Read() ([]byte, error)
	Write(message []byte) error
	Close() error
}

// A place is where the calls go.
type place struct {
	URL, Token, ID, To string
	Command            []string
}

func (p place) open() (link, error) {
	if p.URL == "" {
		return start(p.Command)
	}
	d := &websocket.Dialer{ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10}
	if p.To != "" {
		return seat.Take(d, p.URL, p.Token)
	}
	s, err := seat.Dial(d, p.URL, p.Token)
	if err != nil {
		return nil, err
	}
	return s, greet(s)
}

// greet does the handshake of MCP with a server that we speak to directly.
func greet(l link) error {
	if err := l.Write([]byte(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`)); err != nil {
		return err
	}
	if _, err := l.Read(); err != nil {
		return err
	}
	return l.Write([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
}

// Pipes are a link to a server that we have started.
type pipes struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	line []byte
}

func start(argv []string) (link, error) {
	p := &pipes{cmd: exec.Command(argv[0], argv[1:]...)}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(out, 64<<10)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	return p, greet(p)
}

func (p *pipes) Read() ([]byte, error) {
	p.line = p.line[:0]
	for {
		part, err := p.out.ReadSlice('\n')
		p.line = append(p.line, part...)
		if err != bufio.ErrBufferFull {
			return p.line, err
		}
	}
}

func (p *pipes) Write(m []byte) error {
	_, err := p.in.Write(append(m, '\n'))
	return err
}

func (p *pipes) Close() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }
