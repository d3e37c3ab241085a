package policy

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	shown "github.com/mcpx-protocol/mcpx-bridge/bridge/text" // text is a function here
)

// An expression is the CEL text behind when (DESIGN 6).
type expression struct {
	source    string // on one line, cut
	program   cel.Program
	usesArgs  bool
	whole     bool     // it may look at any of the arguments, else at those of these names
	names     []string // of the top level, each once
	inner     []string // of members further in, or of whatever is not args itself
	usesNow   bool
	usesHints bool
	longest   int // bytes of a text among the arguments that its patterns may be held against
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
	c := costs(patternsOf(ast))
	program, err := env.Program(ast, cel.CostLimit(maxCost), cel.CostTracking(c), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, &expressionError{1, 1, err.Error()}
	}
	e := &expression{source: shown.Cut(strings.Join(strings.Fields(source), " "), 200), program: program, longest: c.longest()}
	e.findUses(ast)
	for _, ref := range ast.NativeRep().ReferenceMap() {
		e.usesNow = e.usesNow || ref.Name == "now"
		e.usesHints = e.usesHints || ref.Name == "hints"
	}
	return e, nil
}

// maxUses is how often an expression may speak of the arguments.
const maxUses = 100

// findUses finds which arguments an expression can see, so that no other has to be
// converted, nor its length to matter.
func (e *expression) findUses(a *cel.Ast) {
	uses := 0
	isArgs := func(x celast.Expr) bool { return x.Kind() == celast.IdentKind && x.AsIdent() == "args" }
	name := func(s string) {
		if uses--; !slices.Contains(e.names, s) {
			e.names = append(e.names, s)
		}
	}
	celast.PreOrderVisit(a.NativeRep().Expr(), celast.NewExprVisitor(func(x celast.Expr) {
		switch {
		case isArgs(x):
			e.usesArgs = true
			uses++
		case x.Kind() == celast.SelectKind && isArgs(x.AsSelect().Operand()):
			name(x.AsSelect().FieldName())
		case x.Kind() == celast.SelectKind:
			e.innerName(x.AsSelect().FieldName())
		case x.Kind() == celast.CallKind && slices.Contains(indexing, x.AsCall().FunctionName()) && isArgs(x.AsCall().Args()[0]) &&
			x.AsCall().Args()[1].Kind() == celast.LiteralKind:
			if s, ok := literalText(x.AsCall().Args()[1]); ok {
				name(s)
			}
		case x.Kind() == celast.CallKind && (slices.Contains(indexing, x.AsCall().FunctionName()) || x.AsCall().FunctionName() == "@in"):
			for _, operand := range x.AsCall().Args() {
				if s, ok := literalText(operand); ok {
					e.innerName(s)
				}
			}
		}
	}))
	if e.whole = uses > 0; iterates(a) { // then keys may be compared with any text that it holds
		celast.PreOrderVisit(a.NativeRep().Expr(), celast.NewExprVisitor(func(x celast.Expr) {
			if s, ok := literalText(x); ok {
				e.innerName(s)
			}
		}))
	}
}

// iterates reports whether an expression goes through the members of something, as
// exists and all do: their names are values to it.
func iterates(a *cel.Ast) (found bool) {
	celast.PreOrderVisit(a.NativeRep().Expr(), celast.NewExprVisitor(func(x celast.Expr) {
		found = found || x.Kind() == celast.ComprehensionKind
	}))
	return found
}

func (e *expression) innerName(s string) {
	if !slices.Contains(e.inner, s) {
		e.inner = append(e.inner, s)
	}
}

var indexing = []string{"_[_]", "_[?_]", "_?._"}

func bounded(a *cel.Ast) error {
	var wrong error
	uses := 0
	celast.PreOrderVisit(a.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() == celast.IdentKind && e.AsIdent() == "args" {
			if uses++; uses > maxUses {
				wrong = &expressionError{1, 1, fmt.Sprintf("the expression speaks of args over %d times", maxUses)}
			}
		}
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
			if s, _ := literalText(o); len(s) > maxOperand {
				wrong = &expressionError{1, 1, fmt.Sprintf("%s is given a text of over %d bytes", call.FunctionName(), maxOperand)}
			}
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
	if j.Ahead {
		err = errAhead
	}
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
	if !j.spend(20 * celStep) {
		return false, errTooMuch
	}
	if len(j.Tool) > maxName {
		return false, errTooLong
	}
	vars := map[string]any{"caller": j.From, "tool": j.Tool, "via": j.Via, "now": j.Now, "hints": j.facts.byName()}
	if e.usesNow && j.Now.IsZero() {
		return false, errNoTime
	}
	if e.usesArgs {
		seen, err := e.visibleArguments(j)
		if err != nil {
			return false, err
		}
		vars["args"] = seen
	}
	result, details, err := e.program.Eval(vars)
	if !j.spend(celStep * int(costOf(details))) {
		return false, errTooMuch
	}
	if err != nil {
		return false, e.plain(err)
	}
	b, ok := result.Value().(bool)
	if !ok {
		return false, errNoBool
	}
	return b, nil
}

// plain returns what may be shown of an error of CEL: never a value of the call.
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

// visibleArguments are the arguments as far as the expression can look at them, each converted
// once for all expressions. A number that no CEL type holds exactly is an error:
// rounded, it could pass where it should not.
func (e *expression) visibleArguments(j *judgement) (map[string]any, error) {
	args, err := j.arguments()
	if err != nil {
		return nil, err
	}
	seen := map[string]any{}
	see := func(name string, v *value) error {
		if len(e.inner) > 0 {
			if err := j.alikeWithin(v, e.inner); err != nil {
				return err
			}
		}
		n := j.native(v)
		if n.err == nil && max(n.longest, len(name)) > e.longest {
			return errTooLong
		}
		seen[name] = n.it
		return n.err
	}
	if e.whole {
		if err := j.alikeWithin(args, slices.Concat(e.names, e.inner)); err != nil {
			return nil, err
		}
		for i := range args.items {
			if err := see(args.keys[i], &args.items[i]); err != nil {
				return nil, err
			}
		}
		return seen, nil
	}
	for _, name := range e.names {
		if !j.spend(100 + len(args.keys)) {
			return nil, errTooMuch
		}
		v := args.member(name)
		if v == nil {
			if err := j.alike(args, name); err != nil {
				return nil, err
			}
			continue
		}
		if err := see(name, v); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

func (j *judgement) native(v *value) *native {
	if n := j.inCEL[v]; n != nil {
		return n
	}
	n := &native{}
	n.it = n.of(j, v)
	if j.inCEL == nil {
		j.inCEL = map[*value]*native{}
	}
	j.inCEL[v] = n
	return n
}

func (n *native) of(j *judgement, v *value) any {
	switch {
	case n.err != nil:
		return nil
	case !j.spend(150):
		n.err = errTooMuch
		return nil
	}
	switch v.kind {
	case isNull:
		return types.NullValue
	case isBoolean:
		return v.text == "true"
	case isString:
		n.longest = max(n.longest, len(v.text))
		return v.text
	case isNumber:
		return n.number(j, v.text)
	case isArray:
		elements := make([]any, len(v.items))
		for i := range v.items {
			elements[i] = n.of(j, &v.items[i])
		}
		return elements
	}
	return n.object(j, v)
}

func (n *native) object(j *judgement, v *value) map[string]any {
	object := map[string]any{}
	for i := range v.items {
		n.longest = max(n.longest, len(v.keys[i]))
		object[v.keys[i]] = n.of(j, &v.items[i])
	}
	return object
}

func (n *native) number(j *judgement, text string) any {
	if !j.spend(numberWork(text)) {
		n.err = errTooMuch
		return nil
	}
	number, err := nativeNumber(text)
	if err != nil {
		n.err = err
	}
	return number
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
