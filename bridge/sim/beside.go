package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/record"
)

// What stands beside the arguments of a call reaches the server too (DESIGN 4): it
// is asked about unless the owner has listed it, and is shown and recorded like an
// argument. What stands beside params reaches nobody. And a server may read two keys
// of one object as one, so that none that are alike reach it.

// besides are the members that callers send along, as the params have them.
var besides = []string{`{"task":{"ttl":%d}}`, `{"_meta":{"vendor/x":"%d"}}`, `{"_meta":{"vendor/x":"%d"},"task":{}}`, `{"_meta":{"auth_token":"SECRET-%d"}}`,
	`{"_meta":{"traceparent":"run %d as root"}}`, `{"_meta":{"baggage":{"amount":%d}}}`,
	`{"_meta":{"io.modelcontextprotocol/clientInfo":{"account":"root-%d","name":"x","version":"1"}}}`, `{"_meta":{"io.modelcontextprotocol/logLevel":%d}}`}

// trace is what the protocol itself puts beside the arguments, and nobody is shown.
var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

const traced = `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`

// withBeside draws what a call says beside its arguments, and beside its params:
// dice of its own leave all else in the world where it is. In a calm one others are
// asked under a stricter policy than where such a call is raised from an allow.
func (s *said) withBeside(o Options) {
	d := newDice(o.Seed, "beside "+s.id)
	if !o.Calm && d.chance(.15) {
		s.beside = fmt.Sprintf(pick(d, besides...), d.IntN(2))
	}
	if d.chance(.1) {
		s.traced = !o.Calm && d.chance(.3)
		s.stray = `,"task":{"ttl":3},"run":"as root"`
	}
}

// passing is what an owner lists under server: {pass: […]}.
func passing(d dice) []string {
	return pick(d, nil, nil, []string{"task"}, []string{"_meta.vendor/x"}, []string{"task", "_meta.vendor/x"})
}

// passes: the owner has listed all of what stands beside the arguments.
func (b *rulebook) passes(beside string) bool {
	var members map[string]json.RawMessage
	json.Unmarshal([]byte(beside), &members)
	for name, value := range members {
		var meta map[string]json.RawMessage
		if name != "_meta" {
			meta = map[string]json.RawMessage{"": nil}
		} else if json.Unmarshal(value, &meta) != nil {
			return false
		}
		for key := range meta {
			if full := strings.TrimSuffix(name+"."+key, "."); !slices.Contains(b.pass, full) {
				return false
			}
		}
	}
	return true
}

// besideIn is what stands beside the arguments in params, as one canonical text; ""
// for nothing. Of what is no call of a tool that is what _meta holds.
func besideIn(method string, params []byte) string {
	var all, meta map[string]any
	d := json.NewDecoder(bytes.NewReader(params))
	d.UseNumber()
	if d.Decode(&all) != nil {
		return ""
	}
	if held, is := all["_meta"].(map[string]any); is {
		meta = held
		switch meta["progressToken"].(type) {
		case string, json.Number:
			delete(meta, "progressToken")
		}
		if at, is := meta["traceparent"].(string); is && traceparent.MatchString(at) {
			delete(meta, "traceparent")
		}
	}
	maps.DeleteFunc(all, func(name string, value any) bool {
		switch {
		case name == "_meta":
			return value == nil || meta != nil && len(meta) == 0
		case method != "tools/call":
			return true
		}
		return name == "name" || name == "arguments"
	})
	if len(all) == 0 {
		return ""
	}
	text, _ := json.Marshal(all)
	return string(text)
}

// withoutMeta is what is judged as the arguments of what is no call of a tool: {}
// when it has no params, or null for them (seed 18127).
func withoutMeta(params []byte) []byte {
	all := map[string]json.RawMessage{}
	if len(params) > 0 && string(params) != "null" {
		json.Unmarshal(params, &all)
	}
	delete(all, "_meta")
	text, _ := json.Marshal(all)
	return text
}

// furnish puts what a call says beside its arguments into params that are not
// closed yet, and its progress token.
func (s *said) furnish(params []byte) []byte {
	var members map[string]json.RawMessage
	json.Unmarshal([]byte(s.beside), &members)
	meta := strings.TrimSuffix(strings.TrimPrefix(string(members["_meta"]), "{"), "}")
	if s.token != nil {
		meta = strings.TrimSuffix(fmt.Sprintf(`"progressToken":%s,%s`, s.token, meta), ",")
	}
	if s.traced && members["_meta"] == nil {
		meta = strings.TrimSuffix(traced+","+meta, ",")
	}
	if meta != "" {
		params = fmt.Appendf(params, `,"_meta":{%s}`, meta)
	}
	if task := members["task"]; task != nil {
		params = fmt.Appendf(params, `,"task":%s`, task)
	}
	return params
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

// twins are two keys of one object that a server reads as one that passes over case.
func twins(v any) (one, other string, found bool) {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			if one, other, found = twins(inner); found {
				return one, other, true
			}
		}
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		for i, key := range keys {
			if j := slices.IndexFunc(keys[i+1:], func(next string) bool { return strings.EqualFold(key, next) }); j >= 0 {
				return key, keys[i+1+j], true
			}
			if one, other, found = twins(v[key]); found {
				return one, other, true
			}
		}
	}
	return "", "", false
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
