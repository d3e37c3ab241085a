package passkey

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"
)

// A Credential is a passkey that was enrolled, and what its signatures are verified by. All that
// are enrolled at a bridge count as one person's: nobody can tell who enrolled which.
type Credential struct {
	ID        []byte    `json:"id"`
	Name      string    `json:"name"`       // as its person calls it
	PublicKey []byte    `json:"public_key"` // DER
	Counter   uint32    `json:"counter"`    // of the authenticator when it was used last
	Enrolled  time.Time `json:"enrolled"`
	Log       string    `json:"log"` // id of the record that its enrolment is in; "": of none
}

// Key names a Credential in pages and records.
func (c *Credential) Key() string { return base64.RawURLEncoding.EncodeToString(c.ID) }

// Verify reports what is wrong with a signature under a statement, made on a page of that
// origin; nil: nothing. The counter of an authenticator that has one must have gone on; the
// Credential has the new one afterwards.
func (c *Credential) Verify(a *Assertion, statement []byte, origin string) error {
	n, err := a.verify(c.PublicKey, Challenge(statement), origin)
	switch {
	case err != nil:
		return err
	case !bytes.Equal(a.Credential, c.ID):
		return errors.New("it is said to be by another passkey")
	case (n > 0 || c.Counter > 0) && n <= c.Counter:
		return errors.New("the counter of the authenticator did not go on, as that of a copy does not")
	}
	c.Counter = n
	return nil
}

// A Proof is a signature with all that it takes to verify it again.
type Proof struct {
	Statement string `json:"statement"`
	Name      string `json:"name"`
	PublicKey []byte `json:"public_key"`
	Assertion
}

// Prove writes down, on one line, that c signed a statement.
func (c *Credential) Prove(a *Assertion, statement []byte) json.RawMessage {
	text, err := json.Marshal(Proof{string(statement), c.Name, c.PublicKey, *a})
	if err != nil {
		panic(err) // strings and bytes always marshal
	}
	return text
}

// A Registration is what a page got from navigator.credentials.create.
type Registration struct {
	Credential        []byte `json:"credential"`
	PublicKey         []byte `json:"public_key"` // DER, by the browser
	AuthenticatorData []byte `json:"authenticator_data"`
	ClientData        []byte `json:"client_data"`
}

// Prove writes down, on one line, that a key was enrolled, and how it is called.
func (r *Registration) Prove(c *Credential) json.RawMessage {
	text, err := json.Marshal(struct {
		Name string `json:"name"`
		*Registration
	}{c.Name, r})
	if err != nil {
		panic(err) // strings and bytes always marshal
	}
	return text
}

// Where a new key stands behind the head of authenticator data: behind the make of the
// authenticator, and the length of the credential's id.
const (
	atIDLength = headSize + 16
	atID       = atIDLength + 2
	maxID      = 1023
)

// Verify makes a Credential of a Registration, for a challenge, on a page of that origin.
func (r *Registration) Verify(challenge []byte, origin string) (c Credential, err error) {
	var said clientData
	if err := said.in(r.ClientData, "webauthn.create", challenge, origin); err != nil {
		return c, err
	}
	if c.Counter, err = counter(r.AuthenticatorData); err != nil {
		return c, err
	}
	key, err := parse(r.PublicKey)
	if err != nil {
		return c, err
	}
	d := r.AuthenticatorData
	if d[atFlags]&hasKey == 0 || len(d) < atID || len(r.Credential) == 0 || len(r.Credential) > maxID {
		return c, errors.New("the authenticator made no passkey")
	}
	end := atID + int(binary.BigEndian.Uint16(d[atIDLength:]))
	if end > len(d) || !bytes.Equal(d[atID:end], r.Credential) || !holds(d[end:], key) {
		return c, errors.New("the browser speaks of another passkey than the authenticator")
	}
	c.ID, c.PublicKey = r.Credential, r.PublicKey
	return c, nil
}

// holds reports whether the numbers of a key stand in what an authenticator says, which says
// nothing else of that length.
func holds(said []byte, key crypto.PublicKey) bool {
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		return err == nil && bytes.Contains(said, point[1:33]) && bytes.Contains(said, point[33:])
	case ed25519.PublicKey:
		return bytes.Contains(said, k)
	case *rsa.PublicKey:
		return bytes.Contains(said, k.N.Bytes())
	}
	return false
}

// Named writes down, on one line, which passkey it is.
func (c *Credential) Named() json.RawMessage {
	return (&Registration{Credential: c.ID, PublicKey: c.PublicKey}).Prove(c)
}
