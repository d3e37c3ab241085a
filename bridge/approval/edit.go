package approval

import (
	"errors"
	"math/big"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/plan"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/text"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// edit carries out what an answer puts into fields. Every byte of the arguments
// that no field names stays as it is; a field left at its value changes nothing.
// problem says in words why it cannot be done.
func (p *pending) edit(values []value) (c change, problem string) {
	c = change{args: p.args, timeout: p.timeout}
	for _, v := range values {
		e := &p.q.Terms.Edit[v.edit]
		if problem = unfit(e, v.raw); problem != "" {
			return change{}, text.Line(e.Field) + " " + problem
		}
		if e.Arg == timeoutArg {
			problem = c.setTimeout(v.raw)
		} else {
			problem = c.set(e.Arg, v.raw)
		}
		if problem != "" {
			return change{}, text.Line(e.Field) + " " + problem
		}
	}
	if p.q.Method == plan.Method && len(c.modified) > 0 {
		if _, err := plan.Parse(c.args); err != nil { // a yes to nothing is none
			return change{}, text.Line(err.Error())
		}
	}
	return c, ""
}

func (c *change) set(pointer string, raw []byte) (problem string) {
	was := rawjson.At(c.args, jsontext.Pointer(pointer))
	if was != nil && same(was, raw) {
		return ""
	}
	if len(was) > 0 && (was[0] == '{' || was[0] == '[') {
		return "stands for a value that is no primitive"
	}
	args, ok := rawjson.Put(c.args, jsontext.Pointer(pointer), raw)
	if !ok {
		return "stands for an argument that has no place in this call"
	}
	if was == nil { // a new key: it is judged like one that arrived (FINDINGS H5)
		alike, _ := errors.AsType[*jsonrpc.Error](jsonrpc.Scan(args, jsonrpc.Called, nil, nil))
		if alike != nil {
			return "would stand beside an argument that many servers take for it: " + alike.Error()
		}
	}
	c.args, c.modified = args, append(c.modified, pointer)
	return ""
}

func (c *change) setTimeout(raw []byte) (problem string) {
	n, ok := number(raw)
	if !ok {
		return "is no number of seconds"
	}
	n.Mul(n, big.NewRat(int64(time.Second), 1))
	if n.Sign() <= 0 || n.Cmp(big.NewRat(int64(policy.MaxQuestion), 1)) > 0 {
		return "must be over 0 seconds and at most a day"
	}
	timeout := time.Duration(new(big.Int).Quo(n.Num(), n.Denom()).Int64())
	if timeout <= 0 {
		return "must be over 0 seconds and at most a day"
	}
	if timeout != c.timeout {
		c.timeout, c.modified = timeout, append(c.modified, timeoutArg)
	}
	return ""
}
