package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// selfSigned writes a certificate for loopback, and its key.
func selfSigned(t *testing.T) (certFile, keyFile string, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots.AddCert(parsed)
	return certFile, keyFile, roots
}

func TestAGatewayWithACertificateServesWSS(t *testing.T) {
	cert, key, roots := selfSigned(t)
	home := t.TempDir()
	stdout, in := io.Pipe()
	ctx, stop := context.WithCancelCause(t.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"gateway", "--json", "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key},
			env{stdin: strings.NewReader(""), stdout: in, stderr: io.Discard, environ: os.Environ, getenv: func(key string) string {
				return map[string]string{"XDG_STATE_HOME": home}[key]
			}})
	}()
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var ready struct{ URL string }
	if err := json.Unmarshal(line, &ready); err != nil || !strings.HasPrefix(ready.URL, "wss://127.0.0.1:") {
		t.Fatalf("%s: %v", line, err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}}}
	resp, err := client.Get("https" + strings.TrimPrefix(ready.URL, "wss") + "/health")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if !strings.Contains(string(body), `"server":"mcpx-bridge"`) {
		t.Errorf("health: %s", body)
	}
	// Its certificate is for others; this machine's programs keep one they can
	// reach without.
	if _, err := os.Stat(filepath.Join(home, "mcpx-bridge", "gateway.json")); err == nil {
		t.Error("it is listed as this machine's gateway")
	}
	stop(errSignalled)
	if code := <-ended; code != 0 {
		t.Errorf("exit code %d", code)
	}
}
