package sim

import (
	"crypto/sha256"
	"time"
)

// begin is when worlds begin.
var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// callTime is the server's time for a call.
const callTime = 20 * time.Second

// A scene is what can be seen of a world, with its clocks: what the checker has beside
// what crosses the boundary of the bridge.
type scene struct {
	o       Options
	now     time.Duration // since the beginning; never set back
	skew    time.Duration // of the wall clock
	dozedAt time.Duration // when the machine woke up last
	stepped bool          // the wall clock was put forward or back
	agenda  agenda
	luck    dice
	healed  bool

	here   map[string]bool // who of everybody is in the topic
	link   link
	server server
	log    log

	tally *Tally
	trace trace
}

// A link is the bridge's way to the topic.
type link struct {
	up     bool
	fullAt time.Duration // when it took no frame last
	echoes bool          // who speaks hears itself, where it is among those it speaks to
}

// A server is the MCP server of now.
type server struct {
	alive     bool
	life      int
	queue     []*line       // written to the pipe, not read yet
	upAt      time.Duration // when it was up again, or ended, last
	listening string        // the id of the request of who listens to it, where it is one of 2026-07-28
}

// A log is the audit log, as it is on the disk.
type log struct {
	text      []byte
	synced    int // bytes that will be there after a power cut
	seq       uint64
	prev      [sha256.Size]byte
	err       error         // why it takes nothing
	troubleAt time.Duration // it failed last
}

// belated is how late the bridge may hear that a record could not be written.
const belated = 3 * time.Second

// failedSince: it takes nothing, or the bridge may have heard since a time that it did not.
func (l *log) failedSince(t time.Duration) bool { return l.err != nil || l.troubleAt+belated >= t }

// A life is one of the bridge's.
type life struct {
	number   int
	began    time.Duration
	wall     time.Time // when it began; from then on its clock is monotonic
	stopping bool
	gaveUp   bool
	leaving  bool // from now on it says what it gives up
}

// clock is what the bridge's own clock shows in a life of it.
func (s *scene) clock(l *life) time.Time { return l.wall.Add(s.now - l.began) }

// wall is what the wall clock shows.
func (s *scene) wall() time.Time { return begin.Add(s.now + s.skew) }

// strikes says whether a fault happens now.
func (s *scene) strikes(f Fault) bool { return s.joins(f, kinds[f].rate) }

// joins says whether a fault comes along with another trouble: one seldom comes
// alone.
func (s *scene) joins(f Fault, p float64) bool {
	if s.healed || !s.o.Faults[f] || !s.luck.chance(p) {
		return false
	}
	s.fired(f)
	return true
}

func (s *scene) fired(f Fault) {
	s.tally.Faults[f]++
	s.trace.note(s.now, "fault", []byte(f.String()))
}

// after plans something that the world itself does.
func (s *scene) after(d time.Duration, do func()) *plan { return s.agenda.add(s.now+d, false, do) }

// outer plans something that comes to the bridge from outside.
func (s *scene) outer(d time.Duration, do func()) *plan { return s.agenda.add(s.now+d, true, do) }

// lingering is how long a bridge that has given up is still there.
const lingering = 5 * time.Second

// A remnant is a call as the log knows it.
type remnant struct {
	name, env, from, body string
	at                    time.Time
	started, ended        bool
}
