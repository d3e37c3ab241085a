package stdio

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/linger"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
)

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// To linger reads nothing and keeps nobody from reading.
func TestLingerLeavesTheAnswerWhereItIs(t *testing.T) {
	s := serve(t, stdiotest.Script{})
	s.server.Linger() // no server is up
	s.up()
	up := s.server.child.Load()
	if listening := up.linger != nil; listening != (runtime.NumCPU() > 1) {
		t.Errorf("listened to: %v, on %d processors", listening, runtime.NumCPU())
	}
	for range 20 {
		id := s.tool("echo", "{}")
		s.server.Linger()
		s.answer(id)
	}
	if up.putSinceLinger.Load() {
		t.Error("nobody has lingered")
	}
}

// A server that holds the pipe makes its close(2) wait, which would be left to
// whoever still listens: the reader of the topic.
func TestWhoListensIsNotLeftTheClosing(t *testing.T) {
	r, w := pipe(t)
	var c child
	c.ours.stdout = r
	hear, listens := linger.Ear(r), make(chan struct{})
	c.linger = linger.New(func(time.Duration) bool {
		close(listens)
		return hear(100 * time.Millisecond)
	})
	held, release := stdiotest.HoldPipe(t, w)

	killed := make(chan struct{})
	go func() {
		<-listens
		c.kill()
		close(killed)
	}()
	c.linger.Wait()
	if !held() {
		t.Error("closing was left to who listened")
	}
	release()
	<-killed
	c.linger.Wait() // would panic if it listened
}

// Where nothing was put since the last time, there is nothing to wait for.
func TestNobodyLingersForWhatWasNotAsked(t *testing.T) {
	times := 0
	var c child
	c.linger = linger.New(func(time.Duration) bool { times++; return true })
	var s Server
	s.child.Store(&c)
	s.Linger()
	if times > 0 {
		t.Error("waited though nothing had been asked")
	}
	c.putSinceLinger.Store(true)
	s.Linger()
	s.Linger()
	if times != 1 {
		t.Errorf("waited %d times for one answer", times)
	}
}
