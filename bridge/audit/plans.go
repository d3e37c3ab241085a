package audit

import "fmt"

// plans are what people gave leave for ahead, and how often each item of it was used. A use is
// in the decision that rests on it, and counted there.
type plans map[string]*planned

type planned struct {
	uses, used []int
	revoked    bool
}

// decided says what is wrong with a decision as to the plan that it made or rests on, "" if
// nothing is. partial: what is not known may have been made before the records that are read.
func (p plans) decided(call []byte, d details, partial bool) string {
	switch {
	case d.Verdict != "allow":
		return ""
	case d.Keep == "plan" && p[d.Grant] != nil:
		return fmt.Sprintf("call %s made the plan %s, which there was", call, d.Grant)
	case d.Keep == "plan":
		p[d.Grant] = &planned{uses: d.Uses, used: make([]int, len(d.Uses))}
		return ""
	case d.Item == 0 && d.Use == 0:
		return ""
	}
	of := p[d.Grant]
	switch {
	case of == nil && partial:
		return ""
	case of == nil:
		return fmt.Sprintf("call %s rests on the plan %s, to which nobody agreed", call, d.Grant)
	case of.revoked:
		return fmt.Sprintf("call %s rests on the plan %s, which was taken back", call, d.Grant)
	case d.Item < 1 || d.Item > len(of.uses):
		return fmt.Sprintf("call %s rests on item %d of the plan %s, which has %d", call, d.Item, d.Grant, len(of.uses))
	case d.Use > of.uses[d.Item-1]:
		return fmt.Sprintf("call %s is use %d of item %d of the plan %s, which covers %d", call, d.Use, d.Item, d.Grant, of.uses[d.Item-1])
	case d.Use <= of.used[d.Item-1]:
		return fmt.Sprintf("call %s is use %d of item %d of the plan %s, which was used %d times before", call, d.Use, d.Item, d.Grant, of.used[d.Item-1])
	}
	of.used[d.Item-1] = d.Use
	return ""
}

// revoked takes back what may be a plan.
func (p plans) revoked(d details) {
	if of := p[d.Grant]; of != nil {
		of.revoked = true
	}
}
