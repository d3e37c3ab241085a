package plan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/rawjson"
)

// Method is what a proposal, or a request in a dialect without proposals, asks for leave by.
// No server gets it.
const Method = "mcpx/plan"

// Bounds of a plan, so that people can look it over and a use is found in no time.
const (
	MaxItems  = 16
	MaxArgs   = 16             // of one item
	MaxChoice = 32             // values of one argument
	MaxCalls  = 64             // how many calls the known values of one item make, all combined
	MaxUses   = 1000           // of one item
	MaxFor    = 24 * time.Hour // for which a plan counts
	MaxBytes  = 16 << 10       // of it all
	maxValue  = 1 << 10        // bytes of one value
	maxName   = 128            // bytes of the name of a tool or the pointer to an argument
)

// A Plan is leave for calls to come, as it was read. Nobody changes it.
type Plan struct {
	Items []Item
	For   time.Duration
}

// An Item is calls of one tool.
type Item struct {
	Tool string
	Args []Arg // by pointer
	Uses int   // how many such calls; 0 after somebody has struck it
}

// An Arg is what one argument may be.
type Arg struct {
	At    jsontext.Pointer
	Is    [][]byte // one of these, canonical JSON; nil: see the next two
	Under string   // a path in this folder
	Any   bool     // whatever it likes
}

type (
	planFile struct {
		Items   []itemFile `json:"items"`
		Seconds int        `json:"seconds"`
	}
	itemFile struct {
		Tool string             `json:"tool"`
		Args map[string]argFile `json:"args"`
		Uses *int               `json:"uses"`
	}
	argFile struct {
		Is    jsontext.Value   `json:"is"`
		In    []jsontext.Value `json:"in"`
		Under string           `json:"under"`
		Any   bool             `json:"any"`
	}
)

// Parse reads the params of a plan, which need not have been scanned. The error says what is
// wrong with them, and cites nothing at length.
func Parse(params []byte) (*Plan, error) {
	if len(params) > MaxBytes {
		return nil, fmt.Errorf("a plan has %d bytes at most", MaxBytes)
	}
	if err := jsonrpc.Scan(params, jsonrpc.Judged, nil, nil); err != nil {
		return nil, err
	}
	var f planFile
	if err := json.Unmarshal(params, &f, json.RejectUnknownMembers(true)); err != nil {
		return nil, misread(err)
	}
	p := &Plan{For: time.Duration(f.Seconds) * time.Second}
	switch {
	case len(f.Items) == 0 || len(f.Items) > MaxItems:
		return nil, fmt.Errorf("items: there are %d, and a plan has 1 to %d", len(f.Items), MaxItems)
	case f.Seconds < 1 || f.Seconds > int(MaxFor/time.Second):
		return nil, fmt.Errorf("seconds: a plan counts for 1 to %d", MaxFor/time.Second)
	}
	uses := 0
	for i, each := range f.Items {
		item, err := each.item()
		if err != nil {
			return nil, fmt.Errorf("items/%d/%w", i, err)
		}
		p.Items = append(p.Items, item)
		uses += item.Uses
	}
	if uses == 0 {
		return nil, errors.New("items: nothing is left of them")
	}
	return p, nil
}

// misread is an error of the JSON library in fewer words.
func misread(err error) error {
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok {
		where := strings.TrimPrefix(string(wrong.JSONPointer), "/")
		if wrong.Err == nil {
			return fmt.Errorf("%s: a %s does not belong there", cmp.Or(where, "a plan"), wrong.JSONKind)
		}
		return fmt.Errorf("%s: %w", cmp.Or(where, "a plan"), wrong.Err)
	}
	return err
}

func (f *itemFile) item() (i Item, err error) {
	i.Tool = f.Tool
	switch {
	case f.Tool == "" || len(f.Tool) > maxName:
		return i, fmt.Errorf("tool: it is the name of one, of %d bytes at most", maxName)
	case f.Uses == nil || *f.Uses < 0 || *f.Uses > MaxUses:
		return i, fmt.Errorf("uses: a number up to %d has to stand there", MaxUses)
	case len(f.Args) > MaxArgs:
		return i, fmt.Errorf("args: there are %d, and an item has %d at most", len(f.Args), MaxArgs)
	}
	i.Uses = *f.Uses
	calls := 1
	for _, at := range slices.Sorted(maps.Keys(f.Args)) {
		of := f.Args[at]
		arg, err := of.arg(at)
		if err != nil {
			return i, fmt.Errorf("args: %w", err)
		}
		for _, other := range i.Args {
			if other.At.Contains(arg.At) || arg.At.Contains(other.At) {
				return i, fmt.Errorf("args: %.80q is in %.80q", at, other.At)
			}
		}
		i.Args = append(i.Args, arg)
		if calls *= max(1, len(arg.Is)); calls > MaxCalls {
			return i, fmt.Errorf("args: their values make more than %d calls", MaxCalls)
		}
	}
	return i, nil
}

func (f *argFile) arg(at string) (a Arg, err error) {
	a = Arg{At: jsontext.Pointer(at), Under: f.Under, Any: f.Any}
	if !a.At.IsValid() || at == "" || len(at) > maxName || slices.Contains(slices.Collect(a.At.Tokens()), "") {
		return a, fmt.Errorf("%.80q is no JSON pointer like /path", at)
	}
	values := f.In
	if f.Is != nil {
		values = append(values, f.Is)
	}
	said := 0
	for _, is := range []bool{f.Is != nil, f.In != nil, f.Under != "", f.Any} {
		if is {
			said++
		}
	}
	switch why := ""; {
	case said != 1:
		return a, fmt.Errorf("%.80q: one of is, in, under and any has to stand there", at)
	case f.Under != "":
		if why = policy.Folder(f.Under); why != "" {
			return a, fmt.Errorf("%.80q: under takes a folder: %s", at, why)
		}
	case f.Any:
	case len(values) == 0 || len(values) > MaxChoice:
		return a, fmt.Errorf("%.80q: in has 1 to %d values", at, MaxChoice)
	}
	for _, v := range values {
		if len(v) > maxValue {
			return a, fmt.Errorf("%.80q: a value has %d bytes at most", at, maxValue)
		}
		a.Is = append(a.Is, canonical(v))
	}
	return a, nil
}

func canonical(v []byte) []byte { return rawjson.AppendCanonical(nil, v, jsonrpc.AppendQuote) }

// A Place is a path in a folder, as both are spelled. Links in the folder may lead elsewhere,
// which whoever knows the paths has to look up.
type Place struct{ Folder, Path string }

// Covers is the first item that covers a call with these arguments and has any of the uses
// left that left says, -1 if none does. The arguments have been scanned strictly; nil stands
// for {}. inside reports whether a place is where its spelling says; nil believes them all.
func (p *Plan) Covers(tool string, args []byte, left []int, inside func(Place) bool) int {
	for n := range p.Items {
		if left[n] > 0 && p.Items[n].covers(tool, args, inside) {
			return n
		}
	}
	return -1
}

// Places are those that the items which may cover a call rest on.
func (p *Plan) Places(tool string, args []byte, left []int) (all []Place) {
	for n := range p.Items {
		var its []Place
		if left[n] > 0 && p.Items[n].covers(tool, args, func(at Place) bool { its = append(its, at); return true }) {
			all = append(all, its...)
		}
	}
	return all
}

// covers reports whether an item is about a call.
func (i *Item) covers(tool string, args []byte, inside func(Place) bool) bool {
	if tool != i.Tool {
		return false
	}
	w := walk{i, args, inside, 0}
	return (len(args) == 0 || w.within(rawjson.Space(args, 0), "")) && w.found == len(i.Args)
}

// A walk goes through the arguments of a call with what an item says of them.
type walk struct {
	*Item
	args   []byte
	inside func(Place) bool
	found  int // how many of those that the item names
}

// within reports whether all that the object at start holds is as the item says.
func (w *walk) within(start int, pointer jsontext.Pointer) bool {
	for member := range rawjson.Parts(w.args, start) {
		at := pointer.AppendToken(member.Name)
		if arg := w.argAt(at); arg != nil {
			if !arg.may(member.Of(w.args), w.inside) {
				return false
			}
			w.found++
			continue
		}
		holds := slices.ContainsFunc(w.Args, func(a Arg) bool { return at.Contains(a.At) })
		if !holds || w.args[member.Start] != '{' || !w.within(member.Start, at) {
			return false
		}
	}
	return true
}

func (i *Item) argAt(at jsontext.Pointer) *Arg {
	if n := slices.IndexFunc(i.Args, func(a Arg) bool { return a.At == at }); n >= 0 {
		return &i.Args[n]
	}
	return nil
}

// may reports whether an argument may have a value.
func (a *Arg) may(value []byte, inside func(Place) bool) bool {
	switch {
	case a.Any:
		return true
	case a.Under != "":
		path, ok := jsonrpc.Unquote(value)
		return ok && policy.Within(a.Under, path) && (inside == nil || inside(Place{a.Under, path}))
	}
	is := canonical(value)
	return slices.ContainsFunc(a.Is, func(v []byte) bool { return bytes.Equal(v, is) })
}
