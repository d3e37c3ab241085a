package passkey_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey/passkeytest"
)

var statement = []byte(`{"question":"q1"}`)

// enrolled is a passkey of an authenticator.
func enrolled(t *testing.T, a *passkeytest.Authenticator) passkey.Credential {
	t.Helper()
	r := a.Register([]byte("made for this"))
	c, err := r.Verify([]byte("made for this"), passkeytest.Origin)
	if err != nil {
		t.Fatal(err)
	}
	c.Name = "blue key"
	return c
}

func TestAPasskeySignsAStatement(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for kind, a := range map[string]*passkeytest.Authenticator{"P-256": passkeytest.New(t), "Ed25519": passkeytest.With(edwards), "RSA": passkeytest.With(long)} {
		c := enrolled(t, a)
		for range 2 {
			said := a.Sign(statement)
			if err := c.Verify(&said, statement, passkeytest.Origin); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
		a.Counts, a.Counter, c.Counter = false, 0, 0
		for range 2 { // as authenticators do that do not count
			said := a.Sign(statement)
			if err := c.Verify(&said, statement, passkeytest.Origin); err != nil {
				t.Errorf("%s, without a counter: %v", kind, err)
			}
		}
	}
}

// Each thing that is wrong with a signature alone is enough.
func TestWhatIsNoSignature(t *testing.T) {
	for name, test := range map[string]struct {
		lie    func(*passkeytest.Authenticator)
		change func(*passkey.Assertion)
		said   string
	}{
		"another statement":    {change: func(a *passkey.Assertion) {}, said: "for another challenge"},
		"another site":         {lie: func(a *passkeytest.Authenticator) { a.Party = "127.0.0.1" }, said: "for another site"},
		"nobody there":         {lie: func(a *passkeytest.Authenticator) { a.Flags = 0x04 }, said: "did not verify who was there"},
		"not verified":         {lie: func(a *passkeytest.Authenticator) { a.Flags = 0x01 }, said: "did not verify who was there"},
		"another port":         {lie: func(a *passkeytest.Authenticator) { a.Origin = "http://localhost:3000" }, said: "on another page"},
		"another host":         {lie: func(a *passkeytest.Authenticator) { a.Origin = "http://localhost.evil.example:7421" }, said: "on another page"},
		"in a frame":           {lie: func(a *passkeytest.Authenticator) { a.Extra = map[string]any{"crossOrigin": true} }, said: "on another page"},
		"under another page":   {lie: func(a *passkeytest.Authenticator) { a.Extra = map[string]any{"topOrigin": "http://evil.example"} }, said: "on another page"},
		"a registration":       {lie: func(a *passkeytest.Authenticator) { a.Extra = map[string]any{"type": "webauthn.create"} }, said: "not a webauthn.get"},
		"a copy":               {lie: func(a *passkeytest.Authenticator) { a.Counter = 0 }, said: "did not go on"},
		"another id":           {change: func(a *passkey.Assertion) { a.Credential = []byte("x") }, said: "by another passkey"},
		"flags raised later":   {lie: func(a *passkeytest.Authenticator) { a.Flags = 0x01 }, change: func(a *passkey.Assertion) { a.AuthenticatorData[32] = 0x05 }, said: "not by this passkey"},
		"counter raised later": {change: func(a *passkey.Assertion) { a.AuthenticatorData[36] = 99 }, said: "not by this passkey"},
		"origin put in later": {lie: func(a *passkeytest.Authenticator) { a.Origin = "http://localhost:3000" }, change: func(a *passkey.Assertion) {
			a.ClientData = bytes.Replace(a.ClientData, []byte("3000"), []byte("7421"), 1)
		}, said: "not by this passkey"},
		"a name twice": {change: func(a *passkey.Assertion) {
			a.ClientData = bytes.Replace(a.ClientData, []byte("{"), []byte(`{"origin":"x",`), 1)
		}, said: "cannot be read"},
		"cut off":      {change: func(a *passkey.Assertion) { a.AuthenticatorData = a.AuthenticatorData[:36] }, said: "cut off"},
		"nothing":      {change: func(a *passkey.Assertion) { *a = passkey.Assertion{} }, said: "cannot be read"},
		"no signature": {change: func(a *passkey.Assertion) { a.Signature = nil }, said: "not by this passkey"},
	} {
		a := passkeytest.New(t)
		c := enrolled(t, a)
		c.Counter = 1
		a.Counter = 1
		if test.lie != nil {
			test.lie(a)
		}
		signs := statement
		if name == "another statement" {
			signs = []byte(`{"question":"q2"}`)
		}
		said := a.Sign(signs)
		if test.change != nil {
			test.change(&said)
		}
		if err := c.Verify(&said, statement, passkeytest.Origin); err == nil || !strings.Contains(err.Error(), test.said) || c.Counter != 1 {
			t.Errorf("%s: %v, counter %d", name, err, c.Counter)
		}
	}
}

func TestWhatIsNotEnrolled(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	large, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other := passkeytest.New(t)
	for name, test := range map[string]struct {
		lie    func(*passkeytest.Authenticator)
		change func(*passkey.Registration)
		said   string
	}{
		"not verified":     {lie: func(a *passkeytest.Authenticator) { a.Flags = 0x01 }, said: "did not verify"},
		"another page":     {lie: func(a *passkeytest.Authenticator) { a.Origin = "http://localhost:3000" }, said: "on another page"},
		"another site":     {lie: func(a *passkeytest.Authenticator) { a.Party = "evil.example" }, said: "another site"},
		"an assertion":     {lie: func(a *passkeytest.Authenticator) { a.Extra = map[string]any{"type": "webauthn.get"} }, said: "not a webauthn.create"},
		"another key":      {change: func(r *passkey.Registration) { r.PublicKey = other.Public() }, said: "of another passkey"},
		"another id":       {change: func(r *passkey.Registration) { r.Credential = []byte("x") }, said: "of another passkey"},
		"a length too far": {change: func(r *passkey.Registration) { r.AuthenticatorData[53] = 0xff }, said: "of another passkey"},
		"without a key":    {change: func(r *passkey.Registration) { r.AuthenticatorData[32] = 0x05 }, said: "made no passkey"},
		"cut off":          {change: func(r *passkey.Registration) { r.AuthenticatorData = r.AuthenticatorData[:50] }, said: "made no passkey"},
		"P-384":            {lie: func(a *passkeytest.Authenticator) { a.Key = large }, said: "not taken here"},
		"a short RSA key":  {lie: func(a *passkeytest.Authenticator) { a.Key = small }, said: "not taken here"},
		"no key":           {change: func(r *passkey.Registration) { r.PublicKey = []byte("x") }, said: "cannot be read"},
	} {
		a := passkeytest.New(t)
		if test.lie != nil {
			test.lie(a)
		}
		r := a.Register([]byte("c"))
		if test.change != nil {
			test.change(&r)
		}
		if _, err := r.Verify([]byte("c"), passkeytest.Origin); err == nil || !strings.Contains(err.Error(), test.said) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := other.Register([]byte("c"))
	if _, err := r.Verify([]byte("d"), passkeytest.Origin); err == nil {
		t.Error("it is enrolled for another challenge")
	}
}

func TestOrigins(t *testing.T) {
	for origin, want := range map[string]bool{"http://localhost:7421": true, "http://localhost:1": true, "http://localhost": false, "http://localhost:0": false, "http://localhost:70000": false,
		"https://localhost:7421": false, "http://127.0.0.1:7421": false, "http://localhost:7421/": false, "http://a@localhost:7421": false, "http://LOCALHOST:7421": false, "": false} {
		if got := passkey.Origin(origin); got != want {
			t.Errorf("%q: %v", origin, got)
		}
	}
}

func TestABookKeepsPasskeys(t *testing.T) {
	dir := t.TempDir()
	a, b := passkeytest.New(t), passkey.In(filepath.Join(dir, "passkeys"), "notes")
	c := enrolled(t, a)
	c.Log = "l1"
	no := errors.New("the record cannot be written")
	if err := b.Add(c, func() error { return no }); err != no {
		t.Errorf("enrolled without a record: %v", err)
	}
	if all, err := b.All(); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
	put := func() error { return nil }
	if err := b.Add(c, put); err != nil {
		t.Fatal(err)
	}
	if err := b.Add(c, put); err == nil {
		t.Error("the same was enrolled twice")
	}
	said := a.Sign(statement)
	if _, err := b.Use(&said, statement, passkeytest.Origin, "l2"); err == nil {
		t.Error("it counts for another record")
	}
	again := passkey.In(filepath.Join(dir, "passkeys"), "notes") // as after a restart
	if got, err := again.Use(&said, statement, passkeytest.Origin, "l1"); err != nil || got.Name != "blue key" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := b.Use(&said, statement, passkeytest.Origin, "l1"); err == nil {
		t.Error("the counter is not kept: it was used twice")
	}
	if had, err := b.Remove(c.Key(), func(passkey.Credential) error { return nil }); !had || err != nil {
		t.Errorf("%v, %v", had, err)
	}
	next := a.Sign(statement)
	if _, err := b.Use(&next, statement, passkeytest.Origin, "l1"); err == nil || !strings.Contains(err.Error(), "not enrolled") {
		t.Errorf("one that was removed: %v", err)
	}
}

// Who verifies a log that somebody gave them waits for no key that is larger than any is, and a
// book takes none for which it would have no room.
func TestNoKeyIsLargerThanAnyIs(t *testing.T) {
	key := func(bits uint, exponent int) []byte {
		n := new(big.Int).Lsh(big.NewInt(1), bits-1)
		der, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: n.Add(n, big.NewInt(1)), E: exponent})
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	padded, err := asn1.Marshal(struct {
		N       *big.Int
		E       int
		Padding []byte
	}{new(big.Int).Lsh(big.NewInt(1), 2047), 65537, make([]byte, 2000)})
	if err != nil {
		t.Fatal(err)
	}
	rsaKeys := pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}, Parameters: asn1.NullRawValue}
	long, err := asn1.Marshal(struct {
		Kind pkix.AlgorithmIdentifier
		Key  asn1.BitString
	}{rsaKeys, asn1.BitString{Bytes: padded, BitLength: 8 * len(padded)}})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		key     []byte
		refused string
	}{
		"the largest":             {key(8192, 65537), "not by this passkey"},
		"a bit more":              {key(8193, 65537), "of a kind"},
		"one that takes minutes":  {key(400_000, 1<<31-1), "of a kind"},
		"of too small a modulus":  {key(2047, 65537), "of a kind"},
		"with more behind it":     {long, "of a kind"},
		"of an exponent too long": {key(2048, 1<<31-1), "of a kind"},
	} {
		a := passkeytest.New(t)
		said, c := a.Sign(statement), passkey.Credential{ID: a.ID, PublicKey: test.key}
		if err := c.Verify(&said, statement, ""); err == nil || !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s: %v", name, err)
		}
		r := a.Register(statement)
		r.PublicKey = test.key
		if _, err := r.Verify(statement, passkeytest.Origin); err == nil || test.refused == "of a kind" && !strings.Contains(err.Error(), test.refused) {
			t.Errorf("%s is enrolled: %v", name, err)
		}
	}
}

// A file that others can write, or that says more than a Book writes, lets nobody sign.
func TestABookThatOthersWroteCountsForNothing(t *testing.T) {
	b := passkey.In(t.TempDir(), "notes")
	if err := b.Add(enrolled(t, passkeytest.New(t)), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(b.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "{}x", strings.Replace(string(text), `"name"`, `"nam"`, 1), strings.Replace(string(text), `{`, `{"passkeys":[],`, 1)} {
		if err := os.WriteFile(b.Path(), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if all, err := b.All(); err == nil {
			t.Errorf("%q is read as %v", bad, all)
		}
	}
	if err := os.WriteFile(b.Path(), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(b.Path(), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := b.All(); err == nil {
		t.Error("a file that everybody can write is read")
	}
}

func FuzzAssertion(f *testing.F) {
	a := passkeytest.New(f)
	r := a.Register([]byte("c"))
	c, err := r.Verify([]byte("c"), passkeytest.Origin)
	if err != nil {
		f.Fatal(err)
	}
	good := a.Sign(statement)
	f.Add(good.AuthenticatorData, good.ClientData, good.Signature)
	f.Add([]byte{}, []byte(`{}`), []byte{})
	f.Fuzz(func(t *testing.T, data, client, signature []byte) {
		key := c
		said := passkey.Assertion{Credential: c.ID, AuthenticatorData: data, ClientData: client, Signature: signature}
		same := bytes.Equal(data, good.AuthenticatorData) && bytes.Equal(client, good.ClientData)
		if err := key.Verify(&said, statement, passkeytest.Origin); err == nil && !same {
			text, _ := json.Marshal(said)
			t.Fatalf("a signature of nobody's: %s", text)
		}
		r := passkey.Registration{Credential: c.ID, PublicKey: signature, AuthenticatorData: data, ClientData: client}
		r.Verify([]byte("c"), passkeytest.Origin)
	})
}
