package control_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/control"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/control/controltest"
)

const (
	yes = `{"action":"accept","content":{"approve":true}}`
	no  = `{"action":"decline","content":{"reason":"not today"}}`
)

// enter opens a door and goes in.
func enter(t *testing.T) (*controltest.Hall, *control.Client) {
	t.Helper()
	h := controltest.New("fs")
	d := h.Open(t, filepath.Join(t.TempDir(), "control"))
	return h, dial(t, d.Path())
}

func TestQuestionIsListedShownAndAnswered(t *testing.T) {
	h, c := enter(t)
	id := h.Ask(controltest.Write(`{"path":"/a","n":9007199254740993}`))
	list, err := c.List(t.Context(), false)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	q := list[0]
	if q.ID != id || q.Bridge != "fs" || q.From != "agent-a" || q.Tool != "write_file" || q.Rule != "small-writes" || q.Need != 1 || q.Have != 0 ||
		string(q.Args) != `{"path":"/a","n":9007199254740993}` || q.Deadline.Sub(q.Asked) != 5*time.Minute {
		t.Errorf("listed as %+v", q)
	}
	v, err := c.Show(t.Context(), id[:6])
	if err != nil || v.ID != id || v.Short != q.Digest || !strings.Contains(v.Text(), `/path = "/a"`) {
		t.Errorf("shown as %+v, %v", v, err)
	}
	s, err := c.Refresh(t.Context())
	if err != nil || s.Pending != 1 {
		t.Errorf("%+v, %v: looking at a question must not answer it", s, err)
	}
	out, err := c.Decide(t.Context(), id, v.Digest, []byte(yes))
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
	id, other := h.Ask(controltest.Write(`{"path":"/a"}`)), h.Ask(controltest.Write(`{"path":"/b"}`))
	_ = other
	elsewhere, err := c.Show(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Decide(t.Context(), id, "", []byte(yes)); err == nil || !strings.Contains(err.Error(), "digest is missing") {
		t.Errorf("without a digest: %v", err)
	}
	if r := refused(t, c, id, elsewhere.Digest); r.Reason != control.DigestMismatch {
		t.Errorf("with another's digest: %v", r)
	}
	if r := refused(t, c, id[:8], elsewhere.Digest); r.Reason != control.Unknown {
		t.Errorf("with part of an id: %v", r)
	}
	if list, _ := c.List(t.Context(), true); len(list) != 2 || list[0].Args != nil {
		t.Errorf("pending: %+v", list)
	}
}

func refused(t *testing.T, c *control.Client, id, digest string) *control.Refusal {
	t.Helper()
	_, err := c.Decide(t.Context(), id, digest, []byte(yes))
	r, ok := errors.AsType[*control.Refusal](err)
	if !ok {
		t.Fatalf("no refusal: %v", err)
	}
	return r
}

func TestSecondAnswerHearsWhoWasFirst(t *testing.T) {
	h, c := enter(t)
	q := controltest.Write(`{}`)
	q.Terms.Of = []string{"local", "alice"}
	id := h.Ask(q)
	v, err := c.Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	h.Say(t, "alice", id, no)
	if r := refused(t, c, id, v.Digest); r.Reason != control.AlreadyDecided || r.By != "alice" {
		t.Errorf("%+v", r)
	}
	if s := h.Next(t); s.Outcome != approval.Denied {
		t.Errorf("settled as %+v", s)
	}
}

func TestAI05OneOfManyIsFirst(t *testing.T) {
	h, c := enter(t)
	for range 20 {
		id := h.Ask(controltest.Write(`{}`))
		v, err := c.Show(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		won := make(chan control.Outcome, 8)
		for range cap(won) {
			all.Go(func() {
				mine, err := control.Dial(t.Context(), c.Path)
				if err != nil {
					t.Error(err)
					return
				}
				defer mine.Close()
				out, err := mine.Decide(t.Context(), id, v.Digest, []byte(yes))
				if r, ok := errors.AsType[*control.Refusal](err); ok && r.Reason == control.AlreadyDecided && r.By == "local" {
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
	id := h.Ask(controltest.Write(`{}`))
	v, err := c.Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	decide := func(params string) string {
		params = strings.NewReplacer("ID", id, "DIGEST", v.Digest, "YES", yes).Replace(params)
		return `{"jsonrpc":"2.0","id":1,"method":"decide","params":` + params + `}`
	}
	for _, line := range []string{
		`nonsense`, `[]`, `{}`, `null`, `"x"`, ``,
		`[` + decide(`{"id":"ID","digest":"DIGEST","result":YES}`) + `]`,
		strings.Replace(decide(`{"id":"ID","digest":"DIGEST","result":YES}`), `"id":1,`, ``, 1),       // a notification
		strings.Replace(decide(`{"id":"ID","digest":"DIGEST","result":YES}`), `"2.0"`, `"1.0"`, 1),    //
		strings.Replace(decide(`{"id":"ID","digest":"DIGEST","result":YES}`), `decide`, `Decide`, 1),  //
		strings.Replace(decide(`{"id":"ID","digest":"DIGEST","result":YES}`), `decide`, `approve`, 1), //
		decide(`{"id":"ID","digest":"DIGEST"}`),
		decide(`{"id":"ID","digest":null,"result":YES}`),
		decide(`{"id":"ID","result":YES}`),
		decide(`{"digest":"DIGEST","result":YES}`),
		decide(`{"id":"ID","Digest":"DIGEST","result":YES}`),
		decide(`{"id":"ID","digest":"DIGEST","result":YES,"who":"alice"}`),
		decide(`{"id":"ID","digest":"DIGEST","digest":"DIGEST","result":YES}`),
		decide(`["ID","DIGEST",YES]`),
		decide(`{"id":"ID","digest":"DIGEST","result":"` + strings.Repeat("x", 600<<10) + `"}`),
		`{"jsonrpc":"2.0","id":1,"method":"show","params":{"id":"ID","approve":true}}`,
		`{"jsonrpc":"2.0","id":1,"method":"list","params":{"decide":"allow"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"status","params":{"x":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"grants/revoke","params":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"x","params":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		answer := raw(t, c.Path, line)
		var m struct{ Error *struct{ Code int } }
		if err := json.Unmarshal(answer, &m); err != nil || m.Error == nil || m.Error.Code > -32600 && m.Error.Code != -32601 && m.Error.Code != -32602 {
			t.Errorf("%.80s: answered %.200s", line, answer)
		}
	}
	if s, err := c.Refresh(t.Context()); err != nil || s.Pending != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// raw says one line and returns the answer.
func raw(t *testing.T, path, line string) []byte {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	go io.WriteString(conn, line+"\n")
	answer, err := bufio.NewReader(conn).ReadBytes('\n')
	if err != nil {
		t.Fatalf("%.80s: %v", line, err)
	}
	return answer
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
			if e != (control.Event{}) {
				t.Fatalf("begins with %+v", e)
			}
			id = h.Ask(controltest.Write(`{}`))
			continue
		case 2:
			if e.Event != "asked" || e.ID != id {
				t.Fatalf("%+v", e)
			}
			v, err := c.Show(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if out, err := c.Decide(t.Context(), id, v.Short, []byte(no)); err != nil || out.Outcome != "denied" {
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
	h := controltest.New("fs")
	dir := filepath.Join(t.TempDir(), "control")
	d, err := control.Open(control.Options{Dir: dir, ID: "fs", Bridge: h, Patience: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- d.Serve(t.Context()) }()
	defer func() { d.Close(); <-served }()

	slow, err := net.Dial("unix", d.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	fmt.Fprintln(slow, `{"jsonrpc":"2.0","id":1,"method":"watch"}`)
	lines := bufio.NewReader(slow)
	if _, err := lines.ReadBytes('\n'); err != nil {
		t.Fatal(err)
	}
	for range 4096 { // more than the socket and the queue before it hold
		h.Post(control.Event{Event: "changed", ID: "x", Because: strings.Repeat("x", 4096)})
	}
	slow.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Errorf("it was not cut: %v", err)
	}
	dial(t, d.Path())
}

func TestLongListsComeInPages(t *testing.T) {
	h, c := enter(t)
	want := map[string]bool{}
	for i := range 25 {
		want[h.Ask(controltest.Write(fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, strings.Repeat("x", 100<<10))))] = true
	}
	list, err := c.List(t.Context(), false)
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
	v, err := c.Show(t.Context(), h.Ask(controltest.Write(`{"text":"`+text+`"}`)))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(v.Arguments[0].Whole, `\u{200b}`); got != 1<<17 {
		t.Errorf("%d characters are shown", got)
	}
}

func TestTooManyGuests(t *testing.T) {
	h := controltest.New("fs")
	d, err := control.Open(control.Options{Dir: filepath.Join(t.TempDir(), "control"), ID: "fs", Bridge: h, MaxGuests: 2})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- d.Serve(t.Context()) }()
	defer func() { d.Close(); <-served }()
	dial(t, d.Path())
	second := dial(t, d.Path())
	if _, err := control.Dial(t.Context(), d.Path()); err == nil {
		t.Error("a third came in")
	}
	second.Close()
	deadline := time.Now().Add(20 * time.Second)
	for {
		c, err := control.Dial(t.Context(), d.Path())
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // until the second is seen to have left
	}
}

func TestGrantsAreListedAndRevoked(t *testing.T) {
	h, c := enter(t)
	q := controltest.Write(`{"path":"/a"}`)
	q.Terms.Remember = []string{"once", "session"}
	id := h.Ask(q)
	v, err := c.Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	r := approval.Reply{Allow: true, Remember: "session"}
	if _, err := c.Decide(t.Context(), id, v.Digest, r.Result(false)); err != nil {
		t.Fatal(err)
	}
	grants, err := c.Grants(t.Context())
	if err != nil || len(grants) != 1 || grants[0].Tool != "write_file" || grants[0].Caller != "agent-a" || grants[0].Keep != "session" || grants[0].By[0] != "local" {
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
	if _, err := c.Refresh(t.Context()); err == nil {
		t.Error("a dead bridge answered")
	}
	controltest.New("fs").Open(t, dir)
	if _, err := c.Refresh(t.Context()); err != nil {
		t.Errorf("the new one does not: %v", err)
	}
}
