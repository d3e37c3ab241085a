package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpx-protocol/mcpx-bridge/bridge/private"
)

// A Mode says what is synced to the disk, and when.
type Mode uint8

// In every mode but Never, what nobody waits for is synced within
// [Options.Lag] of being written.
const (
	Decisions Mode = iota // what a person decided is synced before it counts
	Always                // every record is
	Never                 // the operating system decides; a power cut may cost the last records, and that will show
)

var modes = []string{"decisions", "always", "never"}

func (m Mode) String() string { return modes[m] }

// ParseMode reads decisions, always or never.
func ParseMode(text string) (Mode, error) {
	i := slices.Index(modes, text)
	if i < 0 {
		return 0, fmt.Errorf("%q is none of decisions, always and never", text)
	}
	return Mode(i), nil
}

// Waits reports whether a record may be acted upon only when [Log.Sync] has
// called back, not as soon as Append has returned. human: a person decided it.
func (m Mode) Waits(human bool) bool { return m == Always || m == Decisions && human }

// Options of a [Log]. The zero value is ready to use.
type Options struct {
	Mode    Mode
	MaxSize int64         // bytes after which a new file is begun; 0: 16 MiB
	Lag     time.Duration // how long a record may wait to be synced; 0: 100 ms
	Memory  time.Duration // how far back Found.Calls goes; 0: 15 min

	// RetryEvery is the time between attempts to go on after a failure;
	// 0: 1 s. Negative: only [Log.Retry] does.
	RetryEvery time.Duration

	// Bridge is who writes to the log; "" says nobody. It stands in the first
	// record of a log and of each file, and in the note beside it.
	Bridge string

	// About are further members of the first record that a process writes, as
	// a JSON object; nil: none.
	About []byte

	// KeepSize and KeepFor say what is removed of full files, oldest first:
	// those that make the log larger than so many bytes, and those whose
	// records are all older. 0: nothing is. A file with records younger than
	// Least is not removed, whatever that costs; 0: Memory.
	KeepSize int64
	KeepFor  time.Duration
	Least    time.Duration

	// Disk is what the files are on; nil: the operating system's.
	Disk private.Disk

	// OnChange is told of a failure when it happens, and with nil when the
	// log goes on. It is called from goroutines of the log, one call at a
	// time, and must not call Retry or Close.
	OnChange func(error)

	// Wrap may put something around each file that is opened for writing.
	// It is there for tests that make disks fail.
	Wrap func(File) File

	Log *slog.Logger // nil: nothing is said
}

const (
	// nearlyFull is how many bytes before its end a file is synced, so that turning it
	// over waits for these alone; an eighth of the file if that is less.
	nearlyFull = 512 << 10

	// freshCheck is how long the result of looking at the file holds. A look is one
	// lstat, which costs as much as a small write.
	freshCheck = 10 * time.Millisecond
)

// A Log appends to one audit log. Its methods may be called from any
// goroutine. After a failure it admits nothing until it has recovered, which
// it tries by itself; see [Options.RetryEvery].
type Log struct {
	path     string
	o        Options
	began    time.Time        // zero of mono
	wall     func() time.Time // time.Now; tests move it
	id       string           // of the log; fixed by Open
	failed   atomic.Pointer[failure]
	notifier notifier

	// The goroutine keep syncs, prunes and recovers. Others reach it by these.
	poke      chan struct{}   // there is work
	asked     chan chan error // a caller of Retry, which waits for the answer
	quit      chan struct{}   // Close closes it, once
	once      sync.Once
	keepEnded chan struct{} // keep closes it last
	headFile  headFile      // keep's own after Open
	pruned    time.Time     // keep's own: when it last looked for files to remove

	// How slow the disk is; see slow.go. Times are by mono, and 0 is none.
	watch        *time.Timer // calls look
	alert        atomic.Bool // watch is set, or look runs
	writeBegan   atomic.Int64
	syncBegan    atomic.Int64
	suspectUntil atomic.Int64

	// Whoever has put a value into turn may write, and has these to itself. It is no
	// mutex because those who wait for it give up after patience.
	turn      chan struct{}
	info      fs.FileInfo // of file
	size      int64       // bytes that file has as far as it counts
	first     uint64      // number of the first record in file
	last      clocks      // of the newest record
	calls     openCalls
	buf       []byte        // of the last batch, for the next
	checked   time.Time     // when the file was last looked at
	over      int           // bytes of a failed write that may stand behind size
	hungWrite chan struct{} // closed when a write that nobody waits for any more has ended; nil: there is none
	ragged    bool          // somebody else's bytes end the file, without a newline
	rest      time.Time     // no new file is begun before; zero: at will

	// mu is held for as long as it takes to read or set these, never over I/O.
	mu      sync.Mutex
	file    File          // nil only while the log has failed; to change it takes the turn too
	head    Head          // the newest record in file; to change it takes the turn too
	synced  Head          // the newest record that is on the disk
	unsure  bool          // a sync failed: what was not synced before may be lost
	retired []File        // full files, which are on the disk, to be closed when their names are too
	dirty   time.Time     // when the oldest record that is not synced was written; zero: none
	waiting []func(error) // callers of Sync whose sync has not begun
	closed  bool
}

// A failure is why, and since when, nothing is admitted.
type failure struct {
	err error
	at  time.Time
}

// Err is why nothing is admitted; nil while the log is well.
func (l *Log) Err() error {
	if f := l.failed.Load(); f != nil {
		return f.err
	}
	return nil
}

// Path is where the log is.
func (l *Log) Path() string { return l.path }

// Head is the newest record that was written.
func (l *Log) Head() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// Synced is the newest record that is known to be on the disk. It is the one
// to tell others: a power cut cannot take it back. In mode Never it is the
// newest one that the operating system was given some time to write.
func (l *Log) Synced() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.synced
}

// Append writes records with one system call and without waiting for the
// disk. Each is the text of a JSON object whose first member is "event", and
// whose second is "call" if it is about one; it must have none of the members
// that the log itself writes, and be valid JSON, which is not checked. The
// bytes are copied.
//
// Either all records are in the log or none counts. An error that is not about
// the records themselves means that the log has failed; nothing that depended
// on them may happen. Append waits two seconds at most for others who append and,
// once the disk has shown signs of trouble, for its own write.
func (l *Log) Append(recs ...[]byte) error {
	if err := l.Err(); err != nil {
		return err
	}
	for _, rec := range recs {
		if _, _, err := subjectOf(rec); err != nil {
			return err
		}
	}
	return l.append(recs, false)
}

// append writes recs; after the last ones nothing more is taken.
func (l *Log) append(recs [][]byte, last bool) error {
	if err := l.begin(); err != nil {
		return l.fail(err)
	}
	defer l.done()
	if err := l.Err(); err != nil {
		return err
	}
	if l.isClosed(last) {
		return ErrClosed
	}
	now := l.wall()
	if err := l.intact(now); err != nil {
		return l.fail(err)
	}
	b := l.batch(now, recs)
	if l.size > 0 && l.size+int64(len(b.text)) > l.o.MaxSize {
		turned, err := l.turnOver(now)
		if err != nil {
			return l.fail(err)
		}
		if turned {
			b = l.batch(now, recs)
		}
	}
	if err := l.write(b); err != nil {
		return l.fail(err)
	}
	l.calls.write(recs)
	return nil
}

// begin takes the turn to write.
func (l *Log) begin() error {
	select {
	case l.turn <- struct{}{}:
		return nil
	default:
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-late.C:
		return ErrSlow
	}
}

func (l *Log) done() { <-l.turn }

// isClosed reports whether the log was closed before, and with close does so.
func (l *Log) isClosed(close bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.closed
	l.closed = was || close
	return was
}

// clocks are the wall clock and the one that never jumps, at one moment.
type clocks struct {
	wall time.Time
	mono time.Duration
}

// jump takes the time now, and returns by how much the wall clock was put forward
// or back since the last call; 0 if by two seconds at most (RELIABILITY
// section 3).
func (c *clocks) jump(wall time.Time, mono time.Duration) time.Duration {
	before := *c
	*c = clocks{wall.Round(0), mono}
	if before.wall.IsZero() {
		return 0
	}
	by := c.wall.Sub(before.wall) - (mono - before.mono)
	if by.Abs() <= 2*time.Second {
		return 0
	}
	return by
}

// A batch is a number of lines, and the state of the log once they are
// written.
type batch struct {
	text []byte
	head Head
	last clocks
}

// batch builds the lines for recs, and before them what the log itself has to
// say. The text is good until the next batch.
func (l *Log) batch(now time.Time, recs [][]byte) batch {
	b := batch{text: l.buf[:0], head: l.head, last: l.last}
	if l.ragged {
		b.text = append(b.text, '\n')
	}
	mono := l.mono()
	if l.size == 0 && l.head.Seq > 0 && !carries(recs) {
		b.add(now, mono, l.carried("rotated", ""))
	}
	if by := b.last.jump(now, mono); by != 0 {
		b.add(now, mono, fmt.Appendf(nil, `{"event":"clock_jump","by_ms":%d}`, by.Milliseconds()))
	}
	for _, rec := range recs {
		b.add(now, mono, rec)
	}
	l.buf = b.text
	if cap(l.buf) > 1<<20 {
		l.buf = nil
	}
	return b
}

func (b *batch) add(now time.Time, mono time.Duration, rec []byte) {
	at := len(b.text)
	b.text = b.head.appendLine(b.text, now, mono, rec)
	b.head = b.head.next(b.text[at:])
	b.text = append(b.text, '\n')
}

// write puts a batch into the file, or nothing of it.
func (l *Log) write(b batch) error {
	n, err := l.put(b.text)
	if err == nil && n < len(b.text) {
		err = io.ErrShortWrite
	}
	if err != nil {
		l.over = len(b.text)
		if l.hungWrite == nil && l.file.Truncate(l.size) == nil {
			l.over = 0
		}
		return err
	}
	was := l.size
	l.size += int64(len(b.text))
	l.last, l.ragged = b.last, false
	early := l.o.MaxSize - min(nearlyFull, l.o.MaxSize/8)
	l.wrote(b.head, was < early && early <= l.size)
	return nil
}

// wrote has what was written synced when Lag is over, or at once.
func (l *Log) wrote(head Head, atOnce bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head = head
	switch {
	case atOnce:
		l.dirty = time.Now().Add(-l.o.Lag)
	case l.dirty.IsZero():
		l.dirty = time.Now()
	default:
		return
	}
	l.nudge()
}

func (l *Log) mono() time.Duration { return time.Since(l.began) }

// intact looks whether the file is still the one we write to.
func (l *Log) intact(now time.Time) error {
	if age := now.Sub(l.checked); 0 <= age && age < freshCheck {
		return nil
	}
	why, err := l.changed(0)
	if err == nil && why != "" {
		err = fmt.Errorf("%w: %s was %s", ErrLost, l.path, why)
	}
	if err == nil {
		l.checked = now
	}
	return err
}

// changed says what was done to the file since we last wrote; "" if nothing.
// slack bytes behind its end may be ours.
func (l *Log) changed(slack int) (string, error) {
	info, err := os.Lstat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "deleted", nil
	case err != nil:
		return "", err
	case !os.SameFile(info, l.info):
		return "replaced", nil
	case info.Size() < l.size:
		return "cut", nil
	case info.Size() > l.size+int64(slack):
		return "written to", nil
	}
	return "", nil
}

// fail stops the log for err and returns what it is stopped for, which may be
// something earlier. It never returns nil, however soon the log recovers.
func (l *Log) fail(err error) error {
	f := &failure{fmt.Errorf("audit: %w", err), time.Now()}
	if l.failed.CompareAndSwap(nil, f) {
		l.suspectDisk()
		l.nudge()
	} else if earlier := l.failed.Load(); earlier != nil {
		return earlier.err
	}
	return f.err
}

func (l *Log) nudge() {
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// Sync calls done when everything that was appended before is on the disk, or
// cannot be put there: then none of it may be acted upon. Many callers share
// one fsync. done is called once, from a goroutine of the log, never from
// within Sync, and must not call Retry or Close. In mode Never nothing is
// waited for.
func (l *Log) Sync(done func(error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.Err(); err != nil { // asked under the lock: those who wait are taken from the list after a failure is set
		go done(err)
		return
	}
	if l.closed {
		go done(ErrClosed)
		return
	}
	l.waiting = append(l.waiting, done)
	l.nudge()
}
