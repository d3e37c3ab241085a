package plainlog_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/plainlog"
)

func TestTheLogForPeople(t *testing.T) {
	var b strings.Builder
	log := slog.New(plainlog.New(&b, slog.LevelInfo))
	log.Info("plain", "key", "two words", "esc", "\x1b[0m")
	log.With("a", 1).WithGroup("g").Warn("careful", "b", "", slog.Group("h", "c", 2))
	log.Warn("hint: do it")
	log.Debug("unseen")
	slog.New(plainlog.Quieter(log.Handler())).Info("unseen too")
	slog.New(plainlog.Quieter(log.Handler())).With("x", "y").Warn("seen")
	want := []string{
		`mcpx-bridge: plain key="two words" esc=\u{1b}[0m`,
		`mcpx-bridge: warning: careful a=1 g.b="" g.h.c=2`,
		`mcpx-bridge: hint: do it`,
		`mcpx-bridge: warning: seen x=y`,
	}
	if got := strings.Split(strings.TrimSpace(b.String()), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s", b.String())
	}
}
