package main

import (
	"net/http"
	"sync"

	"github.com/gorilla/websocket"
)

// A relay passes every frame of a topic to everybody else in it, unread.
type relay struct {
	mu     sync.RWMutex
	topics map[string]map[string]*peer // topic, id
}

// A peer is one connection; its writes take turns.
type peer struct {
	mu   sync.Mutex
	conn *websocket.Conn
}

func (p *peer) write(frame []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conn.WriteMessage(websocket.TextMessage, frame)
}

func (r *relay) serve(conn *websocket.Conn, req *http.Request) {
	topic, id := req.URL.Query().Get("topic"), req.URL.Query().Get("id")
	p := &peer{conn: conn}
	r.join(topic, id, p)
	defer r.leave(topic, id)
	if p.write([]byte(`{"protocol":"mcpx/v0.1","id":"w","from":"system:gateway","to":["`+id+`"],"kind":"system/welcome","payload":{"you":{"id":"`+id+`"},"participants":[]}}`)) != nil {
		return
	}
	for {
		_, frame, err := conn.ReadMessage()
		if err != nil {
			return
		}
		for _, other := range r.others(topic, id) {
			other.write(frame)
		}
	}
}

func (r *relay) join(topic, id string, p *peer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.topics[topic] == nil {
		r.topics[topic] = map[string]*peer{}
	}
	r.topics[topic][id] = p
}

func (r *relay) leave(topic, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.topics[topic], id)
}

func (r *relay) others(topic, id string) []*peer {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var others []*peer
	for name, p := range r.topics[topic] {
		if name != id {
			others = append(others, p)
		}
	}
	return others
}
