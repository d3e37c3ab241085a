package signals

import "testing"

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
