package web

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
)

// A slow inbox takes longer to do a thing than a browser may take to read of it.
type slow struct{ *inboxtest.Hall }

func (s slow) Halt(ctx context.Context, why inbox.Halt) (inbox.Halted, error) {
	time.Sleep(patience + 1)
	return s.Hall.Halt(ctx, why)
}

func (s slow) Show(ctx context.Context, id string) (approval.View, error) {
	time.Sleep(patience + 1)
	return s.Hall.Show(ctx, id)
}

func (s slow) Passkeys() inbox.Passkeys { return slowKeys{s.Hall.Passkeys()} }

type slowKeys struct{ inbox.Passkeys }

func (k slowKeys) All(ctx context.Context) ([]passkey.Credential, error) {
	time.Sleep(patience + 1)
	return k.Passkeys.All(ctx)
}

// A line is what a browser reads from until a moment, which it was given when its request was read.
type line struct {
	*httptest.ResponseRecorder
	until time.Time
}

func (l *line) SetWriteDeadline(at time.Time) error {
	l.until = at
	return nil
}

func TestWhatABridgeTookLongForReachedNoBrowser(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := inboxtest.New("notes")
		h.Enrolling(dir)
		s := &Server{guard: newGuard(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7421})}
		s.add(&Source{Inbox: slow{h}, Key: "notes", Label: "notes", Keys: slow{h}})
		id := h.Ask(inboxtest.Write("{}"))
		for at, c := range map[string]struct {
			form   url.Values
			status int
		}{
			"/bridges":            {url.Values{"bridge": {"notes"}, "do": {"halt"}, "reason": {"why"}}, http.StatusSeeOther},
			"/passkeys/challenge": {url.Values{"bridge": {"notes"}}, http.StatusOK},
			"/sign/notes/" + id:   {url.Values{}, http.StatusConflict},
		} {
			r := httptest.NewRequest(http.MethodPost, at, strings.NewReader(c.form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			got := &line{httptest.NewRecorder(), time.Now().Add(patience)}
			s.routes().ServeHTTP(got, r)
			if got.Code != c.status || got.until.Before(time.Now()) {
				t.Errorf("%s: %d, %s late: %s", at, got.Code, time.Since(got.until), got.Body)
			}
		}
	})
}

// An impatient inbox is that of a bridge that hangs: it gives up after ten seconds, as what speaks
// to the socket of one does.
type impatient struct{ inboxtest.Hung }

func (i impatient) List(ctx context.Context, _ bool) ([]approval.Summary, error) {
	_, err := i.Status(ctx)
	return nil, err
}

func (i impatient) Status(ctx context.Context) (inbox.Status, error) {
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	return i.Hung.Status(ctx)
}

func (i impatient) Grants(ctx context.Context) ([]inbox.Grant, error) {
	_, err := i.Status(ctx)
	return nil, err
}

// However many bridges hang, a page waits for all of them as long as for one, and shows the others.
func TestEachHungBridgeHeldUpThePageAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{guard: newGuard(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7421})}
		for _, key := range []string{"a", "b", "c"} {
			s.add(&Source{Inbox: impatient{inboxtest.Hung{Hall: inboxtest.New(key)}}, Key: key, Label: key})
		}
		h := inboxtest.New("d")
		h.Ask(inboxtest.Write("{}"))
		s.add(&Source{Inbox: h, Key: "d", Label: "d"})
		for at, most := range map[string]time.Duration{"/": 20 * time.Second, "/bridges": 10 * time.Second, "/history": 10 * time.Second, "/remembered": 10 * time.Second} {
			began, got := time.Now(), httptest.NewRecorder()
			s.routes().ServeHTTP(got, httptest.NewRequest(http.MethodGet, at, nil))
			if took := time.Since(began); got.Code != http.StatusOK || took > most {
				t.Errorf("%s: %d, after %s", at, got.Code, took)
			}
			if silent := strings.Count(got.Body.String(), "not answer"); at != "/history" && silent != 3 || at == "/" && !strings.Contains(got.Body.String(), "write_file") {
				t.Errorf("%s: %d are said to be silent:\n%s", at, silent, got.Body)
			}
		}
	})
}
