package client

import (
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func presence(t *testing.T, id, event string) *wire.Envelope {
	t.Helper()
	return frame(t, `{"protocol":"mcpx/v0.1","id":"p-1","ts":"2026-01-01T00:00:00Z","from":"system:gateway","kind":"system/presence","payload":{"event":"%s","participant":{"id":"%s"}}}`, event, id)
}

// Who has left hears no answer, until they are heard of again, by a word of presence, a roster or
// a word of their own. A gateway that gives no roster says nothing of who is away.
func TestAnAnswerToWhoHasLeftWasSaidToBeSent(t *testing.T) {
	alice := wire.Participant{ID: "alice"}
	roster := func(ids ...string) func(*Client) {
		w := wire.Welcome{You: alice}
		for _, id := range ids {
			w.Peers = append(w.Peers, wire.Participant{ID: id})
		}
		return func(c *Client) { c.SeatTaken(wire.Dialect{}, w) }
	}
	moves := func(id, event string) func(*Client) { return func(c *Client) { c.Received(presence(t, id, event)) } }
	says := func(c *Client) { c.Received(elicitation(t, "fs", "2", "e8")) }
	for name, test := range map[string]struct {
		steps []func(*Client)
		away  bool
	}{
		"nobody left":                {nil, false},
		"it left":                    {[]func(*Client){moves("fs", "leave")}, true},
		"another left":               {[]func(*Client){moves("other", "leave")}, false},
		"another came":               {[]func(*Client){moves("fs", "leave"), moves("other", "join")}, true},
		"it left and was invited":    {[]func(*Client){moves("fs", "leave"), moves("fs", "invited")}, true},
		"it came back":               {[]func(*Client){moves("fs", "leave"), moves("fs", "join")}, false},
		"it speaks":                  {[]func(*Client){moves("fs", "leave"), says}, false},
		"the roster lacks it":        {[]func(*Client){roster("bob")}, true},
		"the roster has it":          {[]func(*Client){moves("fs", "leave"), roster("bob", "fs")}, false},
		"there is no roster":         {[]func(*Client){moves("fs", "leave"), roster()}, false},
		"it left, and others speak":  {[]func(*Client){moves("fs", "leave"), func(c *Client) { c.Received(elicitation(t, "other", "2", "e8")) }}, true},
		"a later roster has it also": {[]func(*Client){roster("bob"), roster("bob", "fs")}, false},
	} {
		s := &ApprovalInbox{}
		c := New(&localgateway.Connector{}, Options{Approvals: s}) // which has no seat, so nothing can be sent
		roster()(c)
		c.Received(elicitation(t, "fs", "1", "e7"))
		id := s.all()[0].View.ID
		for _, step := range test.steps {
			step(c)
		}
		_, err := s.Answer(id, func(*Question) []byte { return []byte("{}") })
		if err == nil || strings.Contains(err.Error(), "fs has left the topic") != test.away || s.Question(id) == nil {
			t.Errorf("%s: %v, it is open: %t", name, err, s.Question(id) != nil)
		}
		s.Close()
	}
}

// What one surface was just answering, without a seat, had ended for another, and was put back
// then: serve dropped it for ever by the press of that moment.
func TestAQuestionThatIsBeingAnsweredWasSaidToHaveEnded(t *testing.T) {
	s := &ApprovalInbox{}
	New(&localgateway.Connector{}, Options{Approvals: s}) // which has no seat, so nothing can be sent
	s.pose(t, elicitation(t, "fs", "1", "e7"))
	q := s.all()[0]
	no := func(*Question) []byte { return []byte("{}") }
	asked := false
	_, err := s.Answer(q.View.ID, func(*Question) []byte {
		asked = true
		if _, err := s.Answer(q.View.ID, no); err == nil || isUnknown(err) {
			t.Errorf("by its id: %v", err)
		}
		if _, err := s.Decide(t.Context(), inbox.Decision{ID: q.View.ID, Digest: q.View.Digest}); err == nil || isUnknown(err) {
			t.Errorf("by its digest: %v", err)
		}
		return no(nil)
	})
	if err == nil || isUnknown(err) || !asked || s.Question(q.View.ID) == nil || len(s.sent) > 0 {
		t.Errorf("%v, asked: %t, %d answers are waited for", err, asked, len(s.sent))
	}
}
