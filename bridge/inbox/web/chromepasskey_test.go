//go:build chrome

package web_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
	onrecord "github.com/mcpx-protocol/mcpx-bridge/bridge/record"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// call makes a call of the DevTools protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	r, err := chromedp.Call(b.ctx, command, params)
	if err != nil {
		b.t.Fatal(err)
	}
	if at, ok := any(r).(*R); ok {
		return *at
	}
	return any(r).(R)
}

// confirmed is a question whose yes takes a passkey.
func confirmed(args string) approval.Question {
	q := inboxtest.Write(args)
	q.Terms.Confirm = policy.Passkey
	return q
}

// withPasskeys is a hall that takes passkeys, and a tab of its page by the name localhost whose
// browser has an authenticator.
func withPasskeys(t *testing.T, browser context.Context) (h *inboxtest.Hall, told <-chan onrecord.Record, b *tab, key webauthn.AuthenticatorID) {
	t.Helper()
	h = inboxtest.New("notes")
	told = h.Enrolling(t.TempDir())
	src := source(h, "notes")
	src.Keys = h
	s := serve(t, src)
	b = newTab(t, browser, s)
	b.at, b.link = strings.Replace(b.at, "127.0.0.1", "localhost", 1), strings.Replace(b.link, "127.0.0.1", "localhost", 1)
	b.logIn()
	call(b, webauthn.Enable, webauthn.EnableParams{})
	made := call(b, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: "ctap2", Transport: "internal", HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true}})
	return h, told, b, made.AuthenticatorID
}

// enrolled adds a passkey on the page.
func enrolled(t *testing.T, b *tab, told <-chan onrecord.Record, called string) onrecord.Record {
	t.Helper()
	b.open("/passkeys")
	b.do(chromedp.SetValue("input[name=name]", called))
	b.press("Add a passkey")
	b.until(`document.querySelector("ul.passkeys")?.textContent.includes("` + called + `") || document.querySelector("#wrong .warn")`)
	if wrong := say[string](b, `document.getElementById("wrong").textContent`); wrong != "" {
		t.Fatal(wrong)
	}
	return <-told
}

func aPasskeySignsAYes(t *testing.T, browser context.Context) {
	h, told, b, _ := withPasskeys(t, browser)
	if r := enrolled(t, b, told, "blue key"); r.Event != onrecord.PasskeyEnrolled || r.Detail != "blue key" || len(r.By) != 1 || r.By[0] != "local" {
		t.Errorf("on record is %+v", r)
	}
	q := confirmed(`{"path":"/a","mode":1}`)
	q.Terms.Edit = []policy.Edit{{Field: "mode", Arg: "/mode", Title: "Mode", Type: "integer", Max: "7"}}
	id := h.Ask(q)
	b.open("/q/notes/" + id)
	b.do(chromedp.SetValue("input[name='field.mode']", "7"))
	b.press("Allow with a passkey")
	s := h.Next(t)
	if s.Outcome != approval.Allowed || string(s.Args) != `{"path":"/a","mode":7}` {
		t.Fatalf("%s: %s, %s", s.Outcome, s.Reason, s.Args)
	}
	b.outcome("allowed by local")
	yes := <-h.Confirmed
	var said struct{ Question, Digest string }
	if err := json.Unmarshal(yes.Signed.Statement, &said); err != nil || said.Question != id || said.Digest != s.Ran.String() {
		t.Errorf("what was signed is %s, and %s ran: %v", yes.Signed.Statement, s.Ran, err)
	}
	var proof passkey.Proof
	if err := json.Unmarshal(yes.Signed.Proof, &proof); err != nil {
		t.Fatal(err)
	}
	key := passkey.Credential{ID: proof.Credential, PublicKey: proof.PublicKey}
	if err := key.Verify(&proof.Assertion, []byte(proof.Statement), originOf(b.at)); err != nil {
		t.Errorf("the proof proves nothing: %v", err)
	}
	b.open("/passkeys")
	b.press("Remove")
	b.until(`document.body.textContent.includes("None is enrolled")`)
	if r := <-told; r.Event != onrecord.PasskeyRemoved {
		t.Errorf("on record is %+v", r)
	}
}

func noPasskeyNoYes(t *testing.T, browser context.Context) {
	h, told, b, key := withPasskeys(t, browser)
	id := h.Ask(confirmed(`{"path":"/a"}`))
	refused := func(want string) {
		t.Helper()
		b.open("/q/notes/" + id)
		b.do(chromedp.Click(`//button[normalize-space()="Allow with a passkey"]`)) // what the browser refuses leads to no page
		b.until(`document.querySelector("#wrong .warn")?.textContent.includes("` + want + `")`)
		undecided(t, h, id)
	}
	refused("No passkey is enrolled yet")
	enrolled(t, b, told, "blue key")
	yes := true
	call(b, webauthn.SetResponseOverrideBits, webauthn.SetResponseOverrideBitsParams{AuthenticatorID: key, IsBogusSignature: &yes})
	refused("the signature is not by this passkey")
	call(b, webauthn.SetResponseOverrideBits, webauthn.SetResponseOverrideBitsParams{AuthenticatorID: key, IsBadUV: &yes})
	refused("did not verify who was there")
	call(b, webauthn.SetResponseOverrideBits, webauthn.SetResponseOverrideBitsParams{AuthenticatorID: key})
	call(b, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: key, IsUserVerified: false})
	refused("No passkey was used")
	b.scriptless()
	b.open("/q/notes/" + id)
	b.press("Allow with a passkey")
	b.until(`document.querySelector("#wrong .warn")?.textContent.includes("takes a passkey")`)
	undecided(t, h, id)
	b.press("Deny")
	if s := h.Next(t); s.Outcome != approval.Denied || s.Reason != approval.Declined {
		t.Errorf("%s: %s", s.Outcome, s.Reason)
	}
}

// Whichever passkey of this machine signs, the person at it agrees, and once: a question that wants
// two is none for passkeys (TestNobodyIsAskedWhereNobodyCouldSign).
func twoPasskeysAreOnePerson(t *testing.T, browser context.Context) {
	h, told, b, key := withPasskeys(t, browser)
	first := enrolled(t, b, told, "blue key")
	all := call(b, webauthn.GetCredentials, webauthn.GetCredentialsParams{AuthenticatorID: key})
	for _, c := range all.Credentials { // the other one is in another authenticator
		call(b, webauthn.RemoveCredential, webauthn.RemoveCredentialParams{AuthenticatorID: key, CredentialID: c.CredentialID})
	}
	second := enrolled(t, b, told, "phone")
	if len(first.By) != 1 || len(second.By) != 1 || first.By[0] != second.By[0] {
		t.Errorf("they are on record as passkeys of %q and of %q", first.By, second.By)
	}
	b.open("/q/notes/" + h.Ask(confirmed(`{"path":"/a"}`)))
	b.press("Allow with a passkey")
	if s := h.Next(t); s.Outcome != approval.Allowed {
		t.Fatalf("%s: %s", s.Outcome, s.Reason)
	}
	b.outcome("allowed by local")
}

// By its address the page has no passkeys, and leads to where it has.
func anAddressHasNoPasskeys(t *testing.T, browser context.Context) {
	h := inboxtest.New("notes")
	h.Enrolling(t.TempDir())
	src := source(h, "notes")
	src.Keys = h
	b := loggedIn(t, browser, serve(t, src))
	id := h.Ask(confirmed(`{"path":"/a"}`))
	b.open("/q/notes/" + id)
	if page := b.page(); strings.Contains(page, "Allow") || !strings.Contains(page, "Deny") {
		t.Errorf("there is\n%s", page)
	}
	b.press("Go there")
	b.follow("a#over")
	b.press("Continue")
	b.do(chromedp.WaitVisible("header"))
	b.until(`location.hostname === "localhost"`)
	b.at = strings.Replace(b.at, "127.0.0.1", "localhost", 1)
	b.open("/q/notes/" + id)
	b.until(`document.body.textContent.includes("Allow with a passkey")`)
}

// What was signed for one question does not allow another, nor the same twice.
func aSignatureIsForOneQuestion(t *testing.T, browser context.Context) {
	h, told, b, _ := withPasskeys(t, browser)
	enrolled(t, b, told, "blue key")
	one, other := h.Ask(confirmed(`{"path":"/a"}`)), h.Ask(confirmed(`{"path":"/b"}`))
	b.open("/q/notes/" + other)
	digest := say[string](b, `document.querySelector("input[name=digest]").value`)
	b.open("/q/notes/" + one)
	// the signature of this question is sent with the answer to the other
	say[string](b, `(() => { const f = document.getElementById("answer"); f.addEventListener("submit", (e) => { if (!f.dataset.ready) return; f.action = document.querySelector("nav a").pathname + "q/notes/`+other+`"; f.elements.digest.value = "`+digest+`"; }); return ""; })()`)
	b.press("Allow with a passkey")
	b.until(`document.querySelector("#wrong .warn")?.textContent.includes("signed another question")`)
	undecided(t, h, one)
	undecided(t, h, other)
}
