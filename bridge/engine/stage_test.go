package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// A stage is an Engine with its surroundings: frames go in as text and come
// out as text, and time passes when the test says so.
type stage struct {
	t       *testing.T
	engine  *Engine
	dialect wire.Dialect
	now     time.Time

	frames   []string
	lines    []string
	notes    []record.Record
	restarts []string
	serving  int
	idle     int
	toldHost []string
	sends    []Send
	writes   []Write
	shown    []approval.Show
	hidden   []approval.Close
	synced   bool // a Sync is answered at once
	tickets  []uint64
	leads    func(path string) bool // which links lead out of their folders; nil: looks stay in looks
	looks    []Look

	questions []ask // that questionTo has seen
}

const tools = `{"tools":[
 {"name":"read_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}},
 {"name":"write_file","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"mode":{"type":"integer","maximum":511}},"required":["path"],"additionalProperties":false}},
 {"name":"delete_file","inputSchema":{"type":"object"}}]}`

// newStage has a seat as fs in the given dialect, a server that is up, and
// read_* and write_* allowed.
func newStage(t *testing.T, protocol string) *stage {
	s := emptyStage(t, protocol)
	s.seat()
	s.startServer()
	s.frames, s.lines, s.notes = nil, nil, nil
	return s
}

func emptyStage(t *testing.T, protocol string) *stage {
	t.Helper()
	return stageWith(t, lookup(t, protocol), Config{Policy: rules(t, allowsSome)})
}

func lookup(t *testing.T, protocol string) wire.Dialect {
	t.Helper()
	d, ok := wire.Lookup(protocol)
	if !ok {
		t.Fatalf("no dialect %s", protocol)
	}
	return d
}

const allowsSome = "version: 1\ndefault: deny\nrules:\n - {name: some, allow: ['read_*', 'write_*']}\n"

func rules(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Load("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// allowMethods allows whatever is no tool call, too.
func (s *stage) allowMethods() {
	s.t.Helper()
	s.do(Reloaded{rules(s.t, allowsSome+" - {name: methods, allow: ['*'], methods: ['*']}\n")})
	s.notes = nil
}

func stageWith(t *testing.T, d wire.Dialect, c Config) *stage {
	n := 0
	c.NewID = func() string { n++; return fmt.Sprintf("out-%d", n) }
	c.Random = func() (r [16]byte) { n++; copy(r[:], fmt.Sprintf("%016d", n)); return r }
	c.Timeout, c.MaxCalls, c.Topic, c.Server, c.Dir, c.Command = time.Minute, 4, "t1", "a server", "/srv", "c1"
	return &stage{t: t, dialect: d, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), engine: New(c), synced: true, leads: func(string) bool { return false }}
}

func (s *stage) seat() { s.seatWith("bob", "carol", "mallory") }

func (s *stage) seatWith(present ...string) {
	caps, err := wire.ParseCaps([]byte(`["mcp/*","chat"]`))
	if s.dialect.Protocol == "mcp-x/v0" {
		caps = wire.Caps{}
	} else if s.dialect.Protocol != "mcpx/v0.1" {
		caps, err = wire.ParseCaps([]byte(`[{"kind":"*"}]`))
	}
	if err != nil {
		s.t.Fatal(err)
	}
	w := wire.Welcome{You: wire.Participant{ID: "fs", Caps: caps}}
	for _, id := range present {
		w.Peers = append(w.Peers, wire.Participant{ID: id})
	}
	s.do(Seated{s.dialect, w})
}

func (s *stage) startServer() {
	s.do(ServerUp{Hello{PID: 7, Revision: "2025-06-18",
		Result: []byte(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"},"extra":[1]}`)}})
	s.answerListing(tools)
}

// answerListing answers the last tools/list that the Engine wrote.
func (s *stage) answerListing(result string) {
	s.t.Helper()
	for i := len(s.lines) - 1; i >= 0; i-- {
		if m := s.parse(s.lines[i]); m.Text(jsonrpc.Method) == "tools/list" {
			s.said(`{"jsonrpc":"2.0","id":` + string(m.Get(jsonrpc.ID)) + `,"result":` + strings.ReplaceAll(result, "\n", "") + `}`)
			return
		}
	}
	s.t.Fatal("the engine asked for no tools/list")
}

func (s *stage) do(ev Event) {
	for _, f := range s.engine.Step(s.now, ev) {
		switch f := f.(type) {
		case Send:
			s.frames = append(s.frames, string(f.Frame))
			s.sends = append(s.sends, f)
		case Write:
			s.lines = append(s.lines, string(f.Line))
			s.writes = append(s.writes, f)
		case Note:
			s.notes = append(s.notes, *f.Record)
		case TellHost:
			s.toldHost = append(s.toldHost, string(f.Line))
		case Restart:
			s.restarts = append(s.restarts, f.Why)
		case Serving:
			s.serving++
		case Idle:
			s.idle++
		case Told:
			switch a := f.Act.(type) {
			case approval.Show:
				if a.To.Door == approval.Local {
					s.shown = append(s.shown, a)
				}
			case approval.Close:
				s.hidden = append(s.hidden, a)
			}
		case Sync:
			s.tickets = append(s.tickets, f.Ticket)
		case Look:
			s.looks = append(s.looks, f)
		}
	}
	for s.leads != nil && len(s.looks) > 0 {
		l := s.looks[0]
		s.looks = s.looks[1:]
		s.do(Looked{l.Ticket, slices.DeleteFunc(slices.Clone(l.Places), func(p plan.Place) bool { return s.leads(p.Path) })})
	}
	for s.synced && len(s.tickets) > 0 {
		ticket := s.tickets[0]
		s.tickets = s.tickets[1:]
		s.do(Synced{Ticket: ticket})
	}
}

// pass lets time go by, ringing each alarm at its own moment.
func (s *stage) pass(d time.Duration) {
	end := s.now.Add(d)
	for next := s.engine.Next(); !next.IsZero() && !next.After(end); next = s.engine.Next() {
		s.now = next
		s.do(Tick{})
	}
	s.now = end
	s.do(Tick{})
}

func (s *stage) arrive(frame string) {
	s.t.Helper()
	env, err := s.dialect.Decode([]byte(frame))
	if err != nil {
		r, ok := errors.AsType[*wire.Refused](err)
		if !ok {
			s.t.Fatal(err)
		}
		s.do(Garbled{r})
		return
	}
	s.do(Arrived{&env})
}

// call sends a tools/call in mcpx/v0.1.
func (s *stage) call(from, env, id, tool, arguments string) {
	s.t.Helper()
	s.arrive(`{"protocol":"mcpx/v0.1","id":"` + env + `","ts":"2026-01-01T00:00:00Z","from":"` + from +
		`","to":["fs"],"kind":"mcp/request:tools/call","payload":{"jsonrpc":"2.0","id":` + id +
		`,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}}`)
}

func (s *stage) cancel(from, env, id string) {
	s.t.Helper()
	s.arrive(`{"protocol":"mcpx/v0.1","id":"` + env + `","ts":"2026-01-01T00:00:00Z","from":"` + from +
		`","to":["fs"],"kind":"mcp/request:notifications/cancelled","payload":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}}`)
}

func (s *stage) said(line string) {
	s.t.Helper()
	s.do(ServerSaid{*s.parse(line)})
}

func (s *stage) parse(line string) *jsonrpc.Message {
	s.t.Helper()
	m, err := jsonrpc.Parse([]byte(line), jsonrpc.Passed)
	if err != nil {
		s.t.Fatalf("%s: %v", line, err)
	}
	return &m
}

// lastID is the id of the last request written to the server.
func (s *stage) lastID() string {
	s.t.Helper()
	for i := len(s.lines) - 1; i >= 0; i-- {
		if m := s.parse(s.lines[i]); m.Class() == jsonrpc.Request {
			return string(m.Get(jsonrpc.ID))
		}
	}
	s.t.Fatal("nothing was asked of the server")
	return ""
}

// asked counts the tools/call lines the server got.
func (s *stage) asked() (n int) {
	for _, line := range s.lines {
		if s.parse(line).Text(jsonrpc.Method) == "tools/call" {
			n++
		}
	}
	return n
}

// only is the one frame sent since the last look, and forgets it.
func (s *stage) only() string {
	s.t.Helper()
	if len(s.frames) != 1 {
		s.t.Fatalf("%d frames were sent, not one: %q", len(s.frames), s.frames)
	}
	f := s.frames[0]
	s.frames = nil
	return f
}

func (s *stage) nothing(what string) {
	s.t.Helper()
	if len(s.frames) > 0 {
		s.t.Fatalf("%s: frames were sent: %q", what, s.frames)
	}
}

func (s *stage) has(text string, parts ...string) {
	s.t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			s.t.Errorf("%s\n  lacks %s", text, p)
		}
	}
}

// decided is the record of the last decision.
func (s *stage) decided() *record.Record {
	s.t.Helper()
	for i := len(s.notes) - 1; i >= 0; i-- {
		if r := &s.notes[i]; r.Event == record.Decided {
			return r
		}
	}
	s.t.Fatal("nothing was decided")
	return nil
}

func (s *stage) noted(event record.Event, reason string) bool {
	for _, r := range s.notes {
		if r.Event == event && r.Reason == reason {
			return true
		}
	}
	return false
}
