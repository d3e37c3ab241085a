package passkey

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"

	strict "github.com/go-json-experiment/json"
)

// RelyingParty is whom passkeys are for: pages of this machine by this name. An address like
// 127.0.0.1 cannot be that.
const RelyingParty = "localhost"

// What is asked of authenticators, by their numbers in COSE: ES256, EdDSA and RS256.
var Algorithms = []int{-7, -8, -257}

// Challenge is what a passkey signs for a statement.
func Challenge(statement []byte) []byte {
	h := sha256.New()
	h.Write([]byte("mcpx-bridge passkey 1\n"))
	h.Write(statement)
	return h.Sum(nil)
}

// An Assertion is what a page got from navigator.credentials.get.
type Assertion struct {
	Credential        []byte `json:"credential"` // id of the passkey
	AuthenticatorData []byte `json:"authenticator_data"`
	ClientData        []byte `json:"client_data"`
	Signature         []byte `json:"signature"`
}

// Origin reports whether a page of that origin can have used passkeys: http://localhost:PORT.
func Origin(origin string) bool {
	at, err := url.Parse(origin)
	if err != nil {
		return false
	}
	port, err := strconv.ParseUint(at.Port(), 10, 16)
	return err == nil && port > 0 && origin == "http://"+net.JoinHostPort(RelyingParty, at.Port())
}

// clientData is what the browser says of a ceremony. Members that are unknown are passed over,
// as the standard demands.
type clientData struct {
	Type        string `json:"type"`
	Challenge   string `json:"challenge"`
	Origin      string `json:"origin"`
	CrossOrigin bool   `json:"crossOrigin"`
	TopOrigin   string `json:"topOrigin"`
}

// in reads client data, of a ceremony of that kind about that challenge, at a page of that
// origin; "": of any that passkeys serve.
func (c *clientData) in(raw []byte, kind string, challenge []byte, origin string) error {
	if err := strict.Unmarshal(raw, c); err != nil {
		return fmt.Errorf("what the browser said cannot be read: %w", err)
	}
	switch {
	case c.Type != kind:
		return fmt.Errorf("it is a %.40q, not a %s", c.Type, kind)
	case c.Challenge != base64.RawURLEncoding.EncodeToString(challenge):
		return errors.New("it was made for another challenge")
	case origin != "" && c.Origin != origin, !Origin(c.Origin), c.CrossOrigin, c.TopOrigin != "":
		return fmt.Errorf("it was made on another page, %.80q", c.Origin)
	}
	return nil
}

// What authenticator data begins with: the digest of the relying party, flags, and a counter.
const (
	atFlags   = sha256.Size
	atCounter = atFlags + 1
	headSize  = atCounter + 4

	userPresent  = 1 << 0
	userVerified = 1 << 2
	hasKey       = 1 << 6
)

// counter reads authenticator data: somebody was there, and was verified.
func counter(data []byte) (uint32, error) {
	if len(data) < headSize {
		return 0, errors.New("what the authenticator said is cut off")
	}
	if rp := sha256.Sum256([]byte(RelyingParty)); !bytes.Equal(data[:atFlags], rp[:]) {
		return 0, errors.New("the passkey is one for another site")
	}
	if data[atFlags]&userPresent == 0 || data[atFlags]&userVerified == 0 {
		return 0, errors.New("the authenticator did not verify who was there")
	}
	return binary.BigEndian.Uint32(data[atCounter:]), nil
}

// verify verifies an assertion by a public key (DER), and returns the authenticator's counter.
func (a *Assertion) verify(key, challenge []byte, origin string) (uint32, error) {
	var c clientData
	if err := c.in(a.ClientData, "webauthn.get", challenge, origin); err != nil {
		return 0, err
	}
	n, err := counter(a.AuthenticatorData)
	if err != nil {
		return 0, err
	}
	public, err := parse(key)
	if err != nil {
		return 0, err
	}
	said := sha256.Sum256(a.ClientData)
	if !signed(public, append(bytes.Clone(a.AuthenticatorData), said[:]...), a.Signature) {
		return 0, errors.New("the signature is not by this passkey")
	}
	return n, nil
}

// Bounds on a key. Who verifies a log that somebody gave them waits for every key in it, and a
// Book has room for maxKept of the longest.
const (
	minModulus  = 2048 // bits
	maxModulus  = 8192
	maxExponent = 1<<16 + 1
	maxKey      = 2 << 10 // bytes, as DER
)

var errKind = errors.New("the public key is of a kind that is not taken here")

// parse reads a public key of a kind that is asked for.
func parse(der []byte) (crypto.PublicKey, error) {
	if len(der) > maxKey {
		return nil, errKind
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil, fmt.Errorf("the public key cannot be read: %w", err)
	}
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P256() {
			return k, nil
		}
	case ed25519.PublicKey:
		return k, nil
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); minModulus <= bits && bits <= maxModulus && k.E <= maxExponent {
			return k, nil
		}
	}
	return nil, errKind
}

func signed(key crypto.PublicKey, text, signature []byte) bool {
	digest := sha256.Sum256(text)
	switch k := key.(type) {
	case *ecdsa.PublicKey:
		return ecdsa.VerifyASN1(k, digest[:], signature)
	case ed25519.PublicKey:
		return ed25519.Verify(k, text, signature)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(k, crypto.SHA256, digest[:], signature) == nil
	}
	return false
}
