package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/client"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/fault"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// Tools leave a topic for a model's API under the names that serve gives them, and come
// back by call (seed 004).

// A Choice says which of all tools are to be listed. The zero one lists all.
type Choice struct {
	Include, Exclude []string // patterns for PEER/NAME
	Models           bool     // without what is for the app of a server and not for models
	Limit            int      // the most tools, peer by peer in turn; 0: no limit
}

// A Left is tools that are not listed, and why.
type Left struct {
	Count int
	Why   string
}

// Of parts the tools that are to be listed from those that are not.
func (c Choice) Of(all []client.Tool) (shown []client.Tool, left []Left) {
	choice := desktop.NewChoice(c.Include, c.Exclude)
	shown = slices.DeleteFunc(slices.Clone(all), func(t client.Tool) bool { return !choice.Shows(pairOf(t)) })
	left = append(left, Left{len(all) - len(shown), "that --include and --exclude do not show"})
	if c.Models {
		n := len(shown)
		shown = slices.DeleteFunc(shown, func(t client.Tool) bool { return desktop.AppOnly(t.Raw) })
		left = append(left, Left{n - len(shown), "for apps and not for models"})
	}
	if c.Limit > 0 && len(shown) > c.Limit {
		order := slices.SortedStableFunc(slices.Values(shown), func(a, b client.Tool) int { return pairOf(a).Compare(pairOf(b)) })
		in, out := desktop.Fair(order, c.Limit, pairOf)
		var names []string
		for _, t := range out {
			names = append(names, t.Peer+"/"+t.Name)
		}
		left = append(left, Left{len(out), fmt.Sprintf("over --limit: %.2000s", strings.Join(names, ", "))})
		shown = in
	}
	return shown, slices.DeleteFunc(left, func(l Left) bool { return l.Count == 0 })
}

func pairOf(t client.Tool) desktop.Pair { return desktop.Pair{Peer: t.Peer, Name: t.Name} }

// MostFunctions is how many functions OpenAI's API takes at one time.
const MostFunctions = 128

// JSON is one tool on a line, as its server defines it, with its peer, and what the rules of
// that say of our calls where it says any; standing is by peer and tool.
func JSON(all []client.Tool, standing map[string]map[string]client.Standing) (out []byte) {
	for _, t := range all {
		peer, _ := json.Marshal(t.Peer) // a string cannot fail
		line := slices.Concat([]byte(`{"peer":`), peer, []byte(`,"tool":`), rawjson.OneLine(t.Raw))
		if said, known := standing[t.Peer][t.Name]; known {
			line = fmt.Appendf(line, `,"for_you":%q,"some_denied":%t`, said.Word, said.Denies(t))
		}
		out = append(out, text.EscapeJSON(append(line, "}\n"...))...)
	}
	return out
}

// OpenAI is the list for the "tools" of OpenAI's API.
func OpenAI(all []client.Tool) []byte {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	type entry struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	list := []entry{}
	for _, t := range Tools(all) {
		list = append(list, entry{"function", function{t.Name, t.Description, t.InputSchema}})
	}
	return indented(list)
}

// Anthropic is the same for Anthropic's API.
func Anthropic(all []client.Tool) []byte {
	type entry struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	list := []entry{}
	for _, t := range Tools(all) {
		list = append(list, entry{t.Name, t.Description, t.InputSchema})
	}
	return indented(list)
}

// Tools are tools as a model's API takes them: named peer__tool, with the
// peer in the description and an object as their schema (WIRE 9.2).
func Tools(all []client.Tool) []client.Tool {
	names := namesOf(all)
	var out []client.Tool
	for _, t := range all {
		if t.Name = names.Of(pairOf(t)); t.Name == "" {
			continue // two others have the names that it could have
		}
		t.Description = strings.TrimSpace(t.Description + " (via " + t.Peer + ")")
		var root struct{ Type string }
		if json.Unmarshal(t.InputSchema, &root) != nil || root.Type != "object" {
			t.InputSchema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		out = append(out, t)
	}
	return out
}

// namesOf gives every tool its name, in an order that does not depend on
// who answered first.
func namesOf(all []client.Tool) *desktop.Names {
	names := desktop.NewNames(desktop.UsualName)
	pairs := make([]desktop.Pair, len(all))
	for i, t := range all {
		pairs[i] = pairOf(t)
	}
	slices.SortFunc(pairs, desktop.Pair.Compare)
	for _, p := range pairs {
		names.Of(p)
	}
	return names
}

// ErrNoSuchName is wrapped where a name is nobody's.
var ErrNoSuchName = errors.New("nobody who answers has a tool called")

// Named finds the one among all that has an exported name, in whatever length its
// exporter wanted. Should a digest fit two, it is neither: which of them had the name when
// it was exported nobody knows.
func Named(all []client.Tool, name string) (found client.Tool, err error) {
	known := false
	for _, t := range all {
		switch {
		case !pairOf(t).Fits(name):
		case known && pairOf(t) != pairOf(found):
			return client.Tool{}, fault.New(fault.Failed, "call it as PEER TOOL", "%s is the name of a tool of %s, and of one of %s", name, found.Peer, t.Peer)
		default:
			found, known = t, true
		}
	}
	switch {
	case known && desktop.AppOnly(found.Raw):
		return client.Tool{}, fault.New(fault.Failed, "call it as PEER TOOL if you mean it", "%s is for the app of %s, and not for models", name, found.Peer)
	case known:
		return found, nil
	}
	names, others := namesOf(all), []string{}
	for _, t := range all {
		others = append(others, names.Of(pairOf(t)))
	}
	hint := cmp.Or(policy.Meant(name, others), "mcpx-bridge tools --format openai lists the names")
	return client.Tool{}, fault.New(fault.Failed, hint, "%w %s", ErrNoSuchName, name)
}

func indented(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		panic(err) // raw parts were valid JSON when they were read
	}
	return text.EscapeJSON(b.Bytes())
}
