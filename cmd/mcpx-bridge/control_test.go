package main

import (
	"os"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/socket"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/prompt"
)

// asks is a policy under which the person at this machine is asked for
// everything, and may say that it holds for good.
const asks = "version: 1\ndefault: ask\nasks: {default: {of: [local], within: 60s, remember: [once, session, always]}}\n"

// visit comes in through the local door that the program opened.
func (s *sidecar) visit(ready map[string]any) *socket.Client {
	s.t.Helper()
	c, err := socket.Dial(s.t.Context(), ready["control"].(string))
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func askedLocally(t *testing.T, text string) (*stage, *sidecar, *socket.Client) {
	t.Helper()
	file := t.TempDir() + "/policy.yaml"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g := openStage(t, d1)
	s := launch{rules: []string{"--policy", file}}.start(t, g.url)
	g.side = s
	g.accept()
	g.greet("bob", "alice")
	c := s.visit(s.ready())
	g.settle()
	return g, s, c
}

func TestAPersonAtThisMachineDecides(t *testing.T) {
	g, s, c := askedLocally(t, asks)
	g.request("e1", "bob", call("7", "write_file", `{"path":"/a","text":"x"}`))
	s.await(`{"event":"asked","env":"e1"}`)
	list, err := c.List(t.Context(), false)
	if err != nil || len(list) != 1 || list[0].From != "bob" || list[0].Tool != "write_file" {
		t.Fatalf("the list is %+v, %v", list, err)
	}
	v, err := c.Show(t.Context(), list[0].ID[:8])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Decide(t.Context(), inbox.Decision{ID: v.ID, Digest: "00000000", Result: []byte(`{"action":"accept","content":{"approve":true}}`)}); err == nil {
		t.Fatal("a decision about something else than what was shown counted")
	}
	if s.ran() != 0 {
		t.Fatal("it ran")
	}
	o, err := c.Decide(t.Context(), inbox.Decision{ID: v.ID, Digest: v.Digest, Result: []byte(`{"action":"accept","content":{"approve":true}}`)})
	if err != nil || o.Outcome != "allowed" || o.By != "local" {
		t.Fatalf("the outcome is %+v, %v", o, err)
	}
	g.expect(d1.reply("bob", "e1", "tools/call", "write_file", `{"id":7,"result":"*"}`))
	if s.ran() != 1 {
		t.Errorf("it ran %d times", s.ran())
	}
	if _, err := c.Decide(t.Context(), inbox.Decision{ID: v.ID, Digest: v.Digest, Result: []byte(`{"action":"accept","content":{"approve":true}}`)}); err == nil {
		t.Error("a second decision counted")
	}
}

func TestAYesForGoodIsWrittenDownAndCanBeTakenBack(t *testing.T) {
	g, s, c := askedLocally(t, asks)
	g.request("e1", "bob", call("1", "write_file", `{"path":"/a","text":"x"}`))
	s.await(`{"event":"asked","env":"e1"}`)
	list, err := c.List(t.Context(), false)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	v, err := c.Show(t.Context(), list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Decide(t.Context(), inbox.Decision{ID: v.ID, Digest: v.Digest, Result: []byte(`{"action":"accept","content":{"approve":true,"remember":"always"}}`)}); err != nil {
		t.Fatal(err)
	}
	g.expect(d1.reply("bob", "e1", "tools/call", "write_file", `{"id":1,"result":"*"}`))
	g.request("e2", "bob", call("2", "write_file", `{"path":"/a","text":"x"}`))
	g.expect(d1.reply("bob", "e2", "tools/call", "write_file", `{"id":2,"result":"*"}`))
	g.request("e3", "bob", call("3", "write_file", `{"path":"/a","text":"y"}`))
	s.await(`{"event":"asked","env":"e3"}`)
	grants, err := c.Grants(t.Context())
	if err != nil || len(grants) != 1 || grants[0].Tool != "write_file" {
		t.Fatalf("the grants are %+v, %v", grants, err)
	}
	if ok, err := c.Revoke(t.Context(), grants[0].ID); !ok || err != nil {
		t.Fatal(ok, err)
	}
	g.request("e4", "bob", call("4", "write_file", `{"path":"/a","text":"x"}`))
	s.await(`{"event":"asked","env":"e4"}`)
	if s.ran() != 2 {
		t.Errorf("%d calls ran", s.ran())
	}
	status, err := c.Status(t.Context())
	if err != nil || !status.ServerUp || !status.Seated || status.Pending != 2 || !strings.HasSuffix(status.Policy, "policy.yaml") {
		t.Errorf("the status is %+v, %v", status, err)
	}
}

// A participant that sent a request for policy/reload had the person asked in our words whether
// the policy file counts; the answer went on no record, and to nobody.
func TestARequestForPolicyReloadIsAskedAboutAndAnsweredAsAnyOther(t *testing.T) {
	g, s, c := askedLocally(t, "version: 1\ndefault: deny\nasks: {default: {of: [local]}}\nrules: [{ask: ['*'], methods: [policy/reload]}]\n")
	for env, end := range map[string]struct{ result, verdict, payload string }{
		"e1": {`{"action":"accept","content":{"approve":true}}`, "allow", `{"id":7,"error":{"code":-32601}}`},
		"e2": {`{"action":"decline"}`, "deny", `{"id":7,"error":{"code":-31001}}`},
	} {
		g.request(env, "bob", `{"jsonrpc":"2.0","id":7,"method":"policy/reload","params":{"file":"/srv/policy.yaml","looser":["nothing"],"sha256":"00"}}`)
		s.await(`{"event":"asked","env":"` + env + `","method":"policy/reload"}`)
		list, err := c.List(t.Context(), false)
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		v, err := c.Show(t.Context(), list[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		if text := prompt.Text(&v); list[0].AboutPolicy || !strings.Contains(text, "bob requests permission to send policy/reload") || strings.Contains(text, "hall it count") {
			t.Errorf("the person reads\n%s", text)
		}
		if o, err := c.Decide(t.Context(), inbox.Decision{ID: v.ID, Digest: v.Digest, Result: []byte(end.result)}); err != nil || o.By != "local" {
			t.Fatalf("the outcome is %+v, %v", o, err)
		}
		s.await(`{"event":"decided","env":"` + env + `","verdict":"` + end.verdict + `","by":["local"]}`)
		g.expect(d1.reply("bob", env, "policy/reload", "", end.payload))
		s.await(`{"event":"ended","env":"` + env + `"}`)
	}
	if code := s.finish(); code != 0 || strings.Contains(s.about(), "reload_decided") {
		t.Errorf("exit code %d\n%s", code, s.about())
	}
}
