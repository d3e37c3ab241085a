package topic

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// A header is as short as can be for each length, as RFC 6455 5.2 has it and some readers insist
// (FINDINGS T3). Gorilla, which TestFraming reads with, does not.
func TestAHeaderIsNoLongerThanItsLengthNeeds(t *testing.T) {
	key := [4]byte{1, 2, 3, 4}
	for n, want := range map[int]string{
		0: "\x81\x80", 1: "\x81\x81", 124: "\x81\xfc", 125: "\x81\xfd",
		126: "\x81\xfe\x00\x7e", 127: "\x81\xfe\x00\x7f", 65534: "\x81\xfe\xff\xfe", 65535: "\x81\xfe\xff\xff",
		65536: "\x81\xff\x00\x00\x00\x00\x00\x01\x00\x00", 65537: "\x81\xff\x00\x00\x00\x00\x00\x01\x00\x01", 1 << 31: "\x81\xff\x00\x00\x00\x00\x80\x00\x00\x00",
	} {
		if got := string(appendHeader(nil, n, key)); got != want+string(key[:]) {
			t.Errorf("of %d bytes: %x, want %x", n, got, want)
		}
	}
}

// The reason in a close frame has 123 bytes at most (RFC 6455 5.5), and no half of a character.
func TestHowLongAReasonForTheEndIs(t *testing.T) {
	for in, want := range map[string]int{"": 0, strings.Repeat("x", 122): 122, strings.Repeat("x", 123): 123, strings.Repeat("x", 124): 123, strings.Repeat("é", 61): 122, strings.Repeat("é", 62): 122, "x" + strings.Repeat("é", 61): 123, strings.Repeat("😀", 31): 120} {
		if got := clip(in, 123); len(got) != want || !utf8.ValidString(got) || !strings.HasPrefix(in, got) {
			t.Errorf("of %d bytes %d are left: %q", len(in), len(got), got)
		}
	}
	if got := clip("é", 1); got != "" {
		t.Errorf("%q", got)
	}
}

// The names somebody gives to us, at the ends of their bounds.
func TestNamesAtTheirBounds(t *testing.T) {
	for name, fits := range map[string]bool{"": false, "x": true, strings.Repeat("x", 255): true, strings.Repeat("x", 256): true, strings.Repeat("x", 257): false, "a\x1f": false, "a b": true, "a~": true, "a\x7f": false, "a\u009f": false, "a\u00a0": true} {
		if err := checkNames(Options{ID: "fs", Topic: name}); (err == nil) != fits {
			t.Errorf("a topic of %d bytes, %.4q: %v", len(name), name, err)
		}
	}
	for id, fits := range map[string]bool{"": false, "x": true, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false, "sys": true, "system": false} {
		if err := checkNames(Options{ID: id, Topic: "t"}); (err == nil) != fits {
			t.Errorf("an id of %d bytes, %.8q: %v", len(id), id, err)
		}
	}
}

// What waits for its turn has a bound in frames and one in bytes, and what fills it to the last is taken.
func TestHowMuchWaitsForItsTurn(t *testing.T) {
	for _, c := range []struct {
		frames, bytes, next int
		fits                bool
	}{
		{0, 0, queueBytes, true}, {0, 0, queueBytes + 1, false}, {1, queueBytes - 10, 10, true}, {1, queueBytes - 10, 11, false},
		{queueFrames - 1, 0, 1, true}, {queueFrames, 0, 1, false},
	} {
		p := &pacer{frames: c.frames, bytes: c.bytes, since: time.Now(), every: time.Hour}
		err := p.keep(wire.Reply, make([]byte, c.next))
		if p.timer != nil {
			p.timer.Stop()
		}
		if (err == nil) != c.fits || !c.fits && !errors.Is(err, outbox.ErrFull) {
			t.Errorf("%d bytes after %d in %d frames: %v", c.next, c.bytes, c.frames, err)
		}
	}
}

// What comes before the welcome has a bound in bytes too.
func TestHowMuchIsKeptFromBeforeTheWelcome(t *testing.T) {
	for n, kept := range map[int]bool{earlyBytes/2 - 1: true, earlyBytes / 2: true, earlyBytes/2 + 1: false} {
		g := &script{play: func(_ int, p *player) {
			p.say(padded("a", earlyBytes/2), padded("b", n), welcomeD0)
			p.stay()
		}}
		s := sit(t, Options{URL: g.real(t)})
		if kept {
			s.want("taken", "got mcp a", "got mcp b")
		} else {
			s.want("refused too_early", "taken", "got mcp a")
		}
	}
}
