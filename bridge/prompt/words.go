package prompt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
)

// Set puts FIELD=VALUE words into an answer. remember=WORD is one of them,
// unless a field has that name.
func Set(r *approval.Reply, v *approval.View, words []string) error {
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return fmt.Errorf("%q is no FIELD=VALUE", word)
		}
		i := slices.IndexFunc(v.Edits, func(f approval.Field) bool { return f.Field == name })
		if i < 0 && name == "remember" {
			if err := Remember(r, v, value); err != nil {
				return err
			}
			continue
		}
		if i < 0 {
			return fmt.Errorf("%q cannot be changed; what can: %s", name, cmp.Or(fieldNames(v), "nothing"))
		}
		raw, problem := v.Edits[i].Value(value)
		if problem != "" {
			return errors.New(name + " " + problem)
		}
		r.Fields = append(r.Fields, approval.Entry{Field: name, Raw: raw})
	}
	return nil
}

// Remember has an answer remembered as a word says.
func Remember(r *approval.Reply, v *approval.View, word string) error {
	if word != "once" && !slices.Contains(v.Remember, word) {
		return fmt.Errorf("this answer cannot be remembered as %q; offered: %s", word, cmp.Or(strings.Join(v.Remember, ", "), "once"))
	}
	if len(v.Remember) > 0 {
		r.Remember = word
	}
	return nil
}

// passable are those to whom a question can be passed on now: who calls cannot decide, and who
// has been asked is not asked twice.
func passable(v *approval.View) []string {
	return slices.DeleteFunc(slices.Clone(v.DelegateTo), func(name string) bool {
		return name == v.From || slices.ContainsFunc(v.People, func(p approval.Person) bool { return p.Who == name && p.State != "waiting" && p.State != "away" })
	})
}

func fieldNames(v *approval.View) string {
	var names []string
	for _, f := range v.Edits {
		names = append(names, f.Field)
	}
	return strings.Join(names, ", ")
}

// Offers are what an answer may hold beside yes and no, as flags of "approvals allow".
func Offers(v *approval.View) string {
	var b strings.Builder
	if v.Elsewhere != "" {
		return text.Line(v.Elsewhere) + "\n"
	}
	for i := range v.Edits {
		f := &v.Edits[i]
		fmt.Fprintf(&b, "May be changed: --set %s=%s (%s, %s)\n", text.Line(f.Field), text.Line(f.Typed()), f.Title,
			cmp.Or(strings.Join(f.Choices(), " | "), f.Type))
	}
	if to := passable(v); len(to) > 0 {
		fmt.Fprintf(&b, "May be passed on: --delegate-to %s\n", strings.Join(to, " | "))
	}
	if len(v.Remember) > 0 {
		fmt.Fprintf(&b, "May be remembered: --remember %s\n", strings.Join(v.Remember, " | "))
		for i, means := range v.RememberMeans {
			fmt.Fprintf(&b, "  %s: %s\n", v.Remember[i], means)
		}
	}
	return b.String()
}
