package plainlog_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// What a call waits for is one line that fits, counts down, stays below the log and goes.
func TestACountdownIsOneLineBelowTheLog(t *testing.T) {
	for width, want := range map[int]string{80: "5:00 left [9d1a91e4], waiting for approval by alice", 40: "5:00 left [9d1a91e4], waiting for appr…", 0: "5:00 left [9d1a91e4], waiting for approval by alice"} {
		synctest.Test(t, func(t *testing.T) {
			var b strings.Builder
			c := plainlog.NewCountdown(&b, func() int { return width })
			c.Show("9d1a91e4", "waiting for approval by alice", time.Now().Add(5*time.Minute))
			slog.New(plainlog.New(c, slog.LevelInfo)).Info("fs is back")
			time.Sleep(1500 * time.Millisecond)
			synctest.Wait()
			c.Hide()
			time.Sleep(time.Minute)
			slog.New(plainlog.New(c, slog.LevelInfo)).Info("done")
			const clear = "\r\x1b[J"
			later := strings.Replace(want, "5:00", "4:59", 1)
			if got := b.String(); got != clear+want+clear+"mcpx-bridge: fs is back\n"+clear+want+clear+later+clear+"mcpx-bridge: done\n" {
				t.Errorf("%d columns: %q", width, got)
			}
		})
	}
}

// Characters that are two columns wide are counted so: a line that is broken stays behind.
func TestACountdownFitsWhoeverIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		c := plainlog.NewCountdown(&b, func() int { return 53 })
		c.Show("9d1a91e4", "waiting for approval by 日本語日本語", time.Now().Add(75*time.Minute))
		c.Hide()
		if got := b.String(); !strings.Contains(got, "1:15:00 left [9d1a91e4], waiting for approval by 日…\r") {
			t.Errorf("%q", got)
		}
	})
}
