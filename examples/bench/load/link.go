package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/gorilla/websocket"
)

// A link carries one message at a time. Read and Write may be used from one
// goroutine each; what Read returns is good until the next Read.
type link interface {
	Read() ([]byte, error)
	Write(message []byte) error
	Close()
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
	conn, err := p.dial(websocket.Dialer{ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10})
	if err != nil {
		return nil, err
	}
	s := &socket{conn: conn}
	if p.To == "" {
		return s, greet(s)
	}
	return s, welcomed(s)
}

func (p place) dial(dialer websocket.Dialer) (*websocket.Conn, error) {
	header := http.Header{}
	if p.Token != "" {
		token, err := os.ReadFile(p.Token)
		if err != nil {
			return nil, err
		}
		header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	conn, _, err := dialer.Dial(p.URL, header)
	return conn, err
}

// welcomed waits until the gateway has given us our seat.
func welcomed(l link) error {
	for {
		frame, err := l.Read()
		if err != nil || bytes.Contains(frame, []byte(`"system/welcome"`)) {
			return err
		}
	}
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

// A socket is a link over a WebSocket.
type socket struct {
	conn *websocket.Conn
	buf  bytes.Buffer
}

func (s *socket) Read() ([]byte, error) {
	_, r, err := s.conn.NextReader()
	if err != nil {
		return nil, err
	}
	s.buf.Reset()
	_, err = s.buf.ReadFrom(r)
	return s.buf.Bytes(), err
}

func (s *socket) Write(m []byte) error { return s.conn.WriteMessage(websocket.TextMessage, m) }
func (s *socket) Close()               { s.conn.Close() }

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

func (p *pipes) Close() {
	p.in.Close()
	p.cmd.Wait()
}
