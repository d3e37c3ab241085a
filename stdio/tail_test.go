package stdio

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

// unread has a server say three megabytes that its client does not read, and end. More
// than the pipe to the client takes is left then.
func unread(t *testing.T, change func(*Options)) (c *client, want []byte) {
	t.Helper()
	want = bytes.Repeat([]byte(strings.Repeat("x", 1023)+"\n"), 3<<10)
	c = host(t, []string{"cat"}, func(o *Options) {
		o.Host.Patience, o.Stop.Drain = patience, patience
		if change != nil {
			change(o)
		}
	})
	if _, err := c.in.Write(want); err != nil {
		t.Fatal(err)
	}
	c.in.Close()
	c.down() // whoever calls the server beside the client need not wait for that
	return c, want
}

// A client that took more than ten seconds to read what its server had written last, or
// one when we were told to stop, lost the rest.
func TestASlowClientLostWhatItsServerWroteLast(t *testing.T) {
	for name, stop := range map[string]bool{"the server ends": false, "told to stop": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, want := unread(t, func(o *Options) { o.Host.FinalRead = 10 * time.Second })
			if stop {
				c.stop()
			}
			var got []byte
			for piece := make([]byte, 96<<10); ; {
				time.Sleep(400 * time.Millisecond) // the client is slow: it takes longer than that in all, and far less for each piece
				n, err := io.ReadFull(c.out, piece)
				if got = append(got, piece[:n]...); err != nil {
					break
				}
			}
			if !bytes.Equal(got, want) {
				t.Errorf("of %d bytes %d came", len(want), len(got))
			}
			if err := c.finished(); err != nil {
				t.Error(err)
			}
		})
	}
}

// One that reads nothing is not waited for for ever, nor at all by whoever is in a hurry,
// and that something is lost is said.
func TestAClientThatReadsNothingIsToldOf(t *testing.T) {
	for name, hurry := range map[string]bool{"for long": false, "in a hurry": true} {
		log, text := logged()
		c, _ := unread(t, func(o *Options) {
			o.Log, o.Host.FinalRead = log, time.Hour
			if !hurry {
				o.Host.FinalRead = 50 * time.Millisecond
			}
		})
		if hurry {
			c.server.Kill()
		}
		if err := c.finished(); err != nil {
			t.Error(err)
		}
		if said := text(); strings.Count(said, "tail_lost") != 1 {
			t.Errorf("%s: it is said %s", name, said)
		}
	}
}
