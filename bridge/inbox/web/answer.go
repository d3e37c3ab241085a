package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// unread is why an answer was not taken that has to be given again.
type unread string

func (u unread) Error() string { return string(u) }

// unsure is why nobody knows whether an answer counts: it left, and nothing came back.
type unsure struct{ error }

func (u unsure) Error() string {
	return u.error.Error() + "; whether this answer counts is not known: the question says so, or the history"
}

// failed says that an answer decided nothing, unless that is not known.
func failed(err error) string {
	if _, ok := errors.AsType[unsure](err); ok {
		return sentence(err)
	}
	return sentence(err) + " This answer decided nothing."
}

// statusOf tells what a person can mend from what has changed, and both from trouble.
func statusOf(err error) int {
	if _, ok := errors.AsType[*inbox.Refusal](err); ok {
		return http.StatusConflict
	}
	if _, ok := errors.AsType[unread](err); ok {
		return http.StatusUnprocessableEntity
	}
	return http.StatusBadGateway
}

// sentence begins as one.
func sentence(err error) string {
	said := err.Error()
	_, n := utf8.DecodeRuneInString(said)
	return strings.ToUpper(said[:n]) + said[n:] + "."
}

// ended is how a question ended by this answer, in the words of an event.
func ended(o inbox.Outcome) string {
	all := o.Outcome
	if o.By != "" {
		all += " by " + o.By
	}
	if o.Reason != "" {
		all += ": " + text.Words(o.Reason)
	}
	return text.Line(all)
}

// decide hands on an answer to what was shown: the digest is that of the form, and the question
// is looked at again only to read the form by it.
func decide(ctx context.Context, src *Source, id, digest string, form map[string][]string) (inbox.Outcome, error) {
	d, err := decisionOf(ctx, src, id, digest, form)
	if err != nil {
		return inbox.Outcome{}, err
	}
	outcome, err := src.Decide(ctx, d)
	if _, refused := errors.AsType[*inbox.Refusal](err); err != nil && !refused {
		err = unsure{err}
	}
	return outcome, err
}

func decisionOf(ctx context.Context, src *Source, id, digest string, form map[string][]string) (d inbox.Decision, err error) {
	v, err := src.Show(ctx, id)
	if err != nil {
		return d, err
	}
	if v.ID != id || digest != v.Digest {
		return d, &inbox.Refusal{Reason: inbox.DigestMismatch}
	}
	reply, err := read(&v, form)
	if err != nil {
		return d, err
	}
	return inbox.Decision{ID: id, Digest: digest, Result: reply.Result(v.Choice)}, nil
}

// read reads a form by the question that it answers. Whatever is not clear is no answer.
func read(v *approval.View, form map[string][]string) (a approval.Reply, err error) {
	get := func(name string) string { return strings.Join(form[name], "\n") }
	a.Reason = strings.ReplaceAll(get("reason"), "\r\n", "\n") // as forms send what has lines
	switch get("do") {
	case "allow":
		a.Allow, a.Remember = true, get("remember")
	case "deny":
		return a, nil
	case "delegate":
		if a.To = get("to"); !slices.Contains(v.DelegateTo, a.To) {
			return a, unread("choose who shall decide")
		}
		return a, nil
	default:
		return a, unread("the answer is neither Allow nor Deny")
	}
	t := &tree{of: v.ID}
	t.arguments(v)
	for _, box := range t.long {
		if !slices.Contains(form["seen"], box) {
			return a, unread("open the long values first: what you allow is all of them")
		}
	}
	if a.Remember != "" && !slices.Contains(v.Remember, a.Remember) {
		return a, unread("this cannot be remembered so")
	}
	a.Fields, err = entries(v, form)
	return a, err
}

// entries are the fields that were changed. A form of before may have one that is offered no more:
// to run the call without it is not what was agreed to.
func entries(v *approval.View, form map[string][]string) (all []approval.Entry, err error) {
	for name := range form {
		field, is := strings.CutPrefix(name, "field.")
		if is && !slices.ContainsFunc(v.Edits, func(f approval.Field) bool { return f.Field == field }) {
			return nil, unread("what may be changed is not what it was: look at it again")
		}
	}
	for i := range v.Edits {
		f := &v.Edits[i]
		typed, given := form["field."+f.Field]
		if !given {
			continue
		}
		raw, problem := []byte(nil), "was filled in twice"
		if len(typed) == 1 {
			raw, problem = entered(f, typed[0])
		}
		if problem != "" {
			return nil, unread(f.Title + " " + problem)
		}
		if raw != nil {
			all = append(all, approval.Entry{Field: f.Field, Raw: raw})
		}
	}
	return all, nil
}

// entered is what was put into a field, as JSON; nil if it was left as it is.
func entered(f *approval.Field, typed string) (raw []byte, problem string) {
	choices := choicesOf(f)
	switch {
	case choices == nil && typed == text.Line(f.Typed()), choices != nil && (typed == "" || same(typed, f.Now)):
		return nil, ""
	case choices == nil:
		return f.Value(typed)
	case !slices.Contains(choices, typed):
		return nil, "is none of the values offered"
	}
	return []byte(typed), ""
}
