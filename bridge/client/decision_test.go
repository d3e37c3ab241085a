package client_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/refusal"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// bridge is a participant that says of each call that people decide about it, and then does
// what then says. Its answers to anything else are a Client's own.
func (r *room) bridge(id string, then func(c *client.Client, e *wire.Envelope)) {
	ready := make(chan *client.Client, 1)
	var self *client.Client
	c := r.join(id, client.Options{OnRequest: func(e *wire.Envelope) bool {
		if e.Method != "tools/call" {
			return false
		}
		if self == nil {
			self = <-ready
		}
		progress(self, e, "1", `{"waiting":true,"digest":"9d1a91e4","of":["local","alice"],"left_ms":60000}`)
		then(self, e)
		return true
	}})
	ready <- c
}

// progress tells a caller of its call, under the token that is the id of its envelope.
func progress(c *client.Client, e *wire.Envelope, n, about string) {
	params := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"` + e.ID + `","progress":` + n + `,"message":"m","_meta":{"mcpx/approval":` + about + `}}}`
	c.Post(wire.Progress, &wire.Envelope{ID: e.ID + n, TS: wire.Stamp(time.Now()), To: []string{e.From}, Kind: wire.Notification, Method: "notifications/progress", Payload: []byte(params)})
}

// The minute of a call was over while people had four more to decide, and the server, which
// was never asked, got the blame.
func TestTheTimeOfACallBeginsWhenItIsDecided(t *testing.T) {
	r := newRoom(t)
	const limit = time.Second // which a busy machine needs to say that people decide
	r.bridge("fs", func(c *client.Client, e *wire.Envelope) {
		time.Sleep(limit + limit/5) // people take longer than the call may, and no event tells that a limit has not ended it
		progress(c, e, "2", `{"decision_id":"x","by":["alice"]}`)
		c.Reply(e, jsonrpc.AppendResult(nil, e.Message.Get(jsonrpc.ID), []byte(`{"content":[]}`)))
	})
	var told []string
	waits := func(w refusal.Waiting) { told = append(told, strings.Join(w.Of, " ")+" "+w.Digest) }
	a, err := r.join("bob", client.Options{}).CallWithin(t.Context(), "fs", "x", []byte("{}"), "", client.Limit{Time: limit, Waits: waits})
	if err != nil || string(a.Result) != `{"content":[]}` {
		t.Fatalf("%s, %v", a.Result, err)
	}
	if got := strings.Join(told, "; "); got != "local alice 9d1a91e4;  " {
		t.Errorf("told of %q", got)
	}
}

// Until when it is waited was told by the question alone, where the call was given up before.
func TestACallIsWaitedForUntilTheEarlierOfTheTwo(t *testing.T) {
	for _, limit := range []time.Duration{30 * time.Second, time.Hour} {
		r := newRoom(t)
		r.bridge("fs", func(c *client.Client, e *wire.Envelope) {
			c.Reply(e, jsonrpc.AppendResult(nil, e.Message.Get(jsonrpc.ID), []byte(`{"content":[]}`)))
		})
		began := time.Now()
		var until time.Time
		waits := func(w refusal.Waiting) {
			if w.Digest != "" {
				until = w.Until
			}
		}
		if _, err := r.join("bob", client.Options{}).CallWithin(t.Context(), "fs", "x", []byte("{}"), "", client.Limit{Time: limit, From: began, Waits: waits}); err != nil {
			t.Fatal(err)
		}
		if earlier := until.Equal(began.Add(limit)); earlier != (limit < time.Minute) || until.Before(began) {
			t.Errorf("with %s it is waited until %s", limit, until.Sub(began))
		}
	}
}

// Who gives up while people decide learns whether that was in time.
func TestWhoGivesUpWhilePeopleDecideLearnsWhetherItRan(t *testing.T) {
	for name, c := range map[string]struct {
		then func(c *client.Client, e *wire.Envelope)
		want string // what the error says; "": it was decided
	}{
		"nobody decided": {func(*client.Client, *wire.Envelope) {}, "nobody decided about x; the question is withdrawn, nothing ran"},
		"decided in the same moment": {func(c *client.Client, e *wire.Envelope) {
			progress(c, e, "2", `{"decision_id":"x","by":["alice"]}`)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r.bridge("fs", c.then)
			_, err := r.join("bob", client.Options{}).CallWithin(ctx, "fs", "x", []byte("{}"), "", client.Limit{Time: time.Minute, Waits: func(w refusal.Waiting) {
				if w.Digest != "" {
					cancel()
				}
			}})
			undecided, is := errors.AsType[*client.UndecidedError](err)
			if !errors.Is(err, context.Canceled) || is != (c.want != "") || is && undecided.Error() != c.want {
				t.Error(err)
			}
		})
	}
}

// Whose token does not let it take anything back has taken nothing back: the question stays open,
// and a yes runs the call.
func TestWhatCannotBeTakenBackIsNotSaidToBe(t *testing.T) {
	r := newRoom(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.bridge("fs", func(*client.Client, *wire.Envelope) {})
	bob := client.New(&localgateway.Connector{Local: r.local, Hosts: true, OverNetwork: true, Join: topic.Options{Topic: "lobby", ID: "bob"},
		Caps: []byte(`["mcp/request:tools/call:*","mcp/request:ping"]`)}, client.Options{})
	if err := bob.Dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer bob.Close()
	_, err := bob.CallWithin(ctx, "fs", "x", []byte("{}"), "", client.Limit{Time: time.Minute, Waits: func(refusal.Waiting) { cancel() }})
	if want := "nobody decided about x; the question could not be withdrawn, so it may yet run: the gateway does not let bob send notifications/cancelled"; err == nil || err.Error() != want {
		t.Error(err)
	}
	if undecided, is := errors.AsType[*client.UndecidedError](err); !is || undecided.Sure || undecided.CancelErr == nil {
		t.Errorf("%+v", undecided)
	}
}

// Whoever was away meanwhile may have said unheard that it was decided: a call that ran "did not
// run", by the word of who takes it back.
func TestWhatWasSaidWhileSomebodyWasAwayIsNotKnown(t *testing.T) {
	r := newRoom(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.bridge("fs", func(c *client.Client, e *wire.Envelope) { go c.Close() })
	back := sync.OnceFunc(func() {
		go func() {
			r.join("fs", client.Options{})
			cancel()
		}()
	})
	bob := r.join("bob", client.Options{OnPresence: func(id, event string) {
		if id == "fs" && event == "leave" {
			back()
		}
	}})
	_, err := bob.CallWithin(ctx, "fs", "x", []byte("{}"), "", client.Limit{Time: time.Minute})
	if undecided, is := errors.AsType[*client.UndecidedError](err); !is || undecided.Sure {
		t.Error(err)
	}
}

// A participant that says no more than its name is not believed to have taken anything back.
func TestWhoDoesNotSayThatItHeardMayHaveBegun(t *testing.T) {
	late := &client.UndecidedError{Tool: "x", Within: time.Minute, Cause: client.ErrNoAnswer}
	if got := late.Error(); got != "nobody decided about x within 1m, as far as we heard; the question is withdrawn, and nobody confirmed that nothing ran" {
		t.Error(got)
	}
}
