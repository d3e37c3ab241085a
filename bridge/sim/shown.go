package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// What the checker knows of what people are shown (I16): nothing that cannot be
// seen, and of the arguments every value that holds no others, or that it is cut.

// leaves are the values that hold no others, as JSON, by JSON pointer.
func leaves(raw []byte) map[string]string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return map[string]string{"": "unreadable: " + err.Error()}
	}
	all := map[string]string{}
	gather(all, "", v)
	return all
}

func gather(all map[string]string, at string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			gather(all, at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), inner)
		}
		if len(v) > 0 || at == "" {
			return
		}
	case []any:
		for i, inner := range v {
			gather(all, at+"/"+strconv.Itoa(i), inner)
		}
		if len(v) > 0 {
			return
		}
	}
	text, _ := json.Marshal(v)
	all[at] = string(text)
}

var braced = regexp.MustCompile(`\\u\{([0-9a-f]+)\}`)

// unbraced is a text as JSON has it: with what cannot be seen as JSON escapes it.
func unbraced(text string) string {
	return braced.ReplaceAllStringFunc(text, func(s string) string {
		r, _ := strconv.ParseUint(s[3:len(s)-1], 16, 32)
		if high, low := utf16.EncodeRune(rune(r)); r > 0xffff {
			return fmt.Sprintf(`\u%04x\u%04x`, high, low)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

func unquotedName(name string) string {
	name, _ = strconv.Unquote(`"` + strings.ReplaceAll(unbraced(name), `"`, `\"`) + `"`)
	return name
}

// sameValue: a text shows a value, or says that it is cut.
func sameValue(text, value string) bool {
	if strings.Contains(text, " (cut: ") {
		return true
	}
	shown := leaves([]byte(unbraced(text)))
	return len(shown) == 1 && shown[""] == value || (value == "{}" || value == "[]") && text == value
}

// viewed sees a question as the local person does: whole.
func (c *checker) viewed(v approval.View) {
	texts := []string{v.Headline, v.Compact}
	for _, leaf := range v.Arguments {
		texts = append(texts, leaf.Name, leaf.Text, leaf.Whole)
	}
	shown := viewedLeaves(v)
	for _, s := range texts {
		c.legible(s)
	}
	cl := c.questions[v.ID]
	if cl == nil || cl.method != "tools/call" && cl.method != reads {
		return
	}
	c.besideViewed(cl, shown)
	c.tellsWhy(cl, factOf(v, "The caller says")+factOf(v, "The proposer says"))
	real := leaves(cl.expect)
	for at, value := range real {
		if text, ok := shown[at]; !ok || strings.Contains(text, " (cut: ") || !sameValue(text, value) {
			c.blame("I16", "of %v the argument %s is shown as %q, and is %s", cl, at, text, value)
		}
	}
	if len(shown) != len(real) || v.More > 0 {
		c.blame("I16", "of %v %d arguments are shown, and there are %d", cl, len(shown), len(real))
	}
}

// tellsAll: a question shows all arguments to the topic, but for those that are
// secret, or says how much it leaves out.
func (c *checker) tellsAll(cl *claim, l *letter) {
	c.besideTold(cl, l)
	if cl.method != "tools/call" && cl.method != reads {
		return
	}
	real := hidden(leaves(cl.expect))
	o := l.original()
	if o.Arguments == nil && o.ArgumentsBytes == 0 || o.Arguments != nil && !maps.Equal(leaves(o.Arguments), real) {
		c.blame("I16", "%v is shown as %s, and is %s", cl, o.Arguments, cl.expect)
	}
	line := l.params.arguments()
	if !strings.Contains(line, " (cut: ") && !maps.Equal(leaves([]byte(unbraced(line))), real) {
		c.blame("I16", "%v is described as %s, and is %s", cl, line, cl.expect)
	}
}

// arguments is the line of a form that has them.
func (e *elicited) arguments() string {
	_, rest, _ := strings.Cut(e.described(), "Arguments: ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// described is what a form says.
func (e *elicited) described() (all string) {
	for _, name := range []string{"approve", "action"} {
		var field struct{ Description string }
		json.Unmarshal(e.RequestedSchema.Properties[name], &field)
		all += field.Description
	}
	return all
}

// besideRecorded: what stands beside the arguments is on record where they are.
func (c *checker) besideRecorded(cl *claim, r record.Record) {
	if r.Event != record.Asked && r.Event != record.Decided || r.ArgsBytes > 0 || r.Args == nil || cl.again {
		return
	}
	var got map[string]string
	if r.Beside != nil {
		got = leaves(r.Beside)
	}
	if !maps.Equal(got, hidden(besideLeaves(cl))) {
		c.blame("H3", "%v is on record with %s beside its arguments, and has %s", cl, r.Beside, cl.beside)
	}
}

func besideLeaves(cl *claim) map[string]string {
	if cl.beside == "" {
		return nil
	}
	return leaves([]byte(cl.beside))
}

// besideTold: a question shows it to the topic.
func (c *checker) besideTold(cl *claim, l *letter) {
	var got map[string]string
	if o := l.original(); o.Beside != nil {
		got = leaves(o.Beside)
	}
	if !maps.Equal(got, hidden(besideLeaves(cl))) {
		c.blame("H3", "%v is shown with %s beside its arguments, and has %s", cl, l.original().Beside, cl.beside)
	}
}

// besideViewed takes from what the person at this machine is shown what stands beside
// the arguments, which must be all of it.
func (c *checker) besideViewed(cl *claim, shown map[string]string) {
	real := besideLeaves(cl)
	for name, text := range shown {
		at, is := strings.CutPrefix(name, "params")
		if !is {
			continue
		}
		delete(shown, name)
		if value, known := real[at]; !known || !sameValue(text, value) {
			c.blame("H3", "%v is viewed with %s as %q beside its arguments, and has %s", cl, at, text, cl.beside)
		}
		delete(real, at)
	}
	if len(real) > 0 {
		c.blame("H3", "%v is viewed without %v, which stands beside its arguments", cl, real)
	}
}

// sound: a line for the server holds what was judged and nothing beside that, and no
// object in it has two keys that a lenient reader takes for one.
func (c *checker) sound(raw []byte) {
	var members map[string]json.RawMessage
	json.Unmarshal(raw, &members)
	for name := range members {
		if !slices.Contains([]string{"jsonrpc", "id", "method", "params", "result", "error"}, name) {
			c.blame("H4", "the server is to get %q beside the params: %s", name, raw)
		}
	}
	var v any
	json.Unmarshal(raw, &v)
	if a, b, alike := twins(v); alike {
		c.blame("H1", "the server is to get %q beside %q, which it may read as one: %s", a, b, raw)
	}
}

// viewedLeaves are what the person is shown, by where it stands.
func viewedLeaves(v approval.View) map[string]string {
	shown := map[string]string{}
	for _, leaf := range v.Arguments {
		name := unquotedName(leaf.Name)
		if shown[name] = leaf.Text; leaf.Cut {
			shown[name] = leaf.Whole
		}
	}
	return shown
}

// hidden is a value as those are shown it who must not see secrets.
func hidden(leaves map[string]string) map[string]string {
	for at, value := range leaves {
		if strings.Contains(value, "SECRET") || strings.Contains(strings.ToLower(at), "token") { // the attacker makes such names of progressToken
			leaves[at] = `"[redacted]"`
		}
	}
	return leaves
}

// legible: a text holds nothing that people could not see.
func (c *checker) legible(text string) {
	for _, r := range text {
		if r != ' ' && (!unicode.IsGraphic(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Zs)) {
			c.blame("I16", "people are shown %U in %q", r, text)
			return
		}
	}
}
