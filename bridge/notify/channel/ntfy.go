package channel

import (
	"context"
	"net/http"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// An ntfy is a topic of an ntfy server. That a question is closed replaces what was said of it at
// first, where the server knows how (2.16 does); a reminder is a message of its own, or no phone would ring.
type ntfy struct {
	web       *http.Client
	at, topic string
	token     string
}

func newNtfy(s secrets) (Channel, error) {
	at, err := s.web()
	if err != nil {
		return nil, err
	}
	token, err := s.read("token")
	if err != nil {
		return nil, err
	}
	n := &ntfy{web: newWeb(), token: token}
	if n.at, n.topic, err = policy.NtfyTopic(at); err != nil {
		return nil, fault.Misuse("", "notify.%s.%s %w", s.Name, s.Kind, err)
	}
	return n, nil
}

// maxNtfy is how many bytes a message has at most: with more it would become an attachment.
const maxNtfy = 3900

type ntfyMessage struct {
	Topic    string   `json:"topic"`
	Title    string   `json:"title"`
	Message  string   `json:"message"`
	Priority int      `json:"priority"`
	Tags     []string `json:"tags"`
	Click    string   `json:"click,omitempty"`
	Sequence string   `json:"sequence_id,omitempty"`
}

func (c *ntfy) Send(ctx context.Context, n *Notice) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	m := ntfyMessage{Topic: c.topic, Title: n.Title(200), Message: n.Body(maxNtfy), Priority: 4, Tags: []string{"question"}, Click: n.Link, Sequence: n.Question.ID}
	switch {
	case n.Event == "reminder":
		m.Sequence = ""
	case n.Event == "closed":
		m.Priority, m.Tags = 2, []string{"heavy_check_mark"}
	}
	if n.Question.Priority == "high" {
		m.Priority = 5
	}
	_, err := post(ctx, c.web, c.at, bearer(c.token), encode(m))
	return "", err
}
