package channel_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify/channel"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest/watchdog"
)

func TestMain(m *testing.M) {
	watchdog.Start()
	forget := believes()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		forget()
		os.Exit(code)
	}))
}

const secret = "s3cret-of-the-channel"

// variables are those of the bridge.
func variables(name string) (string, bool) { return secret, name == "SECRET" }

// open opens the channel that a policy has.
func open(t *testing.T, format string, a ...any) channel.Channel {
	t.Helper()
	out, err := tryOpen(t, fmt.Sprintf(format, a...))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func tryOpen(t *testing.T, of string) (channel.Channel, error) {
	t.Helper()
	p, err := policy.Load("policy.yaml", []byte("version: 1\ndefault: ask\nnotify: {x: {"+of+"}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return channel.Open(p.Channels()[0], channel.Options{Getenv: variables})
}

// asked is a notice of a question, with words of its caller that mean something in every channel.
func asked(t *testing.T, but ...func(*approval.Question)) *channel.Notice {
	t.Helper()
	h := inboxtest.New("fs")
	h.Redact = func(args []byte) []byte { return args }
	q := inboxtest.Write(`{"path":"/a","text":"<!channel> *bold* <b>x</b> \r\nBcc: evil@example.com\n.\n@all ` + "\u202e" + `"}`)
	q.Reason = "the build is red"
	for _, change := range but {
		change(&q)
	}
	id := h.Ask(q)
	v, err := inbox.Public(h).Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return &channel.Notice{ID: channel.NoticeID(v, "asked"), Event: "asked", Question: v, Left: 5 * time.Minute, Command: "mcpx-bridge approve"}
}

// closed is that it was answered.
func closed(n *channel.Notice, ref string) *channel.Notice {
	return &channel.Notice{ID: channel.NoticeID(n.Question, "closed"), Event: "closed", Question: n.Question, Because: "allowed by ann", By: "ann", Ref: ref}
}

// A sent is a request that came.
type sent struct {
	path   string
	header http.Header
	body   []byte
}

// serves has each request answered by answer, and returns what came.
func serves(t *testing.T, answer http.HandlerFunc) (url string, came chan sent) {
	t.Helper()
	came = make(chan sent, 16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		came <- sent{r.URL.Path, r.Header, body}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, came
}

func ok(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"ok":true}`) }

// A webhook's receiver checks who it is from, and that it is no old one, with what the manual says.
func TestAWebhookIsSigned(t *testing.T) {
	url, came := serves(t, ok)
	n := asked(t)
	if _, err := open(t, "webhook: '%s/hook', secret: '${SECRET}'", url).Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	got := <-came
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(got.header.Get("Mcpx-Timestamp") + "."))
	mac.Write(got.body)
	if want := "v1=" + hex.EncodeToString(mac.Sum(nil)); got.header.Get("Mcpx-Signature") != want {
		t.Errorf("signed %s, not %s", got.header.Get("Mcpx-Signature"), want)
	}
	var said struct {
		Event, Notice, Headline, ID string
		Digest                      string
		From, Tool                  string
	}
	if err := json.Unmarshal(got.body, &said); err != nil {
		t.Fatal(err)
	}
	if said.Event != "asked" || said.Notice != got.header.Get("Mcpx-Notice-Id") || said.Notice != n.ID || said.ID != n.Question.ID || said.Digest != n.Question.Short || said.Tool != "write_file" {
		t.Errorf("%+v", said)
	}
	if got.path != "/hook" || strings.ContainsAny(string(got.body), "\n\u202e") || strings.Contains(string(got.body)+fmt.Sprint(got.header), secret) {
		t.Errorf("%s: %s", got.path, got.body)
	}
}

// Whatever becomes of a request, the error says whether to try again and when, and shows neither
// the secret nor the URL, which may be one.
func TestAReceiverThatFailsInEveryWay(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   string
		final  bool
		after  time.Duration
	}{
		"429": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "17")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "it answered 429 Too Many Requests", false, 17 * time.Second},
		"503 until a date": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", time.Now().Add(2*time.Hour).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "it answered 503", false, -1},
		"500":      {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "sorry\x1b[2J", 500) }, `it answered 500 Internal Server Error: sorry\u{1b}[2J`, false, 0},
		"400":      {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad", 400) }, "it answered 400 Bad Request: bad", true, 0},
		"404":      {http.NotFound, "it answered 404", true, 0},
		"redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, "it answered 302", true, 0},
		"mid-body": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "half")
		}, "the answer ends early", false, 0},
		"mid-head": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Write([]byte("HTTP/1.1 200 O"))
			conn.Close()
		}, "", false, 0},
		"hangs": {func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}, "deadline exceeded", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			url, came := serves(t, c.answer)
			ctx, cancel := context.WithCancel(t.Context())
			if name == "hangs" {
				ctx, cancel = context.WithTimeout(t.Context(), 3*time.Second)
			}
			defer cancel()
			_, err := open(t, "webhook: '%s/hidden-path', secret: '${SECRET}'", url).Send(ctx, asked(t))
			<-came
			e, is := errors.AsType[*channel.Error](err)
			if !is || !strings.Contains(err.Error(), c.want) || e.Final != c.final || c.after >= 0 && e.After != c.after || c.after < 0 && e.After < time.Hour {
				t.Errorf("%+v", err)
			}
			if strings.Contains(err.Error(), "hidden-path") || strings.Contains(err.Error(), secret) {
				t.Errorf("it shows too much: %v", err)
			}
			if len(came) > 0 {
				t.Error("it was sent on")
			}
		})
	}
}

func TestAReceiverThatIsNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, err = open(t, "webhook: 'http://%s/hidden-path', secret: '${SECRET}'", l.Addr()).Send(t.Context(), asked(t))
	if e, is := errors.AsType[*channel.Error](err); !is || e.Final || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "hidden-path") {
		t.Errorf("%v", err)
	}
}

func TestATopicOfNtfy(t *testing.T) {
	url, came := serves(t, ok)
	c, n := open(t, "ntfy: '%s/deep/alerts', token: '${SECRET}'", url), asked(t)
	n.Link = "http://127.0.0.1:7421/x"
	reminder := *n
	reminder.Event = "reminder"
	for _, n := range []*channel.Notice{n, &reminder, closed(n, "")} {
		if _, err := c.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	var first, last struct {
		Topic, Title, Message, Click string
		Priority                     int
		Sequence                     string `json:"sequence_id"`
	}
	got := <-came
	if again := <-came; strings.Contains(string(again.body), "sequence_id") || !strings.Contains(string(again.body), "5m left: ") {
		t.Errorf("a reminder rings nowhere: %s", again.body)
	}
	if json.Unmarshal(got.body, &first) != nil || json.Unmarshal((<-came).body, &last) != nil {
		t.Fatal("no JSON")
	}
	if got.path != "/deep/" || got.header.Get("Authorization") != "Bearer "+secret || first.Topic != "alerts" || first.Click != n.Link || first.Priority != 4 {
		t.Errorf("%s %v %+v", got.path, got.header, first)
	}
	for _, part := range []string{`/path = "/a"`, `\u{202e}`, "The caller says: \"the build is red\"", "Answer [" + n.Question.Short + "] at the bridge, in a browser: " + n.Link} {
		if !strings.Contains(first.Message, part) {
			t.Errorf("%s\nlacks %s", first.Message, part)
		}
	}
	if first.Title != "agent-a requests permission to execute write_file" || last.Title != "allowed by ann: "+first.Title || last.Sequence != first.Sequence || last.Priority != 2 {
		t.Errorf("%q, then %q", first.Title, last.Title)
	}
}

// However long a question is, a channel gets no more than it takes, and says so.
func TestALongQuestionIsCut(t *testing.T) {
	url, came := serves(t, ok)
	n := asked(t)
	for i := range 200 {
		n.Question.Arguments = append(n.Question.Arguments, approval.Leaf{Name: fmt.Sprint("/é", i), Text: strings.Repeat("é", 50)})
	}
	if _, err := open(t, "ntfy: '%s/alerts'", url).Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	var m struct{ Message string }
	if json.Unmarshal((<-came).body, &m) != nil || len(m.Message) > 4000 || !strings.Contains(m.Message, "… (cut)") || !strings.Contains(m.Message, "mcpx-bridge approve") || n.Whole(3900) {
		t.Errorf("%d bytes: %s", len(m.Message), m.Message)
	}
}

func TestWhereSecretsAre(t *testing.T) {
	dir := t.TempDir()
	open, loose, long := filepath.Join(dir, "mine"), filepath.Join(dir, "everybodys"), filepath.Join(dir, "two-lines")
	for file, text := range map[string]string{open: secret + "\n", loose: secret, long: secret + "\nmore"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(loose, 0o644); err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]string{
		"${SECRET}":       "",
		"file:" + open:    "",
		"${OTHER}":        "notify.x.secret: there is no variable OTHER",
		"file:" + loose:   "notify.x.secret: ",
		"file:" + long:    "holds no single line of text",
		"file:/none/such": "notify.x.secret: ",
	} {
		if said == "file:"+loose && runtime.GOOS == "windows" {
			continue // where a mode says nothing
		}
		_, err := tryOpen(t, "webhook: https://h.example/x, secret: '"+said+"'")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) || err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", said, err)
		}
	}
	if _, err := tryOpen(t, "webhook: '${SECRET}', secret: '${SECRET}'"); err == nil || !strings.Contains(err.Error(), "notify.x.webhook: it is no URL") || strings.Contains(err.Error(), secret) {
		t.Errorf("%v", err)
	}
}

// ntfy answers 404 to all that is sent to a name it cannot have, and people would never hear of a question.
func TestATopicThatNtfyCannotHaveIsRefusedBeforeAnybodyIsAsked(t *testing.T) {
	p, err := policy.Load("policy.yaml", []byte("version: 1\ndefault: ask\nnotify: {x: {ntfy: '${URL}'}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		"https://ntfy.sh/":                             "notify.x.ntfy names no topic",
		"https://ntfy.sh/our.alerts":                   "notify.x.ntfy names no topic that ntfy knows",
		"https://ntfy.sh/" + strings.Repeat("a", 65):   "notify.x.ntfy names no topic that ntfy knows",
		"https://ntfy.sh/alerts?auth=" + secret:        "notify.x.ntfy names no topic that ntfy knows",
		"https://n.example/below/A_name-of-ours/":      "",
		"https://n.example/" + strings.Repeat("a", 64): "",
	} {
		_, err := channel.Open(p.Channels()[0], channel.Options{Getenv: func(string) (string, bool) { return at, true }})
		if (err != nil) != (want != "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), at)) {
			t.Errorf("%s: %v", at, err)
		}
	}
}
