package keyring

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// Options are what a Keyring is made with. All are required.
type Options struct {
	Book *passkey.Book
	Log  string // id of the record; "" if none is kept

	// Put has a record on the disk when it returns, if one is kept.
	Put func(*record.Record) error

	// Answer gives an answer to the desk; Outcome is what came of it.
	Answer  func(approval.Answer) []approval.Act
	Outcome func([]approval.Act, inbox.Decision) (inbox.Outcome, error)
}

// A Keyring is an [inbox.Passkeys].
type Keyring struct {
	o Options

	counting sync.Mutex // while a yes is verified and counted: no passkey is removed in between

	mu         sync.Mutex
	challenges []challenge // that were not used, the oldest first
}

var _ inbox.Passkeys = (*Keyring)(nil)

// New returns a Keyring.
func New(o Options) *Keyring { return &Keyring{o: o} }

type challenge struct {
	text  []byte
	until time.Time
}

// local is whose passkeys all of them are. Whoever is at this machine can enrol one, and could
// else sign as two where two must agree.
var local = []string{"local"}

// Bounds on enrolling.
const (
	enrolTime      = 5 * time.Minute
	mostChallenges = 16
	longestName    = 64 // characters
)

// ToSign and the following are those of [inbox.Passkeys].
func (k *Keyring) ToSign(_ context.Context, d inbox.Decision) ([]byte, error) {
	acts := k.o.Answer(approval.Answer{Who: approval.Who{Door: approval.Local}, Question: d.ID, Digest: d.Digest, Result: d.Result, Draft: true})
	for _, act := range acts {
		if wanted, ok := act.(approval.ToSign); ok && wanted.ID == d.ID {
			return wanted.Statement, nil
		}
	}
	_, err := k.o.Outcome(acts, d)
	return nil, cmp.Or(err, error(&inbox.Refusal{Reason: inbox.Unknown}))
}

func (k *Keyring) DecideSigned(_ context.Context, d inbox.Decision, s inbox.Signature) (inbox.Outcome, error) {
	k.counting.Lock()
	defer k.counting.Unlock()
	signed := &approval.Signed{Statement: s.Statement}
	key, err := k.o.Book.Use(&s.Assertion, s.Statement, s.Origin, k.o.Log)
	if err != nil {
		signed.Problem = err.Error()
	} else {
		signed.Proof = key.Prove(&s.Assertion, s.Statement)
	}
	return k.o.Outcome(k.o.Answer(approval.Answer{Who: approval.Who{Door: approval.Local}, Question: d.ID, Digest: d.Digest, Signed: signed}), d)
}

func (k *Keyring) All(context.Context) ([]passkey.Credential, error) { return k.o.Book.All() }

func (k *Keyring) Challenge(context.Context) ([]byte, error) {
	text := make([]byte, 32)
	rand.Read(text)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.challenges = append(k.challenges, challenge{text, time.Now().Add(enrolTime)})
	if len(k.challenges) > mostChallenges {
		k.challenges = slices.Clone(k.challenges[1:])
	}
	return text, nil
}

// redeem uses a challenge up, and reports whether it was good.
func (k *Keyring) redeem(text []byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.challenges, func(c challenge) bool { return bytes.Equal(c.text, text) })
	if i < 0 {
		return false
	}
	good := k.challenges[i].until.After(time.Now())
	k.challenges = slices.Delete(k.challenges, i, i+1)
	return good
}

func (k *Keyring) Enrol(_ context.Context, e inbox.Enrolment) error {
	switch {
	case !k.redeem(e.Challenge):
		return errors.New("this took too long: try again")
	case e.Name == "" || utf8.RuneCountInString(e.Name) > longestName || text.Line(e.Name) != e.Name:
		return fmt.Errorf("give it a name of at most %d plain characters", longestName)
	}
	c, err := e.Registration.Verify(e.Challenge, e.Origin)
	if err != nil {
		return fmt.Errorf("the passkey cannot be enrolled: %w", err)
	}
	c.Name, c.Enrolled, c.Log = e.Name, time.Now().UTC().Truncate(time.Second), k.o.Log
	return k.o.Book.Add(c, func() error {
		return k.o.Put(&record.Record{Event: record.PasskeyEnrolled, By: local, Detail: c.Name, Passkey: e.Registration.Prove(&c)})
	})
}

func (k *Keyring) Remove(_ context.Context, key string) (bool, error) {
	k.counting.Lock()
	defer k.counting.Unlock()
	return k.o.Book.Remove(key, func(c passkey.Credential) error {
		return k.o.Put(&record.Record{Event: record.PasskeyRemoved, By: local, Detail: c.Name, Passkey: c.Named()})
	})
}
