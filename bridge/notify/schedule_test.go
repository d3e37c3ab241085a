package notify_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/notify"
	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A clock runs a schedule, with channels that take everything unless fail says otherwise.
type clock struct {
	*notify.Schedule
	now   time.Time
	names []string
	fail  func(j notify.Job) notify.Result
	heard []string // "TIME CHANNEL EVENT QUESTION"
}

func newClock(channels ...policy.Channel) *clock {
	c := &clock{Schedule: notify.NewSchedule(channels), now: began}
	for i := range channels {
		c.names = append(c.names, channels[i].Name)
	}
	return c
}

func (c *clock) asks(id string, within time.Duration, people ...string) {
	c.Asked(id, "d", c.now, c.now.Add(within), people, nil)
}

// passes lets time go by, to each moment at which there is something to do.
func (c *clock) passes(d time.Duration) {
	end := c.now.Add(d)
	c.works()
	for next := c.Next(); !next.IsZero() && !next.After(end); next = c.Next() {
		if next.After(c.now) {
			c.now = next
		}
		c.works()
	}
	c.now = end
}

func (c *clock) works() {
	for jobs := c.Take(c.now); len(jobs) > 0; jobs = c.Take(c.now) {
		for _, j := range jobs {
			r := notify.Result{Ref: "ref of " + j.Question}
			if c.fail != nil {
				r = c.fail(j)
			}
			if r.Err == nil {
				what := string(j.Event)
				if j.N > 0 {
					what += fmt.Sprint(" ", j.N)
				}
				c.heard = append(c.heard, fmt.Sprintf("%s %s %s %s", c.now.Sub(began), c.names[j.Channel], what, j.Question))
			}
			c.Done(c.now, j, r)
		}
	}
}

func (c *clock) heardOnly(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(c.heard, want) {
		t.Errorf("heard\n  %s\nnot\n  %s", strings.Join(c.heard, "\n  "), strings.Join(want, "\n  "))
	}
	c.heard = nil
}

func local(name string) policy.Channel {
	return policy.Channel{Name: name, For: []string{"local"}}
}

func TestPushFirstAndMailIfNobodyAnswers(t *testing.T) {
	phone, post := local("phone"), local("post")
	post.After = 15 * time.Second
	c := newClock(phone, post)
	c.asks("a", time.Minute, "local")
	c.passes(10 * time.Second)
	c.Closed(c.now, "a", "allowed by ann", "ann")
	c.asks("b", time.Minute, "local")
	c.passes(20 * time.Second)
	c.heardOnly(t, "0s phone asked a", "10s phone closed a", "10s phone asked b", "25s post asked b")
	c.Closed(c.now, "b", "denied", "local")
	c.passes(time.Hour)
	c.heardOnly(t, "30s phone closed b", "30s post closed b")
	if !c.Next().IsZero() || c.Knows("a") || c.Knows("b") {
		t.Error("something is left to do")
	}
}

func TestRemindersAtHalfTimeAndNinetyPercent(t *testing.T) {
	c := newClock(policy.Channel{Name: "x", For: []string{"local"}, Remind: true}, policy.Channel{Name: "late", For: []string{"local"}, Remind: true, After: 6 * time.Minute})
	c.asks("a", 10*time.Minute, "local")
	c.passes(time.Hour)
	c.heardOnly(t, "0s x asked a", "5m0s x reminder 1 a", "6m0s late asked a", "9m0s x reminder 2 a", "9m0s late reminder 1 a")
}

func TestWhoeverIsEscalatedToHearsThenAndNotBefore(t *testing.T) {
	ann, ben := local("ann"), local("ben")
	ann.Escalate = &policy.Escalation{After: 2 * time.Minute, To: "ben"}
	c := newClock(ann, ben)
	c.asks("a", 10*time.Minute, "local")
	c.asks("short", time.Minute, "local") // over before that
	c.passes(time.Hour)
	c.heardOnly(t, "0s ann asked a", "0s ann asked short", "2m0s ben asked a")
}

func TestAChannelHearsOfTheQuestionsOfThoseItIsFor(t *testing.T) {
	c := newClock(local("desk"), policy.Channel{Name: "ops", For: []string{"ann", "ben"}})
	c.asks("a", time.Minute, "local")
	c.asks("b", time.Minute, "ben", "carol")
	c.asks("c", time.Minute, "carol")
	c.asks("c", time.Minute, "ann") // it was passed on
	c.passes(30 * time.Second)
	c.heardOnly(t, "0s desk asked a", "0s ops asked b", "0s ops asked c")
}

// Who had agreed was reminded, or told for the first time, while others had yet to agree.
func TestWhoHasAnsweredHearsOnlyThatItIsClosed(t *testing.T) {
	ann := policy.Channel{Name: "phone", For: []string{"ann"}, Remind: true}
	post := policy.Channel{Name: "post", For: []string{"ann"}, After: 10 * time.Second}
	c := newClock(ann, post)
	c.asks("a", time.Minute, "ann", "ben")
	c.passes(5 * time.Second)
	c.Asked("a", "d", began, began.Add(time.Minute), []string{"ben"}, []string{"ann"})
	c.passes(50 * time.Second)
	c.Closed(c.now, "a", "allowed by ann and ben", "ben")
	c.passes(time.Hour)
	c.heardOnly(t, "0s phone asked a", "55s phone closed a")
}

// Who had left, or lost the way by which they were asked, was reminded no more, and told nowhere else.
func TestWhoLeavesHearsOfItAllTheSame(t *testing.T) {
	phone := policy.Channel{Name: "phone", For: []string{"ann"}, Remind: true, Escalate: &policy.Escalation{After: 20 * time.Second, To: "backup"}}
	post, backup := policy.Channel{Name: "post", For: []string{"ann"}, After: 10 * time.Second}, policy.Channel{Name: "backup", For: []string{"ann"}}
	c := newClock(phone, post, backup)
	c.asks("a", time.Minute, "local", "ann")
	c.passes(5 * time.Second)
	c.Asked("a", "d", began, began.Add(time.Minute), []string{"local"}, nil)
	c.passes(time.Hour)
	c.heardOnly(t, "0s phone asked a", "10s post asked a", "20s backup asked a", "30s phone reminder 1 a", "54s phone reminder 2 a")
}

// Who agreed and left is asked about what the call was changed to, and is not here for that.
func TestWhoHadAgreedHearsOfAnotherCall(t *testing.T) {
	c := newClock(policy.Channel{Name: "phone", For: []string{"ann"}})
	c.asks("a", time.Minute, "local", "ann")
	c.passes(5 * time.Second)
	c.Asked("a", "d", began, began.Add(time.Minute), []string{"local"}, []string{"ann"})
	c.passes(5 * time.Second)
	c.Asked("a", "e", began, began.Add(time.Minute), []string{"local"}, nil)
	c.passes(time.Second)
	c.heardOnly(t, "0s phone asked a", "10s phone asked a")
}

// What was missed while a channel failed is told once, and what is over meanwhile not at all.
func TestAChannelThatFailsIsTriedLaterAndLater(t *testing.T) {
	c := newClock(policy.Channel{Name: "x", For: []string{"local"}, Remind: true}, local("fine"))
	var tries []time.Duration
	c.fail = func(j notify.Job) notify.Result {
		if j.Channel == 1 || c.now.Sub(began) > 8*time.Minute {
			return notify.Result{}
		}
		tries = append(tries, c.now.Sub(began))
		return notify.Result{Err: errors.New("no"), Again: true}
	}
	c.asks("a", 10*time.Minute, "local")
	c.asks("over", 10*time.Minute, "local")
	c.passes(time.Minute)
	c.Closed(c.now, "over", "denied", "local")
	c.passes(9*time.Minute - time.Second)
	for i, want := range []time.Duration{0, 0, 2 * time.Second, 6 * time.Second, 14 * time.Second} { // both at first, and then one
		if tries[i] != want {
			t.Fatalf("tried at %v", tries)
		}
	}
	if gap := tries[len(tries)-1] - tries[len(tries)-2]; gap != time.Minute || len(tries) > 16 {
		t.Errorf("tried at %v", tries)
	}
	if last := tries[len(tries)-1] + time.Minute; len(c.heard) == 5 {
		c.heardOnly(t, "0s fine asked a", "0s fine asked over", "1m0s fine closed over", last.String()+" x asked a", "9m0s x reminder 2 a")
	} else {
		t.Errorf("%q", c.heard)
	}
}

func TestAChannelThatSaysWhenIsTriedThen(t *testing.T) {
	c := newClock(local("x"))
	first := true
	c.fail = func(notify.Job) notify.Result {
		if first {
			first = false
			return notify.Result{Err: errors.New("429"), Again: true, After: 42 * time.Second}
		}
		return notify.Result{}
	}
	c.asks("a", time.Minute, "local")
	c.passes(time.Minute)
	c.heardOnly(t, "42s x asked a")
}

// What a channel will never take is not told again, nor that it is closed; what comes after is.
func TestWhatIsRefusedForGoodIsNotToldAgain(t *testing.T) {
	c := newClock(local("x"))
	c.fail = func(j notify.Job) notify.Result {
		if j.Question == "bad" {
			return notify.Result{Err: errors.New("400")}
		}
		return notify.Result{}
	}
	c.asks("bad", time.Hour, "local")
	c.asks("good", time.Hour, "local")
	c.passes(time.Minute)
	c.Closed(c.now, "bad", "denied", "local")
	c.passes(time.Minute)
	c.heardOnly(t, "0s x asked good")
	if c.Knows("bad") {
		t.Error("it is kept")
	}
}

// What is told anew and refused for good is not told again either, at once and for ever.
func TestAChangeThatWasRefusedForGoodWasToldWithoutAPause(t *testing.T) {
	c, tries := newClock(local("x")), 0
	c.asks("a", time.Hour, "local")
	c.passes(time.Minute)
	c.fail = func(j notify.Job) notify.Result {
		if tries++; tries > 10 {
			t.Fatal("it is told again and again")
		}
		return notify.Result{Err: errors.New("403")}
	}
	c.Asked("a", "e", began, began.Add(time.Hour), []string{"local"}, nil)
	c.passes(time.Minute)
	if tries != 1 {
		t.Errorf("%d tries", tries)
	}
	c.fail = nil
	c.Asked("a", "f", began, began.Add(time.Hour), []string{"local"}, nil)
	c.Closed(c.now, "a", "denied", "local")
	c.passes(time.Minute)
	c.heardOnly(t, "0s x asked a", "2m0s x closed a")
}

// While a channel that fails is tried with one question, there is nothing to do for the others.
func TestWhileOneWasTriedTheOthersWereDueAgainAndAgain(t *testing.T) {
	c := newClock(local("x"))
	c.asks("a", time.Hour, "local")
	c.asks("b", time.Hour, "local")
	for _, j := range c.Take(c.now) {
		c.Done(c.now, j, notify.Result{Err: errors.New("no"), Again: true})
	}
	c.now = c.Next()
	if jobs := c.Take(c.now); len(jobs) != 1 {
		t.Fatalf("%+v", jobs)
	}
	if next := c.Next(); !next.IsZero() {
		t.Errorf("something is to be done in %v, and there is nothing", next.Sub(c.now))
	}
}

// Nothing overtakes anything, and few are on their way at one time.
func TestFewAreOnTheirWayAndNothingOvertakes(t *testing.T) {
	c := newClock(local("x"))
	for i := range 10 {
		c.asks(fmt.Sprint(i), time.Hour, "local")
	}
	jobs := c.Take(c.now)
	if len(jobs) != 4 || len(c.Take(c.now)) > 0 {
		t.Fatalf("%d are on their way", len(jobs))
	}
	c.Closed(c.now, jobs[0].Question, "denied", "local")
	if more := c.Take(c.now); len(more) > 0 {
		t.Errorf("%+v overtakes", more)
	}
	c.Done(c.now, jobs[0], notify.Result{Ref: "r1"})
	next := c.Take(c.now)
	if len(next) != 1 || next[0].Event != notify.Closed || next[0].Ref != "r1" || next[0].Because != "denied" {
		t.Errorf("%+v", next)
	}
}

func TestHowManyQuestionsChannelsHearOf(t *testing.T) {
	c, n := newClock(local("x")), 0
	for i := range 2000 {
		if c.Asked(fmt.Sprint(i), "d", c.now, c.now.Add(time.Hour), []string{"local"}, nil) {
			n++
		}
	}
	if n != 1000 {
		t.Errorf("%d", n)
	}
	for i := range 2000 {
		c.Closed(c.now, fmt.Sprint(i), "", "")
	}
	if !c.Asked("next", "d", c.now, c.now.Add(time.Hour), []string{"local"}, nil) || !c.Next().Equal(c.now) {
		t.Error("what was never told is not forgotten when it closes")
	}
}

// A channel that hears once does not hear that a question is closed.
func TestTheCommandOfTheFlagHearsOnce(t *testing.T) {
	c := newClock(policy.Channel{Name: "--notify", For: []string{"local"}, Once: true})
	c.asks("a", time.Minute, "local")
	c.passes(time.Second)
	c.Closed(c.now, "a", "denied", "local")
	c.passes(time.Hour)
	c.heardOnly(t, "0s --notify asked a")
}

// It is closed everywhere, for as long as somebody may want to know.
func TestThatItIsClosedIsNotTriedForEver(t *testing.T) {
	c := newClock(local("x"))
	c.fail = func(j notify.Job) notify.Result {
		if j.Event == notify.Closed {
			return notify.Result{Err: errors.New("no"), Again: true}
		}
		return notify.Result{}
	}
	c.asks("a", time.Hour, "local")
	c.passes(time.Second)
	c.Closed(c.now, "a", "denied", "local")
	c.passes(time.Hour)
	if c.Knows("a") || !c.Next().IsZero() {
		t.Error("it is tried for ever")
	}
}

// While a bridge is halted the time of its questions stands still: nobody is reminded, and later
// everybody has the time that was left.
func TestTimeThatStandsStillDoesNotCount(t *testing.T) {
	ann, ben := local("ann"), local("ben")
	ann.Remind, ann.Escalate = true, &policy.Escalation{After: 6 * time.Minute, To: "ben"}
	c := newClock(ann, ben)
	c.asks("a", 10*time.Minute, "local")
	c.asks("b", 10*time.Minute, "local")
	c.passes(4 * time.Minute)
	c.Freeze("a")
	c.Freeze("b")
	c.asks("new", time.Minute, "local")
	c.Freeze("new")
	c.passes(time.Hour)
	c.Closed(c.now, "b", "denied", "local")
	c.passes(0)
	c.heardOnly(t, "0s ann asked a", "0s ann asked b", "1h4m0s ann closed b")
	c.Asked("a", "d", began, began.Add(time.Hour+10*time.Minute), []string{"local"}, nil)
	c.Asked("new", "d", began.Add(4*time.Minute), began.Add(time.Hour+5*time.Minute), []string{"local"}, nil)
	c.passes(time.Hour)
	c.heardOnly(t, "1h4m0s ann asked new", "1h4m30s ann reminder 1 new", "1h4m54s ann reminder 2 new",
		"1h5m0s ann reminder 1 a", "1h6m0s ben asked a", "1h9m0s ann reminder 2 a")
}

// A policy that is stricter may leave less time.
func TestRemindersKeepToADeadlineThatComesSooner(t *testing.T) {
	c := newClock(policy.Channel{Name: "x", For: []string{"local"}, Remind: true})
	c.asks("a", 10*time.Minute, "local")
	c.passes(time.Minute)
	c.Asked("a", "d", began, began.Add(4*time.Minute), []string{"local"}, nil)
	c.passes(time.Hour)
	c.heardOnly(t, "0s x asked a", "2m0s x reminder 1 a", "3m36s x reminder 2 a")
}

// What it is about may change while a channel is told of it.
func TestWhatHasChangedIsToldAnew(t *testing.T) {
	c := newClock(policy.Channel{Name: "x", For: []string{"local"}, Remind: true})
	c.asks("a", 10*time.Minute, "local")
	jobs := c.Take(c.now)
	c.Asked("a", "e", c.now, c.now.Add(10*time.Minute), []string{"local"}, nil)
	c.Done(c.now, jobs[0], notify.Result{})
	c.passes(time.Hour)
	c.heardOnly(t, "0s x asked a", "5m0s x reminder 1 a", "9m0s x reminder 2 a")
}

// Whatever fails and in whatever order things come back: each channel hears of a question first
// that it is asked, last that it is closed, and then no more; few are on their way, and in the end
// nothing is left.
func TestAnythingGoesOnASchedule(t *testing.T) {
	for seed := range uint64(300) {
		d := rand.New(rand.NewPCG(seed, 1))
		s := notify.NewSchedule([]policy.Channel{
			{Name: "a", For: []string{"local"}, Remind: true, Escalate: &policy.Escalation{After: time.Minute, To: "b"}},
			{Name: "b", For: []string{"local", "ann"}, Remind: d.IntN(2) == 0},
		})
		now, flying, heard, over, opened := began, []notify.Job{}, map[string]notify.Event{}, map[string]bool{}, 0
		done := func(i int) {
			j := flying[i]
			flying = slices.Delete(flying, i, i+1)
			key := fmt.Sprint(j.Channel, " ", j.Question)
			r := notify.Result{Ref: "r"}
			if d.IntN(3) == 0 {
				r = notify.Result{Err: errors.New("no"), Again: d.IntN(4) > 0, After: time.Duration(d.IntN(3)) * time.Second}
			} else {
				switch was := heard[key]; {
				case was == notify.Closed, j.Event != notify.Asked && was == "":
					t.Fatalf("seed %d: %s hears %s after %q", seed, key, j.Event, was)
				}
				heard[key] = j.Event
			}
			s.Done(now, j, r)
		}
		take := func() {
			for _, j := range s.Take(now) {
				if slices.ContainsFunc(flying, func(o notify.Job) bool { return o.Channel == j.Channel && o.Question == j.Question }) {
					t.Fatalf("seed %d: two of one question are on their way", seed)
				}
				flying = append(flying, j)
			}
			if len(flying) > 8 {
				t.Fatalf("seed %d: %d are on their way", seed, len(flying))
			}
			if next := s.Next(); !next.IsZero() && !next.After(now) {
				t.Fatalf("seed %d: something is to be done, and there is nothing", seed)
			}
		}
		for range 200 {
			switch n := d.IntN(7); {
			case n == 6 && opened > 0:
				s.Freeze(fmt.Sprint(1 + d.IntN(opened)))
			case n == 0:
				opened++
				s.Asked(fmt.Sprint(opened), "d", now, now.Add(time.Duration(1+d.IntN(300))*time.Second), []string{[]string{"local", "ann", "ben"}[d.IntN(3)]}, nil)
			case n == 1 && opened > 0:
				id := fmt.Sprint(1 + d.IntN(opened))
				over[id] = true
				s.Closed(now, id, "denied", "ann")
			case n == 2 && opened > 0 && !over[fmt.Sprint(opened)]: // it is another one, or goes on
				s.Asked(fmt.Sprint(opened), fmt.Sprint(d.IntN(2)), now, now.Add(time.Minute), []string{"local"}, nil)
			case n < 5 && len(flying) > 0:
				done(d.IntN(len(flying)))
			default:
				now = now.Add(time.Duration(d.IntN(20)) * time.Second)
			}
			take()
		}
		for _, id := range s.Open() {
			s.Closed(now, id, "denied", "ann")
		}
		for range 10_000 {
			for len(flying) > 0 {
				done(0)
			}
			next := s.Next()
			if next.IsZero() {
				break
			}
			if next.After(now) {
				now = next
			}
			take()
		}
		if !s.Next().IsZero() || len(s.Open()) > 0 {
			t.Fatalf("seed %d: something is left", seed)
		}
	}
}
