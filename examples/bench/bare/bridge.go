package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// An envelope is one frame of mcpx/v0.1.
type envelope struct {
	Protocol      string          `json:"protocol"`
	ID            string          `json:"id"`
	TS            string          `json:"ts"`
	From          string          `json:"from"`
	To            []string        `json:"to,omitempty"`
	Kind          string          `json:"kind"`
	CorrelationID string          `json:"correlation_id,omitempty"`
	Payload       json.RawMessage `json:"payload"`
}

// A message is as much of a JSON-RPC message as the bridge needs.
type message struct {
	ID json.RawMessage `json:"id"`
}

// A desk remembers who asked what. Requests keep the id their caller gave
// them, so two callers with the same id get in each other's way.
type desk struct {
	mu      sync.Mutex
	waiting map[string]envelope // by JSON-RPC id
}

func (d *desk) put(id string, e envelope) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting[id] = e
}

func (d *desk) take(id string) (envelope, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e, ok := d.waiting[id]
	delete(d.waiting, id)
	return e, ok
}

func bridge(url string, argv []string) error {
	_, in, out, err := start(argv)
	if err != nil {
		return err
	}
	lines := bufio.NewReaderSize(out, 64<<10)
	if err := handshake(in, lines); err != nil {
		return err
	}
	conn, _, err := websocket.DefaultDialer.Dial(url, nil)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	d := &desk{waiting: map[string]envelope{}}
	failed := make(chan error, 2)
	go func() { failed <- toServer(conn, in, d) }()
	go func() { failed <- toTopic(lines, conn, d) }()
	return <-failed
}

func handshake(in io.Writer, lines *bufio.Reader) error {
	if _, err := io.WriteString(in, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bare","version":"1"}}}`+"\n"); err != nil {
		return err
	}
	if _, err := lines.ReadBytes('\n'); err != nil {
		return err
	}
	_, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return err
}

// toServer writes the payload of every frame to the server.
func toServer(conn *websocket.Conn, in io.Writer, d *desk) error {
	for {
		_, frame, err := conn.ReadMessage()
		if err != nil {
			return err
		}
		var e envelope
		if err := json.Unmarshal(frame, &e); err != nil {
			continue
		}
		var m message
		if err := json.Unmarshal(e.Payload, &m); err != nil || m.ID == nil {
			continue
		}
		d.put(string(m.ID), e)
		if _, err := in.Write(append(e.Payload, '\n')); err != nil {
			return err
		}
	}
}

// toTopic sends every answer to the one who asked.
func toTopic(lines *bufio.Reader, conn *websocket.Conn, d *desk) error {
	for n := 0; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			continue
		}
		asked, ok := d.take(string(m.ID))
		if !ok {
			continue
		}
		frame, err := json.Marshal(envelope{
			Protocol: "mcpx/v0.1", ID: strconv.Itoa(n), TS: time.Now().UTC().Format(time.RFC3339Nano), From: "echo", To: []string{asked.From},
			Kind: "mcp/response:tools/call:echo", CorrelationID: asked.ID, Payload: line,
		})
		if err != nil {
			return err
		}
		if err := conn.WriteMessage(websocket.TextMessage, frame); err != nil {
			return err
		}
	}
}
