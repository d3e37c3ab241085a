package web

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// question shows one whole, or how it ended.
func (s *Server) question(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, http.StatusOK, "")
}

// show shows a question, under what is wrong with an answer to it.
func (s *Server) show(w http.ResponseWriter, r *http.Request, status int, wrong string) {
	at := place{r.PathValue("bridge"), r.PathValue("id")}
	src := s.source(at.bridge)
	if src == nil {
		s.page(w, r, http.StatusNotFound, s.over(at, "This bridge does not run any more."))
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
		s.page(w, r, status, sheet{title: "A question", on: "/", body: whole(src, &v, wrong, more(r.Context(), src, &v), time.Now())})
	}
}

func back() piece {
	return element("p", class("back"), element("a", href("/"), words("← All questions")))
}

// over is a question that waits for no answer any more.
func (s *Server) over(at place, wrong string) sheet {
	how := s.ending(at)
	title := "This question is closed"
	return sheet{title: title, on: "/", body: pieces{
		back(),
		element("h1", id("heading"), words(title)),
		when(wrong != "", element("p", class("warn"), words(wrong))),
		element("p", id("outcome"), element("bdi", words(cmp.Or(how, "It ended, or there never was one here.")))),
		element("p", element("a", class("button primary"), href("/"), words("All questions")), words(" "), element("a", class("button"), href("/history"), words("History"))),
	}}
}

// whole is all there is to see of a question, and the form that answers it.
func whole(src *Source, v *approval.View, wrong string, alike piece, now time.Time) piece {
	t := &tree{form: "answer", of: v.ID}
	arguments := t.arguments(v)
	return element("article", class("question"), attribute{"data-id", v.ID}, attribute{"data-digest", v.Digest}, attribute{"aria-labelledby", "heading"},
		back(),
		element("h1", id("heading"), asks(v)),
		element("p", class("meta"), left(v.Deadline, now), element("bdi", words(src.Label)), element("span", words("digest "), element("code", words(v.Short)))),
		element("div", id("wrong"), attribute{"tabindex", "-1"}, when(wrong != "", element("p", class("warn"), attribute{"role", "alert"}, words(wrong)))),
		warnings(v),
		element("div", id("alike"), flag("data-live"), alike),
		element("section", attribute{"aria-labelledby", "arguments"}, element("h2", id("arguments"), words(argumentsAre(v))), element("div", class("sheet"), arguments)),
		changes(v, now),
		element("section", attribute{"aria-labelledby", "about"}, element("h2", id("about"), words("About it")), circumstances(v)),
		form(src, v, t.long),
	)
}

func argumentsAre(v *approval.View) string {
	if v.AboutPolicy {
		return "What the file may let through, or keep from people"
	}
	return "What would be sent to the server"
}

// warnings are what a person must not miss.
func warnings(v *approval.View) piece {
	var all pieces
	for _, line := range v.Banner {
		if said, hides := strings.CutSuffix(line, `, shown as \u{…}`); hides {
			line = said + ", named where it would stand"
		}
		all = append(all, element("li", words("It "+line+".")))
	}
	for _, f := range v.Facts {
		if f.Name == "Warning" {
			all = append(all, element("li", words(f.Text)))
		}
	}
	if v.Via == "proposal" {
		all = append(all, element("li", words("A proposal: nobody has called yet. With a yes this bridge makes the call.")))
	}
	if slices.Contains(v.Hints, policy.MayDestroy) {
		all = append(all, element("li", words("The server says that it may destroy something.")))
	}
	return when(all != nil, element("ul", class("warn"), attribute{"aria-label", "Warnings"}, all))
}

// circumstances are what stands behind the arguments. Those of them that change while one
// looks are kept as they are now.
func circumstances(v *approval.View) piece {
	fact := func(name, said string) piece {
		return when(said != "", pieces{element("dt", words(name)), element("dd", element("bdi", words(said)))})
	}
	var rest pieces
	for _, f := range v.Facts {
		switch f.Name {
		case "Warning", "Decide by", "Rule", "Needs", "Tool", "Caller", "Digest":
		default:
			rest = append(rest, fact(f.Name, f.Text))
		}
	}
	return element("dl", id("circumstances"), flag("data-live"),
		fact("Server says", v.ServerSays()), fact("Why asked", v.WhyAsked()), fact("Needs", v.Needs()), people(v), rest,
		fact("Decide by", text.Stamp(v.Deadline.Local())), element("dt", words("Digest")), element("dd", element("code", words(v.Digest))))
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

// form answers the question. Its first button is none, so that Enter in a field presses
// nothing; what was not looked at keeps Allow from being sent, and Deny never.
func form(src *Source, v *approval.View, long []string) piece {
	if v.Elsewhere != "" {
		return element("p", class("warn"), words("This is "+v.Elsewhere+"."))
	}
	return element("form", id("answer"), attribute{"method", "post"}, exact{"action", address("q", src.Key, v.ID)}, attribute{"aria-label", "Your answer"},
		element("fieldset",
			element("button", flag("disabled"), flag("hidden")),
			hidden("digest", v.Digest),
			fields(v), remember(v), reason(),
			element("p", class("lock"), id("lock"), when(len(long) > 0, words(fmt.Sprintf("Allow works once you have opened %s above.", text.Counted(len(long), "long value"))))),
			element("div", class("buttons"), do("allow", "Allow", "primary", false), do("deny", "Deny", "no", true)),
			delegate(v)))
}

func hidden(name, value string) piece {
	return element("input", attribute{"type", "hidden"}, attribute{"name", name}, exact{"value", value})
}

func do(what, said, look string, unread bool) piece {
	return element("button", class(look), attribute{"name", "do"}, attribute{"value", what}, when(unread, flag("formnovalidate")), words(said))
}

func reason() piece {
	return element("label", class("field"), words("Why (the caller reads it)"), element("textarea", attribute{"name", "reason"}, attribute{"rows", "1"}, attribute{"maxlength", "500"}))
}

// remember says what each choice would cover before it counts; this once comes first.
func remember(v *approval.View) piece {
	if len(v.Remember) == 0 {
		return nil
	}
	var all pieces
	for i, word := range v.Remember {
		means := word
		if i < len(v.RememberMeans) {
			means = v.RememberMeans[i]
		}
		all = append(all, element("label", class("choice"), element("input", attribute{"type", "radio"}, attribute{"name", "remember"}, attribute{"value", word}, when(i == 0, flag("checked"))),
			element("span", element("strong", words(cmp.Or(kept[word], word))), words(": "+means))))
	}
	return element("fieldset", class("inner"), element("legend", words("If you allow it, remember that?")), all)
}

var kept = map[string]string{"once": "No", "session": "For the session", "always": "For longer"}

// fields are what may be changed before it runs.
func fields(v *approval.View) piece {
	if len(v.Edits) == 0 {
		return nil
	}
	return element("fieldset", class("inner"), element("legend", words("You may change before it runs")), each(v.Edits, func(f approval.Field) piece {
		return element("label", class("field"), element("span", words(f.Title), words(limits(&f))), control(&f))
	}))
}

func limits(f *approval.Field) string {
	var all []string
	if f.Min != "" {
		all = append(all, "from "+f.Min)
	}
	if f.Max != "" {
		all = append(all, "to "+f.Max)
	}
	return strings.TrimRight(" "+strings.Join(all, " "), " ")
}

func control(f *approval.Field) piece {
	name := attribute{"name", "field." + f.Field}
	choices := choicesOf(f)
	if choices == nil {
		return element("input", name, exact{"value", text.Line(f.Typed())}, attribute{"autocomplete", "off"}, attribute{"spellcheck", "false"})
	}
	known := false
	options := each(choices, func(raw string) piece {
		now := same(raw, f.Now)
		known = known || now
		return element("option", exact{"value", raw}, when(now, flag("selected")), words(label(f, raw)))
	})
	return element("select", name, when(!known, element("option", attribute{"value", ""}, words("as it is"))), options)
}

// choicesOf are the values that a field takes, as JSON; nil if there are too many to tell.
func choicesOf(f *approval.Field) []string {
	if f.Type == "boolean" && len(f.Enum) == 0 {
		return []string{"true", "false"}
	}
	var all []string
	for _, raw := range f.Enum {
		all = append(all, string(text.EscapeJSON([]byte(raw))))
	}
	return all
}

// same reports whether two primitives are one, as far as text is concerned; numbers are where
// they are spelled alike.
func same(a, b string) bool {
	s, ok := jsonrpc.Unquote([]byte(a))
	t, also := jsonrpc.Unquote([]byte(b))
	return a == b || ok && also && s == t
}

// label is a value of a field as a person would type it.
func label(f *approval.Field, raw string) string {
	one := approval.Field{Type: f.Type, Now: raw}
	return text.Line(one.Typed())
}

// delegate passes the question on.
func delegate(v *approval.View) piece {
	if len(v.DelegateTo) == 0 {
		return nil
	}
	return element("div", class("pass"), element("label", class("field"), words("Let somebody else decide"), element("select", attribute{"name", "to"},
		each(v.DelegateTo, func(who string) piece {
			said := text.Person(who)
			if slices.Contains(v.Away, who) {
				said += " (not here now)"
			}
			return element("option", exact{"value", who}, words(said))
		}))), do("delegate", "Delegate", "", true))
}
