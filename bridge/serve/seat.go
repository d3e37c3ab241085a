package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Carry is for the desktop.Server alone: it carries out what is to be done in the topic.
func (s *Server) Carry(a desktop.Act) desktop.Event {
	switch a := a.(type) {
	case desktop.Ask:
		return s.ask(a)
	case desktop.Cancel:
		s.cancel(a)
	case desktop.Tell:
		s.Client.Notify(a.To, a.Method)
	case desktop.Decide:
		return s.decide(a)
	}
	return nil
}

func (s *Server) ask(a desktop.Ask) desktop.Event {
	env := uuid.NewString()
	began := time.Now()
	r := client.Request{ID: env, To: a.To, Method: a.Method, Params: a.Params, Done: func(got client.Answer) {
		s.take(a.Ref)
		s.logAnswer(a, got, time.Since(began))
		ev := desktop.Answered{Ref: a.Ref, Result: got.Result, Err: got.Err}
		if got.Fault != nil {
			ev.Failed = got.Fault.Error()
		}
		s.proxy.Step(ev)
	}}
	if a.Progress {
		r.Progress = func(params []byte) { s.proxy.Step(desktop.Progressed{Ref: a.Ref, Params: params}) }
	}
	s.mu.Lock()
	s.envs[a.Ref] = sent{env, a.To}
	s.mu.Unlock()
	if err := s.Client.Begin(r); err != nil {
		s.take(a.Ref)
		return desktop.Answered{Ref: a.Ref, Failed: "it could not be sent: " + err.Error(), Unsent: true}
	}
	return nil
}

// logAnswer says of a call what became of it, never what was in it (seed 004).
// Lists and handshakes are our own.
func (s *Server) logAnswer(a desktop.Ask, got client.Answer, took time.Duration) {
	level, outcome := slog.LevelInfo, "ok"
	switch {
	case got.Fault != nil:
		outcome = "unknown"
	case got.Err != nil:
		outcome = "error"
	}
	if strings.HasSuffix(a.Method, "/list") || a.Method == "initialize" {
		level = slog.LevelDebug
	}
	var named struct{ Name, URI string }
	_ = json.Unmarshal(a.Params, &named)
	s.o.Log.Log(context.Background(), level, "asked "+a.To, "method", a.Method, "name", cmp.Or(named.Name, named.URI), "outcome", outcome, "took", took.Round(time.Millisecond))
}

func (s *Server) take(ref uint64) sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.envs[ref]
	delete(s.envs, ref)
	return was
}

func (s *Server) cancel(a desktop.Cancel) {
	if was := s.take(a.Ref); was.env != "" {
		s.Client.Cancel(was.to, was.env, a.Why)
	}
}

// decide answers a question. If that cannot be sent, it is one still.
func (s *Server) decide(a desktop.Decide) desktop.Event {
	digest, others := "", false
	_, err := s.asked.Answer(a.ID, func(q *client.Question) []byte {
		digest, others = q.View.Short, q.View.NeedsOthers(&a.Reply)
		return a.Reply.Result(q.View.Choice)
	})
	if _, gone := errors.AsType[*inbox.Refusal](err); gone {
		return desktop.Decided{ID: a.ID, Gone: true}
	}
	if err != nil {
		s.o.Log.Warn("an answer could not be sent; the question stays", "digest", digest, "error", err)
		return desktop.Decided{ID: a.ID, Unsent: err.Error()}
	}
	return desktop.Decided{ID: a.ID, Others: others}
}

// open puts a question before the person at the client.
func (s *Server) open(a *client.Question) {
	q := s.question(a)
	s.proxy.Step(desktop.Asked{Question: q})
	s.o.Asked(a.From, &record.Record{Event: record.Asked, From: q.From, Tool: q.Tool, Of: []string{s.asked.Me()}, Digest: q.Digest})
}

func (s *Server) settled(id string) { s.proxy.Step(desktop.Settled{ID: id}) }

func (s *Server) question(a *client.Question) desktop.Question {
	return desktop.QuestionOf(&a.Elicited, s.way.Join.Topic, s.asked.Delegates(a))
}

// SeatTaken and the other methods of a [topic.Handler] are for the seat alone, which calls
// them after the client has heard of it.
func (s *Server) SeatTaken(d wire.Dialect, w wire.Welcome) {
	seated := desktop.Seated{Me: w.You.ID, Topic: s.way.Join.Topic, Greet: d.Handshake()}
	for _, p := range w.Peers {
		seated.Peers = append(seated.Peers, peerOf(p))
	}
	s.o.Emit(&record.Record{Event: record.Connected, ID: w.You.ID, Dialect: d.Protocol, Count: len(w.Peers)}) // before Step says ready, or it was another time
	s.proxy.Step(seated)
}

// SeatLost implements [topic.Handler].
func (s *Server) SeatLost(err error) {
	if !errors.Is(err, topic.ErrLeft) {
		s.proxy.Step(desktop.Unseated{Why: err.Error()})
	}
	s.o.Emit(&record.Record{Event: record.Disconnected, Detail: err.Error()})
}

// Received implements [topic.Handler].
func (s *Server) Received(e *wire.Envelope) {
	switch e.Kind {
	case wire.Presence:
		s.presence(e)
	case wire.Notification:
		if e.From == s.asked.Me() {
			return // gateways of mew return what we said
		}
		if len(e.To) == 0 || slices.Contains(e.To, s.asked.Me()) {
			s.proxy.Step(desktop.Noticed{From: e.From, Method: e.Method})
		}
	}
}

func (s *Server) presence(e *wire.Envelope) {
	state, who := moved(e)
	switch state {
	case "joined":
		s.proxy.Step(desktop.Came{Peer: peerOf(who)})
	case "left":
		s.proxy.Step(desktop.Left{ID: who.ID})
	default:
		return
	}
	s.o.Emit(&record.Record{Event: record.Peer, ID: who.ID, State: state})
}

// moved reads who joined or left; "" for any other word, as that somebody was
// invited, which is no joining (FINDINGS D11).
func moved(e *wire.Envelope) (state string, who wire.Participant) {
	event, who, err := e.Presence()
	if err != nil {
		return "", who
	}
	return map[string]string{"join": "joined", "leave": "left"}[event], who
}

// Refused implements [topic.Handler]. The client has logged it.
func (s *Server) Refused(*wire.Refused) {}

// TopicIdle implements [topic.Handler]. There is nothing that waits for it.
func (s *Server) TopicIdle() {}

// peerOf is a participant as the client's side sees it. Who may not answer is
// not asked (WIRE 9.3).
func peerOf(p wire.Participant) desktop.Peer {
	return desktop.Peer{ID: p.ID, Mute: !p.Caps.Permits(&wire.Envelope{Kind: wire.Response, Method: "tools/list"})}
}
