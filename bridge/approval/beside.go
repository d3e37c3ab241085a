package approval

import "github.com/mcpx-protocol/mcpx-bridge/bridge/text"

// Members of params beside the arguments reach the server as well, so people see
// them wherever they see the arguments: as leaves whose names begin with params/,
// which no pointer into the arguments does, and before these, so that no number of
// arguments pushes them out of sight (FINDINGS H3).

const besideNote = "brings more than arguments: what stands beside them (params/…) reaches the server too"

// besideLeaves are the leaves of what stands beside the arguments. More than are
// shown of arguments stand as one, cut.
func besideLeaves(beside []byte, whole bool) []Leaf {
	if len(beside) == 0 {
		return nil
	}
	all, more := leaves(beside, whole)
	if more > 0 {
		all = []Leaf{leaf("", beside, whole)}
	}
	for i := range all {
		all[i].Name = "params" + all[i].Name
	}
	return all
}

// setBeside says in a View what stands beside the arguments: shown is what of it may
// be seen, nil if nothing.
func (v *View) setBeside(beside, shown []byte) {
	if len(beside) == 0 {
		return
	}
	var m text.Marks
	v.BesideText = compact(shown, &m)
	v.Banner = append(append(v.Banner, besideNote), m.Banner()...)
}
