package main

import (
	"bufio"
	"bytes"
	"net/http"

	"github.com/gorilla/websocket"
)

// A wrapper serves a command's lines over a WebSocket, one process per
// connection; unread, unless it keeps a record.
type wrapper struct {
	argv []string
	log  *record // nil for none
}

func (wr *wrapper) serve(conn *websocket.Conn, _ *http.Request) {
	cmd, in, out, err := start(wr.argv)
	if err != nil {
		return
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewReaderSize(out, 64<<10)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			if wr.log.note("end", line) != nil {
				return
			}
			if conn.WriteMessage(websocket.TextMessage, bytes.TrimSuffix(line, []byte("\n"))) != nil {
				return
			}
		}
	}()
	for {
		_, frame, err := conn.ReadMessage()
		if err != nil {
			break
		}
		if wr.log.note("start", frame) != nil {
			break
		}
		if _, err := in.Write(append(frame, '\n')); err != nil {
			break
		}
	}
	in.Close()
	<-read
	cmd.Wait()
}
