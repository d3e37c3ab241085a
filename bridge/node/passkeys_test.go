package node

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/audit"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/engine"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// late is a log to which a batch comes late: whoever brings it was held up on the way.
type late struct {
	*audit.Log
	begun, hold chan struct{}
}

func (l late) Append(records ...[]byte) error {
	close(l.begun)
	<-l.hold
	return l.Log.Append(records...)
}

// nowhere is the two ways out of a Sidecar that has nothing to send.
type nowhere struct{}

func (nowhere) Send(wire.Class, []byte) error { return nil }
func (nowhere) Put([]byte) error              { return nil }
func (nowhere) Flush()                        { /* there is nothing */ }
func (nowhere) Restart(string)                {}

// waits reports whether a function waits for a lock.
func waits(function string) bool {
	all := make([]byte, 1<<20)
	for one := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
		if strings.Contains(one, function) && strings.Contains(one, "[sync.Mutex.Lock") {
			return true
		}
	}
	return false
}

// What has happened before a passkey is removed, a yes of it among that, is on record before that,
// also where somebody else is about to put it there.
func TestThatAPasskeyIsRemovedIsOnRecordAfterWhatCameBefore(t *testing.T) {
	rules, err := policy.Load("p", []byte("version: 1\ndefault: deny\n"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "fs.jsonl")
	log, _, err := audit.Open(path, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	held := late{log, make(chan struct{}), make(chan struct{})}
	sidecar := bridge.New(bridge.Options{Audit: held, Engine: engine.Config{Policy: rules,
		NewID: func() string { return "" }, Random: func() [16]byte { return [16]byte{} }}})
	sidecar.Bind(nowhere{}, nowhere{})
	book := passkey.In(t.TempDir(), "fs")
	credential := passkey.Credential{ID: []byte("one"), Name: "key"}
	if err := book.Add(credential, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	before, removed := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(before)
		sidecar.Halt(engine.Halt{By: "local"})
	}()
	<-held.begun
	keys := newKeyring(book, log, sidecar, &localInbox{})
	go func() {
		_, err := keys.Remove(t.Context(), credential.Key())
		removed <- err
	}()
	for len(removed) == 0 && !waits("keyring.(*Keyring).Remove") {
		runtime.Gosched()
	}
	close(held.hold)
	<-before
	if err := <-removed; err != nil {
		t.Fatal(err)
	}
	var got []string
	for r, err := range audit.Records(t.Context(), path, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Event)
	}
	if !slices.Equal(got, []string{"opened", "halted", "passkey_removed"}) {
		t.Errorf("%q", got)
	}
}
