package policy

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"
)

// maxCost bounds one evaluation, in CEL's own unit, which is about one step
// (a comparison, a call, ten bytes of text).
const maxCost = 100_000

// An expression is the CEL text behind when (DESIGN 6).
type expression struct {
	source   string // on one line, cut
	program  cel.Program
	usesArgs bool
	usesNow  bool
}

var celEnv = sync.OnceValue(func() *cel.Env {
	env, _ := cel.NewEnv( // nothing in it depends on anything, so no error is possible that a test would not meet
		cel.OptionalTypes(), ext.Strings(), cel.DefaultUTCTimeZone(true),
		cel.Variable("args", cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable("caller", cel.StringType),
		cel.Variable("tool", cel.StringType),
		cel.Variable("via", cel.StringType),
		cel.Variable("now", cel.TimestampType),
		cel.Variable("hints", cel.MapType(cel.StringType, cel.BoolType)),
	)
	return env
})

// An expressionError is where a CEL text is wrong, counted from 1 within it.
type expressionError struct {
	line, column int
	message      string
}

func (e *expressionError) Error() string { return e.message }

func newExpression(source string) (*expression, error) {
	env := celEnv()
	ast, issues := env.Compile(source)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, &expressionError{first.Location.Line(), first.Location.Column() + 1, first.Message}
	}
	if t := ast.OutputType(); t != cel.BoolType && t != cel.DynType {
		return nil, &expressionError{1, 1, "the expression gives " + t.String() + ", not true or false"}
	}
	if err := bounded(ast); err != nil {
		return nil, err
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, &expressionError{1, 1, err.Error()}
	}
	e := &expression{source: oneLine(source), program: program}
	for _, ref := range ast.NativeRep().ReferenceMap() {
		e.usesArgs = e.usesArgs || ref.Name == "args"
		e.usesNow = e.usesNow || ref.Name == "now"
	}
	return e, nil
}

// oneLine is the author's own text, fit for a reason.
func oneLine(s string) string {
	runes := []rune(strings.Join(strings.Fields(s), " "))
	if len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return string(runes)
}

// Some functions cost far more than the limit sees in time when the caller
// chooses what they work with: a pattern, a format, a replacement.
var literalOperands = map[string]struct{ target, arguments bool }{
	"matches": {false, true}, "replace": {false, true}, "join": {false, true}, "format": {true, false},
}

func bounded(a *cel.Ast) error {
	var wrong error
	celast.PreOrderVisit(a.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() != celast.CallKind {
			return
		}
		call := e.AsCall()
		need := literalOperands[call.FunctionName()]
		operands := []celast.Expr{}
		if need.arguments {
			operands = call.Args()
			if !call.IsMemberFunction() { // matches(text, pattern)
				operands = operands[1:]
			}
		}
		if need.target {
			operands = append(operands, call.Target())
		}
		for _, o := range operands {
			if o.Kind() != celast.LiteralKind {
				at := a.NativeRep().SourceInfo().GetStartLocation(e.ID())
				wrong = &expressionError{at.Line(), at.Column() + 1, call.FunctionName() + " has to be given a literal text here, not one of the call's"}
			}
		}
	}))
	return wrong
}

func (e *expression) holds(j *judgement, _ side) (Match, string) {
	words := "when " + e.source + ": "
	result, err := e.eval(j)
	if err != nil {
		return Unclear, words + "cannot be told, " + err.Error()
	}
	m := matchIf(result)
	return m, words + m.String()
}

var (
	errNoTime = errors.New("the time is not known")
	errNoBool = errors.New("it gives no true or false")

	errRounded = errors.New("an argument is a number that CEL would round")
)

func (e *expression) eval(j *judgement) (bool, error) {
	vars := map[string]any{"caller": j.From, "tool": j.Tool, "via": j.Via, "now": j.Now, "hints": j.facts.byName()}
	if e.usesNow && j.Now.IsZero() {
		return false, errNoTime
	}
	if e.usesArgs {
		args, err := j.arguments()
		if err != nil {
			return false, err
		}
		if vars["args"], err = args.native(); err != nil {
			return false, err
		}
	}
	result, _, err := e.program.Eval(vars)
	if err != nil {
		return false, e.plain(err)
	}
	b, ok := result.Value().(bool)
	if !ok {
		return false, errNoBool
	}
	return b, nil
}

// plain is what may be shown of an error of CEL: never a value of the call.
func (e *expression) plain(err error) error {
	message := err.Error()
	if key, ok := strings.CutPrefix(message, "no such key: "); ok {
		if !strings.Contains(e.source, key) {
			return errors.New("no such key")
		}
		return fmt.Errorf("there is no %s", key)
	}
	for _, known := range []string{"no such overload", "cost limit exceeded", "division by zero", "modulus by zero", "overflow", "index out of bounds", "type conversion error", "no such key"} {
		if strings.Contains(message, known) {
			return errors.New(known)
		}
	}
	return errors.New("it failed")
}

// native is v as CEL takes it. A number that no CEL type holds exactly is an
// error: rounded, it could pass where it should not.
func (v *value) native() (any, error) {
	switch v.kind {
	case isNull:
		return types.NullValue, nil
	case isBoolean:
		return v.text == "true", nil
	case isString:
		return v.text, nil
	case isNumber:
		return nativeNumber(v.text)
	case isArray:
		return v.nativeList()
	}
	object := make(map[string]any, len(v.items))
	for i := range v.items {
		member, err := v.items[i].native()
		if err != nil {
			return nil, err
		}
		object[v.keys[i]] = member
	}
	return object, nil
}

func (v *value) nativeList() ([]any, error) {
	elements := make([]any, len(v.items))
	for i := range v.items {
		var err error
		if elements[i], err = v.items[i].native(); err != nil {
			return nil, err
		}
	}
	return elements, nil
}

func nativeNumber(text string) (any, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u, nil
	}
	exact, err := decimal(text)
	if err != nil {
		return nil, err
	}
	// Either f is this very number, or the shortest text for f is.
	f, same := exact.Float64()
	if !same {
		shortest, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
		if !ok || shortest.Cmp(exact) != 0 {
			return nil, errRounded
		}
	}
	return f, nil
}
