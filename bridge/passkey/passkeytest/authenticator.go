// Package passkeytest is an authenticator in software, for tests: it does what browser and
// passkey do together, or lies where it is told to.
package passkeytest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
)

// Origin is that of the page on which an Authenticator is used.
const Origin = "http://localhost:7421"

// An Authenticator holds one passkey. What it says is true unless a field is changed.
type Authenticator struct {
	Key     crypto.Signer
	ID      []byte
	Counter uint32 // goes on with each use; stays 0 where Counts is false
	Counts  bool
	Flags   byte
	Party   string
	Origin  string
	Extra   map[string]any // more that the browser says, or says otherwise
}

// New makes one with a P-256 key, a counter, and somebody there who is verified.
func New(t testing.TB) *Authenticator {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return With(key)
}

// With makes one that has this key: P-256, Ed25519 or RSA.
func With(key crypto.Signer) *Authenticator {
	id := make([]byte, 20)
	rand.Read(id)
	return &Authenticator{Key: key, ID: id, Counts: true, Flags: 0x05, Party: "localhost", Origin: Origin}
}

// Public is its public key.
func (a *Authenticator) Public() []byte {
	der, err := x509.MarshalPKIXPublicKey(a.Key.Public())
	if err != nil {
		panic(err)
	}
	return der
}

// Register makes the passkey known for a challenge.
func (a *Authenticator) Register(challenge []byte) passkey.Registration {
	data := a.head(a.Flags | 0x40)
	data = append(data, make([]byte, 16)...)
	data = binary.BigEndian.AppendUint16(data, uint16(len(a.ID)))
	data = append(data, a.ID...)
	switch k := a.Key.Public().(type) { // the map around the numbers is of no matter here
	case *ecdsa.PublicKey:
		point, _ := k.Bytes()
		data = slices.Concat(data, []byte{0xa5}, point[1:33], []byte{0x22, 0x58, 0x20}, point[33:])
	case ed25519.PublicKey:
		data = append(data, k...)
	case *rsa.PublicKey:
		data = append(data, k.N.Bytes()...)
	}
	return passkey.Registration{Credential: a.ID, PublicKey: a.Public(), AuthenticatorData: data, ClientData: a.client("webauthn.create", challenge)}
}

// Sign signs a statement.
func (a *Authenticator) Sign(statement []byte) passkey.Assertion {
	return a.SignFor(passkey.Challenge(statement))
}

// SignFor signs for a challenge.
func (a *Authenticator) SignFor(challenge []byte) passkey.Assertion {
	if a.Counts {
		a.Counter++
	}
	data, client := a.head(a.Flags), a.client("webauthn.get", challenge)
	said := sha256.Sum256(client)
	text := slices.Concat(data, said[:])
	digest := sha256.Sum256(text)
	how, signed := crypto.SignerOpts(crypto.SHA256), digest[:]
	if _, plain := a.Key.(ed25519.PrivateKey); plain {
		how, signed = crypto.Hash(0), text
	}
	signature, err := a.Key.Sign(rand.Reader, signed, how)
	if err != nil {
		panic(err)
	}
	return passkey.Assertion{Credential: a.ID, AuthenticatorData: data, ClientData: client, Signature: signature}
}

func (a *Authenticator) head(flags byte) []byte {
	party := sha256.Sum256([]byte(a.Party))
	return binary.BigEndian.AppendUint32(append(party[:], flags), a.Counter)
}

func (a *Authenticator) client(kind string, challenge []byte) []byte {
	said := map[string]any{"type": kind, "challenge": base64.RawURLEncoding.EncodeToString(challenge), "origin": a.Origin, "crossOrigin": false}
	maps.Copy(said, a.Extra)
	text, err := json.Marshal(said)
	if err != nil {
		panic(err)
	}
	return text
}
