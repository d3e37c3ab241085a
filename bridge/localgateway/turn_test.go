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
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
)

// turnsOf names, for a process of this test, the directory in which it takes turns.
const turnsOf = "LOCALGATEWAY_TURNS_OF"

func ann(state localgateway.StateDir) *localgateway.Connector {
	return &localgateway.Connector{Local: localgateway.New(localgateway.Options{State: state}), State: state, Join: topic.Options{Topic: "lobby", ID: "ann"}}
}

// takeTurns takes so many turns as one of several processes, and makes sure that no other has one.
func takeTurns(state localgateway.StateDir, turns int) error {
	c := ann(state)
	for turns > 0 {
		turn, err := c.Turn(context.Background(), 0)
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
	first, second, asks := ann(state), ann(state), ann(state)
	held := []*localgateway.Held{first.HoldApprover(t.Context()), second.HoldApprover(t.Context())}
	if err := first.CheckApprover(t.Context()); err != nil {
		t.Error("one of those who answer:", err)
	}
	for _, leaves := range held {
		f, is := errors.AsType[*fault.Error](asks.CheckApprover(t.Context()))
		if want := "approve has the seat of ann in lobby on this machine, and nothing was done"; !is || f.Exit != fault.ID || f.Error() != want {
			t.Errorf("who asks is told %v, want %s", f, want)
		}
		leaves.Close()
	}
	if err := asks.CheckApprover(t.Context()); err != nil {
		t.Error("after both have left:", err)
	}
	if left := locks(t, state); len(left) > 0 {
		t.Error("it leaves", left)
	}
}

// Two clients with one id put each other out of the topic, for ever.
func TestAnIDIsClaimedByOne(t *testing.T) {
	for what, c := range map[string]struct {
		first, elsewhere, derived bool // the first leaves, in time; the second goes to another gateway; nobody chose its id
		id                        string
		holds                     bool
	}{
		"the second":                    {id: "ann-2", holds: true},
		"the second after the first":    {first: true, id: "ann", holds: true},
		"the second at another gateway": {elsewhere: true, id: "ann"},
		"one whose id nobody chose":     {derived: true, id: "ann"},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				state := newState(t)
				first, second := ann(state), ann(state)
				defer second.Close()
				if second.Derived = c.derived; c.elsewhere {
					second.Local = nil
				}
				first.ClaimID(t.Context())
				if first.Join.ID != "ann" || !first.HoldsID() {
					t.Fatalf("the first is %s", first.Join.ID)
				}
				leaves := localgateway.ClaimTime + time.Second
				if c.first {
					leaves = localgateway.ClaimTime - time.Second
				}
				time.AfterFunc(leaves, first.Close)
				second.ClaimID(t.Context())
				if second.Join.ID != c.id || second.HoldsID() != c.holds {
					t.Errorf("it is %s, and holds it: %v", second.Join.ID, second.HoldsID())
				}
				time.Sleep(leaves)
			})
		})
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
