package socket

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
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
	h := &handler{in, cmp.Or(patience, defaultPatience)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", h.answering(func(r *http.Request) (any, error) {
		return or(h.in.Status(r.Context()))
	}))
	mux.HandleFunc("GET /questions", h.list)
	mux.HandleFunc("GET /questions/{id}", h.answering(func(r *http.Request) (any, error) {
		return or(h.in.Show(r.Context(), r.PathValue("id")))
	}))
	mux.HandleFunc("POST /questions/{id}/answer", h.reading(h.decide))
	mux.HandleFunc("GET /grants", h.answering(func(r *http.Request) (any, error) {
		all, err := h.in.Grants(r.Context())
		return grantList{append([]inbox.Grant{}, all...)}, err
	}))
	mux.HandleFunc("DELETE /grants/{id}", h.answering(func(r *http.Request) (any, error) {
		was, err := h.in.Revoke(r.Context(), r.PathValue("id"))
		return revoked{was}, err
	}))
	mux.HandleFunc("GET /watch", h.watch)
	if halter, is := in.(inbox.Halter); is {
		mux.HandleFunc("POST /halt", h.reading(func(r *http.Request) (any, error) { return halt(halter, r) }))
		mux.HandleFunc("POST /resume", h.reading(func(r *http.Request) (any, error) { return resume(halter, r) }))
	}
	return mux
}

func or[T any](value T, err error) (any, error) { return value, err }

type handler struct {
	in       inbox.Inbox
	patience time.Duration
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
func (h *handler) answering(f func(*http.Request) (any, error)) http.HandlerFunc {
	return h.reading(func(r *http.Request) (any, error) {
		if err := bare(r, ""); err != nil {
			return nil, err
		}
		return f(r)
	})
}

// reading serves what f makes of a request.
func (h *handler) reading(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		result, err := f(r)
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
func (h *handler) decide(r *http.Request) (any, error) {
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
	return or(h.in.Decide(r.Context(), inbox.Decision{ID: r.PathValue("id"), Digest: a.Digest, Result: a.Result}))
}

func halt(in inbox.Halter, r *http.Request) (any, error) {
	var h inbox.Halt
	if err := readBody(r, "a halt", &h); err != nil {
		return nil, err
	}
	return or(in.Halt(r.Context(), h))
}

func resume(in inbox.Halter, r *http.Request) (any, error) {
	var b resumeBody
	if err := readBody(r, "a resume", &b); err != nil {
		return nil, err
	}
	return nothing{}, in.Resume(r.Context(), b.Reason)
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
	err := bare(r, "args")
	if err == nil && args != "" && args != "true" && args != "false" {
		err = bad("args is true or false")
	}
	var all []approval.Summary
	if err == nil {
		all, err = h.in.List(r.Context(), args == "true")
	}
	if err != nil {
		h.fail(w, err)
		return
	}
	h.head(w, http.StatusOK, "application/json")
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

// watch passes events on until the client leaves, is too slow, or there are no more.
func (h *handler) watch(w http.ResponseWriter, r *http.Request) {
	if err := bare(r, ""); err != nil {
		h.fail(w, err)
		return
	}
	to := http.NewResponseController(w)
	to.SetReadDeadline(time.Time{}) // nothing more is read, however long this lasts
	text := []byte(": watching\n\n")
	for e, err := range h.in.Watch(r.Context()) {
		if err != nil {
			return
		}
		if e == (inbox.Event{}) {
			w.Header().Set("Connection", "close") // its end is that of the connection
			h.head(w, http.StatusOK, "text/event-stream")
		} else {
			one, _ := json.Marshal(e) // strings always marshal
			text = append(append([]byte("data: "), one...), "\n\n"...)
		}
		to.SetWriteDeadline(time.Now().Add(h.patience))
		if _, err := w.Write(text); err != nil {
			return
		}
		if to.Flush() != nil {
			return
		}
	}
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

func (h *handler) head(w http.ResponseWriter, status int, kind string) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
}

func (h *handler) write(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"this cannot be written as JSON"}`)
	}
	h.head(w, status, "application/json")
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.patience))
	w.Write(append(text, '\n'))
}
