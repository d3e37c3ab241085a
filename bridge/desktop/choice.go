package desktop

import (
	"regexp"
	"slices"
	"strings"
)

// A Choice says what of a topic is shown, by patterns for peer/name in which * stands
// for any characters. The zero Choice shows everything.
type Choice struct{ in, out []*regexp.Regexp }

// NewChoice shows what one of include matches, or everything if there is none, but for
// what one of exclude matches.
func NewChoice(include, exclude []string) Choice {
	return Choice{patterns(include), patterns(exclude)}
}

func patterns(globs []string) (all []*regexp.Regexp) {
	for _, g := range globs {
		all = append(all, regexp.MustCompile(`(?s)^`+strings.ReplaceAll(regexp.QuoteMeta(g), `\*`, `.*`)+`$`))
	}
	return all
}

// Shows reports whether something of a peer's is to be seen and used at all.
func (c Choice) Shows(p Pair) bool {
	is := func(re *regexp.Regexp) bool { return re.MatchString(p.Peer + "/" + p.Name) }
	return (c.in == nil || slices.ContainsFunc(c.in, is)) && !slices.ContainsFunc(c.out, is)
}

// Fair takes as many of all as there is room for, peer by peer in turn (WIRE 9.4). All
// are in the order of their pairs, and so are those that are in; the others are in the
// order in which there would have been room for them.
func Fair[T any](all []T, room int, of func(T) Pair) (in, out []T) {
	var turns [][]T
	for _, one := range all {
		if n := len(turns); n > 0 && of(turns[n-1][0]).Peer == of(one).Peer {
			turns[n-1] = append(turns[n-1], one)
		} else {
			turns = append(turns, []T{one})
		}
	}
	for round := 0; len(in)+len(out) < len(all); round++ {
		for _, turn := range turns {
			switch {
			case round >= len(turn):
			case len(in) < room:
				in = append(in, turn[round])
			default:
				out = append(out, turn[round])
			}
		}
	}
	slices.SortStableFunc(in, func(a, b T) int { return of(a).Compare(of(b)) })
	return in, out
}
