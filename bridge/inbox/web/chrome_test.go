//go:build chrome

package web_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/examples/chromium"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// What a person does and sees in a real browser. One browser serves all; each has a page of its
// own.
func TestInABrowser(t *testing.T) {
	browser := chromium.Open(t)
	for name, test := range map[string]func(*testing.T, context.Context){
		"allow":            allowsByPressing,
		"deny":             deniesWithAReason,
		"delegate":         passesOn,
		"edit":             changesWhatMayBe,
		"remember":         remembers,
		"together":         answersSeveralTogether,
		"long":             opensWhatIsLong,
		"long at once":     opensWhatIsLongBeforeTheScriptComes,
		"long again":       comesBackToWhatIsLong,
		"keys":             noKeySaysYes,
		"new":              newOnesComeByThemselves,
		"ends":             aQuestionEndsUnderTheFinger,
		"changes":          aQuestionChangesUnderTheFinger,
		"loaded again":     aQuestionChangesWhileItIsLoadedAgain,
		"second":           whoIsSecondReadsHowItEnded,
		"two tabs":         twoTabsDecideAtOnce,
		"halt":             haltsAndResumes,
		"traffic":          showsWhoIsHereAndHowMuchTheyAsk,
		"again":            comesBackAfterTheNetworkDid,
		"many":             tenThousand,
		"level":            keepsNothingOfWhatWent,
		"hostile":          nothingRunsThatOthersWrote,
		"names":            everythingHasARoleAndAName,
		"trusted types":    theScriptMayMakeNoMarkup,
		"another port":     aPageOfAnotherPortGetsNothing,
		"another name":     aNameThatResolvesHereGetsNothing,
		"another site":     aPageOfAnotherSiteGetsNothing,
		"sign out":         signsOutInAllTabs,
		"without a script": worksWithoutAScript,
		"passkey":          aPasskeySignsAYes,
		"no passkey":       noPasskeyNoYes,
		"two passkeys":     twoPasskeysAreOnePerson,
		"by address":       anAddressHasNoPasskeys,
		"replayed":         aSignatureIsForOneQuestion,
	} {
		t.Run(name, func(t *testing.T) { test(t, browser) })
	}
}

// asked is a hall with one question, and a tab that shows it.
func asked(t *testing.T, browser context.Context, q approval.Question) (h *inboxtest.Hall, id string, b *tab) {
	t.Helper()
	h = inboxtest.New("notes")
	id = h.Ask(q)
	b = loggedIn(t, browser, serve(t, source(h, "notes")))
	b.open("/q/notes/" + id)
	b.live()
	return h, id, b
}

// live waits until the page hears what happens.
func (b *tab) live() {
	b.t.Helper()
	b.until("document.getElementById('link-state').textContent.startsWith('Live')")
}

// press presses what a person reads on a button once it can be pressed, and waits for the page
// behind it. What a click before it set off may still be on its way: a browser tells a page after
// the next key or click that a value was opened, if that comes at once.
func (b *tab) press(name string) {
	b.t.Helper()
	b.follow(`//button[normalize-space()="` + name + `" and not(@disabled)]`)
}

// outcome waits for the page that says how the question ended.
func (b *tab) outcome(want string) {
	b.t.Helper()
	b.until(`document.getElementById("outcome")?.textContent.startsWith("` + want + `")`)
}

func allowsByPressing(t *testing.T, browser context.Context) {
	h, id, b := asked(t, browser, inboxtest.Write(`{"path":"/a"}`))
	b.press("Allow")
	allowed(t, h, id)
	b.outcome("allowed by local")
}

func deniesWithAReason(t *testing.T, browser context.Context) {
	h, _, b := asked(t, browser, inboxtest.Write(`{"path":"/a"}`))
	b.do(chromedp.SendKeys("textarea", "not that\none"))
	b.press("Deny")
	if s := h.Next(t); s.Outcome.String() != "denied" || s.Said != "not that one" {
		t.Errorf("%s, %q", s.Outcome, s.Said)
	}
	b.outcome("denied by local")
}

func passesOn(t *testing.T, browser context.Context) {
	q := inboxtest.Write(`{"path":"/a"}`)
	q.Terms.Delegate = &policy.Delegate{To: []string{"ben", "carol"}}
	h, id, b := asked(t, browser, q)
	b.do(chromedp.SendKeys("select[name=to]", "carol"))
	b.press("Delegate")
	b.until(`document.getElementById("circumstances")?.textContent.includes("passed on") || document.getElementById("circumstances")?.textContent.includes("passed it on")`)
	h.Say(t, "carol", id, `{"action":"accept","content":{"approve":true}}`)
	allowed(t, h, id)
	b.until(`document.getElementById("said").textContent.includes("allowed by carol")`)
}

func changesWhatMayBe(t *testing.T, browser context.Context) {
	q := inboxtest.Write(`{"path":"/a","mode":1}`)
	q.Terms.Edit = []policy.Edit{{Field: "where", Arg: "/path", Title: "Where", Type: "string"}, {Field: "mode", Arg: "/mode", Title: "Mode", Type: "integer", Max: "7"}}
	h, id, b := asked(t, browser, q)
	b.do(chromedp.SetValue("input[name='field.mode']", "8"))
	b.press("Allow")
	b.until(`document.getElementById("wrong")?.textContent.includes("Mode must be at most 7")`)
	undecided(t, h, id)
	b.do(chromedp.SetValue("input[name='field.mode']", "7"), chromedp.SetValue("input[name='field.where']", "/b"))
	b.press("Allow")
	if s := h.Next(t); string(s.Args) != `{"path":"/b","mode":7}` {
		t.Errorf("%s runs, with %s", s.Outcome, s.Args)
	}
}

func remembers(t *testing.T, browser context.Context) {
	q := inboxtest.Write(`{"path":"/a"}`)
	q.Terms.Remember = []string{"session"}
	h, _, b := asked(t, browser, q)
	if said := b.page(); !strings.Contains(said, "the same call with exactly these arguments runs unasked until the bridge stops") {
		t.Errorf("it does not say what it would cover:\n%s", said)
	}
	b.do(chromedp.Click("input[value=session]"))
	b.press("Allow")
	if s := h.Next(t); s.Made == nil || s.Made.Keep != "session" {
		t.Errorf("%+v", s.Made)
	}
}

func answersSeveralTogether(t *testing.T, browser context.Context) {
	h, first, b := asked(t, browser, inboxtest.Write(`{"path":"/a"}`))
	second := h.Ask(inboxtest.Write(`{"path":"/b","content":"` + strings.Repeat("lorem ", 1000) + `"}`))
	third := h.Ask(inboxtest.Write(`{"path":"/c"}`))
	b.until(`document.getElementById("alike").textContent.startsWith("2 more like this")`)
	b.follow("#alike a")
	b.until(`document.querySelector("ol.alike") && document.querySelector("button[value=allow]").disabled`) // a long value is to be opened
	b.shoot("inbox-alike")
	b.do(chromedp.Click("details.long summary"))
	b.until(offersAllow) // what stands below has moved by then
	b.do(chromedp.Click(`input[value^="` + third + `"]`))
	b.until(`!document.querySelector('input[value^="` + third + `"]').checked`)
	b.press("Allow those ticked")
	allowed(t, h, first)
	allowed(t, h, second)
	b.until(`document.querySelector("ol.outcomes")?.children.length === 2`)
	undecided(t, h, third)
}

func opensWhatIsLong(t *testing.T, browser context.Context) {
	h, id, b := asked(t, browser, inboxtest.Write(`{"path":"/a","content":"`+strings.Repeat("lorem ", 170_000)+`the end"}`))
	if !say[bool](b, `document.querySelector("button[value=allow]").disabled && !document.querySelector("button[value=deny]").disabled`) {
		t.Error("Allow can be pressed before the long value was opened, or Deny cannot")
	}
	b.do(chromedp.Click("details.long summary"))
	b.until(`!document.querySelector("button[value=allow]").disabled && document.querySelector("main").innerText.includes("the end")`)
	b.press("Allow")
	allowed(t, h, id)
}

// Who is faster than the script, and has opened the value before, need not open it again.
func opensWhatIsLongBeforeTheScriptComes(t *testing.T, browser context.Context) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/a","content":"` + strings.Repeat("lorem ", 1000) + `"}`))
	b := loggedIn(t, browser, serve(t, source(h, "notes")))
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `new MutationObserver((_, o) => {
		const long = document.querySelector("details.long");
		if (long) { long.open = true; o.disconnect(); }
	}).observe(document, {childList: true, subtree: true})`})
	b.open("/q/notes/" + id)
	b.live()
	b.press("Allow")
	allowed(t, h, id)
}

// What was opened of a question before one left it is not opened when one comes back, and it may be
// another value by then: browsers would keep the ticks.
func comesBackToWhatIsLong(t *testing.T, browser context.Context) {
	h, long := inboxtest.New("notes"), strings.Repeat("lorem ", 1000)
	id := h.Ask(inboxtest.Write(`{"a":"` + long + `","b":"` + long + `"}`))
	b := loggedIn(t, browser, serve(t, source(h, "notes")))
	b.open("/q/notes/" + id)
	b.live()
	opens := func(nth string) {
		t.Helper()
		say[bool](b, `(() => { const d = document.querySelectorAll("details.long")[`+nth+`]; d.addEventListener("toggle", () => { d.dataset.toggled = "yes"; }); return d.open = true; })()`)
		b.until(`document.querySelectorAll("details.long")[` + nth + `].dataset.toggled === "yes"`)
	}
	opens("0")
	opens("1")
	b.until(offersAllow)
	b.open("/")
	b.do(chromedp.NavigateBack(), chromedp.WaitVisible("details.long"))
	b.settled()
	b.live()
	opens("0")
	if say[bool](b, offersAllow) {
		t.Error("it can be allowed with a value that was not opened")
	}
	opens("1")
	b.press("Allow")
	allowed(t, h, id)
}

// A key that is pressed in the wrong window decides nothing, and neither does Enter in a field.
func noKeySaysYes(t *testing.T, browser context.Context) {
	q := inboxtest.Write(`{"path":"/a"}`)
	q.Terms.Edit = []policy.Edit{{Field: "where", Arg: "/path", Title: "Where", Type: "string"}}
	h, id, b := asked(t, browser, q)
	for _, key := range []string{"a", "y", "A", "\r", " ", "d"} {
		b.do(chromedp.KeyEvent(key))
	}
	b.do(chromedp.SendKeys("input[name='field.where']", "x\r"), chromedp.SendKeys("textarea", "y\r\r"))
	if at := say[string](b, "location.href"); at != b.at+"/q/notes/"+id {
		t.Errorf("a key led to %s", at)
	}
	undecided(t, h, id)
}

func newOnesComeByThemselves(t *testing.T, browser context.Context) {
	h := inboxtest.New("notes")
	h.Ask(inboxtest.Write(`{"path":"/a"}`))
	second := h.Ask(inboxtest.Write(`{"path":"/b"}`))
	b := loggedIn(t, browser, serve(t, source(h, "notes")))
	b.live()
	b.do(chromedp.Focus(`[href$="/q/notes/` + second + `"]`))
	third := h.Ask(inboxtest.Write(`{"path":"/c"}`))
	b.until(`document.querySelector('[href$="/q/notes/` + third + `"]') && document.title.startsWith("3 questions")`)
	b.until(`document.activeElement.getAttribute("href").endsWith("/q/notes/` + second + `")`)
	b.until(`document.getElementById("said").textContent === "A new question. 3 questions wait for you"`)
	h.Withdraw(second)
	b.until(`!document.querySelector('[href$="/q/notes/` + second + `"]') && document.activeElement.getAttribute("href").endsWith("/q/notes/` + third + `")`)
	h.Withdraw(third)
	h.Abort(say[string](b, `document.querySelector(".card").href.split("/").pop()`), "replaced")
	b.until(`document.querySelector("h1").textContent === "Nothing waits for you"`)
}

func aQuestionEndsUnderTheFinger(t *testing.T, browser context.Context) {
	h, id, b := asked(t, browser, inboxtest.Write(`{"path":"/a"}`))
	b.do(chromedp.Focus("button[value=allow]"))
	h.Withdraw(id)
	b.until(`document.querySelector("#answer fieldset").disabled && document.activeElement.id === "wrong" && document.getElementById("said").textContent.includes("closed: withdrawn")`)
	b.do(chromedp.KeyEvent("\r"), chromedp.KeyEvent(" "))
	if at := say[string](b, "location.href"); at != b.at+"/q/notes/"+id {
		t.Errorf("it leads to %s", at)
	}
}

func aQuestionChangesUnderTheFinger(t *testing.T, browser context.Context) {
	q := inboxtest.Write(`{"path":"/a"}`)
	q.Terms.Of, q.Terms.Need = []string{"local", "ben"}, 2
	q.Terms.Edit = []policy.Edit{{Field: "where", Arg: "/path", Title: "Where", Type: "string"}}
	h, id, b := asked(t, browser, q)
	h.Say(t, "ben", id, `{"action":"accept","content":{"approve":true,"where":"/b"}}`)
	b.until(`document.getElementById("wrong").textContent.includes("This question has changed")`)
	if !say[bool](b, `document.querySelector("#answer fieldset").disabled && document.querySelector(".sheet").textContent.includes('"/a"')`) {
		t.Error("it can still be answered, or something else is shown than what was")
	}
	b.follow("#wrong a")
	b.do(chromedp.WaitVisible("button[value=allow]"))
	b.until(`document.querySelector(".sheet").textContent.includes('"/b"')`)
	b.press("Allow")
	if s := h.Next(t); string(s.Args) != `{"path":"/b"}` {
		t.Errorf("%s runs, with %s", s.Outcome, s.Args)
	}
}

func twoTabsDecideAtOnce(t *testing.T, browser context.Context) {
	h := inboxtest.New("notes")
	s := serve(t, source(h, "notes"))
	one := loggedIn(t, browser, s)
	two := newTab(t, browser, s)
	for i := range 5 {
		q := inboxtest.Write(`{"path":"/a"}`)
		q.Caller = fmt.Sprint("agent-", i) // who was refused three times in a row is not asked about a fourth time
		id := h.Ask(q)
		one.open("/q/notes/" + id)
		two.open("/q/notes/" + id)
		done := make(chan error, 1)
		go func() {
			_, err := chromedp.Run(two.ctx, chromedp.Evaluate[bool](`document.querySelector("button[value=deny]").click(), true`))
			done <- err
		}()
		_, err := chromedp.Run(one.ctx, chromedp.Evaluate[bool](`document.querySelector("button[value=allow]").click(), true`))
		if err2 := <-done; err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		end := h.Next(t).Outcome.String()
		for _, b := range []*tab{one, two} {
			b.until(`document.getElementById("outcome")?.textContent.startsWith("` + end + ` by local") ||
				document.forms.answer && !document.forms.answer.dataset.sent && document.getElementById("wrong").textContent.includes("` + end + ` by local")`)
		}
		if len(h.Settled) > 0 {
			t.Fatal("both counted")
		}
	}
}

// Whoever looks at a question sees that the bridge is halted, and that it goes on.
func haltsAndResumes(t *testing.T, browser context.Context) {
	h := inboxtest.New("notes")
	s := serve(t, source(h, "notes"))
	id := h.Ask(inboxtest.Write(`{"path":"/a"}`))
	looks, b := loggedIn(t, browser, s), newTab(t, browser, s)
	looks.open("/q/notes/" + id)
	looks.live()
	b.open("/bridges")
	b.live()
	b.do(chromedp.Click(".halt summary"), chromedp.SendKeys("input[name=reason]", "mad agents"))
	h.Ask(inboxtest.Write(`{"path":"/b"}`)) // what is typed stays, whatever comes
	b.until(`document.getElementById("state.notes").textContent.includes("2 questions")`)
	b.shoot("inbox-halt")
	b.press("Halt notes in lobby")
	b.until(`document.querySelector("main").innerText.includes("mad agents")`)
	if halted(t, h) == nil {
		t.Fatal("it is not halted")
	}
	looks.until(`document.getElementById("halted").textContent.includes("mad agents") && document.getElementById("meta").textContent.includes("halted, ")`)
	looks.press("Allow")
	looks.until(`document.getElementById("wrong").textContent.includes("takes a no only until it is resumed")`)
	b.press("Resume notes in lobby")
	b.until(`document.querySelector(".halt summary")`)
	looks.until(`document.getElementById("halted").textContent === "" && document.getElementById("meta").textContent.includes(" left")`)
	looks.press("Allow")
	allowed(t, h, id)
}

// Who comes and goes is heard of at once, and how much they ask is looked at again with no event
// for each call. Whoever is about to halt the bridge is not disturbed.
func showsWhoIsHereAndHowMuchTheyAsk(t *testing.T, browser context.Context) {
	h := inboxtest.New("notes")
	h.Here("bob", true)
	b := loggedIn(t, browser, serve(t, source(h, "notes")))
	b.open("/bridges")
	b.live()
	reads := func(want string) {
		t.Helper()
		b.until(`document.getElementById("traffic.notes").innerText.replace(/\s+/g, " ") === "` + want + `"`)
	}
	reads("Last minute no calls In the topic bob")
	b.do(chromedp.Click(".halt summary"), chromedp.SendKeys("input[name=reason]", "mad agents"))
	h.Calls.Store(3)
	reads("Last minute 3 calls In the topic bob")
	h.Here("alice", true)
	reads("Last minute 3 calls In the topic alice bob")
	b.shoot("inbox-bridges")
	h.Here("alice", false)
	h.Here("bob", false)
	reads("Last minute 3 calls In the topic nobody else")
	if typed := say[string](b, `document.querySelector("input[name=reason]").value`); typed != "mad agents" {
		t.Errorf("of what was typed there is %q", typed)
	}
}

func comesBackAfterTheNetworkDid(t *testing.T, browser context.Context) {
	h := inboxtest.New("notes")
	h.Ask(inboxtest.Write(`{"path":"/a"}`))
	b := loggedIn(t, browser, serve(t, source(h, "notes")))
	b.live()
	b.offline(true)
	second := h.Ask(inboxtest.Write(`{"path":"/b"}`))
	b.until(`document.getElementById("link-state").textContent.startsWith("Not live")`)
	b.offline(false)
	h.Ask(inboxtest.Write(`{"path":"/c"}`))
	b.until(`document.querySelector('[href$="/q/notes/` + second + `"]') && document.title.startsWith("3 questions")`)
	b.live()
}

func (b *tab) offline(off bool) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{Offline: off, DownloadThroughput: -1, UploadThroughput: -1}}}); err != nil {
		b.t.Fatal(err)
	}
}

func tenThousand(t *testing.T, browser context.Context) {
	h := inboxtest.New("notes")
	for i := range 10_000 {
		h.Ask(inboxtest.Write(fmt.Sprintf(`{"path":"/%d"}`, i)))
	}
	b := loggedIn(t, browser, serve(t, source(h, "notes")))
	b.live()
	if n := say[int](b, `document.querySelectorAll("#questions > li").length`); n != 50 || !strings.Contains(b.page(), "10000 questions wait for you") {
		t.Errorf("%d on one page", n)
	}
	b.open("/?from=9950")
	if said := b.page(); !strings.Contains(said, "9951 to 10000 of 10000") || !strings.Contains(said, "/9999") {
		t.Errorf("the last page says\n%s", said)
	}
}

// A page that was open while many questions came and went has what it had.
func keepsNothingOfWhatWent(t *testing.T, browser context.Context) {
	h := inboxtest.New("notes")
	h.Ask(inboxtest.Write(`{"path":"/stays"}`))
	b := loggedIn(t, browser, serve(t, source(h, "notes")))
	b.live()
	round := func() {
		for i := range 5 {
			var ids []string
			for range 30 {
				ids = append(ids, h.Ask(inboxtest.Write(fmt.Sprintf(`{"path":"/%d"}`, i))))
			}
			b.until(`document.title.startsWith("31 questions") && document.querySelectorAll("#questions > li").length === 31`)
			for _, id := range ids {
				h.Withdraw(id)
			}
			b.until(`document.title.startsWith("1 question ") && document.querySelectorAll("#questions > li").length === 1`)
		}
		b.until(`document.getElementById("said").textContent !== ""`)
	}
	round()
	few := counted(b)
	for range 2 {
		round()
		now := counted(b)
		// A page that was just fetched is let go a moment later.
		for end := time.Now().Add(chromium.Patience); now.Nodes > few.Nodes+few.Nodes/2 && time.Now().Before(end); now = counted(b) {
		}
		if now.Nodes > few.Nodes+few.Nodes/2 || now.JsEventListeners > few.JsEventListeners+10 {
			t.Errorf("%+v after a round, %+v after another", few, now)
		}
	}
}

// counted is what a page holds once what it let go is gone.
func counted(b *tab) memory.GetDOMCountersResult {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
		b.t.Fatal(err)
	}
	c, err := chromedp.Call(b.ctx, memory.GetDOMCounters, cdp.Empty{})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func nothingRunsThatOthersWrote(t *testing.T, browser context.Context) {
	h := inboxtest.New("notes")
	b := loggedIn(t, browser, serve(t, source(h, "notes")))
	names := `[...new Set([...document.querySelectorAll("*")].map((e) => e.localName))].sort().join(" ")`
	id := h.Ask(everywhere("plain\nlines"))
	b.open("/q/notes/" + id)
	plain := strings.Fields(say[string](b, names) + " mark details summary")
	h.Withdraw(id)
	for _, s := range nasty {
		id := h.Ask(everywhere(s))
		for _, at := range []string{"/", "/q/notes/" + id} {
			b.open(at)
			b.live()
			for _, one := range strings.Fields(say[string](b, names)) {
				if !slices.Contains(plain, one) && at != "/" {
					t.Errorf("%.40q makes a <%s> at %s", s, one, at)
				}
			}
			if n := say[int](b, `document.querySelectorAll("img,iframe,object,embed,script:not([src]),style,[onerror],[onfocus],[onload]").length`); n > 0 {
				t.Errorf("%.40q gets out of its frame at %s", s, at)
			}
			if wide := say[int](b, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
				t.Errorf("%.40q makes %s wider than the window by %d", s, at, wide)
			}
		}
		h.Withdraw(id)
	}
}

// What a screen reader reads: one heading of the first order, landmarks, and a name for all that
// can be pressed or filled in.
func everythingHasARoleAndAName(t *testing.T, browser context.Context) {
	q := everywhere("plain")
	q.Args = []byte(`{"field":"plain","content":"` + strings.Repeat("lorem ", 1000) + `"}`)
	h, id, b := asked(t, browser, q)
	for _, at := range []string{"/history", "/remembered", "/bridges", "/alike/notes/" + id, "/", "/q/notes/" + id} {
		b.open(at)
		tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		if err != nil {
			t.Fatal(err)
		}
		roles := map[string]int{}
		for _, n := range tree.Nodes {
			if n.Ignored || n.Role == nil {
				continue
			}
			role, name := strings.Trim(string(n.Role.Value), `"`), ""
			if n.Name != nil {
				name = strings.Trim(string(n.Name.Value), `"`)
			}
			roles[role]++
			switch role {
			case "button", "link", "textbox", "combobox", "radio", "checkbox", "form", "navigation", "heading", "article":
				if strings.TrimSpace(name) == "" {
					t.Errorf("%s: a %s has no name", at, role)
				}
			}
		}
		if roles["main"] != 1 || roles["navigation"] == 0 || roles["status"] != 1 || say[int](b, `document.querySelectorAll("h1").length`) != 1 || say[string](b, "document.documentElement.lang") != "en" {
			t.Errorf("%s: %v", at, roles)
		}
	}
	if n := say[int](b, `[...document.querySelectorAll("button:not([hidden])")].filter((e) => ["Allow", "Deny", "Delegate"].includes(e.textContent)).length`); n != 3 {
		t.Errorf("%d of Allow, Deny and Delegate", n)
	}
	undecided(t, h, id)
}

func theScriptMayMakeNoMarkup(t *testing.T, browser context.Context) {
	_, _, b := asked(t, browser, inboxtest.Write(`{"path":"/a"}`))
	for _, script := range []string{`document.body.innerHTML = "<b>x</b>"`, `new DOMParser().parseFromString("<b>x</b>", "text/html")`, `trustedTypes.createPolicy("mine", {createHTML: (s) => s})`} {
		if !say[bool](b, `(() => { try { `+script+`; return false } catch { return true } })()`) {
			t.Errorf("%s works", script)
		}
	}
}

// A page of another port is of the same site. It does not know where ours is, and gets no cookie;
// here it knows even that, so that the browser sends it along with what goes there.
func aPageOfAnotherPortGetsNothing(t *testing.T, browser context.Context) {
	h, id, b := asked(t, browser, inboxtest.Write(`{"path":"/secret"}`))
	v, _ := h.Question(id)
	evil := serveHTML(t, `<!DOCTYPE html><title>evil</title><iframe src="`+b.at+`/q/notes/`+id+`"></iframe>
<form method="post" action="`+b.at+`/q/notes/`+id+`"><input name="do" value="allow"><input name="digest" value="`+v.Digest+`"></form>
<script>fetch("`+b.at+`/q/notes/`+id+`", {credentials: "include"}).then((r) => r.text(), (e) => "refused").then((s) => document.title = s.slice(0, 20))</script>`)
	other := newTab(t, browser, serve(t, source(h, "notes")))
	other.do(chromedp.Navigate(evil))
	other.until(`document.title === "refused"`)
	if n := say[string](other, `(() => { try { return frames[0].document.body.innerText } catch { return "closed" } })()`); n != "closed" && n != "" {
		t.Errorf("the frame shows %s", n)
	}
	other.do(chromedp.Evaluate[chromedp.Void](`document.forms[0].submit()`))
	other.until(`document.body?.textContent.includes("sent by another page")`)
	undecided(t, h, id)
	other.do(chromedp.Navigate(evil))
	other.do(chromedp.Evaluate[chromedp.Void](`location.href = "` + b.at + `/q/notes/` + id + `"`))
	other.until(`document.body?.textContent.includes("Another page has led here") && !document.body.textContent.includes("secret")`)
	other.do(chromedp.Click("a.button"))
	other.until(`document.body?.textContent.includes("secret")`)
}

// A site has its name resolve to this machine, so that its pages are of one origin with ours: the
// page is not to be had by that name.
func aNameThatResolvesHereGetsNothing(t *testing.T, browser context.Context) {
	_, id, b := asked(t, browser, inboxtest.Write(`{"path":"/secret"}`))
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(originOf(b.at), "http://"))
	for _, path := range []string{"/", "/q/notes/" + id, "/api/notes/questions"} {
		b.do(chromedp.Navigate("http://rebound.example:" + port + path))
		b.until(`location.hostname === "rebound.example" && document.body?.textContent.includes("this name is not that of the page")`)
		if said := b.page(); strings.Contains(said, "secret") {
			t.Errorf("%s shows %s", path, said)
		}
	}
}

// A page of another site has our browser send a form, and reads what it can.
func aPageOfAnotherSiteGetsNothing(t *testing.T, browser context.Context) {
	h, id, b := asked(t, browser, inboxtest.Write(`{"path":"/secret"}`))
	v, _ := h.Question(id)
	evil := serveHTML(t, `<!DOCTYPE html><title>evil</title><form method="post" action="`+b.at+`/q/notes/`+id+`"><input name="do" value="allow"><input name="digest" value="`+v.Digest+`"></form>
<script>fetch("`+b.at+`/api/notes/questions", {credentials: "include"}).then((r) => r.text(), (e) => "refused").then((s) => document.title = s.slice(0, 20))</script>`)
	other := newTab(t, browser, serve(t, source(h, "notes")))
	other.do(chromedp.Navigate(strings.Replace(evil, "127.0.0.1", "evil.example", 1)))
	other.until(`location.hostname === "evil.example" && document.title === "refused"`)
	other.do(chromedp.Evaluate[chromedp.Void](`document.forms[0].submit()`))
	other.until(`document.body?.textContent.includes("sent by another page")`)
	undecided(t, h, id)
}

// What is open in another tab goes too.
func signsOutInAllTabs(t *testing.T, browser context.Context) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/secret"}`))
	s := serve(t, source(h, "notes"))
	one, other := loggedIn(t, browser, s), newTab(t, browser, s)
	other.open("/q/notes/" + id)
	for _, b := range []*tab{one, other} {
		b.live()
	}
	one.press("Sign out")
	one.until(`document.body?.textContent.includes("This browser is signed out")`)
	other.until(`document.body?.textContent.includes("not logged in") && !document.body.textContent.includes("secret")`)
	undecided(t, h, id)
}

func worksWithoutAScript(t *testing.T, browser context.Context) {
	h := inboxtest.New("notes")
	id := h.Ask(inboxtest.Write(`{"path":"/a","content":"` + strings.Repeat("lorem ", 1000) + `"}`))
	b := newTab(t, browser, serve(t, source(h, "notes")))
	b.scriptless()
	b.logIn()
	b.follow(".card")
	b.do(chromedp.Click("button[value=allow]")) // the browser points at the box that is not ticked
	undecided(t, h, id)
	b.do(chromedp.Click("input[name=seen]"))
	b.press("Allow")
	allowed(t, h, id)
	b.outcome("allowed by local")
}

// TestPictures draws what README and docs/approvals.md show. SHOTS names the directory that gets
// the pictures; they are looked at by people.
func TestPictures(t *testing.T) {
	h := inboxtest.New("notes")
	dir, err := os.MkdirTemp("", "app") // that of t has a name that nobody wants in a picture
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte("replicas: 2\nimage: app:1.41\nlog: info\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	q := inboxtest.Write(`{"path":"` + file + `","content":"replicas: 3\nimage: app:1.42\nlog: \u202einfo\n","mode":420,"options":{"backup":true,"tags":["deploy","urgent"]}}`)
	q.Caller, q.About = "release-bot", "Write a file; replaces what is there"
	q.Terms.Remember = []string{"session", "always"}
	id := h.Ask(q)
	h.Ask(inboxtest.Write(`{"path":"/home/ann/notes/todo.md","content":"# To do\n\n- call the garage\n"}`))
	long := inboxtest.Write(`{"path":"/home/ann/notes/long.md","content":"` + strings.Repeat("All work and no play makes Jack a dull boy. ", 100) + `"}`)
	long.Via = "proposal"
	long.Terms.Edit = []policy.Edit{{Field: "path", Arg: "/path", Title: "Path", Type: "string"}}
	long.Terms.Delegate = &policy.Delegate{To: []string{"ben", "carol"}}
	third := h.Ask(long)
	kept := inboxtest.Write(`{"path":"/home/ann/notes/todo.md","content":"# To do\n"}`)
	kept.Terms.Remember = []string{"session"}
	v, _ := h.Question(h.Ask(kept))
	if _, err := h.Decide(t.Context(), inbox.Decide(&v, &approval.Reply{Allow: true, Remember: "session"})); err != nil {
		t.Fatal(err)
	}
	status, _ := h.Status(t.Context()) // never fails
	status.Audit = record(t,
		`"event":"decided","call":"1","from":"agent-a","tool":"write_file","verdict":"allow","rule":"small-writes","by":["local"]`,
		`"event":"decided","call":"2","from":"release-bot","tool":"delete_file","verdict":"deny","rule":"no-deletes","reason":"policy_denied"`,
		`"event":"decided","call":"3","from":"agent-a","tool":"read_file","verdict":"allow","rule":"reads"`)
	b := newTab(t, chromium.Open(t), serve(t, source(recorded{h, status}, "notes")))
	b.do(chromedp.Navigate(b.link), chromedp.WaitVisible("button"))
	b.shoot("inbox-door")
	b.do(chromedp.Click("button"), chromedp.WaitVisible("header"))
	for _, scheme := range []string{"light", "dark"} {
		for name, width := range map[string]int64{"": 820, "-narrow": 360} {
			b.look(width, 760, scheme)
			for page, at := range map[string]string{"list": "/", "history": "/history", "remembered": "/remembered", "bridges": "/bridges", "question": "/q/notes/" + id, "long": "/q/notes/" + third} {
				b.open(at)
				if page == "list" || page == "question" {
					b.live()
				}
				b.shoot("inbox-" + page + "-" + scheme + name)
				if wide := say[int](b, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
					t.Errorf("%s at %d is wider than the window by %d", page, width, wide)
				}
			}
		}
	}
}

// serveHTML serves somebody else's page on a port of its own until the test ends. No cookie of ours
// goes there.
func serveHTML(t *testing.T, page string) (address string) {
	t.Helper()
	at := newListener(t)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Cookie"); strings.Contains(got, "mcpx_inbox") {
			t.Errorf("another page gets %s", got)
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(page))
	})}
	done := make(chan error, 1)
	go func() { done <- s.Serve(at) }()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	return "http://" + at.Addr().String() + "/"
}
