package client

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// Call is Ask for a tool. arguments is a JSON object, and goes as it is; progress may be nil
// and hears the raw params of each word of progress.
func (c *Client) Call(ctx context.Context, to, tool string, arguments []byte, progress func(params []byte)) (Answer, error) {
	return c.Ask(ctx, to, "tools/call", callParams(tool, arguments, ""), progress)
}

// callParams are the params of a tools/call, and why it is made; "" does not say that.
func callParams(tool string, arguments []byte, why string) []byte {
	params := slices.Concat([]byte(`{"name":`), jsonrpc.AppendQuote(nil, tool), []byte(`,"arguments":`), arguments)
	if why != "" {
		params = append(jsonrpc.AppendQuote(append(params, `,"_meta":{"`+approval.JustificationKey+`":`...), why), '}')
	}
	return append(params, '}')
}

// Ask sends one request and waits for its answer until ctx ends; then it tells the other
// side. That is the only limit: a participant may never answer. params are raw JSON, nil for
// none. The error is what kept the answer from coming: that it could not be sent (see
// [Client.Post]), the cause of ctx, the gateway's word, or why the seat was given up.
func (c *Client) Ask(ctx context.Context, to, method string, params []byte, progress func([]byte)) (Answer, error) {
	env, came := newID(), make(chan Answer, 1)
	defer c.pending.forget(env)
	if err := c.Begin(Request{ID: env, To: to, Method: method, Params: params, Progress: progress, Done: func(a Answer) { came <- a }}); err != nil {
		return Answer{}, err
	}
	a, over, err := c.answer(ctx, came)
	if over {
		c.Cancel(to, env, err.Error())
	}
	return a, err
}

// answer waits for what becomes of a request that was begun, until ctx ends: then over is true,
// and err its cause.
func (c *Client) answer(ctx context.Context, came <-chan Answer) (a Answer, over bool, err error) {
	select {
	case a := <-came:
		return a, false, a.Fault
	case <-c.ended:
		err = c.Err()
	case <-ctx.Done():
		over, err = true, context.Cause(ctx)
	}
	select {
	case a := <-came: // in the same moment
		return a, false, a.Fault
	default:
		return Answer{}, over, err
	}
}

// A Request is one that nobody waits for in a call.
type Request struct {
	ID       string // of its envelope, a fresh UUID; the id and the progress token of the request as well
	To       string
	Method   string
	Params   []byte              // raw JSON, which nobody changes any more; nil for none
	Progress func(params []byte) // nil: none is asked for
	Done     func(Answer)        // called at most once; not after Cancel, nor when the seat is given up
}

// Begin sends one request, and does not wait. If it cannot be sent (see [Client.Post]) it is
// forgotten, and Done is not called.
func (c *Client) Begin(r Request) error {
	c.pending.add(&pendingAnswer{env: r.ID, to: r.To, done: r.Done, progress: r.Progress})
	id := jsonrpc.AppendQuote(nil, r.ID)
	params := r.Params
	if r.Progress != nil {
		params = withProgress(params, id)
	}
	err := c.send(wire.Own, r.ID, r.To, wire.Request, jsonrpc.AppendRequest(nil, id, r.Method, params))
	if err != nil {
		c.pending.forget(r.ID)
	}
	return err
}

// withProgress asks for progress under a token, which is the request's id.
func withProgress(params, token []byte) []byte {
	m, err := jsonrpc.Parse(slices.Concat([]byte(`{"jsonrpc":"2.0","method":"x","params":`), params, []byte(`}`)), jsonrpc.Judged)
	if err != nil {
		return params // the other side will say what is wrong with them
	}
	whole := m.Append(nil, jsonrpc.InsertMeta(append([]byte(`"progressToken":`), token...)))
	if m, err = jsonrpc.Parse(whole, jsonrpc.Judged); err != nil {
		return params
	}
	return m.Get(jsonrpc.Params)
}

// Cancel takes a request back, by the id of its envelope, and tells whom it went to why. Its
// answer counts no more, whether or not that could be sent.
func (c *Client) Cancel(to, id, why string) {
	c.pending.forget(id)
	c.sendCancel(to, id, why)
}

func (c *Client) sendCancel(to, id, why string) error {
	return c.send(wire.Cancellation, newID(), to, wire.Notification, jsonrpc.AppendCancel(nil, jsonrpc.AppendQuote(nil, id), why))
}

// Notify sends a notification without params. Its errors are those of [Client.Post].
func (c *Client) Notify(to, method string) error {
	return c.send(wire.Notice, newID(), to, wire.Notification, jsonrpc.AppendNotification(nil, method, nil))
}

// Reply answers a request with payload, a JSON-RPC response under the request's raw id. Its
// errors are those of [Client.Post].
func (c *Client) Reply(e *wire.Envelope, payload []byte) error {
	return c.Post(wire.Reply, &wire.Envelope{ID: newID(), TS: wire.Stamp(time.Now()), To: []string{e.From}, Corr: []string{e.ID},
		Kind: wire.Response, Method: e.Method, Key: e.Key, Payload: payload})
}

// send spells one message in the topic's dialect and puts it on its way.
func (c *Client) send(class wire.Class, env, to string, kind wire.Kind, payload []byte) error {
	m, err := jsonrpc.Parse(payload, jsonrpc.Called)
	if err != nil {
		return fault.New(fault.Misused, "", "the request cannot be sent: %w", err)
	}
	e := wire.Envelope{ID: env, TS: wire.Stamp(time.Now()), To: []string{to}, Kind: kind, Method: m.Text(jsonrpc.Method), Payload: payload, Message: m}
	switch e.Method {
	case "tools/call", "prompts/get":
		e.Key = m.Text(jsonrpc.Name)
	case "resources/read", "resources/subscribe", "resources/unsubscribe":
		e.Key = m.Text(jsonrpc.URI)
	}
	return c.Post(class, &e)
}

// Post sends one envelope as ours, once there was a welcome; that it was sent does not say
// that it arrived. The error wraps [wire.ErrInexpressible] where the topic's dialect has no
// word for it; a [*fault.Error] says that the gateway does not let us send it, that it is too
// large, or that there is no seat just now. What is not sent then is not sent later.
func (c *Client) Post(class wire.Class, e *wire.Envelope) error {
	c.mu.Lock()
	d, caps := c.dialect, c.you.Caps
	e.From = c.you.ID
	c.mu.Unlock()
	frame, err := d.Append(nil, e, caps)
	if errors.Is(err, wire.ErrNotPermitted) {
		return fault.New(fault.Refused, "ask for a token with more capabilities", "the gateway does not let %s send %s", e.From, wordFor(e))
	}
	if err != nil {
		return err
	}
	err = c.seat.Send(class, frame)
	if errors.Is(err, topic.ErrTooLarge) {
		return fault.New(fault.Failed, "", "%w", err)
	}
	if err != nil {
		return fault.New(fault.NoAnswer, "try again", "the request could not be sent: %w", err)
	}
	c.seat.Flush()
	return nil
}

// wordFor is what people call a frame.
func wordFor(e *wire.Envelope) string {
	switch e.Kind {
	case wire.Proposal:
		return "proposals"
	case wire.Withdraw:
		return "withdrawals"
	}
	return cmp.Or(e.Method, "an answer")
}

// gatewayFault words what a gateway says of a frame of ours.
func gatewayFault(f wire.Fault) error {
	what := strings.TrimSpace(f.Code + " " + f.Message)
	if f.AttemptedKind == "" {
		return fault.New(fault.NoAnswer, "", "the gateway did not pass it on: %s", what)
	}
	return fault.New(fault.Refused, "ask for a token with more capabilities", "the gateway does not allow %s: %s", f.AttemptedKind, what)
}
