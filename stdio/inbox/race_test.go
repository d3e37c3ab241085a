package inbox_test

import (
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/outbox"
)

// Who was told something over a connection of our own may look at what was done before
// that was said. Under the race detector that must not be a race, whether the one who says
// it writes directly, or the one who hears it reads so.
func TestWhatWasDoneBeforeItWasSaidIsNoRace(t *testing.T) {
	for _, w := range ways(t) {
		for _, say := range []struct {
			name string
			say  func(text []byte)
		}{
			{"an ordinary write", func(text []byte) { w.out.Write(text) }},
			{"an outbox", func(text []byte) {
				out := outbox.New(w.out, outbox.Options{Own: true})
				out.Put(text)
				out.Flush()
				out.Close(t.Context())
			}},
		} {
			done, text := 0, []byte("done")
			go func() {
				done = 1
				say.say(text)
			}()
			buf := make([]byte, 8)
			if n, err := inbox.New(w.in).Read(buf); err != nil || string(buf[:n]) != "done" || done != 1 {
				t.Errorf("%s, %s: %q, %v", w.name, say.name, buf[:n], err)
			}
		}
	}
}
