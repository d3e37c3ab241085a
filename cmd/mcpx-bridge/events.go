package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/events"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/node"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// A readyEvent is the first event of run (DESIGN 5).
type readyEvent struct {
	Event     string `json:"event"`
	ID        string `json:"id"`
	Topic     string `json:"topic"`
	Gateway   string `json:"gateway"`
	Hosted    bool   `json:"hosted"`
	Dialect   string `json:"dialect"`
	Tools     int    `json:"tools"`
	PID       int    `json:"pid"`
	ServerPID int    `json:"server_pid,omitempty"`
	Control   string `json:"control"`
	Inbox     string `json:"inbox,omitempty"` // the page, by a link that works once; later ones have its plain address
	Resources string `json:"resources"`       // who can read them, in words
	Prompts   string `json:"prompts"`         // who can get them
}

// sayReady says that calls are served. inbox is the page's address, "" if there is none.
func sayReady(e *events.Events, r node.Ready, inbox string) {
	words := fmt.Sprintf("%s serves %d tools in %s at %s", r.ID, r.Tools, r.Topic, r.Gateway)
	if r.Waits {
		words = fmt.Sprintf("%s is in %s at %s and serves calls as soon as the client has greeted the server", r.ID, r.Topic, r.Gateway)
	}
	if r.Hosted {
		words += ", hosted here"
	}
	e.Begin(jsonLine(readyEvent{"ready", r.ID, r.Topic, r.Gateway, r.Hosted, r.Dialect, r.Tools, os.Getpid(), r.ServerPID, r.Control, inbox, r.Resources, r.Prompts}),
		append([]string{words}, reachWords(r)...)...)
}

// reachWords say what becomes of requests that are no calls.
func reachWords(r node.Ready) []string {
	if r.Resources == r.Prompts {
		return []string{"requests for resources and prompts are " + text.Line(r.Resources)}
	}
	return []string{"requests for resources are " + text.Line(r.Resources), "requests for prompts are " + text.Line(r.Prompts)}
}

// newEvents chooses where events go: to the log, or with --json to a writer, which is stdout
// unless that is a client's.
func (p *program) newEvents(to io.Writer) *events.Events {
	if p.s.JSON {
		return events.JSON(to, p.log)
	}
	return events.Log(p.log, p.lookedOn)
}

// jsonLine is a value on one line, fit for a terminal.
func jsonLine(v any) []byte {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err) // only our own structs of strings and numbers come here
	}
	return append(text.EscapeJSON(line), '\n')
}

func logLinesLost(n int) []byte {
	return fmt.Appendf(nil, "mcpx-bridge: warning: %d log lines were lost: nobody read them\n", n)
}
