package plan

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// Calls are all calls that the plan covers, for [policy.Policy.Foresee]: one for each
// combination of known values, with what is not known left open. of describes a call of a
// tool with arguments. What was struck is not among them.
func (p *Plan) Calls(of func(tool string, args []byte) policy.Call) (all []policy.Call) {
	for i := range p.Items {
		item := &p.Items[i]
		if item.Uses == 0 {
			continue
		}
		for _, args := range item.known() {
			c := of(item.Tool, args)
			c.Open = item.open()
			all = append(all, c)
		}
	}
	return all
}

// known are the arguments of all calls of the item, as far as they are known.
func (i *Item) known() [][]byte {
	all := [][]byte{[]byte("{}")}
	for _, a := range i.Args {
		if a.Is == nil {
			continue
		}
		var more [][]byte
		for _, args := range all {
			for _, v := range a.Is {
				more = append(more, put(args, a.At, v))
			}
		}
		all = more
	}
	return all
}

// open are those of its arguments that are not known.
func (i *Item) open() (all []policy.Open) {
	for _, a := range i.Args {
		if a.Is == nil {
			all = append(all, policy.Open{At: string(a.At), Under: a.Under})
		}
	}
	return all
}

// put is arguments with one more, and with the objects in which that stands.
func put(args []byte, at jsontext.Pointer, value []byte) []byte {
	if parent := at.Parent(); parent != "" && rawjson.At(args, parent) == nil {
		args = put(args, parent, []byte("{}"))
	}
	args, _ = rawjson.Put(args, at, value)
	return args
}

// hides reports whether a value is not to be shown: whether redact would change a call's
// arguments that have it there.
func (a *Arg) hides(redact func(args []byte) []byte) bool {
	values := a.Is
	if a.Under != "" {
		values = [][]byte{jsonrpc.AppendQuote(nil, a.Under)}
	}
	for _, v := range values {
		args := put([]byte("{}"), a.At, v)
		if redact != nil && string(redact(args)) != string(args) {
			return true
		}
	}
	return false
}

// Redacted is the params of a plan without what redact hides of the arguments of a call:
// an argument's place in a plan has another name than in a call. What is no plan redact has
// as a whole.
func Redacted(params []byte, redact func(args []byte) []byte) []byte {
	p, err := Parse(params)
	if err != nil {
		return redact(params)
	}
	for i := range p.Items {
		args := jsontext.Pointer("/items").AppendToken(strconv.Itoa(i)).AppendToken("args")
		for _, a := range p.Items[i].Args {
			if a.hides(redact) {
				params, _ = rawjson.Put(params, args.AppendToken(string(a.At)), []byte(`"[redacted]"`))
			}
		}
	}
	return params
}
