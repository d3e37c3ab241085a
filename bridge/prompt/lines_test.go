package prompt_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// A scribe speaks to a Prompt in lines.
type scribe struct {
	*testing.T
	in      *io.PipeWriter
	done    chan error
	changed chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

func (s *scribe) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return s.out.Write(text)
}

func (s *scribe) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

func write(t *testing.T, find prompt.Finder) *scribe {
	r, w := io.Pipe()
	s := &scribe{T: t, in: w, done: make(chan error, 1), changed: make(chan struct{}, 1)}
	l := &prompt.Lines{In: r, Out: s, Find: find}
	go func() { s.done <- l.Run(t.Context()) }()
	t.Cleanup(func() {
		w.Close()
		if err := <-s.done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *scribe) says(line string) { io.WriteString(s.in, line+"\n") }

func (s *scribe) reads(what string) {
	s.Helper()
	late := time.After(20 * time.Second)
	for !strings.Contains(s.text(), what) {
		select {
		case <-s.changed:
		case <-late:
			s.Fatalf("%q was not said:\n%s", what, s.text())
		}
	}
}

func TestLinesNeedTheDigest(t *testing.T) {
	h, dir := hallIn(t, "fs")
	s := write(t, prompt.Bridges(dir, nil))
	for _, ahead := range []string{"allow", "allow *", "allow 00000000", "y", ""} {
		s.says(ahead) // before there is a question
	}
	s.reads("no question of that id or digest is open: 00000000")
	q := inboxtest.Write(`{"target":"production"}`)
	q.Terms.Edit = []policy.Edit{{Field: "modifiedTarget", Arg: "/target", Title: "Target", Type: "string", Enum: []string{`"production"`, `"staging"`}}}
	id := h.Ask(q)
	s.reads("fs in lobby\nagent-a requests permission to execute write_file\nArguments\n  /target = \"production\"\nWhy asked    rule small-writes\nWaiting for  you\n")
	s.reads("production | staging")
	v, _ := h.Question(id)
	s.says("allow")
	s.says("allow " + v.Short[:7])
	s.says("show " + v.ID[:8])
	s.says("allow " + v.Digest[:12] + " modifiedTarget=mars")
	s.reads("modifiedTarget is none of the values offered")
	s.says("allow " + v.Short + " other=1")
	s.reads(`cannot be changed; what can: modifiedTarget`)
	s.says("allow " + v.Short + " remember=always")
	s.reads("cannot be remembered")
	s.says("allow " + v.Short + " modifiedTarget=staging")
	s.reads("allowed by you")
	if got := h.Next(t); got.Outcome != approval.Allowed || string(got.Args) != `{"target":"staging"}` {
		t.Errorf("settled as %+v", got)
	}
	s.says("quit")
}

// Who answers in lines saw what a question needs once, and heard of nobody who agreed meanwhile.
func TestLinesTellWhoAgrees(t *testing.T) {
	h, dir := hallIn(t, "fs")
	s := write(t, prompt.Bridges(dir, nil))
	q := inboxtest.Write(`{}`)
	q.Terms.Of, q.Terms.Need = []string{"local", "alice", "bob"}, 3
	id := h.Ask(q)
	v, _ := h.Question(id)
	s.reads("Needs        3 who agree")
	s.reads("allow " + v.Short)
	for _, c := range [][2]string{{"alice", "3; alice agreed"}, {"bob", "3; alice, bob agreed"}} {
		h.Say(t, c[0], id, `{"action":"accept","content":{"approve":true}}`)
		s.reads("[" + v.Short + "]: needs " + c[1] + "\n")
	}
	s.says("allow " + v.Short)
	if got := h.Next(t); got.Outcome != approval.Allowed {
		t.Errorf("settled as %+v", got)
	}
}

// A mute bridge lists what it does not show.
type mute struct {
	*inboxtest.Hall
	speaks, away *atomic.Bool
	asked        *atomic.Int32 // how often it was to show something
}

func newMute() mute {
	return mute{inboxtest.New("fs"), &atomic.Bool{}, &atomic.Bool{}, &atomic.Int32{}}
}

func (m mute) List(ctx context.Context, args bool) ([]approval.Summary, error) {
	if m.away.Load() {
		return nil, nil
	}
	return m.Hall.List(ctx, args)
}

func (m mute) Show(ctx context.Context, id string) (approval.View, error) {
	m.asked.Add(1)
	if !m.speaks.Load() {
		return approval.View{}, errors.New("it says nothing")
	}
	return m.Hall.Show(ctx, id)
}

// What could not be shown once counted as shown: it never was, and where somebody else agreed it
// could be allowed all the same.
func TestLinesShowAfterAllWhatCouldNotBeShown(t *testing.T) {
	h := newMute()
	s := write(t, prompt.Only(&prompt.Found{Inbox: h, Name: "fs", Label: "fs in lobby"}))
	q := inboxtest.Write(`{"path":"/secret"}`)
	q.Terms.Of, q.Terms.Need = []string{"local", "alice"}, 2
	id := h.Ask(q)
	v, _ := h.Question(id)
	s.reads("[" + v.Short + "] cannot be shown: it says nothing")
	for _, name := range []string{v.Short, v.ID, v.Digest} {
		s.says("allow " + name)
		s.reads("it could not be shown yet: " + name)
	}
	h.speaks.Store(true)
	h.Say(t, "alice", id, `{"action":"accept","content":{"approve":true}}`)
	s.reads("/path = \"/secret\"")
	s.reads("allow " + v.Short + " / deny " + v.Short)
	s.says("allow " + v.Short)
	if got := h.Next(t); got.Outcome != approval.Allowed {
		t.Errorf("settled as %+v", got)
	}
}

// Each time that a question had gone from the list and come back there was one more who asked for it,
// and one after a show that failed of what had been shown.
func TestLinesAskOnceForWhatCannotBeShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newMute()
		s := write(t, prompt.Only(&prompt.Found{Inbox: h, Name: "fs", Label: "fs in lobby"}))
		asks := func(want int32) {
			t.Helper()
			synctest.Wait()
			before := h.asked.Load()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if n := h.asked.Load() - before; n != want {
				t.Errorf("in ten seconds it was asked %d times, not %d", n, want)
			}
		}
		v, _ := h.Question(h.Ask(inboxtest.Write(`{}`)))
		for range 3 {
			for _, away := range []bool{true, false} {
				synctest.Wait()
				h.away.Store(away)
				h.Post(inbox.Event{Event: "changed"})
			}
		}
		asks(5)
		h.speaks.Store(true)
		s.reads("allow " + v.Short + " / deny " + v.Short)
		h.speaks.Store(false)
		s.says("show " + v.Short)
		s.says("list")
		asks(0)
	})
}

func TestLinesDenyDelegateAndTellOfOthers(t *testing.T) {
	h, dir := hallIn(t, "fs")
	s := write(t, prompt.Bridges(dir, nil))
	q := inboxtest.Write(`{}`)
	q.Terms.Of = []string{"local", "alice"}
	q.Terms.Delegate = &policy.Delegate{To: []string{"carol"}, Depth: 1}
	ids := []string{h.Ask(q), h.Ask(q), h.Ask(q)}
	var digests []string
	for _, id := range ids {
		v, _ := h.Question(id)
		digests = append(digests, v.Short)
		s.reads("allow " + v.Short)
	}
	s.says("deny " + digests[0] + "   not on  my watch ")
	if got := h.Next(t); got.Outcome != approval.Denied || got.Said != "not on  my watch" {
		t.Errorf("settled as %+v", got)
	}
	s.says("delegate " + digests[1] + " bob")
	s.reads("it can be passed on to: carol")
	s.says("delegate " + digests[1] + " carol")
	s.reads("passed on to carol")
	h.Say(t, "alice", ids[2], `{"action":"decline"}`)
	s.reads(digests[2] + "]: denied by alice")
	s.says("show " + digests[2])
	s.reads("no question of that id or digest is open: " + digests[2])
}
