package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
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
	for _, name := range []string{"approve", "action"} {
		var field struct{ Description string }
		json.Unmarshal(e.RequestedSchema.Properties[name], &field)
		if _, rest, found := strings.Cut(field.Description, "Arguments: "); found {
			line, _, _ := strings.Cut(rest, "\n")
			return line
		}
	}
	return ""
}

// furniture is what else stands in the arguments of a call: what is deep, long,
// much, or hard to see.
func furniture(d dice) string {
	switch n := d.IntN(40); {
	case n < 5:
		return `, "deep":{"list":[1,2.50,"three",{"four":null,"a/b~c":true}],"empty":{},"none":[],"\u202ehidden":"\ud83d\ude00\udb40\udc41"}`
	case n < 8:
		return `, "long":"` + strings.Repeat("so long ", 50+d.IntN(50)) + `"`
	case n < 9:
		var s strings.Builder
		for i := range 201 + d.IntN(20) {
			fmt.Fprintf(&s, `, "k%d":%d`, i, i)
		}
		return s.String()
	case n < 10:
		return `, "huge":"` + strings.Repeat("0123456789", 900) + `"`
	}
	return ""
}
