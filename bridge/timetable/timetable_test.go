package timetable_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/timetable"
)

// Whatever is set, moved and dropped, what comes due comes in the order of its
// moments, and of equal ones in the order in which they were set.
func TestTheSoonestComesFirst(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	soon := func() time.Time { return start.Add(time.Duration(chance.IntN(10)) * time.Second) }
	for range 200 {
		var table timetable.Table[int]
		var all []*timetable.Entry[int]
		at := map[int]time.Time{}
		for n := range 50 {
			at[n] = soon()
			all = append(all, table.Set(at[n], n))
			switch e := all[chance.IntN(len(all))]; chance.IntN(4) {
			case 0:
				table.Drop(e)
				table.Drop(e)
				delete(at, e.What)
			case 1:
				if to := soon(); e.Stands() {
					at[e.What] = to
					table.Move(e, to)
				} else {
					table.Move(e, to)
				}
			}
		}
		var want []int
		for n := range all {
			if _, ok := at[n]; ok {
				want = append(want, n)
			}
		}
		slices.SortStableFunc(want, func(a, b int) int { return at[a].Compare(at[b]) })
		var got []int
		for second := range 10 {
			now := start.Add(time.Duration(second) * time.Second)
			for e := table.Due(now); e != nil; e = table.Due(now) {
				if next := table.Next(); !next.Equal(at[e.What]) || next.After(now) {
					t.Fatalf("%d comes at %s, and is set for %s", e.What, next, at[e.What])
				}
				table.Drop(e)
				got = append(got, e.What)
			}
		}
		if !slices.Equal(got, want) || !table.Next().IsZero() {
			t.Fatalf("%v came, want %v; then comes %s", got, want, table.Next())
		}
	}
	var table timetable.Table[int]
	table.Drop(nil)
	if table.Due(start) != nil || (*timetable.Entry[int])(nil).Stands() {
		t.Error("something is due of nothing")
	}
}
