package outgoing

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/wire"
)

func answer(id string, size int) Held {
	return Held{Env: &wire.Envelope{ID: id, To: []string{"ann"}, Payload: make([]byte, size)}, Of: id}
}

// What has no room any more is given back, the oldest first, and no more of it than must be.
func TestWhatHasNoRoomIsGivenBackOldestFirst(t *testing.T) {
	var q Queue
	for i := range heldMax + 2 {
		q.Put(answer(fmt.Sprint(i), 1))
	}
	if lost := q.Overflow(); len(lost) != 2 || lost[0].Env.ID != "0" || lost[1].Env.ID != "1" || q.Bytes != heldMax {
		t.Errorf("%d were given back, and %d bytes are left", len(lost), q.Bytes)
	}
	q = Queue{}
	for _, id := range []string{"a", "b", "c"} {
		q.Put(answer(id, HeldMaxBytes/2))
	}
	if lost := q.Overflow(); len(lost) != 1 || lost[0].Env.ID != "a" || q.Bytes != HeldMaxBytes {
		t.Errorf("%d were given back, and %d bytes are left", len(lost), q.Bytes)
	}
}

// A claim makes room for the answers of others, also where it is the newest.
func TestAClaimMakesRoomForAnswers(t *testing.T) {
	var q Queue
	q.Put(answer("a", HeldMaxBytes/2))
	claim := answer("claim", HeldMaxBytes/2+1)
	claim.Env.Kind = wire.Request
	q.Put(claim)
	if lost := q.Overflow(); len(lost) != 1 || lost[0].Env.ID != "claim" || q.Bytes != HeldMaxBytes/2 {
		t.Errorf("%d were given back, and %d bytes are left", len(lost), q.Bytes)
	}
}

// A mark may make an answer longer, and is put on those alone whose ends are not on record.
func TestOnlyTheAnswersToCallsOffTheRecordAreMarked(t *testing.T) {
	var q Queue
	q.Put(answer("a", 10))
	q.Put(answer("b", 10))
	q.Put(Held{Env: answer("c", 10).Env})
	q.Mark([]string{"b", ""}, func(*wire.Envelope) *wire.Envelope { return answer("marked", 15).Env })
	if q.Answers[0].Env.ID != "a" || q.Answers[1].Env.ID != "marked" || q.Answers[2].Env.ID != "c" || q.Bytes != 35 {
		t.Errorf("%+v of %d bytes", q.Answers, q.Bytes)
	}
}

// A minute begins once, and stands still during a pause.
func TestAMinuteStandsStillDuringAPause(t *testing.T) {
	var q Queue
	began := time.Unix(1000, 0)
	q.Put(answer("a", 1))
	q.BeginMinutes(began)
	q.Put(answer("b", 1))
	q.StoodStill(time.Second)
	q.BeginMinutes(began.Add(time.Hour))
	if a, b := q.Answers[0].Until, q.Answers[1].Until; !a.Equal(began.Add(HeldFor+time.Second)) || !b.Equal(began.Add(time.Hour+HeldFor)) {
		t.Errorf("they end at %v and %v", a, b)
	}
	if q.Drop("a"); len(q.Answers) != 1 || q.Bytes != 1 || !q.Delays([]string{"x", "b"}) || q.Delays([]string{"a"}) {
		t.Errorf("%+v of %d bytes", q.Answers, q.Bytes)
	}
}
