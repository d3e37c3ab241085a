package proposal

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

// Whatever happens in whatever order, the Book keeps its own accounts, stays
// within its bounds, and lets nothing start that is over.
func TestAnythingMayHappen(t *testing.T) {
	for seed := range uint64(20) {
		walk(t, rand.New(rand.NewPCG(seed, 7)))
	}
}

func walk(t *testing.T, r *rand.Rand) {
	d := newDesk(t, Options{Max: 16, MaxBytes: 100}, Rules{Broadcast: true, RejectUntargeted: r.IntN(2) == 0})
	who := func() string { return fmt.Sprint("b", r.IntN(6)) }
	id := func() string { return fmt.Sprint("p", r.IntN(40)) }
	any := func() *Life {
		if lives := d.book.inOrder(); len(lives) > 0 {
			return lives[r.IntN(len(lives))]
		}
		return d.offer("b0", "p0", us, nil)
	}
	for range 3000 {
		switch r.IntN(19) {
		case 0, 1, 2:
			to := [][]string{us, nil, {"other"}, {"b1", "me"}}[r.IntN(4)]
			d.offer(who(), id(), to, func(p *Proposed) {
				if r.IntN(2) == 0 {
					p.Offer.Preferred = []string{who(), who(), "me"}[:2+r.IntN(2)]
				}
				p.Offer.Exclusive = r.IntN(4) == 0
				p.Offer.TTL = time.Duration(r.IntN(3)) * time.Second
			})
		case 3:
			d.do(d.book.Withdrawn(who(), id(), ""))
		case 4:
			d.do(d.book.Rejected(who(), nil, id()))
		case 5:
			d.do(d.book.Left(who(), true))
		case 6:
			d.pass(time.Duration(r.IntN(2000)) * time.Millisecond)
		case 7:
			d.book.Asked(any())
		case 8:
			d.do(d.book.Refuse(any(), Busy, ""))
		case 9:
			l := any()
			before := l.State
			if _, ok := d.book.Started(l, Run{ID: id(), By: who(), Runner: "me"}); ok && (before == Withdrawn || before == Expired || before == Fulfilled || before == Running) {
				t.Fatalf("what was %s starts", before)
			}
		case 10:
			l := any()
			d.do(d.book.Ended(l, Run{ID: l.Run, By: l.By}, Result(r.IntN(3))))
		case 11:
			d.do(d.book.Answered(who(), nil, []string{id()}, Served, true))
		case 12:
			d.book.Contends(any())
		case 13:
			l := any()
			d.do(d.book.Taken(l, Run{ID: id(), By: who(), Runner: who()}))
			d.book.KeepEnvelope(l, &wire.Envelope{Payload: []byte(`{}`)})
		case 15:
			d.book.Requested(who(), id())
			d.do(d.book.Answered(who(), nil, []string{id()}, Result(r.IntN(3)), true))
		case 14:
			d.do(d.book.Nobody(id()))
		case 16:
			d.book.SetHere(who(), wire.Caps{})
		case 17:
			d.book.SetLeaving(who())
		case 18:
			d.book.SetAway(who())
		}
		d.balanced()
	}
}

// balanced holds the Book's accounts against what is in it.
func (d *desk) balanced() {
	d.t.Helper()
	b := d.book
	bytes, bytesOf, each, ids := 0, map[string]int{}, map[string]int{}, 0
	for k, l := range b.lives {
		if l.State == Waiting {
			bytes += len(l.Envelope.Payload)
		}
		if l.kept != nil {
			bytes += len(l.kept.Payload)
		}
		bytesOf[k.who] += l.held
		each[k.who]++
		if next := l.next(); !next.IsZero() && (b.wake.IsZero() || next.Before(b.wake)) {
			d.t.Fatalf("the book wakes at %s, too late for %s at %s", b.wake, l.ID, next)
		}
	}
	for _, same := range b.byID {
		ids += len(same)
	}
	for id, all := range b.runs {
		for _, l := range all {
			if b.lives[key{l.Proposer, l.ID}] != l || l.Run != id {
				d.t.Fatalf("a run of a forgotten proposal is kept by its id: %s", id)
			}
		}
	}
	if bytes != b.bytes || ids != len(b.lives) || len(b.lives) > b.o.Max || bytes > b.o.MaxBytes {
		d.t.Fatalf("%d bytes are counted as %d; %d lives, %d by id", bytes, b.bytes, len(b.lives), ids)
	}
	maps.DeleteFunc(bytesOf, func(_ string, n int) bool { return n == 0 })
	if !maps.Equal(bytesOf, b.bytesOf) {
		d.t.Fatalf("of each %v are counted as %v", bytesOf, b.bytesOf)
	}
	for who, n := range each {
		if b.each[who] != n || n > b.o.Max/4 {
			d.t.Fatalf("%s has %d, counted as %d", who, n, b.each[who])
		}
	}
}
