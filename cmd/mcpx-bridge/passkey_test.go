package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey/passkeytest"
)

// asksForPasskeys is what its script asks a page for.
func asksForPasskeys(t *testing.T, c *http.Client, at string, form url.Values) (want struct {
	Challenge []byte
	Statement string
}) {
	t.Helper()
	said := sent(t, c, http.MethodPost, at, form)
	if err := json.Unmarshal([]byte(said), &want); err != nil {
		t.Fatalf("%s says %q", at, said)
	}
	return want
}

// takesPasskeys is a policy file.
func takesPasskeys(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "policy.yaml")
	const rules = "version: 1\ndefault: deny\nrules:\n - {name: risky, ask: ['write_*'], as: {of: [local], confirm: passkey}}\n"
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Where nobody comes to a page, no caller waits for a yes that only a page takes.
func TestWithoutAPageNobodyIsAskedForAPasskey(t *testing.T) {
	t.Parallel()
	g, _ := perform(t, d1, launch{rules: []string{"--inbox", "off", "--policy", takesPasskeys(t)}})
	g.request("w", "bob", call("1", "write_file", `{"path":"/a","content":"x"}`))
	g.expect(d1.reply("bob", "w", "tools/call", "write_file", `{"id":1,"error":{"code":-31003,"data":{"reason":"no_approver","executed":"no"}}}`))
}

// From an enrolment on the page to the call that runs, and to the record that proves who let it:
// nothing else lets it, and the record of another call proves nothing.
func TestACallTakesAPasskey(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	policy := takesPasskeys(t)
	g := openStage(t, d1)
	s := launch{rules: []string{"--inbox", "127.0.0.1:0", "--policy", policy}, env: map[string]string{"XDG_STATE_HOME": state}}.start(t, g.url)
	g.side = s
	g.accept()
	g.greet("bob")
	link := strings.Replace(s.ready()["inbox"].(string), "127.0.0.1", "localhost", 1)
	g.settle()
	base, _, _ := strings.Cut(link, "/in/")
	jar, _ := cookiejar.New(nil) // never fails
	c := &http.Client{Jar: jar, Transport: &http.Transport{DisableKeepAlives: true}}
	sent(t, c, http.MethodPost, link, nil)

	key := passkeytest.New(t)
	key.Origin = base[:strings.LastIndexByte(base, '/')]
	made := key.Register(asksForPasskeys(t, c, base+"/passkeys/challenge", url.Values{"bridge": {"fs"}}).Challenge)
	enrol := func(challenge string) string {
		text, _ := json.Marshal(made)
		return sent(t, c, http.MethodPost, base+"/passkeys", url.Values{"bridge": {"fs"}, "name": {"blue key"}, "challenge": {challenge}, "made": {string(text)}})
	}
	if page := enrol("AAAA"); !strings.Contains(page, "took too long") {
		t.Errorf("it is enrolled for a challenge that nobody made:\n%s", page)
	}
	want := asksForPasskeys(t, c, base+"/passkeys/challenge", url.Values{"bridge": {"fs"}})
	made = key.Register(want.Challenge)
	challenge, _ := json.Marshal(want.Challenge)
	if page := enrol(strings.Trim(string(challenge), `"`)); !strings.Contains(page, "blue key") {
		t.Fatalf("it is not enrolled:\n%s", page)
	}
	s.await(`{"event":"passkey_enrolled","by":["local"],"detail":"blue key"}`)

	if kept, _ := filepath.Glob(filepath.Join(state, "mcpx-bridge", "passkeys", "*")); len(kept) != 1 || filepath.Base(kept[0]) != "fs~628b49d9.json" {
		t.Errorf("a bridge of this id in another topic would have its passkeys: %q", kept)
	}

	g.request("e1", "bob", call("7", "write_file", `{"path":"/a","text":"x"}`))
	asked := s.await(`{"event":"asked","env":"e1","confirm":"passkey"}`)
	id := asked["question"].(string)
	if code, _, errs := typed(t, state, "approvals", "allow", id); code == 0 || !strings.Contains(errs, "a yes takes a passkey, on the bridge's own page") {
		t.Errorf("exit %d, %s", code, errs)
	}
	s.await(`{"event":"foreign_answer","reason":"unconfirmed","by":["local"]}`)
	at := base + "/q/fs/" + id
	digest := found(t, sent(t, c, http.MethodGet, at, nil), `name="digest" value="([0-9a-f]{64})"`)
	form := url.Values{"do": {"allow"}, "digest": {digest}}
	if page := sent(t, c, http.MethodPost, at, form); !strings.Contains(page, "a yes takes a passkey") || s.ran() != 0 {
		t.Errorf("it ran %d times by a plain yes:\n%s", s.ran(), page)
	}
	sign := asksForPasskeys(t, c, base+"/sign/fs/"+id, form)
	if !bytes.Equal(sign.Challenge, passkey.Challenge([]byte(sign.Statement))) || !strings.Contains(sign.Statement, digest) {
		t.Errorf("to be signed is %+v", sign)
	}
	answer := func(said passkey.Assertion) string {
		text, _ := json.Marshal(said)
		form.Set("statement", sign.Statement)
		form.Set("assertion", string(text))
		return sent(t, c, http.MethodPost, at, form)
	}
	thief := passkeytest.New(t)
	thief.ID, thief.Origin = key.ID, key.Origin
	if page := answer(thief.Sign([]byte(sign.Statement))); !strings.Contains(page, "the signature is not by this passkey") || s.ran() != 0 {
		t.Errorf("a forged one:\n%s", page)
	}
	s.await(`{"event":"foreign_answer","reason":"bad_passkey"}`)
	if page := answer(key.Sign([]byte(sign.Statement))); !strings.Contains(page, "allowed by local") {
		t.Errorf("the answer leads to\n%s", page)
	}
	g.expect(d1.reply("bob", "e1", "tools/call", "write_file", `{"id":7,"result":"*"}`))
	s.await(`{"event":"confirmed","by":["local"],"tool":"write_file"}`)

	// a yes by what was signed before: the next question wants its own
	g.request("e2", "bob", call("8", "write_file", `{"path":"/etc/passwd","text":"x"}`))
	next := s.await(`{"event":"asked","env":"e2"}`)["question"].(string)
	at = base + "/q/fs/" + next
	form.Set("digest", found(t, sent(t, c, http.MethodGet, at, nil), `name="digest" value="([0-9a-f]{64})"`))
	if page := answer(key.Sign([]byte(sign.Statement))); !strings.Contains(page, "signed another question") || s.ran() != 1 {
		t.Errorf("what was signed for another question:\n%s", page)
	}
	if page := sent(t, c, http.MethodPost, at, url.Values{"do": {"deny"}, "digest": {form.Get("digest")}}); !strings.Contains(page, "denied by local") {
		t.Errorf("a no leads to\n%s", page)
	}
	s.finish()

	if code, out, errs := typed(t, state, "audit", "verify", "fs"); code != 0 || !strings.Contains(out, "what passkeys signed is what was allowed: 1 signature") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	if code, out, _ := typed(t, state, "audit", "show", "fs"); code != 0 || !strings.Contains(out, "confirmed") {
		t.Errorf("exit %d, %s", code, out)
	}
}
