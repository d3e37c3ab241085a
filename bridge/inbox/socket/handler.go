package socket

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	strict "github.com/go-json-experiment/json"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
)

// Limits on what is sent with a request, and on the result of an answer.
const (
	maxBody   = 1 << 20
	maxResult = 512 << 10
)

// defaultPatience is how long a client may take to read what it asked for.
const defaultPatience = 10 * time.Second

// Handler serves an inbox, as the package comment says. patience is how long a client
// may take to read what was written for it, each event and each question of a list by
// itself; 0 is 10 s. Who may ask is for the caller to settle.
func Handler(in inbox.Inbox, patience time.Duration) http.Handler {
	mux := http.NewServeMux()
	Mount(mux, "", func(*http.Request) inbox.Inbox { return in }, patience)
	return mux
}

// Mount has mux serve what [Handler] does below a path, for several inboxes if there are
// any: of says which one a request is for, nil if there is none, and is called once for
// each. Who may ask is for the caller to settle.
func Mount(mux *http.ServeMux, at string, of func(*http.Request) inbox.Inbox, patience time.Duration) {
	h := &handler{of, cmp.Or(patience, defaultPatience)}
	for pattern, serve := range map[string]http.HandlerFunc{
		"GET /status": h.answering(func(in inbox.Inbox, r *http.Request) (any, error) {
			return or(in.Status(r.Context()))
		}),
		"GET /questions": h.list,
		"GET /questions/{id}": h.answering(func(in inbox.Inbox, r *http.Request) (any, error) {
			return or(in.Show(r.Context(), r.PathValue("id")))
		}),
		"POST /questions/{id}/answer": h.reading(decide),
		"GET /grants": h.answering(func(in inbox.Inbox, r *http.Request) (any, error) {
			all, err := in.Grants(r.Context())
			return grantList{append([]inbox.Grant{}, all...)}, err
		}),
		"DELETE /grants/{id}": h.answering(func(in inbox.Inbox, r *http.Request) (any, error) {
			was, err := in.Revoke(r.Context(), r.PathValue("id"))
			return revoked{was}, err
		}),
		"GET /watch":    h.watch,
		"POST /halt":    h.reading(halt),
		"POST /resume":  h.reading(resume),
		"POST /explain": h.reading(explain),
	} {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+at+path, serve)
	}
}

func or[T any](value T, err error) (any, error) { return value, err }

type handler struct {
	of       func(*http.Request) inbox.Inbox
	patience time.Duration
}

// inbox is the one that a request is for.
func (h *handler) inbox(r *http.Request) (inbox.Inbox, error) {
	in := h.of(r)
	if in == nil {
		return nil, badRequest{errors.New("this bridge does not run, or not any more"), http.StatusNotFound}
	}
	return in, nil
}

type (
	questionList struct {
		Questions []approval.Summary `json:"questions"`
	}
	grantList struct {
		Grants []inbox.Grant `json:"grants"`
	}
	revoked struct {
		Revoked bool `json:"revoked"`
	}
	answerBody struct {
		Digest string          `json:"digest"`
		Result json.RawMessage `json:"result"`
	}
	resumeBody struct {
		Reason string `json:"reason"`
	}
	explained struct {
		Words string `json:"words"`
	}
	nothing struct{}
	failure struct {
		Error string `json:"error"`
	}
)

// badRequest is an error in what a client asked, with the status that says so.
type badRequest struct {
	error
	status int
}

func bad(format string, args ...any) error {
	return badRequest{fmt.Errorf(format, args...), http.StatusBadRequest}
}

// answering serves what takes nothing but its path.
func (h *handler) answering(f func(inbox.Inbox, *http.Request) (any, error)) http.HandlerFunc {
	return h.reading(func(in inbox.Inbox, r *http.Request) (any, error) {
		if err := bare(r, ""); err != nil {
			return nil, err
		}
		return f(in, r)
	})
}

// reading serves what f makes of a request.
func (h *handler) reading(f func(inbox.Inbox, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		in, err := h.inbox(r)
		var result any
		if err == nil {
			result, err = f(in, r)
		}
		if err != nil {
			h.fail(w, err)
			return
		}
		h.write(w, http.StatusOK, result)
	}
}

// bare refuses a body, and queries but one.
func bare(r *http.Request, query string) error {
	if r.ContentLength != 0 {
		return bad("%s %s takes no body", r.Method, r.URL.Path)
	}
	for name, values := range r.URL.Query() {
		if name != query || len(values) != 1 {
			return bad("%q is no query of %s %s", name, r.Method, r.URL.Path)
		}
	}
	return nil
}

// decide takes an answer. The question is named in the path, what was shown in the body.
func decide(in inbox.Inbox, r *http.Request) (any, error) {
	var a answerBody
	if err := readBody(r, "an answer", &a); err != nil {
		return nil, err
	}
	switch {
	case len(a.Result) > maxResult:
		return nil, bad("the result may have %d bytes", maxResult)
	case a.Digest == "":
		return nil, bad("digest is missing")
	case len(a.Result) == 0:
		return nil, bad("result is missing")
	}
	return or(in.Decide(r.Context(), inbox.Decision{ID: r.PathValue("id"), Digest: a.Digest, Result: a.Result}))
}

func halt(in inbox.Inbox, r *http.Request) (any, error) {
	halter, err := haltable(in)
	if err != nil {
		return nil, err
	}
	var h inbox.Halt
	if err := readBody(r, "a halt", &h); err != nil {
		return nil, err
	}
	return or(halter.Halt(r.Context(), h))
}

func resume(in inbox.Inbox, r *http.Request) (any, error) {
	halter, err := haltable(in)
	if err != nil {
		return nil, err
	}
	var b resumeBody
	if err := readBody(r, "a resume", &b); err != nil {
		return nil, err
	}
	return nothing{}, halter.Resume(r.Context(), b.Reason)
}

func explain(in inbox.Inbox, r *http.Request) (any, error) {
	explainer, is := in.(inbox.Explainer)
	if !is {
		return nil, badRequest{inbox.ErrNoRules, http.StatusNotFound}
	}
	var c inbox.Call
	if err := readBody(r, "a call", &c); err != nil {
		return nil, err
	}
	words, err := explainer.Explain(r.Context(), c)
	return explained{words}, err
}

func haltable(in inbox.Inbox) (inbox.Halter, error) {
	if halter, is := in.(inbox.Halter); is {
		return halter, nil
	}
	return nil, badRequest{inbox.ErrNotHaltable, http.StatusNotFound}
}

// readBody reads what stands in the body of a request; what names it.
func readBody(r *http.Request, what string, into any) error {
	if len(r.URL.RawQuery) > 0 {
		return bad("%s takes no query", what)
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return badRequest{errors.New(what + " is application/json"), http.StatusUnsupportedMediaType}
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return badRequest{fmt.Errorf("%s may have %d bytes, and must come whole: %w", what, maxBody, err), http.StatusRequestEntityTooLarge}
	}
	if err := strict.Unmarshal(raw, into, strict.RejectUnknownMembers(true)); err != nil {
		return badRequest{err, http.StatusBadRequest}
	}
	return nil
}

// list writes one question after the other, however many there are.
func (h *handler) list(w http.ResponseWriter, r *http.Request) {
	args := r.URL.Query().Get("args")
	in, err := h.inbox(r)
	if err == nil {
		err = bare(r, "args")
	}
	if err == nil && args != "" && args != "true" && args != "false" {
		err = bad("args is true or false")
	}
	var all []approval.Summary
	if err == nil {
		all, err = in.List(r.Context(), args == "true")
	}
	if err != nil {
		h.fail(w, err)
		return
	}
	head(w, http.StatusOK, "application/json")
	to := http.NewResponseController(w)
	text := []byte(`{"questions":[`)
	for i := range all {
		one, err := json.Marshal(&all[i])
		if err != nil {
			return
		}
		if i > 0 {
			text = append(text, ',')
		}
		to.SetWriteDeadline(time.Now().Add(h.patience))
		if _, err := w.Write(append(text, one...)); err != nil {
			return
		}
		text = nil
	}
	to.SetWriteDeadline(time.Now().Add(h.patience))
	w.Write(append(text, "]}\n"...))
}

func (h *handler) watch(w http.ResponseWriter, r *http.Request) {
	in, err := h.inbox(r)
	if err == nil {
		err = bare(r, "")
	}
	if err != nil {
		h.fail(w, err)
		return
	}
	Stream(w, r, in.Watch, h.patience)
}

// fail says what is wrong.
func (h *handler) fail(w http.ResponseWriter, err error) {
	if r, ok := errors.AsType[*inbox.Refusal](err); ok {
		h.write(w, http.StatusConflict, r)
		return
	}
	status := http.StatusInternalServerError
	if b, ok := errors.AsType[badRequest](err); ok {
		status = b.status
	}
	h.write(w, status, failure{err.Error()})
}

func (h *handler) write(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"this cannot be written as JSON"}`)
	}
	head(w, status, "application/json")
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.patience))
	w.Write(append(text, '\n'))
}
