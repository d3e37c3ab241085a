package notify

import (
	"cmp"
	"slices"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/policy"
)

// Bounds of what is kept, and how often a channel that fails is tried.
const (
	maxOpen     = 1000             // questions that channels hear of; those beyond are left out
	atOnce      = 4                // notices on their way by one channel at one time
	firstPause  = time.Second      // after a failure; doubled with each that follows
	longestWait = time.Minute      // between two tries, unless the channel says how long
	closeFor    = 10 * time.Minute // how long it is tried to say that a question is closed
)

// remindAt are the parts of its time after which a question is told of again, in hundredths.
var remindAt = []time.Duration{50, 90}

// A Schedule says which channel hears what, and when. It is pure: it is told the time, which must
// not run backwards, and does nothing itself. A job that [Schedule.Take] has returned is on its way
// until [Schedule.Done] says what came of it; of one question a channel has one job at a time, so
// nothing overtakes anything. A Schedule is for one goroutine.
type Schedule struct {
	channels []*outlet
	open     map[string]*question
	order    []*question // oldest first
}

// An outlet is one channel, and how it fares.
type outlet struct {
	policy.Channel
	at     time.Duration // how long a question must be open
	busy   int           // jobs on their way
	failed int           // in a row
	until  time.Time     // it is not tried before
}

// A question is one that channels hear of, until all that heard of it know that it is closed.
type question struct {
	id, digest      string    // what it is about may change, and its digest then
	asked, deadline time.Time // less the time that stood still
	frozen          bool      // its time stands still
	closed          time.Time // zero while it is open
	because, by     string
	people          []string // whom it was put to at any time, also those who have left since
	told            []told   // beside Schedule.channels
}

// told is what a channel has heard of a question.
type told struct {
	whose bool   // somebody whom this channel is for was asked, and has not answered
	n     int    // of the moments at which it hears of it, how many are over
	any   bool   // it has heard of it
	done  bool   // nothing is to be said any more
	busy  bool   // a job is on its way
	as    string // the digest under which it has, or under which it was refused for good
	ref   string // by which the channel knows what it was told
}

// An Event is what a job tells.
type Event string

// Events of jobs.
const (
	Asked    Event = "asked"
	Reminder Event = "reminder"
	Closed   Event = "closed"
)

// A Job is one notice to one channel.
type Job struct {
	Channel  int // which, in the order in which the Schedule was given them
	Question string
	Digest   string // under which it is told
	Event    Event
	N        int // which reminder, from 1
	Ref      string
	Deadline time.Time
	Because  string // of a question that is closed: how it ended, and who decided
	By       string
}

// A Result is what came of a job.
type Result struct {
	Ref   string        // by which the channel knows it from now on
	Err   error         // nil: the channel has it
	Void  bool          // nothing was told: there was nothing to tell
	Again bool          // it may be tried again
	After time.Duration // not before; 0 where the channel does not say
}

// NewSchedule is that of some channels.
func NewSchedule(channels []policy.Channel) *Schedule {
	s := &Schedule{open: map[string]*question{}}
	for _, c := range channels {
		s.channels = append(s.channels, &outlet{Channel: c, at: c.At(channels)})
	}
	return s
}

// Asked takes a question that is put to those people, as it is now, and reports false if there are
// too many. Whoever it was put to before hears of it still, unless they are among those who have
// answered by now: a channel is for who is away, too. Whoever heard of it under another digest hears
// of it anew. Time that stood still, by which its deadline has moved, does not count.
func (s *Schedule) Asked(id, digest string, asked, deadline time.Time, people, answered []string) bool {
	q := s.open[id]
	if q == nil {
		if len(s.open) >= maxOpen {
			return false
		}
		q = &question{id: id, asked: asked, deadline: deadline, told: make([]told, len(s.channels))}
		s.open[id], s.order = q, append(s.order, q)
	}
	q.asked = q.asked.Add(max(0, deadline.Sub(q.deadline)))
	q.digest, q.deadline, q.frozen = digest, deadline, false
	for _, name := range people {
		if !slices.Contains(q.people, name) {
			q.people = append(q.people, name)
		}
	}
	for i, c := range s.channels {
		q.told[i].whose = slices.ContainsFunc(c.For, func(name string) bool {
			return slices.Contains(q.people, name) && !slices.Contains(answered, name)
		})
	}
	return true
}

// Freeze has the time of a question stand still until it is asked again: nobody could agree to it
// meanwhile, so nobody hears of it but that it is closed.
func (s *Schedule) Freeze(id string) {
	if q := s.open[id]; q != nil {
		q.frozen = true
	}
}

// Closed takes the end of a question.
func (s *Schedule) Closed(now time.Time, id, because, by string) {
	q := s.open[id]
	if q == nil || !q.closed.IsZero() {
		return
	}
	q.closed, q.because, q.by = now, because, by
	s.forget(now, q)
}

// Open are the questions that are not known to be closed.
func (s *Schedule) Open() (ids []string) {
	for _, q := range s.order {
		if q.closed.IsZero() {
			ids = append(ids, q.id)
		}
	}
	return ids
}

// Knows reports whether something may yet be said of a question.
func (s *Schedule) Knows(id string) bool { return s.open[id] != nil }

// moments are when a channel hears of a question while it is open: once, and its reminders after
// that.
func (q *question) moments(c *outlet) []time.Time {
	all := []time.Time{q.asked.Add(c.at)}
	for _, part := range remindAt {
		at := q.asked.Add(q.deadline.Sub(q.asked) * part / 100)
		if c.Remind && at.After(all[0]) {
			all = append(all, at)
		}
	}
	return all
}

// next is what a channel is to hear of a question, and when; false: nothing any more.
func (q *question) next(i int, c *outlet) (at time.Time, ok bool) {
	t := &q.told[i]
	switch moments := q.moments(c); {
	case t.done:
		return at, false
	case !q.closed.IsZero():
		return q.closed, t.any
	case q.frozen || !t.whose:
		return at, false
	case q.changed(t):
		return q.asked, true
	case t.n < len(moments) && moments[t.n].Before(q.deadline):
		return moments[t.n], true
	}
	return at, false
}

// changed reports whether a question is about something else than a channel heard.
func (q *question) changed(t *told) bool { return t.any && t.as != q.digest }

// Next is when there is something to do, zero for never.
func (s *Schedule) Next() (next time.Time) {
	for i, c := range s.channels {
		if c.full() {
			continue
		}
		for _, q := range s.order {
			at, ok := q.next(i, c)
			if !ok || q.told[i].busy {
				continue
			}
			if at.Before(c.until) {
				at = c.until
			}
			if next.IsZero() || at.Before(next) {
				next = at
			}
		}
	}
	return next
}

// Take returns what is to be told now, oldest questions first. What was missed meanwhile is told
// once.
func (s *Schedule) Take(now time.Time) (jobs []Job) {
	for i, c := range s.channels {
		if now.Before(c.until) {
			continue
		}
		for _, q := range s.order {
			if c.full() {
				break
			}
			at, ok := q.next(i, c)
			if !ok || q.told[i].busy || at.After(now) {
				continue
			}
			jobs = append(jobs, q.job(now, i, c))
			q.told[i].busy = true
			c.busy++
		}
	}
	return jobs
}

// full reports whether no more may be on its way: of a channel that fails, one is enough to see
// whether it works again.
func (c *outlet) full() bool { return c.busy >= atOnce || c.failed > 0 && c.busy > 0 }

// job is what a channel is to hear of a question now.
func (q *question) job(now time.Time, i int, c *outlet) Job {
	t := &q.told[i]
	j := Job{Channel: i, Question: q.id, Digest: q.digest, Event: Asked, Ref: t.ref, Deadline: q.deadline}
	if !q.closed.IsZero() {
		j.Event, j.Because, j.By = Closed, q.because, q.by
		return j
	}
	over := 0
	for _, at := range q.moments(c) {
		if !at.After(now) {
			over++
		}
	}
	t.n = over // what came due before is part of this
	if t.any && !q.changed(t) {
		j.Event, j.N = Reminder, over-1
	}
	return j
}

// Done says what came of a job, and reports whether the channel has begun to fail by that.
func (s *Schedule) Done(now time.Time, j Job, r Result) (fails bool) {
	c := s.channels[j.Channel]
	c.busy--
	q := s.open[j.Question]
	if q == nil {
		return false
	}
	t := &q.told[j.Channel]
	t.busy = false
	defer s.forget(now, q)
	switch {
	case r.Void:
		return false
	case r.Err == nil:
		t.any, t.ref = true, cmp.Or(r.Ref, t.ref)
		t.settle(j)
		t.done = j.Event == Closed || c.Once
		c.failed, c.until = 0, time.Time{}
		return false
	case !r.Again:
		t.settle(j)
		t.done = j.Event == Closed || !t.any // it will not have this one, whatever is said of it
	default:
		c.until = now.Add(c.pause(r.After))
		if j.Event != Closed {
			t.n-- // it is due still
		}
	}
	c.failed++
	return c.failed == 1
}

// settle notes that a job is not to be done once more: the channel has it, or never will.
func (t *told) settle(j Job) {
	if j.Event == Asked {
		t.as = j.Digest
	}
}

// pause is how long a channel that has failed is left alone.
func (c *outlet) pause(said time.Duration) time.Duration {
	if said > 0 {
		return min(said, time.Hour)
	}
	return min(firstPause<<min(c.failed, 10), longestWait)
}

// forget drops a question that nothing more is to be said of.
func (s *Schedule) forget(now time.Time, q *question) {
	if q.closed.IsZero() {
		return
	}
	for i, c := range s.channels {
		if _, more := q.next(i, c); q.told[i].busy || more && now.Before(q.closed.Add(closeFor)) {
			return
		}
	}
	delete(s.open, q.id)
	s.order = slices.DeleteFunc(s.order, func(o *question) bool { return o == q })
}
