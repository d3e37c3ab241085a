package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// A Key is one of those that a policy file may have, as its schema describes it.
type Key struct {
	Key     string `json:"key"`
	In      string `json:"in"` // where it stands, in words
	About   string `json:"about"`
	Takes   string `json:"takes,omitempty"`   // what may stand there, where that is a few words or a number
	LeftOut string `json:"default,omitempty"` // what holds where it is left out
	Example string `json:"example"`           // one line: a rule, which begins with a dash, or what stands at the top
}

// places are where keys stand, with the object of the schema that has them.
var places = []struct{ in, object string }{
	{"at the top of a file", ""},
	{"in a rule", "/$defs/rule"},
	{"in except, beside from, via, args, when, hints, hours, until and methods", "/$defs/except"},
	{"in args, below the name of an argument", "/$defs/argTests"},
	{"in hints", "/$defs/hints"},
	{"in limit", "/$defs/rule/properties/limit"},
	{"in the sum of a limit", "/$defs/rule/properties/limit/properties/sum"},
	{"in asks", "/properties/asks"},
	{"in an ask: below its name in asks, or in as", "/$defs/terms"},
	{"in delegate", "/$defs/terms/properties/delegate"},
	{"in edit, below the name of a field", "/$defs/terms/properties/edit/additionalProperties"},
	{"in server", "/properties/server"},
	{"in proposals", "/properties/proposals"},
	{"in notify, below the name of a channel", "/$defs/channel"},
	{"in escalate", "/$defs/channel/properties/escalate"},
	{"in a test", "/$defs/test"},
	{"in the call of a test", "/$defs/test/properties/call"},
}

// Keys are all keys of policy files, by where they stand.
func Keys() (all []Key) {
	schema := policy.Schema()
	for _, place := range places {
		properties := rawjson.At(schema, jsontext.Pointer(place.object+"/properties"))
		for p := range rawjson.Parts(properties, 0) {
			if k := keyOf(p.Name, p.Of(properties)); k.About != "" { // else it stands elsewhere too, and is described there
				k.In = place.in
				all = append(all, k)
			}
		}
	}
	return all
}

func keyOf(name string, raw []byte) Key {
	var said struct {
		Ref         string `json:"$ref"`
		Description string
		Default     json.RawMessage
		Enum        []any
		Type        any
		Minimum     *int
		Maximum     *int
	}
	parse := func(raw []byte) {
		if err := json.Unmarshal(raw, &said); err != nil {
			panic(err) // only our own schema comes here
		}
	}
	parse(raw)
	if target, is := strings.CutPrefix(said.Ref, "#"); is && said.Description != "" {
		about := said.Description
		parse(rawjson.At(policy.Schema(), jsontext.Pointer(target)))
		said.Description = about
	}
	k := Key{Key: name, LeftOut: bare.Replace(string(said.Default))}
	k.About, k.Example, _ = strings.Cut(said.Description, "\nExample: ")
	switch {
	case len(said.Enum) > 0 && said.Type == nil && name != "version":
		var words []string
		for _, w := range said.Enum {
			words = append(words, fmt.Sprint(w))
		}
		k.Takes = "one of " + strings.Join(words, ", ")
	case said.Type == "boolean":
		k.Takes = "true or false"
	case said.Type == "integer" && said.Maximum != nil:
		k.Takes = fmt.Sprintf("a whole number from %d to %d", *said.Minimum, *said.Maximum)
	}
	return k
}

// bare takes away what JSON has around words.
var bare = strings.NewReplacer(`"`, "", "[", "", "]", "")

// Named are the keys of that name; where there are none, what to do about it.
func Named(all []Key, name string) (named []Key, hint string) {
	for _, k := range all {
		if k.Key == name {
			named = append(named, k)
		}
	}
	return named, cmp.Or(policy.Meant(name, KeyNames(all)), "mcpx-bridge policy help lists them")
}

// KeyNames are the names of keys, each once.
func KeyNames(all []Key) []string {
	var names []string
	for _, k := range all {
		names = append(names, k.Key)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// File is a policy that loads, around the example.
func (k Key) File() string {
	head, body := "version: 1\ndefault: deny\n", k.Example
	switch {
	case k.Key == "version":
		head = "default: deny\n"
	case strings.HasPrefix(k.Example, "default:"):
		head = "version: 1\n"
	case strings.HasPrefix(k.Example, "- "):
		body = "rules:\n  " + k.Example
	}
	return head + body + "\n"
}

// details are what it may be; "" where the schema does not say it in a few words.
func (k Key) details() string {
	var all []string
	if k.Takes != "" {
		all = append(all, "Takes "+k.Takes+".")
	}
	if k.LeftOut != "" {
		all = append(all, "Left out: "+k.LeftOut+".")
	}
	return strings.Join(all, " ")
}

// sentences are all there is to say of a key but its example.
func (k Key) sentences() string {
	return strings.TrimSpace(k.About + " " + k.details())
}

// KeyHelp is one key for people, at each place where it stands, with a file that has it;
// "" if there is no such key.
func KeyHelp(all []Key) string {
	var parts []string
	for _, k := range all {
		parts = append(parts, fmt.Sprintf("%s, %s\n%s\n\n%s", k.Key, k.In, text.Fill(k.sentences(), "  ", 78), k.File()))
	}
	return strings.Join(parts, "\n")
}

// KeyList lists keys for people, a line for each.
func KeyList(all []Key) string {
	return byPlace(all, "%s:\n", func(k Key) string {
		about, _, _ := strings.Cut(k.About, ". ")
		return fmt.Sprintf("  %-18s %s\n", k.Key, strings.TrimSuffix(about, "."))
	})
}

// KeyReference are the keys in Markdown.
func KeyReference(all []Key) string {
	return byPlace(all, "### %s\n\n", func(k Key) string {
		item := text.Fill("- `"+k.Key+"`: "+strings.ReplaceAll(k.sentences(), "*", `\*`), "  ", 120)
		return strings.TrimPrefix(item, "  ") + "\n  `" + k.Example + "`\n"
	})
}

// byPlace gathers what is said of keys, below the places where they stand.
func byPlace(all []Key, heading string, one func(Key) string) string {
	var b strings.Builder
	in := ""
	for _, k := range all {
		if k.In != in {
			if in != "" {
				b.WriteByte('\n')
			}
			in = k.In
			fmt.Fprintf(&b, heading, strings.ToUpper(in[:1])+in[1:])
		}
		b.WriteString(one(k))
	}
	return b.String()
}
