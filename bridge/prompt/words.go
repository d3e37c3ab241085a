package prompt

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
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

func fieldNames(v *approval.View) string {
	var names []string
	for _, f := range v.Edits {
		names = append(names, f.Field)
	}
	return strings.Join(names, ", ")
}
