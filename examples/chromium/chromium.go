// Package chromium has tests look at a page as people see it: in Chromium, without a window.
package chromium

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Patience is how long one step may take: a browser on a busy machine takes its time.
const Patience = 90 * time.Second

// names of the program.
var names = []string{"chromium", "chromium-browser", "google-chrome", "chrome"}

// Open starts a browser that ends with the test. Where there is none, the test is skipped, and
// says so: what it would have shown is not checked there. The result is the context of its first
// tab. Every name under .example leads to this machine, as somebody's name server would have it.
func Open(t *testing.T) context.Context {
	t.Helper()
	at := ""
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			at = path
			break
		}
	}
	if at == "" {
		t.Skip("NOT CHECKED: there is no Chromium here")
	}
	o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(at), chromedp.WSURLReadTimeout(Patience),
		chromedp.Flag("host-resolver-rules", "MAP *.example 127.0.0.1"))
	if os.Geteuid() == 0 {
		o = append(o, chromedp.NoSandbox)
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), o...)
	ctx, quit := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		quit()
		stop()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// Tab opens one more tab, which is closed with the test.
func Tab(t *testing.T, browser context.Context) context.Context {
	t.Helper()
	tab, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	if err := chromedp.Do(tab); err != nil { // it lasts as long as the context of its first step
		t.Fatal(err)
	}
	return tab
}

// Says is what a script finds out in a tab.
func Says[T any](t *testing.T, tab context.Context, script string) T {
	t.Helper()
	v, err := chromedp.Run(tab, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return v
}

// Until waits for what a script says to be so; seen is a script that says what there is to see,
// for who reads that it never was. It asks again and again from outside: the page's own policy
// lets nobody wait within it (chromedp's Poll is made of an eval), and a page that goes takes
// along who waits there.
func Until(t *testing.T, tab context.Context, script, seen string) {
	t.Helper()
	for end := time.Now().Add(Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if so, err := chromedp.Run(tab, chromedp.Evaluate[bool]("!!("+script+")")); err == nil && so {
			return
		}
	}
	text, err := chromedp.Run(tab, chromedp.Evaluate[string](seen))
	t.Fatalf("never: %s, on (%v)\n%.3000s", script, err, text)
}
