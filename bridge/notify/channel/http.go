package channel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// How long one request may take, and how much of an answer is read.
const (
	requestTime = 20 * time.Second
	maxAnswer   = 1 << 20
	maxHead     = 64 << 10
)

// newWeb makes what makes requests. It follows no redirects: what is signed or carries a token is for one place.
// Each channel has one of its own, so that none holds up another.
func newWeb() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: maxHead},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// post sends JSON, and returns the answer. Its errors are [*Error], and show nothing of the URL.
func post(ctx context.Context, web *http.Client, at string, header http.Header, body []byte) ([]byte, error) {
	status, answer, err := exchange(ctx, web, at, header, body)
	if err == nil {
		err = status.refusal(answer)
	}
	return answer, err
}

// A reply is what the head of an answer says.
type reply struct {
	code  int
	after time.Duration
}

// exchange posts, whatever the answer is. Its errors say that there was none.
func exchange(ctx context.Context, web *http.Client, at string, header http.Header, body []byte) (reply, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return reply{}, nil, refused("the URL cannot be used")
	}
	r.Header = header.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "mcpx-bridge")
	a, err := web.Do(r)
	if err != nil {
		return reply{}, nil, &Error{Err: bare(err)}
	}
	defer a.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(a.Body, maxAnswer))
	if err != nil {
		return reply{}, nil, &Error{Err: fmt.Errorf("the answer ends early: %w", bare(err))}
	}
	return reply{a.StatusCode, retryAfter(a.Header.Get("Retry-After"), time.Now())}, answer, nil
}

// bare is an error without the URL that it happened at, which may hold a secret.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// refusal is why an answer is none that one hopes for.
func (r reply) refusal(answer []byte) error {
	if r.code/100 == 2 {
		return nil
	}
	err := fmt.Errorf("it answered %d %s: %s", r.code, http.StatusText(r.code), answer)
	later := r.code >= 500 || r.code == http.StatusTooManyRequests || r.code == http.StatusRequestTimeout
	return &Error{Err: err, Final: !later, After: r.after}
}

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(said string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(said); err == nil {
		return time.Duration(max(0, min(n, 86400))) * time.Second
	}
	if at, err := http.ParseTime(said); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

func bearer(token string) http.Header {
	if token == "" {
		return http.Header{}
	}
	return http.Header{"Authorization": {"Bearer " + token}}
}

// encode writes what holds no more than texts, numbers, lists and objects.
func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return out
}
