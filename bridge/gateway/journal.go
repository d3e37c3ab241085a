package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine/quota"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/hub"
)

// What others can make a gateway log has its bounds: who joins again and again must not
// fill the disk. What is beyond is a detail (debug), and counted, and the count is what is
// logged.

// A source is who causes a line: a participant in a topic, or for who has no seat an address.
type source struct{ topic, id, address string }

// others stand together for those for whom there is no share of their own.
var others = source{id: "others"}

func sourceOf(s *hub.Session) source { return source{topic: s.Topic(), id: s.ID()} }

// addressOf is who a connection is of while nobody knows his name.
func addressOf(conn net.Conn) source {
	if from := network(conn.RemoteAddr()); from.IsValid() {
		return source{address: from.Addr().String()}
	}
	return source{address: "unknown"}
}

func (s source) attrs() []any {
	if s.address != "" {
		return []any{"address", s.address}
	}
	return []any{"topic", s.topic, "id", s.id}
}

func (s source) clone() source {
	return source{strings.Clone(s.topic), strings.Clone(s.id), s.address}
}

func (s source) compare(o source) int {
	return cmp.Or(strings.Compare(s.topic, o.topic), strings.Compare(s.id, o.id), strings.Compare(s.address, o.address))
}

// A journal is the log of a gateway, as far as others cause it.
type journal struct {
	to *slog.Logger

	mu     sync.Mutex
	shares quota.Shares[source]
	sums   *time.Timer // nil: nothing is counted
}

func (j *journal) open(to *slog.Logger) {
	j.to = to
	j.shares = quota.Shares[source]{Limits: quota.Log, Others: others, Keep: source.clone, Compare: source.compare}
}

// say logs a line that others cause.
func (j *journal) say(level slog.Level, by source, text string, args ...any) {
	ctx := context.Background()
	if j.to.Enabled(ctx, level) && !j.listed(level, by) {
		level = slog.LevelDebug
	}
	j.to.Log(ctx, level, text, append(by.attrs(), args...)...)
}

// listed takes one line of a share. If nothing is left of that, it is counted.
func (j *journal) listed(level slog.Level, by source) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.shares.Take(time.Now(), by, int(level)) {
		return true
	}
	if j.sums == nil {
		j.sums = time.AfterFunc(quota.SumEvery, j.sumUp)
	}
	return false
}

// sumUp logs what was counted. When it returns, that is logged, whoever has called it.
func (j *journal) sumUp() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.sums != nil {
		j.sums.Stop()
		j.sums = nil
	}
	for _, s := range j.shares.Draw(time.Now()) {
		j.to.Log(context.Background(), slog.Level(s.Grade), "joined, left or refused, and not listed one by one", append(s.By.attrs(), "count", s.Count)...)
	}
}
