package web

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"sync"
	"time"
)

// linkTime is how long a link that nobody has used lets somebody in: whoever finds it in a
// log later has nothing.
const linkTime = time.Hour

// mostSessions is how many browsers may be logged in; the one that came first gives way.
const mostSessions = 64

// sessions are who may come in. Of links and cookies only the digests are kept.
type sessions struct {
	cookie string // its name

	mu    sync.Mutex
	links map[[sha256.Size]byte]time.Time // until when they work
	in    [][sha256.Size]byte             // browsers, the oldest first
}

func newSessions() *sessions {
	return &sessions{cookie: "mcpx_inbox_" + rand.Text()[:10], links: map[[sha256.Size]byte]time.Time{}}
}

// link makes a link that works once.
func (s *sessions) link(now time.Time) string {
	secret := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	for digest, until := range s.links {
		if !until.After(now) {
			delete(s.links, digest)
		}
	}
	s.links[sha256.Sum256([]byte(secret))] = now.Add(linkTime)
	return secret
}

// waits reports whether a link would work.
func (s *sessions) waits(secret string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.links[sha256.Sum256([]byte(secret))]
	return ok && until.After(now)
}

// redeem lets a browser in for a link, which works no more; nil if it does not.
func (s *sessions) redeem(secret string, now time.Time) *http.Cookie {
	digest := sha256.Sum256([]byte(secret))
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.links[digest]
	delete(s.links, digest)
	if !ok || !until.After(now) {
		return nil
	}
	token := rand.Text()
	s.in = append(s.in, sha256.Sum256([]byte(token)))
	if len(s.in) > mostSessions {
		s.in = s.in[1:]
	}
	return &http.Cookie{Name: s.cookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// has reports whether a request is of a browser that is logged in.
func (s *sessions) has(r *http.Request) bool {
	c, err := r.Cookie(s.cookie)
	if err != nil {
		return false
	}
	digest := sha256.Sum256([]byte(c.Value))
	s.mu.Lock()
	defer s.mu.Unlock()
	found := 0
	for i := range s.in {
		found |= subtle.ConstantTimeCompare(s.in[i][:], digest[:])
	}
	return found == 1
}
