package web

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// question shows one whole, or how it ended.
func (s *Server) question(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, http.StatusOK, "")
}

// show shows a question, under what is wrong with an answer to it.
func (s *Server) show(w http.ResponseWriter, r *http.Request, status int, wrong string) {
	at := questionID{r.PathValue("bridge"), r.PathValue("id")}
	src := s.source(at.bridge)
	if src == nil {
		s.page(w, r, http.StatusNotFound, s.over(at, strings.TrimSpace("This bridge does not run any more. "+wrong)))
		return
	}
	v, err := src.Show(r.Context(), at.id)
	switch refusal, ok := errors.AsType[*inbox.Refusal](err); {
	case ok && refusal.Reason == inbox.Unknown, err == nil && v.ID != at.id:
		if status == http.StatusOK {
			status = http.StatusGone
		}
		s.page(w, r, status, s.over(at, wrong))
	case err != nil:
		s.page(w, r, http.StatusBadGateway, sheet{title: "The bridge does not answer", on: "/", body: pieces{back(), element("h1", words("The bridge does not answer")), element("p", words(err.Error()))}})
	default:
		s.page(w, r, status, sheet{title: "A question", on: "/", body: s.whole(r, src, &v, wrong, halts(r.Context(), src), more(r.Context(), src, &v), time.Now())})
	}
}

// over is a question that waits for no answer any more.
func (s *Server) over(at questionID, wrong string) sheet {
	how := s.ending(at)
	title := "This question is closed"
	return sheet{title: title, on: "/", body: pieces{
		back(),
		element("h1", id("heading"), words(title)),
		when(wrong != "", element("p", class("warn"), words(wrong))),
		element("p", id("outcome"), flag("data-live"), element("bdi", words(cmp.Or(how, "It ended, or there never was one here.")))),
		element("p", element("a", class("button primary"), href("/"), words("All questions")), words(" "), element("a", class("button"), href("/history"), words("History"))),
	}}
}

// whole is all there is to see of a question, and the form that answers it.
func (s *Server) whole(r *http.Request, src *Source, v *approval.View, wrong string, halts, alike piece, now time.Time) piece {
	t := &tree{form: "answer", of: v.ID}
	arguments := t.arguments(v)
	confirm := s.confirms(r, src, v)
	return element("article", class("question"), attribute{"data-id", v.ID}, attribute{"data-digest", v.Digest}, attribute{"aria-labelledby", "heading"},
		back(),
		element("h1", id("heading"), asks(v)),
		element("p", class("meta"), id("meta"), flag("data-live"), left(&v.Summary, now), element("bdi", words(src.Label)), element("span", words("digest "), element("code", words(v.Short)))),
		element("div", id("wrong"), attribute{"tabindex", "-1"}, when(wrong != "", element("p", class("warn"), attribute{"role", "alert"}, words(wrong)))),
		element("div", id("halted"), flag("data-live"), attribute{"aria-live", "polite"}, halts),
		warnings(v),
		element("div", id("alike"), flag("data-live"), alike),
		element("section", attribute{"aria-labelledby", "arguments"}, element("h2", id("arguments"), words(argumentsAre(v))), element("div", class("sheet"), planned(v), arguments)),
		changes(v, now),
		element("section", attribute{"aria-labelledby", "about"}, element("h2", id("about"), words("About it")), circumstances(v)),
		confirm.over,
		form(src, v, t.long, confirm),
	)
}

func argumentsAre(v *approval.View) string {
	if len(v.Plan) > 0 {
		return "What would run unasked"
	}
	if v.AboutPolicy {
		return "What the file may let through, or keep from people"
	}
	return "What would be sent to the server"
}

// circumstances are what stands behind the arguments. Those of them that change while one
// looks are kept as they are now.
func circumstances(v *approval.View) piece {
	var rest pieces
	for _, f := range v.Facts {
		switch f.Name {
		case "Warning", "Decide by", "Rule", "Needs", "Tool", "Caller", "Digest", "Confirmed":
		default:
			if !slices.Contains(v.Plan, f) {
				rest = append(rest, fact(f.Name, f.Text))
			}
		}
	}
	return element("dl", id("circumstances"), flag("data-live"),
		fact("Server says", v.ServerSays()), fact("Why asked", v.WhyAsked()), fact("Needs", v.Needs()), people(v), rest,
		fact("Decide by", decideBy(v)), element("dt", words("Digest")), element("dd", element("code", words(v.Digest))))
}

func decideBy(v *approval.View) string {
	if left, frozen := v.Left(time.Time{}); frozen {
		return "the time stands still, with " + text.Left(left)
	}
	return text.Stamp(v.Deadline.Local())
}

// standing is what a person's state means to who looks on.
var standing = map[string]string{"asked": "not answered yet", "waiting": "asked later", "passed it on": "passed it on"}

func people(v *approval.View) piece {
	var all pieces
	for _, p := range v.People {
		who := name(text.Person(p.Who))
		if p.Who == v.Me && v.Elsewhere == "" {
			who = words("you:") // without a frame, which whoever calls themselves so has
		}
		said := cmp.Or(standing[p.State], p.State)
		if p.From != "" {
			said += ", by " + text.Person(p.From)
		}
		all = append(all, element("li", who, words(" "+said)))
	}
	if all == nil {
		return nil
	}
	return pieces{element("dt", words("Who decides")), element("dd", element("ul", class("people"), all))}
}

// decided hands on an answer, signed by a passkey where it is.
func (s *Server) decided(r *http.Request, src *Source, id string) (inbox.Outcome, error) {
	signature, signed, err := s.signature(r.PostForm)
	if err != nil {
		return inbox.Outcome{}, err
	}
	if keys, err := s.keys(src); err == nil && signed && r.PostForm.Get("do") == "allow" {
		return keys.DecideSigned(r.Context(), inbox.Decision{ID: id, Digest: strings.Join(r.PostForm["digest"], " ")}, signature)
	}
	return decide(r.Context(), src, id, strings.Join(r.PostForm["digest"], " "), r.PostForm)
}

// answer takes the answer to one question.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.show(w, r, http.StatusBadRequest, "The answer could not be read, and nothing was decided.")
		return
	}
	at := questionID{r.PathValue("bridge"), r.PathValue("id")}
	src := s.source(at.bridge)
	if src == nil {
		s.show(w, r, http.StatusNotFound, "Nothing was decided.")
		return
	}
	outcome, err := s.decided(r, src, at.id)
	if err != nil {
		s.show(w, r, statusOf(err), failed(err))
		return
	}
	if outcome.Outcome != inbox.Pending {
		s.end(at, ended(outcome))
	}
	s.goOn(w, r, address("q", at.bridge, at.id))
}
