package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

func back() piece {
	return element("p", class("back"), element("a", href("/"), words("← All questions")))
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
	switch {
	case len(v.Plan) > 0:
		all = append(all, element("li", words("A plan: nothing runs by a yes, but what it covers is not asked about again.")))
	case v.Via == "proposal":
		all = append(all, element("li", words("A proposal: nobody has called yet. With a yes this bridge makes the call.")))
	}
	if slices.Contains(v.Hints, policy.MayDestroy) {
		all = append(all, element("li", words("The server says that it may destroy something.")))
	}
	return when(all != nil, element("ul", class("warn"), attribute{"aria-label", "Warnings"}, all))
}

// A confirmation is what stands at a question whose yes takes a passkey.
type confirmation struct {
	said   piece // at its buttons
	over   piece // a way to where the yes counts
	counts bool  // one that is said here does
}

// form answers the question. Its first button is none, so that Enter in a field presses
// nothing; what was not looked at keeps Allow from being sent, and Deny never. confirm is what a
// yes takes.
func form(src *Source, v *approval.View, long []string, confirm confirmation) piece {
	if v.Elsewhere != "" {
		return element("p", class("warn"), words("This is "+v.Elsewhere+"."))
	}
	return element("form", id("answer"), attribute{"method", "post"}, action(address("q", src.Key, v.ID)), attribute{"aria-label", "Your answer"},
		when(v.Confirm != "" && confirm.counts, lead{"data-passkey", address("sign", src.Key, v.ID)}),
		element("fieldset",
			element("button", flag("disabled"), flag("hidden")),
			hidden("digest", v.Digest),
			when(v.Confirm != "" && confirm.counts, pieces{hidden("statement", ""), hidden("assertion", "")}),
			fields(v), remember(v), reason(),
			element("p", class("lock"), id("lock"), when(len(long) > 0, words(fmt.Sprintf("Allow works once you have opened %s above.", text.Counted(len(long), "long value"))))),
			confirm.said,
			element("div", class("buttons"), when(confirm.counts, do("allow", allows(v), "primary", false)), do("deny", "Deny", "no", true)),
			delegate(v)))
}

// allows is what stands on the button for a yes.
func allows(v *approval.View) string {
	if v.Confirm != "" {
		return "Allow with a passkey"
	}
	return "Allow"
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
		} else if kept[word] == "" {
			continue // it reaches further than this call, and nobody says how far
		}
		all = append(all, element("label", class("choice"), element("input", attribute{"type", "radio"}, attribute{"name", "remember"}, attribute{"value", word}, when(i == 0, flag("checked"))),
			element("span", element("strong", words(cmp.Or(kept[word], wider[word], word))), words(": "+means))))
	}
	return element("fieldset", class("inner"), element("legend", words("If you allow it, remember that?")), all)
}

// What of a yes is remembered: of this very call, and of others too.
var (
	kept  = map[string]string{"once": "No", "session": "For the session", "always": "For longer"}
	wider = map[string]string{"folder": "For the folder", "tool": "For the tool, whatever its arguments"}
)

// planned says what a plan covers; nil where a question is about none.
func planned(v *approval.View) piece {
	if len(v.Plan) == 0 {
		return nil
	}
	return element("dl", class("plan"), each(v.Plan, func(f approval.Fact) piece {
		return pieces{element("dt", words(f.Name)), element("dd", element("bdi", words(f.Text)))}
	}))
}

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
