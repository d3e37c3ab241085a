package web

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// halts says of which bridges nothing starts now, and leads to where they are resumed.
func halts(ctx context.Context, of ...*Source) (all pieces) {
	for _, one := range statuses(ctx, of) {
		if halted := one.what.Halted; one.err == nil && halted != nil {
			all = append(all, element("p", class("warn"), name(one.Label), words(" is "), haltedBy(halted, time.Now()), words(" Nothing starts there, and no yes counts, until it is resumed. "), element("a", href("/bridges"), words("Resume it"))))
		}
	}
	return all
}

// haltedBy says by whom, since when and why.
func haltedBy(h *inbox.Halted, now time.Time) piece {
	return pieces{words("halted by "), element("bdi", words(text.Person(h.By))), words(", "), clock(h.Since, now),
		when(h.Reason != "", pieces{words(": "), element("bdi", words(h.Reason))}), words(".")}
}

// haltNote says how a bridge is halted; nil if it is not.
func haltNote(h *inbox.Halted) piece {
	if h == nil {
		return nil
	}
	return element("p", class("warn"), words("It is "), haltedBy(h, time.Now()), words(" Nothing starts, and the time of its questions stands still."))
}

// halting is how a bridge is halted or resumed; nil if it cannot be from here.
func halting(src *Source, s *inbox.Status) piece {
	if _, is := src.Inbox.(inbox.Halter); !is || s.Participant {
		return nil
	}
	if s.Halted != nil {
		return haltForm("resume", "Resume "+src.Label, "Why it goes on (for the record)", "primary", []*Source{src}, nil)
	}
	return haltWith("Halt it", "Halt "+src.Label, src)
}

// haltWith keeps the form out of the way until somebody wants it.
func haltWith(open, does string, of ...*Source) piece {
	return element("details", class("halt"), element("summary", words(open)), haltForm("halt", does, "Why (callers read it)", "no", of,
		element("label", class("choice"), element("input", attribute{"type", "checkbox"}, attribute{"name", "cancel"}, attribute{"value", "yes"}),
			element("span", words("End what runs, too: nobody knows then how far it came")))))
}

func haltForm(do, does, why, look string, of []*Source, more piece) piece {
	return element("form", attribute{"method", "post"}, action("/bridges"), attribute{"aria-label", does}, hidden("do", do),
		each(of, func(src *Source) piece { return hidden("bridge", src.Key) }),
		element("label", class("field"), words(why), element("input", attribute{"name", "reason"}, attribute{"maxlength", "500"}, attribute{"autocomplete", "off"}, when(do == "halt", flag("required")))),
		more, element("button", class(look), words(does)))
}

// halt halts or resumes the bridges that were shown, whatever becomes of one of them.
func (s *Server) halt(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.page(w, r, http.StatusBadRequest, notDone(element("p", words("The form could not be read."))))
		return
	}
	var wrong pieces
	for _, key := range r.PostForm["bridge"] {
		if err := haltOne(r.Context(), s.source(key), r.PostForm.Get("do"), r.PostForm.Get("reason"), r.PostForm.Get("cancel") == "yes"); err != nil {
			wrong = append(wrong, element("p", class("warn"), attribute{"role", "alert"}, element("bdi", words(s.label(key))), words(": "+err.Error()+".")))
		}
	}
	if wrong != nil || len(r.PostForm["bridge"]) == 0 {
		s.page(w, r, http.StatusConflict, notDone(wrong))
		return
	}
	s.goOn(w, r, "/bridges")
}

func notDone(why piece) sheet {
	return sheet{title: "Not all was done", on: "/bridges", body: pieces{
		element("p", class("back"), element("a", href("/bridges"), words("← Bridges, as they are now"))),
		element("h1", words("Not all of it was done")), why}}
}

func haltOne(ctx context.Context, src *Source, do, reason string, cancel bool) error {
	if src == nil {
		return errors.New("this bridge does not run any more")
	}
	in, is := src.Inbox.(inbox.Halter)
	switch {
	case !is:
		return inbox.ErrNotHaltable
	case do == "halt" && reason == "":
		return errors.New("a halt needs a reason, which callers read")
	case do == "halt":
		_, err := in.Halt(ctx, inbox.Halt{Reason: reason, Cancel: cancel})
		return err
	case do != "resume":
		return errors.New("it was neither to be halted nor to be resumed")
	}
	err := in.Resume(ctx, reason)
	if r, is := errors.AsType[*inbox.Refusal](err); is && r.Reason == inbox.AnswersElsewhere {
		return errors.New("it is halted still: with --answers terminal nobody resumes it from elsewhere, as an agent with a shell could. Press R there, at the terminal of the bridge")
	}
	return err
}
