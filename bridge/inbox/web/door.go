package web

import (
	"net/http"
	"time"
)

// again says how one gets in who has no link that works.
const again = "mcpx-bridge inbox prints a new link, at the terminal of this machine."

// enter shows a button: what looks ahead at links presses none.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	if !s.guard.waits(r.PathValue("link"), time.Now()) {
		s.page(w, r, http.StatusGone, away("This link was used, or is too old."))
		return
	}
	s.page(w, r, http.StatusOK, bare("Open the inbox",
		element("p", words("This browser will show what your bridges ask, and answer for you. The link works once.")),
		element("form", attribute{"method", "post"}, action(r.URL.EscapedPath()),
			element("button", class("primary"), flag("autofocus"), words("Continue")))))
}

// redeem logs a browser in.
func (s *Server) redeem(w http.ResponseWriter, r *http.Request) {
	cookie := s.guard.redeem(r.PathValue("link"), userOf(r), time.Now())
	if cookie == nil {
		s.page(w, r, http.StatusGone, away("This link was used, or is too old."))
		return
	}
	http.SetCookie(w, cookie)
	s.goOn(w, r, "/")
}

// door is what there is without a session: nothing but a way on, for a browser that may have one.
func door(back string, own bool) sheet {
	if own {
		return away("This browser is not logged in.")
	}
	return bare("The inbox of this machine",
		element("p", words("Another page has led here. If you meant to come, go on.")),
		element("p", element("a", class("button"), exact{"href", back}, words("Continue"))))
}

// away ends here.
func away(why string) sheet {
	return bare(why, element("p", words(again)))
}

func bare(title string, of ...piece) sheet {
	return sheet{title: title, bare: true, body: append(pieces{element("h1", words(title))}, of...)}
}
