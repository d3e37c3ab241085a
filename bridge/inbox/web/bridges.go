package web

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// mostPolicy is how much of a policy file a page shows, in bytes.
const mostPolicy = 256 << 10

// bridges shows how each bridge is.
func (s *Server) bridges(w http.ResponseWriter, r *http.Request) {
	var rows, policies pieces
	var run []*Source // that could be halted
	for _, one := range statuses(r.Context(), s.all()) {
		src, status, err := one.Source, one.what, one.err
		if err != nil {
			rows = append(rows, bridge(src, "silent", element("h2", name(src.Label)), element("p", class("warn"), words("It does not answer: "+err.Error()+"."))))
			continue
		}
		rows = append(rows, bridge(src, "answers", element("h2", name(status.ID), words(" in "), name(status.Topic)),
			element("div", id("state."+src.Key), flag("data-live"), state(&status)),
			element("div", id("traffic."+src.Key), flag("data-live"), traffic(&status)),
			element("div", id("halt."+src.Key), flag("data-live"), halting(src, &status))))
		policies = append(policies, policyFile(&status))
		if _, is := src.Inbox.(inbox.Halter); is && !status.Participant && status.Halted == nil {
			run = append(run, src)
		}
	}
	s.page(w, r, http.StatusOK, sheet{title: "Bridges", on: "/bridges", body: pieces{
		element("h1", words("The bridges of this page")),
		element("div", id("none"), flag("data-live"), when(rows == nil, nothing(nil))),
		element("ol", class("questions"), id("bridges"), flag("data-live"), attribute{"data-renew", "5"}, attribute{"aria-label", "Bridges"}, rows),
		when(len(run) > 1, element("section", class("sheet"), attribute{"aria-label", "All bridges"}, haltWith("Halt all of them", fmt.Sprintf("Halt these %d", len(run)), run...))),
		policies,
	}})
}

// bridge is one in the list, which stays in place while it is as that says.
func bridge(src *Source, is string, of ...piece) piece {
	return element("li", id("bridge."+src.Key), attribute{"data-version", is}, element("section", class("sheet"), attribute{"aria-label", src.Label}, pieces(of)))
}

// traffic is how much a bridge has to do, and who may give it more.
func traffic(s *inbox.Status) piece {
	var calls, here piece
	if s.Calls != nil {
		calls = fact("Last minute", text.Counted(*s.Calls, "call"))
	}
	if s.Present != nil {
		here = pieces{element("dt", words("In the topic")), element("dd", present(s.Present))}
	}
	return element("dl", calls, here)
}

// present are the participants of a topic, by the names that they have given themselves.
func present(here *inbox.Present) piece {
	if here.All == 0 {
		return words("nobody else")
	}
	return element("ul", class("names"), attribute{"aria-label", "In the topic"}, each(here.Names, func(id string) piece { return element("li", name(id)) }),
		when(here.All > len(here.Names), element("li", words(fmt.Sprintf("and %d more", here.All-len(here.Names))))))
}

func state(s *inbox.Status) piece {
	return pieces{
		haltNote(s.Halted),
		when(!s.Seated, element("p", class("warn"), words("It has no seat in the topic now: nobody reaches it."))),
		when(!s.ServerUp && !s.Participant, element("p", class("warn"), words("Its server is not up: calls wait, or are refused."))),
		when(!s.AuditOK && !s.Participant, element("p", class("warn"), words("Its record cannot be written, so nothing runs: "+s.Audit))),
		when(s.PolicyErr != "", element("p", class("warn"), words("The policy file as it is now is not in force: "+s.PolicyErr))),
		element("dl",
			element("dt", words("Waiting")), element("dd", element("a", href("/"), words(text.Counted(s.Pending, "question")))),
			fact("Server", s.Server), fact("Gateway", s.Gateway), fact("Protocol", s.Dialect), fact("Record", s.Audit),
			when(!s.Participant, fact("Policy", cmp.Or(s.Policy, "no file: the flags of the command"))), fact("Rules of flags", text.Some(s.Flags)), fact("Policy hash", s.PolicyHash),
			fact("Process", fmt.Sprint(s.PID)), fact("Version", s.Version)),
	}
}

// policyFile is the file as it is now, which may be newer than what is in force.
func policyFile(s *inbox.Status) piece {
	if s.Policy == "" {
		return nil
	}
	raw, err := private.Read(s.Policy, mostPolicy, private.Care{})
	if err != nil {
		return element("p", class("calm"), words("The policy file of "), name(s.ID), words(" cannot be shown: "+err.Error()+"."))
	}
	return element("details", class("sheet"), element("summary", words("The policy file of "), name(s.ID), words(" as it is now")), block(string(raw)),
		element("p", class("calm"), words("How it judges one call: "), element("code", words("mcpx-bridge policy explain --policy "+s.Policy+" TOOL"))))
}

// remembered shows what is remembered of answers.
func (s *Server) remembered(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var rows, silent pieces
	for _, one := range askAll(s.all(), func(src *Source) ([]inbox.Grant, error) { return src.Grants(r.Context()) }) {
		if one.err != nil {
			silent = append(silent, noAnswer(one.Source, one.err))
		}
		for _, g := range one.what {
			rows = append(rows, grant(one.Source, &g, now))
		}
	}
	s.page(w, r, http.StatusOK, sheet{title: "Remembered", on: "/remembered", body: pieces{
		element("h1", words("What runs unasked because somebody said so")),
		silent,
		when(rows == nil, element("p", class("calm"), words("Nothing is remembered here. What bridges keep that do not run: mcpx-bridge grants list."))),
		element("ol", class("questions"), attribute{"aria-label", "Remembered answers"}, rows),
	}})
}

func grant(src *Source, g *inbox.Grant, now time.Time) piece {
	what, until := words(" with exactly these arguments"), ""
	switch g.Keep {
	case approval.KeepPlan:
		what = " as this plan says"
	case "folder", "tool":
		what = " with whatever arguments fit this"
	}
	if g.Keep != "always" && g.Keep != approval.KeepPlan {
		until = ", or until the bridge stops or the caller leaves"
	}
	t := &tree{form: "none", of: "grant." + g.ID}
	var arguments piece
	if g.Args != nil {
		arguments = t.shown(g.Args)
	}
	return element("li", class("sheet"),
		element("p", class("asks"), name(g.Caller), words(" may run "), name(g.What()), what),
		arguments,
		element("p", class("meta"), element("span", words("until "), clock(g.Until, now), words(until)), element("bdi", words(src.Label)),
			element("span", words("agreed by "), element("bdi", words(inbox.Names(g.By))), words(", "), clock(g.Made, now)), element("code", words(g.ID))),
		element("form", attribute{"method", "post"}, action("/remembered"), hidden("bridge", src.Key), hidden("id", g.ID),
			element("button", class("no"), attribute{"aria-label", "Revoke " + g.ID}, words("Revoke"))))
}

// revoke takes back what is remembered.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	src := s.source(r.PostFormValue("bridge"))
	if src == nil {
		s.page(w, r, http.StatusGone, sheet{title: "Nothing was revoked", on: "/remembered", body: element("h1", words("This bridge does not run any more"))})
		return
	}
	if _, err := src.Revoke(r.Context(), r.PostFormValue("id")); err != nil {
		s.page(w, r, http.StatusBadGateway, sheet{title: "Nothing is sure", on: "/remembered", body: pieces{element("h1", words("It may be in force still")), element("p", words(sentence(err)))}})
		return
	}
	s.goOn(w, r, "/remembered")
}
