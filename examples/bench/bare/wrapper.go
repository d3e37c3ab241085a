package main

import (
	"bufio"
	"bytes"
	"net/http"
	"os"
	"os/exec"

	"github.com/gorilla/websocket"
)

// A wrapper serves a command's lines over a WebSocket, one process per
// connection; unread, unless it keeps a record.
type wrapper struct {
	argv []string
	log  *record // nil for none
}

func (wr *wrapper) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	conn, err := upgrader.Upgrade(w, req, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	cmd := exec.Command(wr.argv[0], wr.argv[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return
	}
	if err := cmd.Start(); err != nil {
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
