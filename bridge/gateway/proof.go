package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
)

// maxChallenge is the most bytes of a challenge.
const maxChallenge = 128

// Proof is what a gateway that holds the secret answers to a challenge, on a connection
// that was made to an address: GET /health?challenge=… has it as "proof". Who asks on the
// very connection on which it then shows a token shows it to nobody else: whoever took the
// gateway's port cannot make the proof, and one that is fetched from the gateway, wherever
// that is now, is for another address (FINDINGS L9).
//
// It gives nothing away about tokens: the key is derived from the secret for this alone.
func Proof(secret []byte, challenge string, at net.Addr) string {
	addr, err := netip.ParseAddrPort(at.String())
	if err != nil {
		return "" // no address of a network that others could listen at
	}
	addr = netip.AddrPortFrom(addr.Addr().Unmap().WithZone(""), addr.Port())
	derived := hmac.New(sha256.New, secret)
	derived.Write([]byte("mcpx-bridge: the gateway at an address, version 1"))
	mac := hmac.New(sha256.New, derived.Sum(nil))
	mac.Write([]byte(challenge + "\n" + addr.String()))
	return hex.EncodeToString(mac.Sum(nil))
}

// prove answers the challenge of a request, "" if it has none.
func (g *Gateway) prove(r *http.Request) string {
	challenge := r.URL.Query().Get("challenge")
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if challenge == "" || len(challenge) > maxChallenge || !ok {
		return ""
	}
	return Proof(g.opt.Secret, challenge, at)
}
