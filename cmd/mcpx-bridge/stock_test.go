package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	realgateway "github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
)

// A stock approver is a participant that knows nothing of us: it has a
// WebSocket, and the JSON of seed 003. What it answers is looked up by the
// arguments of the call it is asked about.
type stock struct {
	d       tongue
	answers map[string]string // result, by what is in the question
}

// hear answers the questions that are put to it. Where replies name what they
// answer, it names that too; in the oldest dialect, as in the seed, it does not.
func (s stock) hear(me *guest, frame []byte) {
	var m struct {
		ID      string          `json:"id"`
		From    string          `json:"from"`
		To      []string        `json:"to"`
		Payload json.RawMessage `json:"payload"`
	}
	var q struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Message  string
			Schema   struct{ Required []string } `json:"requestedSchema"`
			Metadata struct {
				Type     string `json:"elicitationType"`
				Original struct{ Arguments json.RawMessage }
			}
		} `json:"params"`
	}
	if json.Unmarshal(frame, &m) != nil || json.Unmarshal(m.Payload, &q) != nil ||
		!slices.Contains(m.To, me.id) || q.Method != "elicitation/create" || q.Params.Metadata.Type != "tool_approval" {
		return
	}
	link := ""
	if s.d.kinds != "plain" {
		link = m.ID
	}
	for what, result := range s.answers {
		if strings.Contains(string(m.Payload), what) {
			me.send(s.d.frame(me.fresh(), me.id, m.From, s.d.kind("response", "elicitation/create", ""), link,
				fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, result)))
		}
	}
}

func TestAStockApproverDecides(t *testing.T) {
	each(t, func(t *testing.T, d tongue) {
		t.Parallel()
		h := newHall(t, d)
		h.guest("alice", stock{d, map[string]string{
			`/approve`:     `{"action":"accept","content":{"approve":true}}`,
			`/decline`:     `{"action":"decline"}`,
			`/cancel`:      `{"action":"cancel"}`,
			`"production"`: `{"action":"accept","content":{"approve":true,"modifiedTarget":"staging","reason":"not on a Friday"}}`,
			`/delegate`:    `{"action":"accept","content":{"action":"delegate","delegateTo":"carol"}}`,
		}}.hear)
		h.guest("carol", stock{d, map[string]string{`/delegate`: `{"action":"accept","content":{"action":"approve"}}`}}.hear)
		answers := make(chan string, 64)
		bob := h.guest("bob", func(me *guest, frame []byte) {
			if strings.Contains(string(frame), `"to":["bob"]`) && (names{}).mismatch(`{"correlation_id":"*"}`, string(frame)) == "" {
				answers <- string(frame)
			}
		})
		s := h.run()
		for i, c := range []struct{ tool, arguments, payload string }{
			{"write_file", `{"path":"/approve"}`, `{"result":{"content":"*"}}`},
			{"write_file", `{"path":"/decline"}`, `{"error":{"code":-31001,"data":{"reason":"declined","by":"alice","executed":"no"}}}`},
			{"write_file", `{"path":"/cancel"}`, `{"error":{"code":-31001,"data":{"reason":"cancelled","executed":"no"}}}`},
			{"deploy", `{"target":"production"}`, `{"result":{"content":[{"type":"text","text":"deployed to staging"}],"_meta":{"mcpx/approval":{"modified":["/target"]}}}}`},
			{"echo", `{"path":"/delegate"}`, `{"result":{"structuredContent":"*"}}`},
		} {
			env := fmt.Sprintf("s%d", i)
			bob.send(d.request(env, "bob", "fs", call("1", c.tool, c.arguments)))
			select {
			case frame := <-answers:
				if why := (names{}).mismatch(d.reply("bob", env, "tools/call", c.tool, c.payload), frame); why != "" {
					t.Errorf("%s %s: %s\n%s", c.tool, c.arguments, why, frame)
				}
			case <-time.After(patience):
				t.Fatalf("%s %s has no answer\n%s", c.tool, c.arguments, s.about())
			}
		}
		if n := s.ran(); n != 3 {
			t.Errorf("the server was given %d calls, not 3", n)
		}
	})
}

// A hall is a real gateway with seats at it.
type hall struct {
	t    *testing.T
	d    tongue
	url  string
	mint func(id string) string
}

func newHall(t *testing.T, d tongue) *hall {
	g, err := realgateway.New(realgateway.Options{Secret: []byte(strings.Repeat("s", 32))})
	if err != nil {
		t.Fatal(err)
	}
	door := httptest.NewServer(g)
	t.Cleanup(func() { g.Close(); door.Close() })
	return &hall{t: t, d: d, url: "ws" + strings.TrimPrefix(door.URL, "http"), mint: func(id string) string {
		token, err := g.Mint(realgateway.Claims{ID: id, Topic: "t1"})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}}
}

func (h *hall) guest(id string, hear func(*guest, []byte)) *guest {
	return sit(h.t, h.url, h.d, id, h.mint(id), hear)
}

// run starts a bridge there that asks alice.
func (h *hall) run() *sidecar {
	l := ruled(h.t, askRules, "--dialect", h.d.protocol)
	l.env = map[string]string{"MCPX_AUTH_TOKEN": h.mint("fs")}
	s := l.start(h.t, h.url)
	s.ready()
	return s
}
