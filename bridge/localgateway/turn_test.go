package localgateway_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
)

// turnsOf names, for a process of this test, the directory in which it takes turns.
const turnsOf = "LOCALGATEWAY_TURNS_OF"

// takeTurns takes so many turns as one of several processes, and makes sure that no other has one.
func takeTurns(state localgateway.StateDir, turns int) error {
	c := &localgateway.Connector{Local: localgateway.New(localgateway.Options{State: state}), Join: topic.Options{Topic: "lobby", ID: "ann"}}
	for turns > 0 {
		turn, err := c.Turn(context.Background(), state, 0)
		if f, is := errors.AsType[*fault.Error](err); is && f.Exit == fault.ID {
			continue // another process has it
		}
		if err != nil || turn == nil {
			return errors.Join(err, errors.New("it cannot be had"))
		}
		turns--
		inside := state.File("inside")
		f, err := os.OpenFile(inside, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return errors.Join(err, errors.New("two have the turn"))
		}
		f.Close()
		if err := os.Remove(inside); err != nil {
			return err
		}
		turn.Close()
	}
	return nil
}

// Whoever has asked something under an id that it chose left a file behind for good. Files go
// now, and still no two processes have a turn at once.
func TestATurnLeavesNoFile(t *testing.T) {
	if dir := os.Getenv(turnsOf); dir != "" { // one of the processes
		if err := takeTurns(localgateway.StateDir(dir), 50); err != nil {
			t.Fatal(err)
		}
		return
	}
	state := newState(t)
	var all sync.WaitGroup
	for n := range 6 {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestATurnLeavesNoFile$", "-test.timeout=1m")
			cmd.Env = append(os.Environ(), turnsOf+"="+string(state))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Error("process "+strconv.Itoa(n), err, string(out))
			}
		})
	}
	all.Wait()
	if left := locks(t, state); len(left) > 0 {
		t.Error("it leaves", left)
	}
}

// One who answers questions under an id keeps those out who ask under it, until it leaves.
func TestWhoAnswersLeavesNoFile(t *testing.T) {
	state := newState(t)
	c := &localgateway.Connector{Local: localgateway.New(localgateway.Options{State: state}), Join: topic.Options{Topic: "lobby", ID: "ann"}}
	first, second := c.HoldSeat(t.Context(), state), c.HoldSeat(t.Context(), state)
	for _, leaves := range []*localgateway.Held{first, second} {
		if turn, err := c.Turn(t.Context(), state, time.Minute); err == nil {
			turn.Close()
			t.Error("the turn was had while somebody answers")
		}
		leaves.Close()
	}
	turn, err := c.Turn(t.Context(), state, 0)
	if err != nil {
		t.Fatal(err)
	}
	turn.Close()
	if left := locks(t, state); len(left) > 0 {
		t.Error("it leaves", left)
	}
}

// locks are the files that are left of turns and of who answers.
func locks(t *testing.T, state localgateway.StateDir) (names []string) {
	err := fs.WalkDir(os.DirFS(string(state)), ".", func(path string, d fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".lock" {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
