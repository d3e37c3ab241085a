package notify

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/approval"
	"github.com/mcpx-protocol/mcpx-bridge/bridge/inbox/inboxtest"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Nobody told the schedule that a stricter policy leaves less time, so whoever was to be reminded
// would have been when it was over.
func TestWhoIsRemindedHearsOfADeadlineThatComesSooner(t *testing.T) {
	h := inboxtest.New("notes")
	n := &notifier{in: h, views: map[string]approval.View{}, schedule: NewSchedule([]policy.Channel{{Name: "x", For: []string{"local"}, Remind: true}})}
	q := inboxtest.Write(`{}`)
	q.Terms.Within = 10 * time.Minute
	id := h.Ask(q)
	stricter := q.Terms
	stricter.Within = 4 * time.Minute
	for e, err := range h.Watch(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n.happened(t.Context(), e)
		if e.Event == "" {
			for _, j := range n.schedule.Take(time.Now()) {
				n.schedule.Done(time.Now(), j, Result{})
			}
			h.Judge(id, policy.Decision{Verdict: policy.Ask, Ask: &stricter})
			continue
		}
		break
	}
	v, _ := h.Question(id)
	if next := n.schedule.Next(); !next.Equal(v.Asked.Add(2 * time.Minute)) {
		t.Errorf("it is told again after %v", next.Sub(v.Asked))
	}
}

// Whoever is away is whom a channel is for; who has agreed heard of it as if asked still.
func TestWhoHasLeftHearsOfAQuestionAndWhoHasAgreedDoesNot(t *testing.T) {
	h := inboxtest.New("notes")
	n := &notifier{in: h, views: map[string]approval.View{}, schedule: NewSchedule([]policy.Channel{
		{Name: "ann's", For: []string{"ann"}, After: time.Minute}, {Name: "ben's", For: []string{"ben"}, After: time.Second}})}
	q := inboxtest.Write(`{}`)
	q.Terms.Of, q.Terms.Need = []string{"local", "ann", "ben"}, 2
	id := h.Ask(q)
	n.look(t.Context(), id)
	h.Say(t, "ben", id, `{"action":"accept","content":{"approve":true}}`)
	h.Leave("ann")
	n.look(t.Context(), id)
	v, _ := h.Question(id)
	if next := n.schedule.Next(); !next.Equal(v.Asked.Add(time.Minute)) {
		t.Errorf("the next to hear of it does after %v, of %+v", next.Sub(v.Asked), v.People)
	}
}

// Whom a channel does not reach was said nowhere where it reaches others.
func TestWhomAChannelDoesNotReachIsSaidOnce(t *testing.T) {
	var said strings.Builder
	n := &notifier{o: Options{Log: slog.New(slog.NewTextHandler(&said, nil))}, channels: []policy.Channel{{Name: "post", For: []string{"local"}}}, some: map[int]string{}}
	n.schedule = NewSchedule(n.channels)
	for _, id := range []string{"a", "b"} {
		n.schedule.Asked(id, "d", time.Now(), time.Now().Add(time.Minute), []string{"local"}, nil)
		for _, j := range n.schedule.Take(time.Now()) {
			n.done(result{job: j, some: errors.New("left@x.org: no such user")})
		}
	}
	if strings.Count(said.String(), "left@x.org") != 1 || !strings.Contains(said.String(), "the channel post (notify) does not reach all") {
		t.Errorf("said %q", said.String())
	}
}
