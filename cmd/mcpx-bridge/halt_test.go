package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
)

// mute is a bridge that cannot say how it is.
type mute struct{ *inboxtest.Hall }

func (mute) Status(context.Context) (inbox.Status, error) {
	return inbox.Status{}, errors.New("it hangs")
}

// Who stops everything has to know that something goes on; and what can be stopped is.
func TestAHaltThatSomeBridgeDoesNotHearFails(t *testing.T) {
	h := inboxtest.New("fs")
	state := openHall(t, h)
	inboxtest.Open(t, socket.Options{Dir: filepath.Join(state, "mcpx-bridge", "control"), ID: "deaf", Inbox: mute{inboxtest.New("deaf")}})
	code, _, errs := typed(t, state, "halt", "--reason", "stop")
	if s, _ := h.Status(t.Context()); s.Halted == nil || code != exitFailed || !strings.Contains(errs, "deaf.sock") || !strings.Contains(errs, "not every bridge answers, and who does not goes on as before") {
		t.Errorf("exit code %d, %+v: %s", code, s.Halted, errs)
	}
	if code, _, errs := typed(t, state, "resume", "fs"); code != 0 {
		t.Errorf("who was named answers: exit code %d, %s", code, errs)
	}
}

// A name may be that of two bridges, in two topics.
func TestAHaltFailsWhereAnotherOfTheNameDoesNotHearIt(t *testing.T) {
	h := inboxtest.New("fs")
	state := openHall(t, h)
	control := filepath.Join(state, "mcpx-bridge", "control")
	inboxtest.Open(t, socket.Options{Dir: control, ID: "fs", Inbox: mute{inboxtest.New("fs")}})
	inboxtest.New("notes").Open(t, control)
	code, _, errs := typed(t, state, "halt", "fs", "--reason", "stop")
	if s, _ := h.Status(t.Context()); s.Halted == nil || code != exitFailed || !strings.Contains(errs, "not every bridge answers, and who does not goes on as before") {
		t.Errorf("exit code %d, %+v: %s", code, s.Halted, errs)
	}
	if code, _, errs := typed(t, state, "halt", "notes", "--reason", "stop"); code != 0 {
		t.Errorf("it is not the name of the other: exit code %d, %s", code, errs)
	}
}
