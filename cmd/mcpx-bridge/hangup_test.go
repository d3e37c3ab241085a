package main

import "testing"

// A hangup that came while nobody took it ended the bridge.
func TestAHangupWaitsUntilItIsTaken(t *testing.T) {
	r := newReloads(nil)
	if r.offer() {
		t.Error("it is taken where nothing can be read again")
	}
	r.heard.Store(true)
	for range 3 {
		if !r.offer() {
			t.Fatal("it is not taken while somebody is busy")
		}
	}
	<-r.told
	select {
	case <-r.told:
		t.Error("what came before the file was read has it read once more")
	default:
	}
}
