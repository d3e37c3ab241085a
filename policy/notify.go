package policy

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	shown "github.com/mcpx-protocol/mcpx-bridge/bridge/text" // text is a function here
)

// Channels are the ways in which people hear of questions, in the order of their names.
func (p *Policy) Channels() []Channel { return p.channels }

// Notified says which channels hear of a question to some people, and when, each in words.
func (p *Policy) Notified(of []string) (all []string) {
	for _, c := range p.channels {
		if len(beyond(c.For, of)) == len(c.For) {
			continue
		}
		when := "at once"
		if at := c.At(p.channels); at > 0 {
			when = "after " + shown.Span(at)
		}
		all = append(all, c.Name+" "+when)
	}
	return all
}

// SameChannels reports whether o tells people in the same ways.
func (p *Policy) SameChannels(o *Policy) bool {
	return slices.EqualFunc(p.channels, o.channels, func(a, b Channel) bool {
		a.Line, b.Line = 0, 0
		return reflect.DeepEqual(a, b)
	})
}

// Secrets are the variables and files that hold what channels need, and nobody else is to have.
func (p *Policy) Secrets() (variables, files []string) {
	for _, c := range p.channels {
		for _, v := range c.Elsewhere() {
			if v.Env != "" {
				variables = append(variables, v.Env)
			} else {
				files = append(files, v.File)
			}
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(variables))), slices.Compact(slices.Sorted(slices.Values(files)))
}

// looserChannels says which channels tell people, or programs, elsewhere of questions that did not
// hear of them, and where answers count that did not. A command runs as the owner, and a URL gets
// what stands in a question: so every channel that is new or leads elsewhere is looser.
func looserChannels(before, after *Policy) (all []string) {
	was := map[string]Channel{}
	for _, c := range before.channels {
		was[c.Name] = c
	}
	for _, c := range after.channels {
		o, had := was[c.Name]
		switch {
		case !had || o.leads() != c.leads():
			all = append(all, fmt.Sprintf("notify: %s (line %d) is new or changed, and hears of questions: %s", c.Name, c.Line, c.leads()))
		case len(beyond(c.For, o.For)) > 0:
			all = append(all, fmt.Sprintf("notify: %s hears of the questions of %s too", c.Name, strings.Join(beyond(c.For, o.For), ", ")))
		}
		for _, id := range slices.Sorted(maps.Keys(c.People)) {
			if who := c.People[id]; !had || o.People[id] != who {
				all = append(all, fmt.Sprintf("notify: answers of %s at %s count as those of %s now (trust: answers)", id, c.Name, who))
			}
		}
	}
	return all
}
