package sim

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// edited is the arguments with another amount in them.
func edited(args []byte, amount string) []byte {
	before, rest, found := bytes.Cut(args, []byte(`"amount": `))
	if !found { // as in what the attacker made of a call
		return slices.Concat(bytes.TrimSuffix(args, []byte("}")), []byte(`,"amount":`), []byte(amount), []byte("}"))
	}
	_, after, _ := bytes.Cut(rest, []byte(","))
	return slices.Concat(before, []byte(`"amount": `), []byte(amount), []byte(","), after)
}

// A reading of what somebody answered.
type answer struct {
	yes, failed, delegates bool
	to, edit, keep         string
}

// readAnswer reads an answer as strictly as the rules are: a yes is an accept
// with approve true, or with the action approve, and nothing that contradicts.
func readAnswer(text []byte, w way) (a answer) {
	if bytes.HasPrefix(text, []byte(`"error"`)) {
		return answer{failed: true}
	}
	raw := bytes.TrimPrefix(text, []byte(`"result":`))
	var r struct {
		Action  string                     `json:"action"`
		Content map[string]json.RawMessage `json:"content"`
	}
	if !unambiguous(raw) || json.Unmarshal(raw, &r) != nil || r.Action != "accept" || bytes.Contains(raw, []byte(`"Action"`)) {
		return a
	}
	word := func(name string) string { return strings.Trim(string(r.Content[name]), `"`) }
	approve, action := string(r.Content["approve"]), word("action")
	if w.to != nil && action == "delegate" && approve != "true" {
		return answer{delegates: true, to: word("delegateTo")}
	}
	a.yes = approve == "true" && (action == "" || action == "approve") || w.to != nil && action == "approve" && approve != "false"
	if _, strange := r.Content["n"]; strange && !w.reads || r.Content["digest"] != nil {
		a.yes = false
	}
	a.edit, a.keep = word("amount"), word("remember")
	if w.uses > 0 {
		a.edit = word("uses1")
		n, err := strconv.Atoi(a.edit)
		a.yes = a.yes && (a.edit == "" || err == nil && 1 <= n && n <= w.uses)
	} else if n, err := strconv.Atoi(a.edit); a.edit != "" && (!w.edit || err != nil || n < 1 || n > 100) {
		a.yes = false
	}
	switch {
	case len(w.remember) == 0 || a.keep == "once":
		a.keep = ""
	case a.keep != "" && !slices.Contains(w.remember, a.keep):
		a.yes = false
	}
	return a
}
