package socket_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
)

const (
	yes = `{"action":"accept","content":{"approve":true}}`
	no  = `{"action":"decline","content":{"reason":"not today"}}`
)

// enter opens a door and goes in.
func enter(t *testing.T) (*inboxtest.Hall, *socket.Client) {
	t.Helper()
	h := inboxtest.New("fs")
	d := h.Open(t, filepath.Join(t.TempDir(), "control"))
	return h, dial(t, d.Path())
}

func TestQuestionIsListedShownAndAnswered(t *testing.T) {
	h, c := enter(t)
	id := h.Ask(inboxtest.Write(`{"path":"/a","n":9007199254740993}`))
	list, err := c.List(t.Context(), true)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	q := list[0]
	if q.ID != id || q.Bridge != "fs" || q.From != "agent-a" || q.Tool != "write_file" || q.Rule != "small-writes" || q.Need != 1 || q.Have != 0 ||
		string(q.Args) != `{"path":"/a","n":9007199254740993}` || q.Deadline.Sub(q.Asked) != 5*time.Minute {
		t.Errorf("listed as %+v", q)
	}
	v, err := c.Show(t.Context(), id[:6])
	if err != nil || v.ID != id || v.Short != q.Short || !strings.Contains(v.Text(), `/path = "/a"`) {
		t.Errorf("shown as %+v, %v", v, err)
	}
	s, err := c.Status(t.Context())
	if err != nil || s.Pending != 1 {
		t.Errorf("%+v, %v: looking at a question must not answer it", s, err)
	}
	out, err := c.Decide(t.Context(), inbox.Decision{ID: id, Digest: v.Digest, Result: []byte(yes)})
	if err != nil || out.Outcome != "allowed" || out.By != "local" {
		t.Fatalf("%+v, %v", out, err)
	}
	if s := h.Next(t); s.Outcome != approval.Allowed || s.By[0] != (approval.Who{Door: approval.Local}) {
		t.Errorf("settled as %+v", s)
	}
}

// AI-23: a decision carries the digest of what was shown.
func TestAI23ADecisionNeedsTheDigestThatWasShown(t *testing.T) {
	h, c := enter(t)
	id, other := h.Ask(inboxtest.Write(`{"path":"/a"}`)), h.Ask(inboxtest.Write(`{"path":"/b"}`))
	_ = other
	elsewhere, err := c.Show(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Decide(t.Context(), inbox.Decision{ID: id, Digest: "", Result: []byte(yes)}); err == nil || !strings.Contains(err.Error(), "digest is missing") {
		t.Errorf("without a digest: %v", err)
	}
	if r := refused(t, c, id, elsewhere.Digest); r.Reason != inbox.DigestMismatch {
		t.Errorf("with another's digest: %v", r)
	}
	if r := refused(t, c, id[:8], elsewhere.Digest); r.Reason != inbox.Unknown {
		t.Errorf("with part of an id: %v", r)
	}
	if list, _ := c.List(t.Context(), false); len(list) != 2 || list[0].Args != nil {
		t.Errorf("pending: %+v", list)
	}
}

func refused(t *testing.T, c *socket.Client, id, digest string) *inbox.Refusal {
	t.Helper()
	_, err := c.Decide(t.Context(), inbox.Decision{ID: id, Digest: digest, Result: []byte(yes)})
	r, ok := errors.AsType[*inbox.Refusal](err)
	if !ok {
		t.Fatalf("no refusal: %v", err)
	}
	return r
}

func TestSecondAnswerHearsWhoWasFirst(t *testing.T) {
	h, c := enter(t)
	q := inboxtest.Write(`{}`)
	q.Terms.Of = []string{"local", "alice"}
	id := h.Ask(q)
	v, err := c.Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	h.Say(t, "alice", id, no)
	if r := refused(t, c, id, v.Digest); r.Reason != inbox.AlreadyDecided || r.By != "alice" {
		t.Errorf("%+v", r)
	}
	if s := h.Next(t); s.Outcome != approval.Denied {
		t.Errorf("settled as %+v", s)
	}
}

func TestAI05OneOfManyIsFirst(t *testing.T) {
	h, c := enter(t)
	for range 20 {
		id := h.Ask(inboxtest.Write(`{}`))
		v, err := c.Show(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		won := make(chan inbox.Outcome, 8)
		for range cap(won) {
			all.Go(func() {
				mine, err := socket.Dial(t.Context(), c.Path)
				if err != nil {
					t.Error(err)
					return
				}
				out, err := mine.Decide(t.Context(), inbox.Decision{ID: id, Digest: v.Digest, Result: []byte(yes)})
				if r, ok := errors.AsType[*inbox.Refusal](err); ok && r.Reason == inbox.AlreadyDecided && r.By == "local" {
					return
				}
				if err != nil {
					t.Error(err)
				}
				won <- out
			})
		}
		all.Wait()
		if len(won) != 1 || len(h.Settled) != 1 {
			t.Fatalf("%d won, settled %d times", len(won), len(h.Settled))
		}
		h.Next(t)
	}
}

func TestAI19WhatIsNoRequestDecidesNothing(t *testing.T) {
	h, c := enter(t)
	id := h.Ask(inboxtest.Write(`{}`))
	v, err := c.Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	filled := strings.NewReplacer("$ID", id, "$DIGEST", v.Digest, "$YES", yes)
	const right = `{"digest":"$DIGEST","result":$YES}`
	for _, r := range []struct {
		method, path, body, kind string
	}{
		{body: ``}, {body: `nonsense`}, {body: `[]`}, {body: `{}`}, {body: `null`}, {body: `"x"`}, {body: `[` + right + `]`}, {body: right + right},
		{body: `{"digest":"$DIGEST"}`}, {body: `{"digest":null,"result":$YES}`}, {body: `{"result":$YES}`}, {body: `{"Digest":"$DIGEST","result":$YES}`},
		{body: `{"digest":"$DIGEST","result":$YES,"who":"alice"}`}, {body: `{"digest":"$DIGEST","result":$YES,"id":"$ID"}`},
		{body: `{"digest":"$DIGEST","digest":"$DIGEST","result":$YES}`}, {body: `["$DIGEST",$YES]`},
		{body: `{"digest":"$DIGEST","result":"` + strings.Repeat("x", 600<<10) + `"}`}, {body: strings.Repeat(" ", 1<<20) + right},
		{body: right, kind: "text/plain"}, {body: right, kind: "application/x-www-form-urlencoded"}, {body: right, kind: "-"},
		{body: right, path: "/questions/$ID/answer?digest=$DIGEST"}, {body: right, path: "/questions/$ID/answer?" + strings.Repeat("x", 10)}, {body: right, path: "/questions//answer"}, {body: right, path: "/questions/$ID/Answer"},
		{body: right, path: "/questions/$ID"}, {body: right, path: "/questions/$ID/answer/"}, {body: right, path: "/questions"},
		{body: right, method: "PUT"}, {body: right, method: "PATCH"}, {body: right, method: "GET"}, {body: right, method: "DELETE"}, {body: right, method: "post"},
		{method: "GET", path: "/questions/$ID/answer?digest=$DIGEST&result=$YES"},
		{method: "GET", path: "/questions/$ID?approve=true"}, {method: "GET", path: "/questions?decide=allow"}, {method: "GET", path: "/questions?args=true&args=true"},
		{method: "GET", path: "/questions?args=1"}, {method: "GET", path: "/status?x=1"}, {method: "GET", path: "/watch?x=1"}, {method: "GET", path: "/grants?x=1"},
		{method: "GET", path: "/status", body: right}, {method: "DELETE", path: "/grants/"}, {method: "DELETE", path: "/grants/x", body: `{}`}, {method: "DELETE", path: "/grants/x?y=1"},
	} {
		path, kind := cmp.Or(r.path, "/questions/$ID/answer"), cmp.Or(r.kind, "application/json")
		if kind == "-" {
			kind = ""
		}
		status, answer := send(t, c.Path, cmp.Or(r.method, "POST"), strings.ReplaceAll(filled.Replace(path), `"`, "%22"), kind, filled.Replace(r.body))
		if status < 300 || status >= 500 || status == http.StatusConflict {
			t.Errorf("%s %.80s %.80s: answered %d %.200s", r.method, path, r.body, status, answer)
		}
	}
	if s, err := c.Status(t.Context()); err != nil || s.Pending != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if status, answer := send(t, c.Path, "POST", "/questions/"+id+"/answer", "application/json; charset=utf-8", filled.Replace(right)); status != 200 || answer != `{"outcome":"allowed","by":"local"}`+"\n" {
		t.Errorf("the right one: %d %s", status, answer)
	}
	if status, answer := send(t, c.Path, "POST", "/questions/"+id+"/answer", "application/json", filled.Replace(right)); status != http.StatusConflict || answer != `{"reason":"already_decided","by":"local"}`+"\n" {
		t.Errorf("once more: %d %s", status, answer)
	}
}

// send sends one request by itself, and returns what is answered.
func send(t *testing.T, path, method, target, kind, body string) (status int, answer string) {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	head := method + " " + target + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	if kind != "" {
		head += "Content-Type: " + kind + "\r\n"
	}
	go io.WriteString(conn, fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body))
	got, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s %.80s: %v", method, target, err)
	}
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatalf("%s %.80s: %v", method, target, err)
	}
	return got.StatusCode, string(text)
}

// Before there was HTTP here, clients said a line of JSON-RPC and read one.
func TestAnOlderClientIsToldWhatIsTheMatter(t *testing.T) {
	_, c := enter(t)
	conn, err := net.Dial("unix", c.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	fmt.Fprintln(conn, `{"jsonrpc":"2.0","id":1,"method":"status"}`)
	line, err := io.ReadAll(conn)
	var answer struct {
		ID    int
		Error struct {
			Code    int
			Message string
		}
	}
	if json.Unmarshal(line, &answer) != nil || answer.ID != 1 || answer.Error.Code == -31100 || !strings.Contains(answer.Error.Message, "of a later version") {
		t.Errorf("%s, %v", line, err)
	}
}

// Nor did bridges; who meets one of these is told so.
func TestAnOlderBridgeIsToldFromADeadOne(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	at, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := at.Accept()
		if err != nil {
			return
		}
		bufio.NewReader(conn).ReadString('\n')
		io.WriteString(conn, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}}`+"\n")
		conn.Close()
	}()
	defer func() { at.Close(); <-done }()
	if _, err := socket.Dial(t.Context(), path); err == nil || !strings.Contains(err.Error(), "of an older version") {
		t.Errorf("%v", err)
	}
}

func TestWatchersSeeQuestionsComeAndGo(t *testing.T) {
	h, c := enter(t)
	var id string
	step := 0
	for e, err := range c.Watch(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		switch step++; step {
		case 1:
			if e != (inbox.Event{}) {
				t.Fatalf("begins with %+v", e)
			}
			id = h.Ask(inboxtest.Write(`{}`))
			continue
		case 2:
			if e.Event != "asked" || e.ID != id {
				t.Fatalf("%+v", e)
			}
			v, err := c.Show(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if out, err := c.Decide(t.Context(), inbox.Decision{ID: id, Digest: v.Short, Result: []byte(no)}); err != nil || out.Outcome != "denied" {
				t.Fatalf("%+v, %v", out, err)
			}
			continue
		}
		if e.Event != "closed" || e.ID != id || e.By != "local" {
			t.Fatalf("%+v", e)
		}
		return
	}
	t.Fatal("the watch ended")
}

// A watcher who does not read is cut; the bridge and the others go on.
func TestSlowWatcherIsCut(t *testing.T) {
	h := inboxtest.New("fs")
	dir := filepath.Join(t.TempDir(), "control")
	d := inboxtest.Open(t, socket.Options{Dir: dir, ID: "fs", Inbox: h, Patience: 50 * time.Millisecond})

	slow, err := net.Dial("unix", d.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	io.WriteString(slow, "GET /watch HTTP/1.1\r\nHost: x\r\n\r\n")
	lines := bufio.NewReader(slow)
	for line := ""; !strings.HasPrefix(line, ": watching"); {
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	for range 4096 { // more than the socket and the queue before it hold
		h.Post(inbox.Event{Event: "changed", ID: "x", Because: strings.Repeat("x", 4096)})
	}
	slow.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Errorf("it was not cut: %v", err)
	}
	dial(t, d.Path())
}

func TestLongListsComeWhole(t *testing.T) {
	h, c := enter(t)
	want := map[string]bool{}
	for i := range 25 {
		want[h.Ask(inboxtest.Write(fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, strings.Repeat("x", 100<<10))))] = true
	}
	list, err := c.List(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range list {
		delete(want, q.ID)
	}
	if len(want) != 0 || len(list) != 25 {
		t.Errorf("%d listed, %d missing", len(list), len(want))
	}
}

func TestWholeOfALongQuestion(t *testing.T) {
	h, c := enter(t)
	text := strings.Repeat(`\u200b`, 1<<17)
	v, err := c.Show(t.Context(), h.Ask(inboxtest.Write(`{"text":"`+text+`"}`)))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(v.Arguments[0].Whole, `\u{200b}`); got != 1<<17 {
		t.Errorf("%d characters are shown", got)
	}
}

// hold takes places at a socket, and keeps them until the test ends.
func hold(t *testing.T, d *socket.Server, places int) (held []net.Conn) {
	t.Helper()
	for range places {
		c, err := net.Dial("unix", d.Path())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		io.WriteString(c, "GET /status HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err := bufio.NewReader(c).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		held = append(held, c) // and kept alive
	}
	return held
}

func TestTooManyClients(t *testing.T) {
	h := inboxtest.New("fs")
	d := inboxtest.Open(t, socket.Options{Dir: filepath.Join(t.TempDir(), "control"), ID: "fs", Inbox: h, MaxClients: 2})
	held := hold(t, d, 2)
	if _, err := socket.Dial(t.Context(), d.Path()); err == nil {
		t.Error("a third came in")
	}
	held[1].Close()
	deadline := time.Now().Add(20 * time.Second)
	for {
		if _, err := socket.Dial(t.Context(), d.Path()); err == nil {
			return
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // until the second is seen to have left
	}
}

func TestGrantsAreListedAndRevoked(t *testing.T) {
	h, c := enter(t)
	q := inboxtest.Write(`{"path":"/a"}`)
	q.Terms.Remember = []string{"once", "session"}
	id := h.Ask(q)
	v, err := c.Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	r := approval.Reply{Allow: true, Remember: "session"}
	if _, err := c.Decide(t.Context(), inbox.Decision{ID: id, Digest: v.Digest, Result: r.Result(false)}); err != nil {
		t.Fatal(err)
	}
	grants, err := c.Grants(t.Context())
	if err != nil || len(grants) != 1 || grants[0].Tool != "write_file" || grants[0].Caller != "agent-a" || grants[0].Keep != "session" || grants[0].By[0].String() != "local" || grants[0].Bridge != "fs" || !grants[0].Running {
		t.Fatalf("%+v, %v", grants, err)
	}
	for _, want := range []bool{true, false} {
		if ok, err := c.Revoke(t.Context(), grants[0].ID); ok != want || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
	}
}

func TestClientComesBackAfterTheBridgeHasBeenAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "control")
	first, path := live(t, dir)
	c := dial(t, path)
	first.Process.Kill()
	first.Wait()
	if _, err := c.Status(t.Context()); err == nil {
		t.Error("a dead bridge answered")
	}
	inboxtest.New("fs").Open(t, dir)
	if _, err := c.Status(t.Context()); err != nil {
		t.Errorf("the new one does not: %v", err)
	}
}

// Who asks for much and reads nothing of it is cut, and keeps nobody waiting meanwhile.
func TestAClientThatReadsNothingOfALongListIsCut(t *testing.T) {
	h := inboxtest.New("fs")
	d := inboxtest.Open(t, socket.Options{Dir: filepath.Join(t.TempDir(), "control"), ID: "fs", Inbox: h, Patience: 50 * time.Millisecond})
	for i := range 20 {
		h.Ask(inboxtest.Write(fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, strings.Repeat("x", 100<<10))))
	}
	for _, path := range []string{"/questions?args=true", "/questions/" + h.Ask(inboxtest.Write(`{"text":"`+strings.Repeat("\u200b", 1<<18)+`"}`))} {
		hung, err := net.Dial("unix", d.Path())
		if err != nil {
			t.Fatal(err)
		}
		defer hung.Close()
		fmt.Fprintf(hung, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		c := dial(t, d.Path()) // while that one hangs
		for began := time.Now(); time.Since(began) < 20*time.Second; {
			if s, err := c.Status(t.Context()); err != nil || s.Pending != 21 && s.Pending != 20 {
				t.Fatalf("%+v, %v", s, err)
			}
			if _, err := hung.Write([]byte("GET /status HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
				break // cut
			}
			time.Sleep(10 * time.Millisecond)
		}
		hung.SetReadDeadline(time.Now().Add(20 * time.Second))
		if got, err := io.ReadAll(hung); err == nil && strings.HasSuffix(string(got), "}\n") || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %d bytes came, %v", path, len(got), err)
		}
	}
}

// A hundred who watch, ask and answer at a time each see every question through.
func TestManyClientsAtOnce(t *testing.T) {
	h, c := enter(t)
	const n = 50
	var ready, all sync.WaitGroup
	ready.Add(n)
	for range n {
		all.Go(func() {
			begun, closed := false, 0
			for e, err := range c.Watch(t.Context()) {
				if err != nil {
					t.Errorf("after %d: %v", closed, err)
					return
				}
				if !begun {
					begun = true
					ready.Done()
				}
				if e.Event == "closed" {
					closed++
				}
				if closed == n {
					return
				}
			}
			t.Error("the watch ended")
		})
	}
	ready.Wait()
	for i := range n {
		all.Go(func() {
			q := inboxtest.Write(fmt.Sprintf(`{"n":%d}`, i))
			q.Caller = fmt.Sprint("agent-", i)
			id := h.Ask(q)
			v, err := c.Show(t.Context(), id)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := c.List(t.Context(), true); err != nil {
				t.Error(err)
			}
			if o, err := c.Decide(t.Context(), inbox.Decide(&v, &approval.Reply{Allow: true})); err != nil || o.Outcome != "allowed" {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	all.Wait()
}

// net/http keeps a panic of a handler to itself.
func TestAPanicBehindTheSocketEndsTheProgram(t *testing.T) {
	bridge, path := live(t, filepath.Join(t.TempDir(), "control"))
	if _, err := dial(t, path).Revoke(t.Context(), "x"); err == nil {
		t.Error("it answered")
	}
	if err := bridge.Wait(); err == nil || bridge.ProcessState.ExitCode() != 2 {
		t.Errorf("it ended with %v", err)
	}
}

// What a surface mounts is the same without a socket: the page will.
func TestTheHandlerServesAnyInbox(t *testing.T) {
	h := inboxtest.New("fs")
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	page := httptest.NewServer(http.StripPrefix("/api", socket.Handler(inbox.Public(h), 0)))
	defer page.Close()
	got, err := page.Client().Get(page.URL + "/api/questions/" + id)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	var v approval.View
	if err := json.NewDecoder(got.Body).Decode(&v); err != nil || got.StatusCode != 200 || v.ID != id || v.Args != nil || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %+v, %v", got.StatusCode, v, err)
	}
	page.Client().CloseIdleConnections()
}
