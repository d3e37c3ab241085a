package main

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// askTimes are how long a command waits for who may never answer.
type askTimes struct {
	greet time.Duration // for the handshake, before it goes on without
	first time.Duration // for the first answer to what it asks; 0 for as long as its context lasts
}

// Native participants of some dialects never answer a handshake (FINDINGS D3), and
// most of those who keep silent when everybody is asked always will (D7).
var (
	withOne = askTimes{greet: 2 * time.Second}
	withAll = askTimes{greet: 500 * time.Millisecond, first: time.Second}
)

// greet shakes hands with a peer once, where the dialect asks for that before
// any other request (WIRE 2.6, 5.5). Who does not answer within most is asked all
// the same; an answer that comes yet is taken.
func (q *peer) greet(ctx context.Context, to string, most time.Duration) error {
	q.mu.Lock()
	done := q.greeted[to] || !q.dialect.Handshake()
	q.greeted[to] = true
	q.mu.Unlock()
	if done {
		return nil
	}
	came := make(chan error, 1)
	err := q.start(uuid.NewString(), "initialize", helloParams(), &wait{to: to, done: func(a answer) {
		if a.Fault != nil {
			came <- a.Fault
			return
		}
		// An error answer is taken too: some servers of this dialect know tools/list
		// and tools/call alone.
		came <- q.send(wire.Notice, uuid.NewString(), to, wire.Notification, jsonrpc.AppendNotification(nil, "notifications/initialized", nil))
	}})
	if err != nil {
		return err
	}
	enough := time.NewTimer(most)
	defer enough.Stop()
	select {
	case err := <-came:
		return err
	case <-enough.C:
		return nil
	case <-q.ended:
		return q.why()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// helloParams are the params of our initialize.
func helloParams() []byte {
	return append(jsonrpc.AppendQuote([]byte(`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"mcpx-bridge","version":`), version()), "}}"...)
}
