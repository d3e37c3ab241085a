package hub

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// forgottenNext is an order in the plain words of its doc, of requests that stand as they came.
func forgottenNext(all []requestKey, next string) int {
	n := map[string]int{}
	for _, q := range all {
		n[q.from]++
	}
	most := share
	for _, k := range n {
		most = max(most, k)
	}
	own := n[next] >= share && n[next] == most
	return slices.IndexFunc(all, func(q requestKey) bool {
		return own && q.from == next || !own && (most == share || n[q.from] == most)
	})
}

// Whatever participants ask in turn, what is forgotten is what the words say.
func TestAnOrderForgetsAsItSays(t *testing.T) {
	const limit = 5 * share
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 0))
		o, all := order{askers: map[string]*asker{}}, []requestKey(nil)
		for i := range 4 * limit {
			loud, many := r.IntN(3), r.IntN(limit)
			q := requestKey{fmt.Sprint([]int{loud, many, 0}[r.IntN(3)]), fmt.Sprint(i)}
			got, full := o.add(q, limit)
			if full != (len(all) == limit) {
				t.Fatalf("seed %d, request %d: full is %t with %d", seed, i, full, len(all))
			}
			if full {
				at := forgottenNext(all, q.from)
				if got != all[at] {
					t.Fatalf("seed %d, request %d: %v is forgotten, want %v", seed, i, got, all[at])
				}
				all = slices.Delete(all, at, at+1)
			}
			all = append(all, q)
			if len(o.most) != len(o.askers) || len(o.slots) > limit {
				t.Fatalf("seed %d: %d in the heap, %d by name, %d slots", seed, len(o.most), len(o.askers), len(o.slots))
			}
		}
	}
}
