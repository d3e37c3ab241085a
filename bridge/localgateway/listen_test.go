package localgateway_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/localgateway"
)

// pair writes a certificate and its key.
func pair(t *testing.T) (certFile, keyFile string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1)}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, b := range map[string]*pem.Block{"cert": {Type: "CERTIFICATE", Bytes: cert}, "key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "cert"), filepath.Join(dir, "key")
}

func TestWhoIsReachedFromElsewhereEncrypts(t *testing.T) {
	cert, key := pair(t)
	_, other := pair(t)
	for what, c := range map[string]struct {
		listen, cert, key string
		proxy             bool
		encrypts, refused bool
	}{
		"this machine":          {listen: "127.0.0.1:0"},
		"this machine, by TLS":  {listen: "[::1]:0", cert: cert, key: key, encrypts: true},
		"others":                {listen: "0.0.0.0:7420", refused: true},
		"others, on any":        {listen: ":7420", refused: true},
		"others, by TLS":        {listen: "0.0.0.0:7420", cert: cert, key: key, encrypts: true},
		"others, by a proxy":    {listen: "0.0.0.0:7420", proxy: true},
		"a certificate alone":   {listen: "127.0.0.1:0", cert: cert, refused: true},
		"a key alone":           {listen: "127.0.0.1:0", key: key, refused: true},
		"somebody else's key":   {listen: "127.0.0.1:0", cert: cert, key: other, refused: true},
		"files that are not":    {listen: "127.0.0.1:0", cert: cert, key: key + "s", refused: true},
		"what is no address":    {listen: "7420", refused: true},
		"no address, and a TLS": {listen: "7420", cert: cert, key: key, refused: true},
	} {
		got, err := localgateway.Encryption(c.listen, c.cert, c.key, c.proxy)
		f, _ := errors.AsType[*fault.Error](err)
		if (err != nil) != c.refused || c.refused && f.Exit != fault.Misused || (got != nil) != c.encrypts {
			t.Errorf("%s: %v, %v", what, got != nil, err)
		}
		if got != nil && (got.MinVersion != tls.VersionTLS12 || len(got.Certificates) != 1) {
			t.Errorf("%s: from version %x on, with %d certificates", what, got.MinVersion, len(got.Certificates))
		}
	}
}

func TestHostAt(t *testing.T) {
	for listen, want := range map[string]string{"127.0.0.1:7420": "", "localhost:7420": "", "[::1]:7420": "", ":7420": "", "7420": "",
		"192.0.2.7:7420": "192.0.2.7", "gateway.example:7420": "gateway.example", "[2001:db8::7]:7420": "2001:db8::7"} {
		if got := localgateway.HostAt(listen); got != want {
			t.Errorf("%s: %q, want %q", listen, got, want)
		}
	}
}
