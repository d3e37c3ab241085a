package client

import (
	"errors"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// SeatTaken and the following are what a seat calls; nobody else may.
func (c *Client) SeatTaken(d wire.Dialect, w wire.Welcome) {
	c.mu.Lock()
	first := c.you.ID == ""
	c.dialect, c.you, c.gaps = d, w.You, c.gaps+1
	clear(c.roster)
	for _, p := range w.Peers {
		c.roster[p.ID] = p
	}
	c.mu.Unlock()
	if c.opt.Approvals != nil {
		c.opt.Approvals.takeRoster(w.Peers)
	}
	if first {
		close(c.seated)
	}
	c.seatEvent("joined", w.You.ID)
	if c.opt.Also != nil {
		c.opt.Also.SeatTaken(d, w)
	}
}

// SeatLost implements [topic.Handler].
func (c *Client) SeatLost(err error) {
	if !errors.Is(err, topic.ErrLeft) {
		c.seatEvent("disconnected", err.Error())
	}
	if c.opt.Also != nil {
		c.opt.Also.SeatLost(err)
	}
}

// Refused implements [topic.Handler].
func (c *Client) Refused(r *wire.Refused) {
	c.seatEvent("dropped", strings.TrimSpace(r.From+" "+r.Reason+" "+r.Detail))
}

// TopicIdle implements [topic.Handler].
func (c *Client) TopicIdle() { c.seat.Flush() }

func (c *Client) seatEvent(what, detail string) {
	if c.opt.OnSeat != nil {
		c.opt.OnSeat(what, detail)
	}
}

// Received implements [topic.Handler].
func (c *Client) Received(e *wire.Envelope) {
	if c.opt.Approvals != nil {
		c.opt.Approvals.setAway(e.From, false) // whoever speaks is here
	}
	switch e.Kind {
	case wire.Presence:
		c.presence(e)
	case wire.Response:
		c.response(e)
	case wire.Notification:
		if c.isToUs(e) {
			c.notification(e)
		}
	case wire.Request:
		c.request(e)
	case wire.Failure:
		if c.isToUs(e) {
			c.failure(e)
		}
	}
	for _, w := range c.open() {
		w.receive(e)
	}
	if c.opt.OnFrame != nil {
		c.opt.OnFrame(e)
	}
	if c.opt.Also != nil {
		c.opt.Also.Received(e)
	}
}

func (c *Client) presence(e *wire.Envelope) {
	event, who, err := e.Presence()
	if err != nil {
		return
	}
	c.mu.Lock()
	switch event {
	case "join":
		c.roster[who.ID] = who
	case "leave":
		delete(c.roster, who.ID)
		if c.pending.count(func(w *pendingAnswer) bool { return w.to == who.ID }) > 0 {
			c.gaps++
		}
	case "update":
		if p, here := c.roster[who.ID]; here {
			p.Caps = who.Caps
			c.roster[who.ID] = p
		}
	}
	c.mu.Unlock()
	if c.opt.Approvals != nil && (event == "join" || event == "leave") {
		c.opt.Approvals.setAway(who.ID, event == "leave")
	}
	if c.opt.OnPresence != nil {
		c.opt.OnPresence(who.ID, event)
	}
	if event == "leave" {
		for _, w := range c.open() {
			w.participantLeft(who.ID)
		}
	}
}

// response takes an answer, if it is pending, comes from the participant that was asked, and
// goes to who asked.
func (c *Client) response(e *wire.Envelope) {
	a := Answer{Result: e.Message.Get(jsonrpc.Result), Err: e.Message.Get(jsonrpc.Err)}
	if a.Result == nil && a.Err == nil || e.From == "" {
		return
	}
	toUs := c.isToUs(e)
	for _, env := range e.Corr {
		w := c.pending.find(env, e.From)
		switch {
		case w == nil || !toUs && !w.answersAsker(e.To):
			continue
		case w.proposal != nil:
			w.proposal.answered(w, e.From, a)
		default:
			c.pending.settle(env, e.From, a)
		}
		return
	}
}

// failure ends the wait for what the gateway did not pass on, if it says what that is.
func (c *Client) failure(e *wire.Envelope) {
	f, err := e.Fault()
	if err != nil {
		return
	}
	for _, env := range f.Trigger {
		c.pending.settle(env, "", Answer{Fault: gatewayFault(f)})
	}
}

func (c *Client) notification(e *wire.Envelope) {
	if e.Method == engine.Starting && e.From != "" {
		c.heardStarting(e)
	}
	if c.opt.Approvals != nil {
		c.opt.Approvals.cancelled(e)
		c.opt.Approvals.agreed(e)
	}
	if e.Method != "notifications/progress" || e.From == "" {
		return
	}
	token, _ := jsonrpc.Unquote(e.Message.Get(jsonrpc.Token))
	if w := c.pending.find(token, e.From); w != nil && w.progress != nil {
		w.progress(e.Message.Get(jsonrpc.Params))
	}
}

// request answers a request to us with an error, unless Options take it: a Client serves
// nothing.
func (c *Client) request(e *wire.Envelope) {
	me := c.Me()
	if e.From == me || len(e.To) != 1 || e.To[0] != me {
		return
	}
	if c.opt.OnRequest != nil && c.opt.OnRequest(e) || c.opt.Approvals != nil && c.opt.Approvals.takeRequest(e) {
		return
	}
	id := e.Message.Get(jsonrpc.ID)
	payload := jsonrpc.AppendError(nil, id, refusal.CodeUnknownMethod, "this participant serves nothing", nil)
	if e.Method == "ping" {
		payload = jsonrpc.AppendResult(nil, id, nil)
	}
	c.Reply(e, payload)
}
