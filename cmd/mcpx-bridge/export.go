package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/arguments"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/desktop"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Tools leave a topic for a model's API under the names that serve gives them, and come
// back by call (seed 004).

// choiceFlags say which tools are to be seen, as serve and tools have it.
func (s *settings) choiceFlags(f *pflag.FlagSet, verb string) {
	f.StringArrayVar(&s.Include, "include", nil, verb+" only what this `PATTERN` matches; repeatable")
	f.StringArrayVar(&s.Exclude, "exclude", nil, "never "+verb+" what this `PATTERN` matches; repeatable")
}

func pairOf(t tool) desktop.Pair { return desktop.Pair{Peer: t.Peer, Name: t.Name} }

// mostFunctions is how many functions OpenAI's API takes at one time.
const mostFunctions = 128

// chosen are the tools that are to be listed. How many are not is said.
func (p *program) chosen(all []tool) []tool {
	choice := desktop.NewChoice(p.s.Include, p.s.Exclude)
	shown := slices.DeleteFunc(slices.Clone(all), func(t tool) bool { return !choice.Shows(pairOf(t)) })
	p.tellLeftOut(len(all)-len(shown), "that --include and --exclude do not show")
	if p.s.Format == "openai" || p.s.Format == "anthropic" {
		n := len(shown)
		shown = slices.DeleteFunc(shown, func(t tool) bool { return desktop.AppOnly(t.Raw) })
		p.tellLeftOut(n-len(shown), "for apps and not for models")
	}
	if limit := p.s.Limit; limit > 0 && len(shown) > limit {
		order := slices.SortedStableFunc(slices.Values(shown), func(a, b tool) int { return pairOf(a).Compare(pairOf(b)) })
		in, out := desktop.Fair(order, limit, pairOf)
		var names []string
		for _, t := range out {
			names = append(names, t.Peer+"/"+t.Name)
		}
		p.tellLeftOut(len(out), fmt.Sprintf("over --limit: %.2000s", strings.Join(names, ", ")))
		shown = in
	}
	if p.s.Format == "openai" && len(shown) > mostFunctions {
		p.log.Warn(fmt.Sprintf("these are %d functions, and OpenAI's API takes %d", len(shown), mostFunctions))
		p.log.Info("hint: --limit 128, --include and --exclude choose")
	}
	return shown
}

func (p *program) tellLeftOut(n int, why string) {
	switch {
	case n == 1:
		p.log.Info("left out: 1 tool " + why)
	case n > 1:
		p.log.Info(fmt.Sprintf("left out: %d tools %s", n, why))
	}
}

func toolsOpenAI(all []tool) []byte {
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
	for _, t := range exported(all) {
		list = append(list, entry{"function", function{t.Name, t.Description, t.InputSchema}})
	}
	return indented(list)
}

func toolsAnthropic(all []tool) []byte {
	type entry struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	list := []entry{}
	for _, t := range exported(all) {
		list = append(list, entry{t.Name, t.Description, t.InputSchema})
	}
	return indented(list)
}

// exported are tools as a model's API takes them: named peer__tool, with the
// peer in the description and an object as their schema (WIRE 9.2).
func exported(all []tool) []tool {
	names := exportedNames(all)
	var out []tool
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

// exportedNames gives every tool its name, in an order that does not depend on
// who answered first.
func exportedNames(all []tool) *desktop.Names {
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

// exportedWords tells NAME ARGUMENTS from PEER TOOL ARGUMENTS: every exported name has
// two underscores in it, and what is an argument cannot be the name of a tool. How a name
// falls apart is not to be told from it.
func exportedWords(args []string) (name string, rest []string, ok bool) {
	if !strings.Contains(args[0], "__") || len(args) > 1 && !arguments.IsArgument(args[1]) {
		return "", nil, false
	}
	return args[0], args[1:], true
}

// named finds the tool that has an exported name, as everybody here is now.
func (p *program) named(ctx context.Context, q *peer, name string) (tool, error) {
	c, err := q.Census(ctx)
	if err != nil {
		return tool{}, err
	}
	t, err := toolNamed(c.Tools, name)
	if errors.Is(err, errNoSuchName) && len(c.Silent) > 0 {
		return tool{}, fail(exitNoAnswer, "mcpx-bridge call PEER TOOL waits longer", "%w; %s", err, absentees(c))
	}
	return t, err
}

var errNoSuchName = errors.New("nobody who answers has a tool called")

// toolNamed finds the one among all that has an exported name, in whatever length its
// exporter wanted. Should a digest fit two, it is neither: which of them had the name when
// it was exported nobody knows.
func toolNamed(all []tool, name string) (found tool, err error) {
	known := false
	for _, t := range all {
		switch {
		case !pairOf(t).Fits(name):
		case known && pairOf(t) != pairOf(found):
			return tool{}, fail(exitFailed, "call it as PEER TOOL", "%s is the name of a tool of %s, and of one of %s", name, found.Peer, t.Peer)
		default:
			found, known = t, true
		}
	}
	switch {
	case known && desktop.AppOnly(found.Raw):
		return tool{}, fail(exitFailed, "call it as PEER TOOL if you mean it", "%s is for the app of %s, and not for models", name, found.Peer)
	case known:
		return found, nil
	}
	names, others := exportedNames(all), []string{}
	for _, t := range all {
		others = append(others, names.Of(pairOf(t)))
	}
	hint := "mcpx-bridge tools --format openai lists the names"
	if meant := policy.Nearest(name, others); meant != "" {
		hint = "did you mean " + meant + "?"
	}
	return tool{}, fail(exitFailed, hint, "%w %s", errNoSuchName, name)
}
