package gateway

import (
	"log/slog"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/hub"
)

// take seats a guest in a topic. A log of topics that takes its time is waited for until the
// gateway closes.
func (g *Gateway) take(topic string, who hub.Guest) (*hub.Session, error) {
	s, err := g.hub.Join(g.open, topic, who)
	if err == nil {
		g.journal.say(slog.LevelInfo, sourceOf(s), "joined", "dialect", who.Dialect.Protocol)
	}
	return s, err
}
