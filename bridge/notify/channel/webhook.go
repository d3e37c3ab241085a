package channel

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"
)

// Headers of a webhook's requests. The signature is "v1=" and, in hex, the HMAC-SHA256 under the
// secret of the time, a dot and the body. The time is in seconds since 1970. A notice that is told
// again, because nobody said that it had come, has the same id.
const (
	HeaderID        = "Mcpx-Notice-Id"
	HeaderTime      = "Mcpx-Timestamp"
	HeaderSignature = "Mcpx-Signature"
)

type webhook struct {
	web    *http.Client
	at     string
	secret []byte
}

func newWebhook(s secrets) (Channel, error) {
	at, err := s.web()
	if err != nil {
		return nil, err
	}
	secret, err := s.read("secret")
	if err != nil {
		return nil, err
	}
	return &webhook{newWeb(), at, []byte(secret)}, nil
}

func (w *webhook) Send(ctx context.Context, n *Notice) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	body, at := n.JSON(), strconv.FormatInt(time.Now().Unix(), 10)
	_, err := post(ctx, w.web, w.at, http.Header{HeaderID: {n.ID}, HeaderTime: {at}, HeaderSignature: {Sign(w.secret, at, body)}}, body)
	return "", err
}

// Sign is the signature of a body that is sent at a time.
func Sign(secret []byte, at string, body []byte) string {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(at + "."))
	h.Write(body)
	return "v1=" + hex.EncodeToString(h.Sum(nil))
}
