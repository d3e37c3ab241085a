// Package notifytest is Slack and Telegram for tests: a server on loopback that is to apps and bots
// what those are, as far as questions are told and answered there.
package notifytest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// Chats are those of one server.
type Chats struct {
	URL     string
	Polls   chan *Poll           // of bots of Telegram; one that nobody takes waits on
	Sockets chan *websocket.Conn // of apps of Slack
}

// A Poll is a bot that waits for updates.
type Poll struct {
	Path   string // of its URL
	Params []byte

	ends chan func(http.ResponseWriter)
	gone <-chan struct{}
}

// New starts a server that runs until the test ends. said is called with all else that apps and bots
// say there, before they are answered, from any goroutine.
func New(t testing.TB, said func(method string, params []byte)) *Chats {
	c := &Chats{Polls: make(chan *Poll), Sockets: make(chan *websocket.Conn, 1)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		params, _ := io.ReadAll(r.Body)
		switch method := path.Base(r.URL.Path); method {
		case "getUpdates":
			c.wait(w, &Poll{r.URL.Path, params, make(chan func(http.ResponseWriter)), r.Context().Done()})
		case "apps.connections.open":
			fmt.Fprintf(w, `{"ok":true,"url":"ws%s/socket"}`, strings.TrimPrefix(c.URL, "http"))
		case "socket":
			conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			c.Sockets <- conn
		default:
			said(method, params)
			io.WriteString(w, `{"ok":true,"ts":"1.5","result":{"message_id":77}}`)
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	c.URL = s.URL
	return c
}

func (c *Chats) wait(w http.ResponseWriter, p *Poll) {
	select {
	case c.Polls <- p:
	case <-p.gone:
		return
	}
	select {
	case end := <-p.ends:
		end(w)
	case <-p.gone:
	}
}

// Answer answers a poll, and reports whether the bot was still there.
func (p *Poll) Answer(status int, body string) bool {
	return p.end(func(w http.ResponseWriter) {
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

// Drop ends the connection without an answer.
func (p *Poll) Drop() { p.end(func(http.ResponseWriter) { panic(http.ErrAbortHandler) }) }

func (p *Poll) end(how func(http.ResponseWriter)) bool {
	select {
	case p.ends <- how:
		return true
	case <-p.gone:
		return false
	}
}
