package sim

import (
	"crypto/ed25519"
	"encoding/binary"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey/passkeytest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// keys are the passkeys of the person at this machine: one that counts its uses, one that does
// not, and one that was removed.
type keys struct {
	dice     dice
	own      []*passkeytest.Authenticator
	enrolled []passkey.Credential
	seen     [][]byte // what was to be signed so far
	last     sealed
	onRecord [][]byte // that they were enrolled
}

// sealed is a statement, and a signature that is said to be under it.
type sealed struct {
	statement []byte
	said      passkey.Assertion
	lasts     bool // it is genuine as long as its statement is to be signed, for its passkey does not count
}

// newKeys makes the passkeys of a world; nil where no rule takes any.
func newKeys(o Options) *keys {
	if !o.Passkeys {
		return nil
	}
	k := &keys{dice: newDice(o.Seed, "keys")}
	for i := range 3 {
		a := k.authenticator([]byte{'k', byte(i)})
		a.Counts, a.Counter = i != 1, 1
		if k.own = append(k.own, a); i == 1 {
			a.Counter = 0
		}
		r := a.Register([]byte("made for this"))
		c, err := r.Verify([]byte("made for this"), passkeytest.Origin)
		if err != nil {
			panic(err) // it told no lie
		}
		k.enrolled = append(k.enrolled, c)
		k.onRecord = append(k.onRecord, (&record.Record{Event: record.PasskeyEnrolled, By: []string{"local"}, Passkey: r.Prove(&c)}).ForAudit())
	}
	k.onRecord = append(k.onRecord, (&record.Record{Event: record.PasskeyRemoved, By: []string{"local"}, Passkey: k.enrolled[2].Named()}).ForAudit())
	k.enrolled = k.enrolled[:2]
	return k
}

func (k *keys) authenticator(id []byte) *passkeytest.Authenticator {
	var seed []byte
	for range 4 {
		seed = binary.BigEndian.AppendUint64(seed, k.dice.Uint64())
	}
	a := passkeytest.With(ed25519.NewKeyFromSeed(seed))
	a.ID = id
	return a
}

// sign has a passkey sign a statement, or something be wrong with that, unless all is well. genuine: what comes of it
// is a signature under the statement that it brings, by one that counts, made for this alone.
func (k *keys) sign(statement []byte, well bool) (signed *approval.Signed, genuine bool) {
	k.seen = append(k.seen, statement)
	i := k.dice.IntN(2)
	a, copied := k.own[i], *k.own[i]
	now := sealed{statement: statement}
	what := pick(k.dice, "", "", "", "", "another", "thief", "swapped", "copy", "nobody", "removed", "replayed")
	if well {
		what = ""
	}
	switch what {
	case "":
		now.said, genuine = a.Sign(statement), true
	case "another": // perhaps the one of another question
		now.statement = pick(k.dice, k.seen...)
		now.said, genuine = a.Sign(now.statement), true
	case "thief":
		now.said = k.authenticator(a.ID).Sign(statement)
	case "swapped":
		now.said = a.Sign([]byte(`{"question":"q"}`))
	case "copy":
		copied = *k.own[0]
		copied.Counter = k.enrolled[0].Counter - 1 // a copy that is ahead of what was seen is taken for the passkey
		now.said = copied.Sign(statement)
	case "nobody":
		copied.Flags = 0x01
		now.said = copied.Sign(statement)
	case "removed":
		now.said = k.own[2].Sign(statement)
	case "replayed": // once there is something
		return k.use(&k.last), k.last.lasts
	}
	now.lasts = genuine && !a.Counts
	k.last = now
	return k.use(&now), genuine
}

// use does what the bridge's page does with a signature. What counts is for the checker to know.
func (k *keys) use(s *sealed) *approval.Signed {
	signed := &approval.Signed{Statement: s.statement}
	key, err := passkey.Use(k.enrolled, &s.said, s.statement, passkeytest.Origin, "")
	if err != nil {
		signed.Problem = err.Error()
	} else {
		signed.Proof = key.Prove(&s.said, s.statement)
	}
	return signed
}
