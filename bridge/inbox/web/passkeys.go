package web

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/passkey"
)

// A yes that takes a passkey is sent twice: to be made a statement of, which a passkey of this
// browser then signs, and with that signature. Passkeys serve this page by the name localhost
// alone, since an address cannot have any.

// origin is that of this page by the one name by which passkeys serve it.
func (s *Server) origin() string {
	_, port, _ := net.SplitHostPort(s.at.addr().String())
	return "http://" + net.JoinHostPort(passkey.RelyingParty, port)
}

// byName reports whether a page is looked at by that name, where it leads here alone.
func (s *Server) byName(r *http.Request) bool {
	return s.at.apart == nil && strings.EqualFold("http://"+r.Host, s.origin())
}

// keys are the passkeys of a bridge, asked for once by each request: it may leave the topic
// meanwhile, and has none then.
func (s *Server) keys(src *Source) (inbox.Passkeys, error) {
	keys := src.passkeys()
	if keys == nil {
		return nil, unread("no passkey is taken here")
	}
	return keys, s.at.apart
}

// moveOver leads to this page by the name localhost, or says why it does not.
func (s *Server) moveOver() piece {
	if s.at.apart != nil {
		return element("p", class("warn"), words(sentence(s.at.apart)))
	}
	return element("form", attribute{"method", "post"}, action("/localhost"),
		element("p", words("Passkeys work where this page is called localhost. ")), element("button", words("Go there")))
}

// move makes a link that lets this browser in by the other name.
func (s *Server) move(w http.ResponseWriter, r *http.Request) {
	if s.at.apart != nil {
		s.page(w, r, http.StatusConflict, sheet{title: "Not by the name localhost", body: pieces{element("h1", words("Not by the name localhost")), s.moveOver()}})
		return
	}
	link := s.origin() + s.guard.root + "/in/" + s.guard.link(time.Now())
	s.page(w, r, http.StatusOK, sheet{title: "By the name localhost", body: pieces{element("h1", words("The same page by the name localhost")),
		element("p", element("a", class("button primary"), id("over"), exact{"href", link}, words("Go on"))), element("p", class("calm"), words("There you are logged in anew; the link works once."))}})
}

// A wanted is what a browser is asked to have a passkey do. Bytes are base64.
type wanted struct {
	Party     string   `json:"party"`
	Challenge []byte   `json:"challenge"`
	Known     [][]byte `json:"known"` // passkeys that may sign, or that exist already
	Statement string   `json:"statement,omitempty"`
	User      []byte   `json:"user,omitempty"`
	Kinds     []int    `json:"kinds,omitempty"`
}

// toSign makes a statement of a yes.
func (s *Server) toSign(w http.ResponseWriter, r *http.Request) {
	src := s.reads(r)
	keys, err := s.keys(src)
	var d inbox.Decision
	if err == nil {
		d, err = decisionOf(r.Context(), src, r.PathValue("id"), strings.Join(r.PostForm["digest"], " "), r.PostForm)
	}
	var statement []byte
	if err == nil {
		statement, err = keys.ToSign(r.Context(), d)
	}
	var known []passkey.Credential
	if err == nil {
		known, err = keys.All(r.Context())
	}
	if err == nil && len(known) == 0 {
		err = errors.New("no passkey is enrolled yet: add one under Passkeys")
	}
	if err != nil {
		refuse(w, err)
		return
	}
	s.want(w, wanted{Statement: string(statement), Challenge: passkey.Challenge(statement), Known: ids(known)})
}

// refuse answers the script of the page with the reason why no passkey is asked for.
func refuse(w http.ResponseWriter, err error) {
	startReading(w, 0)
	http.Error(w, sentence(err), http.StatusConflict)
}

func (s *Server) want(w http.ResponseWriter, what wanted) {
	what.Party = passkey.RelyingParty
	text, err := json.Marshal(what)
	if err != nil {
		panic(err) // bytes and strings always marshal
	}
	w.Header().Set("Content-Type", "application/json")
	startReading(w, len(text))
	w.Write(text)
}

func ids(keys []passkey.Credential) [][]byte {
	all := [][]byte{}
	for _, k := range keys {
		all = append(all, k.ID)
	}
	return all
}

// reads reads a form, and returns the source that it is about, nil if there is none.
func (s *Server) reads(r *http.Request) *Source {
	if r.ParseForm() != nil {
		return nil
	}
	if bridge := r.PathValue("bridge"); bridge != "" {
		return s.source(bridge)
	}
	return s.source(r.PostForm.Get("bridge"))
}

// signature is what a form has of a signed yes; ok: it has one.
func (s *Server) signature(form map[string][]string) (of inbox.Signature, ok bool, err error) {
	raw := strings.Join(form["assertion"], "")
	if raw == "" {
		return of, false, nil
	}
	of.Statement, of.Origin = []byte(strings.Join(form["statement"], "")), s.origin()
	if err := json.Unmarshal([]byte(raw), &of.Assertion); err != nil {
		return of, true, unread("what the passkey said cannot be read")
	}
	return of, true, nil
}

// passkeys lists those of the bridge, with a form for one more.
func (s *Server) passkeys(w http.ResponseWriter, r *http.Request) {
	s.listPasskeys(w, r, http.StatusOK, "")
}

func (s *Server) listPasskeys(w http.ResponseWriter, r *http.Request, status int, wrong string) {
	var all pieces
	for _, src := range s.all() {
		holder := src.passkeys()
		if holder == nil {
			all = append(all, element("p", class("calm"), words("Those of "), name(src.Label), words(" are on its own page. "+ownLink)))
			continue
		}
		keys, err := holder.All(r.Context())
		if err != nil {
			all = append(all, element("p", class("warn"), words(sentence(err))))
		}
		all = append(all, element("section", class("sheet"), element("h2", name(src.Label)), enrolled(src, keys), when(s.byName(r), enrol(src)), when(!s.byName(r), s.moveOver())))
	}
	s.page(w, r, status, sheet{title: "Passkeys", on: "/passkeys", body: pieces{
		element("h1", words("Passkeys that sign a yes")),
		element("div", id("wrong"), attribute{"tabindex", "-1"}, when(wrong != "", element("p", class("warn"), attribute{"role", "alert"}, words(wrong)))),
		element("p", words("Where a rule says confirm: passkey, a yes counts once one of these has signed what will run. They all sign for you, who are local: not for others who are asked.")),
		all,
	}})
}

func enrolled(src *Source, keys []passkey.Credential) piece {
	if len(keys) == 0 {
		return element("p", class("calm"), words("None is enrolled."))
	}
	return element("ul", class("passkeys"), each(keys, func(k passkey.Credential) piece {
		return element("li", name(k.Name), words(", since "), clock(k.Enrolled, time.Now()),
			element("form", attribute{"method", "post"}, action("/passkeys/remove"), hidden("bridge", src.Key), hidden("key", k.Key()),
				element("button", class("no"), attribute{"aria-label", "Remove " + k.Name}, words("Remove"))))
	}))
}

// enrol is a form that its script fills in.
func enrol(src *Source) piece {
	return element("form", id("enrol"), attribute{"method", "post"}, action("/passkeys"), lead{"data-passkey", "/passkeys/challenge"},
		element("fieldset", hidden("bridge", src.Key), hidden("challenge", ""), hidden("made", ""),
			element("label", class("field"), words("What it is called"), element("input", attribute{"name", "name"}, attribute{"maxlength", "64"}, attribute{"autocomplete", "off"}, flag("required"))),
			element("div", class("buttons"), element("button", class("primary"), attribute{"name", "do"}, attribute{"value", "enrol"}, words("Add a passkey")))))
}

// challenge is what a new passkey is to be made for.
func (s *Server) challenge(w http.ResponseWriter, r *http.Request) {
	keys, err := s.keys(s.reads(r))
	var text []byte
	if err == nil {
		text, err = keys.Challenge(r.Context())
	}
	var known []passkey.Credential
	if err == nil {
		known, err = keys.All(r.Context())
	}
	if err != nil {
		refuse(w, err)
		return
	}
	s.want(w, wanted{Challenge: text, Known: ids(known), User: text[:16], Kinds: passkey.Algorithms})
}

// keep enrols the passkey that the browser has made.
func (s *Server) keep(w http.ResponseWriter, r *http.Request) {
	keys, err := s.keys(s.reads(r))
	if err == nil {
		e := inbox.Enrolment{Name: strings.TrimSpace(r.PostForm.Get("name")), Origin: s.origin()}
		if err = json.Unmarshal([]byte(r.PostForm.Get("made")), &e.Registration); err != nil {
			err = unread("This page adds passkeys with its script alone")
		} else if e.Challenge, err = base64.StdEncoding.DecodeString(r.PostForm.Get("challenge")); err == nil {
			err = keys.Enrol(r.Context(), e)
		}
	}
	s.listOrSay(w, r, err)
}

func (s *Server) listOrSay(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		s.listPasskeys(w, r, http.StatusConflict, sentence(err))
		return
	}
	s.goOn(w, r, "/passkeys")
}

// drop takes a passkey out.
func (s *Server) drop(w http.ResponseWriter, r *http.Request) {
	keys, err := s.keys(s.reads(r))
	if err == nil {
		_, err = keys.Remove(r.Context(), r.PostForm.Get("key"))
	}
	s.listOrSay(w, r, err)
}

// confirms is what stands at a question for a yes that takes a passkey.
func (s *Server) confirms(r *http.Request, src *Source, v *approval.View) confirmation {
	switch {
	case v.Confirm == "":
		return confirmation{counts: true}
	case src.passkeys() == nil:
		return confirmation{said: element("p", class("warn"), words("A yes to this takes a passkey, on the bridge's own page. "+ownLink+" Here you can deny it."))}
	case !s.byName(r):
		return confirmation{said: element("div", class("warn"), words("A yes to this takes a passkey.")), over: s.moveOver()}
	}
	return confirmation{counts: true, said: element("p", class("calm"), words("A yes to this takes a "), element("a", href("/passkeys"), words("passkey")), words(", which signs all of what is shown here."))}
}
