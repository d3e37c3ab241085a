package policy

import (
	"math"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// maxCost bounds one evaluation, in CEL's own unit, which is about one step
// (a comparison, a call, ten bytes of text); celStep is the work of one. What
// texts and lists cost is said in celcost.go, since CEL's own count decodes each
// text anew to learn how long it is.
const (
	maxCost = 100_000
	celStep = 100
)

// costs are what the functions of one expression cost, where that hangs on what
// they are given. The keys are its patterns, with the work of each for a byte.
//
// CEL's own tracker asks a text for its size, which is to decode all of it, and
// counts a comparison of two lists as one of their lengths: an expression could
// take seconds within its limit (FINDINGS M3). Nothing here takes longer than
// what it prices.
type costs map[string]int

// patternsOf are the patterns of matches, which are literal (see bounded).
func patternsOf(a *cel.Ast) costs {
	c := costs{}
	celast.PreOrderVisit(a.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() != celast.CallKind || e.AsCall().FunctionName() != "matches" {
			return
		}
		args := e.AsCall().Args()
		if pattern, ok := literalText(args[len(args)-1]); ok {
			c[pattern] = MatchWork(pattern)
		}
	}))
	return c
}

// longest is how long a text may be that the patterns are held against: one match
// has to be over before its cost is known.
func (c costs) longest() int {
	longest := maxWhen
	for _, work := range c {
		longest = min(longest, maxCost*celStep/work)
	}
	return longest
}

// CallCost is the cost of one call, in CEL's unit. It is asked after the call.
func (c costs) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	cost := uint64(1)
	switch function {
	case "_==_", "_!=_", "@in":
		for _, a := range args {
			cost += width(a, true)
		}
	case "_+_": // map() gathers a list one by one, so what it holds has been paid for when it is joined
		cost += width(args[0], false) + width(args[1], true)
	case "matches":
		pattern, _ := args[len(args)-1].(types.String)
		cost += uint64(c[string(pattern)]) * width(args[0], false) * 10 / celStep
	case "indexOf", "lastIndexOf":
		cost += width(args[0], false) * uint64(1+len(text(args[1])))
	default:
		for _, a := range args {
			cost += width(a, function == "join")
		}
		cost += width(result, function == "split" || function == "split_string")
	}
	return &cost
}

func text(v ref.Val) string {
	s, _ := v.(types.String)
	return string(s)
}

// width is a tenth of the bytes of a text and, where all of a list or a map is
// looked at, one for each thing in it.
func width(v ref.Val, whole bool) uint64 {
	switch v := v.(type) {
	case types.String:
		return uint64(len(v)) / 10
	case types.Bytes:
		return uint64(len(v)) / 10
	}
	if !whole {
		return 0
	}
	switch v := v.(type) {
	case traits.Lister:
		return inside(v.Value())
	case traits.Mapper:
		return inside(v.Value())
	}
	return 0
}

// inside counts what arguments hold, by what they were converted to.
func inside(v any) uint64 {
	count := uint64(2)
	switch v := v.(type) {
	case string:
		count += uint64(len(v)) / 100
	case []any:
		for _, each := range v {
			count += inside(each)
		}
	case map[string]any:
		for key, each := range v {
			count += inside(each) + uint64(len(key))/100
		}
	case []ref.Val:
		for _, each := range v {
			count += 2 + width(each, true)
		}
	case ref.Val:
		count += width(v, true)
	case []string:
		count += uint64(len(v))
	}
	return count
}

// costOf is what an evaluation took. Where CEL does not say it was cut off.
func costOf(d *cel.EvalDetails) uint64 {
	if d == nil || d.ActualCost() == nil {
		return maxCost
	}
	return min(*d.ActualCost(), math.MaxInt32)
}

func literalText(e celast.Expr) (string, bool) {
	if e.Kind() != celast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().Value().(string)
	return s, ok
}

// maxOperand is how long such a text may be.
const maxOperand = 1024

// Some functions cost far more than the limit sees in time when the caller
// chooses what they work with: a pattern, a format, a replacement.
var literalOperands = map[string]struct{ target, arguments bool }{
	"matches": {false, true}, "indexOf": {false, true}, "lastIndexOf": {false, true}, "replace": {false, true}, "join": {false, true}, "format": {true, false},
}
