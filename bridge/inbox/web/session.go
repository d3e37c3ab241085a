package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/loopback"
)

// linkTime is how long a link that nobody has used lets somebody in: whoever finds it in a
// log later has nothing.
const linkTime = time.Hour

// mostSessions is how many browsers may be logged in; the one that came first gives way.
const mostSessions = 64

// sessions are who may come in. Of links and cookies only the digests are kept.
type sessions struct {
	cookie string // its name

	// root is before the path of all that takes a session, and nobody guesses it. Cookies know no
	// ports: a browser gives them also to what another user of this machine has at another port,
	// but not at another path.
	root string

	mu    sync.Mutex
	links map[[sha256.Size]byte]time.Time // until when they work
	in    []*session                      // the oldest first
}

// A session is a browser that is logged in. Whoever finds root out may have its cookie, which
// therefore counts for the user alone whose it was first.
type session struct {
	digest [sha256.Size]byte
	user   int             // see loopback.User
	over   context.Context // ends with it
	end    context.CancelFunc
}

type userKey struct{}

// withUser has requests of a connection tell whose it is; who asks pays for the answer, once.
func withUser(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, userKey{}, sync.OnceValue(func() int { return loopback.User(c) }))
}

// userOf is the user of this machine who sent a request, -1 where that is not known.
func userOf(r *http.Request) int {
	if user, is := r.Context().Value(userKey{}).(func() int); is {
		return user()
	}
	return -1
}

func newSessions() *sessions {
	return &sessions{cookie: "mcpx_inbox_" + rand.Text()[:10], root: "/" + rand.Text()[:16], links: map[[sha256.Size]byte]time.Time{}}
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

// voidLinks has no link work that was made before.
func (s *sessions) voidLinks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.links)
}

// waits reports whether a link would work.
func (s *sessions) waits(secret string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.links[sha256.Sum256([]byte(secret))]
	return ok && until.After(now)
}

// redeem lets a browser of a user in for a link, which works no more; nil if it does not.
func (s *sessions) redeem(secret string, user int, now time.Time) *http.Cookie {
	digest := sha256.Sum256([]byte(secret))
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.links[digest]
	delete(s.links, digest)
	if !ok || !until.After(now) {
		return nil
	}
	token := rand.Text()
	one := &session{digest: sha256.Sum256([]byte(token)), user: user}
	one.over, one.end = context.WithCancel(context.Background())
	s.in = append(s.in, one)
	if len(s.in) > mostSessions {
		s.in[0].end()
		s.in = s.in[1:]
	}
	return &http.Cookie{Name: s.cookie, Value: token, Path: s.root + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// of is the session that a request belongs to, nil if there is none.
func (s *sessions) of(r *http.Request) *session {
	for _, c := range r.CookiesNamed(s.cookie) { // another port may set one of that name, which comes first
		if one := s.with(sha256.Sum256([]byte(c.Value))); one != nil && one.user == userOf(r) {
			return one
		}
	}
	return nil
}

// with is the session whose cookie has a digest, nil if there is none.
func (s *sessions) with(digest [sha256.Size]byte) (found *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.in {
		if subtle.ConstantTimeCompare(one.digest[:], digest[:]) == 1 {
			found = one
		}
	}
	return found
}

// signOut ends a session, and returns what has the browser forget it.
func (s *sessions) signOut(one *session) *http.Cookie {
	one.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in = slices.DeleteFunc(s.in, func(other *session) bool { return other == one })
	return &http.Cookie{Name: s.cookie, Path: s.root + "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode}
}
