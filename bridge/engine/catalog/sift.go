package catalog

import (
	"maps"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
)

// toolName is what a tool may be called. Anything else could look like
// another tool in a question or a policy (RELIABILITY 2.2, "homoglyph names").
// Its length is looked at apart: a pattern with a count is that many patterns.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

const maxToolName = 128

// ToolName reports whether a tool of this name is offered to anybody.
func ToolName(name string) bool { return len(name) <= maxToolName && toolName.MatchString(name) }

// A sieve is the rule of which tools that a server lists are offered: none with a name
// that cannot be told from others by eye, none twice, and of two that differ neither.
type sieve struct {
	prints   map[string]string // of those that are offered, by name
	Withheld map[string]bool   // names of those that are not
}

func newSieve(withheld map[string]bool) sieve {
	s := sieve{prints: map[string]string{}, Withheld: map[string]bool{}}
	maps.Copy(s.Withheld, withheld)
	return s
}

// What put says of tools that are not offered, or not once more.
const (
	toolUnreadable = "tool_unreadable"
	toolCharset    = "tool_name_charset"
	toolTwice      = "tool_name_twice"
	toolsDiffer    = "tools_of_one_name" // and the first of them is not offered any more
	toolWithheld   = "tool_withheld"     // of that name one was said of before
)

// put takes the next tool of a listing. why is "" for one that is offered.
func (s sieve) put(raw jsontext.Value) (t definition, print, why string) {
	if json.Unmarshal(jsonrpc.Mend(raw), &t, Lenient) != nil {
		return t, "", toolUnreadable
	}
	if !ToolName(t.Name) {
		s.Withheld[t.Name] = true
		return t, "", toolCharset
	}
	if s.Withheld[t.Name] {
		return t, "", toolWithheld
	}
	print = t.fingerprint()
	switch twin, twice := s.prints[t.Name]; {
	case twice && twin == print:
		return t, print, toolTwice
	case twice: // nobody knows which of them the server would run
		delete(s.prints, t.Name)
		s.Withheld[t.Name] = true
		return t, print, toolsDiffer
	}
	s.prints[t.Name] = print
	return t, print, ""
}

// sift leaves out the tools that are not offered.
func (s sieve) sift(all []jsontext.Value) (offered [][]byte) {
	var names []string
	for _, raw := range all {
		if t, _, why := s.put(raw); why == "" {
			names, offered = append(names, t.Name), append(offered, raw)
		}
	}
	for i := len(names) - 1; i >= 0; i-- {
		if s.Withheld[names[i]] {
			offered = slices.Delete(offered, i, i+1)
		}
	}
	return offered
}

// An Unoffered is a tool of a listing that is not offered, or not once more.
type Unoffered struct {
	Name string // "" where it cannot be read
	Why  string // as in the events of run: tool_name_charset, tools_of_one_name, …
}

// UnofferedOf are those of a whole listing, each as it is met.
func UnofferedOf(all []jsontext.Value) (unoffered []Unoffered) {
	s := newSieve(nil)
	for _, raw := range all {
		if t, _, why := s.put(raw); why != "" && why != toolWithheld {
			unoffered = append(unoffered, Unoffered{t.Name, why})
		}
	}
	return unoffered
}
