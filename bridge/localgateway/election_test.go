package localgateway_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/gateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/topic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newState(t *testing.T) localgateway.StateDir {
	state, err := localgateway.Home(func(name string) string {
		return map[string]string{"XDG_STATE_HOME": t.TempDir()}[name]
	})
	if err == nil {
		err = state.Open()
	}
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// Of many who look for it at once exactly one hosts, and all are told of the same address.
// When that one ends, another hosts where everybody expects it, and a token from before is
// good still.
func TestOneOfManyHostsAndAnotherTakesOverAtTheSamePort(t *testing.T) {
	state := newState(t)
	all := make([]*localgateway.LocalGateway, 5)
	urls, hosts := make([]string, len(all)), make([]bool, len(all))
	var asking sync.WaitGroup
	for i := range all {
		all[i] = localgateway.New(localgateway.Options{State: state, Listen: "127.0.0.1:0"})
		asking.Go(func() {
			at, own, err := all[i].FindOrHost(t.Context())
			if err != nil {
				t.Error(err)
			}
			urls[i], hosts[i] = at, own != nil
		})
	}
	asking.Wait()
	host := -1
	for i := range all {
		if urls[i] != urls[0] {
			t.Fatalf("one is at %s, one at %s", urls[i], urls[0])
		}
		if hosts[i] {
			if host >= 0 {
				t.Fatal("two host")
			}
			host = i
		}
	}
	if host < 0 {
		t.Fatal("nobody hosts")
	}
	all[host].Close()
	if _, err := all[host].Find(t.Context(), 0); !errors.Is(err, localgateway.ErrNobody) {
		t.Fatalf("one is found that is gone: %v", err)
	}
	next := all[(host+1)%len(all)]
	defer next.Close()
	if at, own, err := next.FindOrHost(t.Context()); err != nil || own == nil || at != urls[0] {
		t.Fatalf("the next is at %s, not %s: %v", at, urls[0], err)
	}
	if ids, err := all[host].Present(t.Context(), urls[0], "lobby"); err != nil || len(ids) > 0 {
		t.Fatalf("the next does not take a token of ours: %v, %v", ids, err)
	}
}

// Two servers of one package beside two clients were one participant by turns (FINDINGS P2).
func TestAnIDThatWasOnlyDerivedIsNotAnothers(t *testing.T) {
	state := newState(t)
	connect := func(derived, exclusive bool) *localgateway.Connector {
		c := &localgateway.Connector{Local: localgateway.New(localgateway.Options{State: state, Listen: "127.0.0.1:0"}),
			Join: topic.Options{Topic: "lobby", ID: "files"}, Hosts: true, Derived: derived, Exclusive: exclusive}
		t.Cleanup(c.Close)
		return c
	}
	first, second, third, asked := connect(true, false), connect(true, false), connect(true, true), connect(false, false)
	for _, c := range []*localgateway.Connector{first, second, asked} {
		if err := c.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if first.Join.ID != "files" || !first.HoldsID() || second.Join.ID != "files-2" || asked.Join.ID != "files" || asked.HoldsID() {
		t.Errorf("they are %s, %s and, by wish, %s", first.Join.ID, second.Join.ID, asked.Join.ID)
	}
	if err := third.Ready(t.Context()); !errors.Is(err, localgateway.ErrTaken) {
		t.Errorf("who must be alone is told %v", err)
	}
	third.Yields = true
	if err := third.Ready(t.Context()); err != nil || third.Join.ID != "files-3" {
		t.Errorf("who has waited is %s: %v", third.Join.ID, err)
	}
}

// Whoever can read the secret can be anybody.
func TestAStateDirectoryThatOthersCanReadIsRefused(t *testing.T) {
	state := newState(t)
	if runtime.GOOS == "windows" {
		t.Skip("no modes here")
	}
	if err := os.Chmod(string(state), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := state.Open(); err == nil || !strings.Contains(err.Error(), "state directory") {
		t.Errorf("%v, want a refusal", err)
	}
	if _, err := localgateway.Home(func(string) string { return filepath.Join("not", "absolute") }); !errors.Is(err, localgateway.ErrNoState) {
		t.Errorf("a relative place is %v", err)
	}
}

// One gateway that is started by hand is this machine's; the next is beside it, and names
// its own address.
func TestASecondGatewayByHandIsBesideTheFirst(t *testing.T) {
	state := newState(t)
	start := func() *localgateway.Hosting {
		h, err := localgateway.New(localgateway.Options{State: state, Listen: "127.0.0.1:0"}).HostByHand(t.Context(), gateway.Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.Stop)
		return h
	}
	first, second := start(), start()
	if !first.Local() || second.Local() || first.URL() == second.URL() {
		t.Errorf("%s is ours: %v; %s is ours: %v", first.URL(), first.Local(), second.URL(), second.Local())
	}
}

// An id of 64 bytes has no room for a number behind it.
func TestANumberedIDStaysAnID(t *testing.T) {
	long := strings.Repeat("x", 64)
	for n, want := range map[int]string{1: long, 2: long[:62] + "-2", 10: long[:61] + "-10"} {
		if got := localgateway.Numbered(long, n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
