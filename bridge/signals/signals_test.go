package signals

import (
	"os"
	"syscall"
	"testing"
)

// A hangup that came while nobody took it ended the bridge.
func TestAHangupWaitsUntilItIsTaken(t *testing.T) {
	there := true
	r := NewReloads(func() bool { return there })
	if r.offer() {
		t.Error("it is taken where nothing can be read again")
	}
	told := r.Hear()
	for range 3 {
		if !r.offer() {
			t.Fatal("it is not taken while somebody is busy")
		}
	}
	<-told
	there = false
	if r.offer() {
		t.Error("the terminal was closed, and that is taken for a wish")
	}
	select {
	case <-told:
		t.Error("what came before the file was read has it read once more")
	default:
	}
}

// Of a terminal that was closed two hangups came, from the shell and from the kernel, and the second
// ended the calls that had ten seconds.
func TestASecondHangupHurriesNobody(t *testing.T) {
	reload := NewReloads(func() bool { return false })
	reload.Hear()
	for _, first := range []os.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		came, stopped, hurried := make(chan os.Signal), make(chan bool), make(chan bool)
		go func() {
			heed(came, reload, func() { close(stopped) })
			close(hurried)
		}()
		came <- first
		<-stopped
		for range 3 { // each is taken when the one before has been heeded
			select {
			case came <- syscall.SIGHUP:
			case <-hurried:
				t.Fatalf("%v, and a hangup hurries", first)
			}
		}
		came <- syscall.SIGTERM
		<-hurried
	}
}
