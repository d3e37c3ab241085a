package keyring_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/keyring"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey/passkeytest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

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

// Once it is on record that a passkey was removed no yes of it counts: audit verify would have
// the record for forged.
func TestNoYesCountsOfAPasskeyThatIsRemovedMeanwhile(t *testing.T) {
	key, order, removed := passkeytest.New(t), make(chan string, 3), make(chan error, 1)
	credential := passkey.Credential{ID: key.ID}
	var k *keyring.Keyring
	k = keyring.New(keyring.Options{Book: passkey.In(t.TempDir(), "fs"),
		Put: func(r *record.Record) error { order <- string(r.Event); return nil },
		Answer: func(a approval.Answer) []approval.Act {
			go func() { // in another tab
				_, err := k.Remove(t.Context(), credential.Key())
				removed <- err
			}()
			for len(order) == 0 && !waits("keyring.(*Keyring).Remove") {
				runtime.Gosched()
			}
			order <- "counted" + a.Signed.Problem
			return nil
		},
		Outcome: func([]approval.Act, inbox.Decision) (o inbox.Outcome, err error) { return }})
	challenge, err := k.Challenge(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Enrol(t.Context(), inbox.Enrolment{Name: "key", Registration: key.Register(challenge), Challenge: challenge, Origin: passkeytest.Origin}); err != nil {
		t.Fatal(err)
	}
	<-order
	if _, err := k.DecideSigned(t.Context(), inbox.Decision{}, inbox.Signature{Statement: []byte("s"), Assertion: key.Sign([]byte("s")), Origin: passkeytest.Origin}); err != nil {
		t.Fatal(err)
	}
	if err := <-removed; err != nil {
		t.Fatal(err)
	}
	if got := []string{<-order, <-order}; !slices.Equal(got, []string{"counted", string(record.PasskeyRemoved)}) {
		t.Errorf("%q", got)
	}
}
