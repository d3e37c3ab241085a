package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
)

// events puts what happens before the owner: as JSON lines on stdout, or in
// words in the log. The first event is ready; what happens before it is held
// until it has come, or until close.
type events struct {
	out *spool // nil without --json
	log *slog.Logger

	mu    sync.Mutex
	ready bool
	held  []bridge.Record
}

// emit is the Emit of a Sidecar: it neither waits nor calls back.
func (e *events) emit(r bridge.Record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case r.Event == "connected" && !e.ready:
		return // ready says so
	case r.Event == "connected":
		r.Event = "reconnected"
	}
	if e.out != nil && !e.ready {
		e.held = append(e.held, r)
		return
	}
	e.say(r)
}

func (e *events) say(r bridge.Record) {
	if e.out != nil {
		e.out.Write(append(r.JSON(), '\n'))
		return
	}
	level, text := inWords(r)
	e.log.LogAttrs(context.Background(), level, text, details(r)...)
}

// begin emits ready and what was held for it.
func (e *events) begin(ready any, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ready {
		return
	}
	e.ready = true
	if e.out == nil {
		e.log.Info(text)
	} else {
		e.out.Write(jsonLine(ready))
	}
	e.release()
}

func (e *events) release() {
	for _, r := range e.held {
		e.say(r)
	}
	e.held = nil
}

// close emits what is still held, for a start that failed has its history too,
// and then that all is over.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.release()
	e.say(bridge.Record{Event: "stopped"})
	if e.out != nil {
		e.out.close()
	}
}

// newEvents chooses where events go.
func (p *program) newEvents() *events {
	e := &events{log: p.log}
	if p.s.JSON {
		e.out = newSpool(p.stdout, eventsLost)
	}
	return e
}

func jsonLine(v any) []byte {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err) // only our own structs of strings and numbers come here
	}
	return append(line, '\n')
}

func eventsLost(n int) []byte {
	return fmt.Appendf(nil, "{\"event\":\"events_lost\",\"count\":%d}\n", n)
}
func logLinesLost(n int) []byte {
	return fmt.Appendf(nil, "mcpx-bridge: warning: %d log lines were lost: nobody read them\n", n)
}

// inWords says a record to people. What package stdio has logged already is a
// detail.
func inWords(r bridge.Record) (slog.Level, string) {
	what := cmp.Or(r.Tool, r.Method)
	switch r.Event {
	case "peer":
		return slog.LevelInfo, r.ID + " " + map[string]string{"here": "is here", "joined": "joined", "left": "left"}[r.State]
	case "call":
		return slog.LevelDebug, r.From + " calls " + what
	case "answered":
		return slog.LevelInfo, "answered " + r.From + ": " + what + " " + r.Outcome
	case "rejected", "refused":
		return slog.LevelInfo, "refused " + r.From + ": " + cmp.Or(what, "a request") + " (" + r.Reason + ")"
	case "decided":
		return slog.LevelDebug, "decided: " + r.Verdict + " " + what + " for " + r.From
	case "withdrawn":
		return slog.LevelInfo, r.From + " withdrew " + what
	case "server_up":
		return slog.LevelDebug, fmt.Sprintf("the server is up, with %d tools", r.Tools)
	case "server_exit":
		return slog.LevelDebug, "the server is gone"
	case "server_noise":
		return slog.LevelDebug, "the server said something that is no message"
	case "server_log":
		return slog.LevelDebug, "the server logs"
	case "disconnected":
		if r.Detail == errSignalled.Error() {
			return slog.LevelDebug, "left the topic"
		}
		return slog.LevelWarn, "the link to the gateway is down"
	case "reconnected":
		return slog.LevelInfo, "back in the topic"
	case "dropped":
		return slog.LevelWarn, "dropped a frame (" + r.Reason + ")"
	case "warning":
		return slog.LevelWarn, strings.ReplaceAll(r.Reason, "_", " ")
	case "stopping":
		return slog.LevelInfo, "stopping"
	case "stopped":
		return slog.LevelDebug, "stopped"
	}
	return slog.LevelInfo, strings.ReplaceAll(r.Event, "_", " ")
}

// details are what the words do not say.
func details(r bridge.Record) []slog.Attr {
	var all []slog.Attr
	add := func(key string, value any, say bool) {
		if say {
			all = append(all, slog.Any(key, value))
		}
	}
	add("call", r.Call, r.Call != 0)
	add("rule", r.Rule, r.Rule != "")
	add("detail", r.Detail, r.Detail != "")
	add("from", r.From, r.From != "" && r.Event == "dropped")
	add("exit", r.Exit, r.Event == "server_exit" && r.Signal == "")
	add("signal", r.Signal, r.Signal != "")
	add("retry_after", time.Duration(r.RetryMS)*time.Millisecond, r.RetryMS > 0)
	add("stderr", strings.Join(r.Stderr, " | "), len(r.Stderr) > 0)
	return all
}
