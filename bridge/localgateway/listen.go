package localgateway

import (
	"crypto/tls"
	"net"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/loopback"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// Encryption is what a gateway has to encrypt with that listens at an address: the certificate
// and the key in these files, PEM of 1 MiB at most each, or nil where it has none and needs none.
// It refuses to be reached from other machines in clear text, unless a proxy encrypts. Its errors
// are misuse.
func Encryption(listen, certFile, keyFile string, behindProxy bool) (*tls.Config, error) {
	if err := CheckListen(listen); err != nil {
		return nil, err
	}
	if (certFile == "") != (keyFile == "") {
		return nil, fault.New(fault.Misused, "give both", "--tls-cert and --tls-key belong together")
	}
	if certFile == "" {
		if OffLoopback(listen) && !behindProxy {
			return nil, fault.New(fault.Misused, "give --tls-cert and --tls-key, or --behind-proxy if a proxy does the encryption",
				"--listen %s can be reached from other machines, in clear text", listen)
		}
		return nil, nil
	}
	cert, err := keyPair(certFile, keyFile)
	if err != nil {
		return nil, fault.New(fault.Misused, "both are PEM files, and the key is the one of the certificate", "--tls-cert, --tls-key: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}

// maxPEM is the most bytes that a certificate or a key may have.
const maxPEM = 1 << 20

func keyPair(certFile, keyFile string) (tls.Certificate, error) {
	cert, err := private.Read(certFile, maxPEM, private.Care{})
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := private.Read(keyFile, maxPEM, private.Care{})
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(cert, key)
}

// HostAt is the name by which a gateway is called that others reach at the address where it
// listens; "" where that has none, or only this machine reaches it.
func HostAt(listen string) string {
	host, _, err := net.SplitHostPort(listen)
	if err != nil || !OffLoopback(listen) {
		return ""
	}
	return strings.Trim(host, "[]")
}

// CheckListen reports what is wrong with an address to listen at, as misuse.
func CheckListen(address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fault.New(fault.Misused, "write it as HOST:PORT, for example 127.0.0.1:7420", "--listen: %w", err)
	}
	return nil
}

// OffLoopback reports whether others than this machine can reach an address to
// listen at. A malformed one is refused elsewhere, and so is none.
func OffLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && !loopback.Is(host)
}
