package policy

import (
	"errors"
	"slices"
	"strings"
)

var (
	errElsewhere = errors.New("it begins elsewhere, so the two cannot be compared")
	errTwoWays   = errors.New("not every system takes it for the same path")
	errTwoURLs   = errors.New("not every program takes it for the same URL")
)

// readingsOf returns the readings of a value as a path, nil if that is too much work.
func (j *judgement) readingsOf(v *value) *readings {
	if r := j.paths[v]; r != nil {
		return r
	}
	all, complete := spellings(v.text)
	r := &readings{unsure: !complete}
	for _, s := range all {
		if !j.spend(pathWork(s)) {
			return nil
		}
		r.add(placeOf(s), len(s))
		forms := []string{s, unwrapped(s)}
		if !simple(s) {
			usual := usualForm(s)
			forms = append(forms, usual, unwrapped(usual))
			r.unsure = r.unsure || leadsElsewhere(s, usual)
		}
		slices.Sort(forms)
		for _, u := range slices.Compact(forms) {
			if !j.addURLs(r, u) {
				return nil
			}
		}
		r.unsure = r.unsure || strings.IndexByte(s, 0) >= 0
	}
	if j.paths == nil {
		j.paths = map[*value]*readings{}
	}
	j.paths[v] = r
	return r
}

// addURLs adds what s could be as a URL, and reports whether that was not too much work.
func (j *judgement) addURLs(r *readings, s string) bool {
	scheme, leads := schemeOf(s)
	if scheme != "" && climbsBehind(s) {
		r.unsure, r.url = true, true
	}
	if !leads {
		return true
	}
	r.url = true
	for _, u := range urlsOf(scheme, s) {
		if !j.spend(pathWork(s)) {
			return false
		}
		r.add(u, len(s))
	}
	return true
}

// comparePaths asks holds about every reading of a path. If the answers differ, or if it
// holds only for names that some file systems take for the same, the result is Unclear. work
// is charged for each byte of a reading.
func comparePaths(j *judgement, v *value, work int, holds func(p place, folded bool) Match) (Match, error) {
	all := j.readingsOf(v)
	if all == nil || !j.spend(50*len(all.exact)+work*all.bytes) {
		return Unclear, errTooMuch
	}
	var answers [Unclear + 1]bool
	alike := false
	for i, p := range all.exact {
		m := holds(p, false)
		answers[m] = true
		alike = alike || m == No && holds(all.folded[i], true) != No
	}
	switch differ := answers[Yes] && answers[No] || all.unsure || alike; {
	case differ && all.url:
		return Unclear, errTwoURLs
	case differ:
		return Unclear, errTwoWays
	case answers[Unclear]:
		return Unclear, errElsewhere
	case answers[Yes]:
		return Yes, nil
	}
	return No, nil
}

// A directory is what under compares with.
type directory struct{ exact, folded place }

func newDirectory(s string) directory {
	p := placeOf(s)
	return directory{p, p.fold()}
}

func (d directory) holds(j *judgement, v *value, _ side) (Match, error) {
	return comparePaths(j, v, 0, func(p place, folded bool) Match {
		base := d.exact
		if folded {
			base = d.folded
		}
		if !p.beginsWith(base) {
			return Unclear
		}
		return matchIf(base.holds(p))
	})
}

// A glob is a pattern of paths: * and ? stay within a segment, ** stands for
// any number of segments. One that begins with ** fits any root.
type glob struct {
	anywhere      bool
	exact, folded place
	work          int // for each byte of a path: with stars, each may be looked at for each of the pattern's
}

func newGlob(s string) glob {
	p := placeOf(s)
	return glob{strings.HasPrefix(s, "**"), p, p.fold(), 1 + 2*len(s)}
}

func (g glob) holds(j *judgement, v *value, _ side) (Match, error) {
	return comparePaths(j, v, g.work, func(p place, folded bool) Match {
		pattern := g.exact
		if folded {
			pattern = g.folded
		}
		if !g.anywhere && !p.beginsWith(pattern) {
			return Unclear
		}
		return matchIf(matchSegments(pattern.segments, p.segments))
	})
}
