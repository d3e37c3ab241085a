package web

import (
	"embed"
	"net/http"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

//go:embed static
var static embed.FS

// A sheet is what a page says. Its title is the bridge's own words: whatever others wrote is in
// the body.
type sheet struct {
	title string
	on    string // which of the menu it is, "" for none
	bare  bool   // without a head, and without a script
	body  piece
}

// menu is what the head of each page leads to.
var menu = []struct{ at, title string }{{"/", "Questions"}, {"/history", "History"}, {"/remembered", "Remembered"}, {"/passkeys", "Passkeys"}, {"/bridges", "Bridges"}}

// page writes a page.
func (s *Server) page(w http.ResponseWriter, r *http.Request, status int, of sheet) {
	b := markup{root: s.guard.root}
	b.WriteString("<!DOCTYPE html>\n")
	element("html", attribute{"lang", "en"}, element("head",
		element("meta", attribute{"charset", "utf-8"}),
		element("meta", attribute{"name", "viewport"}, attribute{"content", "width=device-width, initial-scale=1"}),
		element("meta", attribute{"name", "color-scheme"}, attribute{"content", "light dark"}),
		element("title", words(of.title+" · mcpx-bridge")),
		element("link", attribute{"rel", "icon"}, attribute{"href", icon}),
		element("link", attribute{"rel", "stylesheet"}, exact{"href", "/static/inbox.css"}),
		when(!of.bare, element("script", attribute{"type", "module"}, exact{"src", "/static/inbox.js"}))),
		element("body", of.frame())).put(&b)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	startReading(w, b.Len())
	if r.Method != http.MethodHead {
		w.Write([]byte(b.String()))
	}
}

// startReading gives the browser, from now on, patience and a second more for each 64 KiB to read an
// answer of length bytes: the time of the request may have gone by while bridges were asked.
func startReading(w http.ResponseWriter, length int) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience + time.Duration(length>>16)*time.Second))
}

// goOn has a browser ask for a page next.
func (s *Server) goOn(w http.ResponseWriter, r *http.Request, address string) {
	startReading(w, 0)
	http.Redirect(w, r, s.guard.root+address, http.StatusSeeOther)
}

// icon is that of the tab.
const icon = `data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%232f5d50'/%3E%3Cpath d='M4.5 8.2l2.4 2.4 4.6-5' fill='none' stroke='white' stroke-width='1.8'/%3E%3C/svg%3E`

func (of sheet) frame() piece {
	main := element("main", id("main"), attribute{"tabindex", "-1"}, of.body)
	if of.bare {
		return element("div", class("door"), main)
	}
	return pieces{
		element("a", class("skip"), exact{"href", "#main"}, words("Skip to the content")),
		element("header", element("span", class("mark"), words("mcpx-bridge")),
			element("nav", attribute{"aria-label", "Pages"}, each(menu, func(p struct{ at, title string }) piece {
				return element("a", href(p.at), when(p.at == of.on, attribute{"aria-current", "page"}), words(p.title))
			})),
			element("form", attribute{"method", "post"}, action("/out"), attribute{"aria-label", "This browser"}, element("button", words("Sign out")))),
		element("p", id("said"), class("hush"), attribute{"role", "status"}, attribute{"aria-live", "polite"}),
		main,
		element("footer", element("span", id("link-state"), words("This page does not renew itself without its script: load it again to see what is new."))),
	}
}

// clock shows a moment that people read, exact for those who point at it.
func clock(at, now time.Time) piece {
	return element("time", attribute{"datetime", at.UTC().Format(time.RFC3339)}, attribute{"title", text.Stamp(at)}, words(text.Moment(at, now)))
}

// left counts down; the script keeps counting. Where the bridge is halted it stands still.
func left(q *approval.Summary, now time.Time) piece {
	remaining, frozen := q.Left(now)
	if frozen {
		return element("span", class("left"), words("halted, "+text.Left(remaining)))
	}
	till := q.Deadline
	return element("time", class("left"), attribute{"data-left", remaining.Truncate(time.Second).String()}, attribute{"datetime", till.UTC().Format(time.RFC3339)},
		attribute{"title", "Decide by " + text.Stamp(till)}, when(remaining < time.Minute, attribute{"data-late", "yes"}), words(text.Left(remaining)))
}
