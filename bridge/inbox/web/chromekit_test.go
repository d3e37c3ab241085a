//go:build chrome

package web_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/web"
	"github.com/mcpx-protocol/mcpx-bridge/examples/chromium"
)

// A tab is one page of a browser.
type tab struct {
	t    *testing.T
	ctx  context.Context
	at   string // the server's address, without the last slash
	link string
}

func newTab(t *testing.T, browser context.Context, s *web.Server) *tab {
	t.Helper()
	b := &tab{t, chromium.Tab(t, browser), s.Address()[:len(s.Address())-1], s.Link()}
	b.do(chromedp.EmulateViewport(900, 800))
	return b
}

// loggedIn is a tab of a browser that the link lets in.
func loggedIn(t *testing.T, browser context.Context, s *web.Server) *tab {
	t.Helper()
	b := newTab(t, browser, s)
	b.logIn()
	return b
}

func (b *tab) logIn() {
	b.t.Helper()
	b.do(chromedp.Navigate(b.link))
	b.follow("button")
	b.do(chromedp.WaitVisible("header"))
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, chromium.Patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		b.t.Fatalf("%v, on\n%.3000s", err, b.page())
	}
}

func (b *tab) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.at+path), chromedp.WaitVisible("h1"))
	b.settled()
}

// settled waits until all of a page has come: what is clicked before then may be another thing by
// the time that the click arrives.
func (b *tab) settled() {
	b.t.Helper()
	b.until(`document.readyState === "complete"`)
}

// follow clicks what leads to another page, and waits for that.
func (b *tab) follow(selector string) {
	b.t.Helper()
	b.settled()
	ctx, cancel := context.WithTimeout(b.ctx, chromium.Patience)
	defer cancel()
	if _, err := chromedp.RunResponse(ctx, chromedp.Click(selector)); err != nil {
		b.t.Fatalf("%s: %v, on\n%.3000s", selector, err, b.page())
	}
	b.settled()
}

// seen is what there is to read on a page.
const seen = "document.body ? document.body.innerText : ''"

func (b *tab) page() string {
	page, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](seen))
	if err != nil {
		return err.Error()
	}
	return page
}

// say is what a script finds out.
func say[T any](b *tab, script string) T {
	b.t.Helper()
	return chromium.Says[T](b.t, b.ctx, script)
}

// until waits for what a script says to be so.
func (b *tab) until(script string) {
	b.t.Helper()
	chromium.Until(b.t, b.ctx, script, seen)
}

// look emulates a screen.
func (b *tab) look(width, height int64, scheme string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(width, height))
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	if err != nil {
		b.t.Fatal(err)
	}
}

// scriptless has the pages of the tab run no script of theirs.
func (b *tab) scriptless() {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		b.t.Fatal(err)
	}
}

func newListener(t *testing.T) net.Listener {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// shoot keeps a picture in the directory of SHOTS, if one is named.
func (b *tab) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Error(err)
	}
}
