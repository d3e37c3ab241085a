package web

import (
	"net/http"
	"time"
)

const (
	// ownLink is how one gets to the own page of a bridge.
	ownLink = "run printed the link to that when the bridge started, and it let one browser in, once: for another, " + afresh

	afresh = "press o at the terminal where run was started; without a terminal, start the bridge again."

	linkIsOver = "This link was used, is too old, or gave way to a newer one."

	again    = "mcpx-bridge inbox prints a new link, at the terminal of this machine."
	againOwn = "mcpx-bridge inbox prints a link, at the terminal of this machine, to another page, where all is answered but a yes that takes a passkey. That is given on this page alone: for a new link to it, " + afresh
)

// enter shows a button: what looks ahead at links presses none.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) {
	if !s.guard.waits(r.PathValue("link"), time.Now()) {
		s.page(w, r, http.StatusGone, s.away(linkIsOver))
		return
	}
	s.page(w, r, http.StatusOK, bare("Open the inbox",
		element("p", words("This browser will show what your bridges ask, and answer for you. The link works once.")),
		element("form", attribute{"method", "post"}, action(r.URL.EscapedPath()),
			element("button", class("primary"), flag("autofocus"), words("Continue")))))
}

// redeem logs a browser in: of ours alone, for another user may have found the link.
func (s *Server) redeem(w http.ResponseWriter, r *http.Request) {
	user := userOf(r)
	if another(user) {
		s.page(w, r, http.StatusForbidden, bare("This page is another user's", element("p", words("It lets in browsers of the user alone who started it."))))
		return
	}
	cookie := s.guard.redeem(r.PathValue("link"), user, time.Now())
	if cookie == nil {
		s.page(w, r, http.StatusGone, s.away(linkIsOver))
		return
	}
	http.SetCookie(w, cookie)
	s.goOn(w, r, "/")
}

// door is what there is without a session: nothing but a way on, for a browser that may have one.
func (s *Server) door(back string, own bool) sheet {
	if own {
		return s.away("This browser is not logged in.")
	}
	return bare("The inbox of this machine",
		element("p", words("Another page has led here. If you meant to come, go on.")),
		element("p", element("a", class("button"), exact{"href", back}, words("Continue"))))
}

// away ends here, and says how one gets in who has no link that works.
func (s *Server) away(why string) sheet {
	how := again
	if src := s.o.Only; src != nil && src.Keys != nil {
		how = againOwn
	}
	return bare(why, element("p", words(how)))
}

func bare(title string, of ...piece) sheet {
	return sheet{title: title, bare: true, body: append(pieces{element("h1", words(title))}, of...)}
}
