package audit

import (
	"fmt"
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

	// Runs is how far back Found.Runs goes; 0: there are none. Beyond Memory at most RunsMost
	// bytes of older files are read for them, in whole files; 0: 256 MiB.
	Runs     time.Duration
	RunsMost int64

	// RetryEvery is the time between attempts to go on after a failure;
	// 0: 1 s. Negative: there is none, for tests that have it try when they choose.
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
	// time, and must not call Close.
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
	wake      chan struct{}   // there is work
	asked     chan chan error // tests have it try to go on at once, and wait for the answer
	quit      chan struct{}   // Close closes it, once
	once      sync.Once
	keepEnded chan struct{} // keep closes it last
	headFile  headFile      // keep's own after Open
	pruned    time.Time     // keep's own: when it last looked for files to remove

	// How slow the disk is; see slow.go. Times are by mono, and 0 is none.
	watch        *time.Timer // calls look
	watching     atomic.Bool // watch is set, or look runs
	writeBegan   atomic.Int64
	syncBegan    atomic.Int64
	suspectUntil atomic.Int64

	// turn is a lock: whoever has put a value into it may write, and alone uses the fields
	// below. It is no mutex, because those who wait for it give up after patience.
	turn            chan struct{}
	info            fs.FileInfo // of file
	size            int64       // bytes that file has as far as it counts
	first           uint64      // number of the first record in file
	last            clocks      // of the newest record
	calls           openCalls
	buf             []byte        // of the last batch, for the next
	stamp           []byte        // the same
	subjects        []subject     // the same
	checked         time.Time     // when the file was last looked at
	leftover        int           // bytes of a failed write that may stand behind size
	hungWrite       chan struct{} // closed when a write that nobody waits for any more has ended; nil: there is none
	unterminated    bool          // somebody else's bytes end the file, without a newline
	noNewFileBefore time.Time     // no new file is begun before; zero: at will

	// mu is held for as long as it takes to read or set these, never over I/O.
	mu            sync.Mutex
	file          File          // nil only while the log has failed; to change it takes the turn too
	head          Head          // the newest record in file; to change it takes the turn too
	synced        Head          // the newest record that is on the disk
	unsure        bool          // a sync failed: what was not synced before may be lost
	retired       []File        // full files, which are on the disk, to be closed when their names are too
	unsyncedSince time.Time     // when the oldest record that is not synced was written; zero: none
	waiting       []func(error) // callers of Sync whose sync has not begun
	closed        bool
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

// ID is that of the log, which all its files have, and no other log.
func (l *Log) ID() string { return l.id }

// Synced is the newest record that is known to be on the disk. It is the one
// to tell others: a power cut cannot take it back. In mode Never it is the
// newest one that the operating system was given some time to write.
func (l *Log) Synced() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.synced
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

func (l *Log) mono() time.Duration { return time.Since(l.began) }

// fail stops the log for err and returns what it is stopped for, which may be
// something earlier. It never returns nil, however soon the log recovers.
func (l *Log) fail(err error) error {
	f := &failure{fmt.Errorf("audit: %w", err), time.Now()}
	if l.failed.CompareAndSwap(nil, f) {
		l.suspectDisk()
		l.wakeKeep()
	} else if earlier := l.failed.Load(); earlier != nil {
		return earlier.err
	}
	return f.err
}

func (l *Log) wakeKeep() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// openFile opens a log's file for appending, and makes it if flag says so. It
// refuses what others could have put there or can change.
func (l *Log) openFile(path string, flag int) (File, fs.FileInfo, error) {
	f, err := l.o.Disk.Open(path, os.O_RDWR|os.O_APPEND|flag)
	if err != nil {
		return nil, nil, err
	}
	info, err := ours(f)
	if err == nil {
		err = lock(f)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	if l.o.Wrap != nil {
		return l.o.Wrap(&disk{File: f, path: l.path}), info, nil
	}
	return &disk{File: f, path: l.path}, info, nil
}

const (
	patience   = 2 * time.Second        // what takes as long has failed, with ErrSlow
	slowAfter  = 200 * time.Millisecond // what takes longer makes the disk suspect
	suspectFor = time.Minute            // from the last time that it was slow
)

func (l *Log) suspectDisk() { l.suspectUntil.Store(int64(l.mono() + suspectFor)) }

// set makes file the one that is written to.
func (l *Log) set(file File, info fs.FileInfo, size int64) {
	l.info, l.size, l.checked = info, size, time.Time{}
	l.mu.Lock()
	l.file = file
	l.mu.Unlock()
}
