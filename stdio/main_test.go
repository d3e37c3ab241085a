package stdio

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpx-protocol/mcpx-bridge/stdio/jsonrpc"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest"
	"github.com/mcpx-protocol/mcpx-bridge/stdio/stdiotest/watchdog"
)

// playParent makes this binary a bridge that keeps the server in the rest of
// its arguments, until it is killed.
const playParent = "stdio-parent"

// playSweeper makes it one that sweeps, until it gets a TERM. A HUP has it start
// the server again.
const playSweeper = "stdio-sweeper"

func sweeper(argv []string, log *slog.Logger) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	o := quick(argv)
	o.Sweep, o.Log, o.Stop.Term = true, log, 2*time.Second // long enough for who is asked to write that down
	s, d := New(o), &diary{}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	go func() {
		for range again {
			d.awaitUp() // one that is just starting is not started again
			s.Restart("told to")
		}
	}()
	if s.Run(ctx, d) != nil {
		return 1
	}
	return 0
}

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == playParent {
		New(Options{Args: os.Args[2:]}).Run(context.Background(), &diary{})
		os.Exit(1)
	}
	if len(os.Args) > 2 && os.Args[1] == playSweeper {
		os.Exit(sweeper(os.Args[2:], nil))
	}
	watchdog.Start()
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// An entry is one thing that a Handler was told.
type entry struct {
	what  string // up, message, noise, down or idle
	hello Hello
	text  string
	noise Noise
	exit  Exit
}

// A diary is a Handler that writes everything down.
type diary struct {
	mu      sync.Mutex
	entries []entry
	more    chan struct{} // closed and replaced with every entry
	inside  bool          // a method is running
	overlap bool          // two were
	mute    string        // what is not written down
}

// awaitUp waits until a server has been up.
func (d *diary) awaitUp() {
	for {
		d.mu.Lock()
		up := slices.ContainsFunc(d.entries, func(e entry) bool { return e.what == "up" })
		if d.more == nil {
			d.more = make(chan struct{})
		}
		more := d.more
		d.mu.Unlock()
		if up {
			return
		}
		<-more
	}
}

func (d *diary) add(e entry) {
	d.mu.Lock()
	d.overlap = d.overlap || d.inside
	d.inside = true
	d.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inside = false
	if e.what == d.mute {
		return
	}
	d.entries = append(d.entries, e)
	if d.more != nil {
		close(d.more)
		d.more = nil
	}
}

func (d *diary) ServerUp(h Hello)                { d.add(entry{what: "up", hello: h}) }
func (d *diary) ServerMessage(m jsonrpc.Message) { d.add(entry{what: "message", text: string(m.Raw)}) }
func (d *diary) ServerNoise(n Noise)             { d.add(entry{what: "noise", noise: n}) }
func (d *diary) ServerDown(x Exit)               { d.add(entry{what: "down", exit: x}) }
func (d *diary) ServerIdle()                     { d.add(entry{what: "idle"}) }

// read returns entry i, waiting for it until the deadline.
func (d *diary) read(i int, late <-chan time.Time) (entry, bool) {
	for {
		d.mu.Lock()
		if i < len(d.entries) {
			defer d.mu.Unlock()
			return d.entries[i], true
		}
		if d.more == nil {
			d.more = make(chan struct{})
		}
		more := d.more
		d.mu.Unlock()
		select {
		case <-more:
		case <-late:
			return entry{}, false
		}
	}
}

// A session is a Server that runs, and what its handler was told.
type session struct {
	*diary
	t      *testing.T
	server *Server
	stop   context.CancelFunc
	ended  chan error
	at     int // entries that were looked at
	id     int
}

// quick are options under which nothing takes longer than it must.
func quick(args []string) Options {
	return Options{
		Args:    args,
		Stop:    StopTimes{Input: 300 * time.Millisecond, Term: 300 * time.Millisecond, Drain: 300 * time.Millisecond},
		Restart: Budget{First: time.Millisecond},
	}
}

func begin(t *testing.T, o Options) *session {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	s := &session{diary: &diary{}, t: t, server: New(o), stop: stop, ended: make(chan error, 1)}
	go func() { s.ended <- s.server.Run(ctx, s.diary) }()
	t.Cleanup(func() {
		stop()
		s.finished()
		if s.overlap {
			t.Error("two handler methods ran at a time")
		}
	})
	return s
}

// serve begins a session with the server that the script describes.
func serve(t *testing.T, script stdiotest.Script) *session {
	t.Helper()
	o := quick(stdiotest.Command(t, script))
	if !script.IgnoreTerm { // then it ends by it, however busy the machine is
		o.Stop.Term = patience
	}
	return begin(t, o)
}

// finished waits for Run and returns its error.
func (s *session) finished() error {
	s.t.Helper()
	select {
	case err := <-s.ended:
		s.ended <- err
		return err
	case <-time.After(patience):
		s.t.Fatalf("Run did not return; so far: %s", s.diary)
		return nil
	}
}

// next waits for the next entry of the kind and skips others before it.
func (s *session) next(what string) entry {
	s.t.Helper()
	late := time.After(patience)
	for {
		e, ok := s.read(s.at, late)
		if !ok {
			s.t.Fatalf("waited for %q in vain; so far: %s", what, s.diary)
		}
		if s.at++; e.what == what {
			return e
		}
	}
}

// all returns what was written down so far.
func (d *diary) all() []entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.entries)
}

func (d *diary) String() string {
	var b strings.Builder
	for _, e := range d.all() {
		fmt.Fprintf(&b, "\n%s %.200s %+v %+v", e.what, e.text, e.noise, e.exit)
	}
	return b.String()
}

func (s *session) up() Hello  { s.t.Helper(); return s.next("up").hello }
func (s *session) down() Exit { s.t.Helper(); return s.next("down").exit }

// put writes one line to the server.
func (s *session) put(line string) {
	s.t.Helper()
	if err := s.server.Put([]byte(line)); err != nil {
		s.t.Fatalf("put %.100s: %v", line, err)
	}
	s.server.Flush()
}

// tool calls a tool without waiting, and returns the id of the call.
func (s *session) tool(name, arguments string) string {
	s.t.Helper()
	s.id++
	s.put(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, s.id, name, arguments))
	return fmt.Sprint(s.id)
}

// call calls a tool and returns the whole answer.
func (s *session) call(name, arguments string) string {
	s.t.Helper()
	return s.answer(s.tool(name, arguments))
}

// answer waits for the answer to a call.
func (s *session) answer(id string) string {
	s.t.Helper()
	for {
		text := s.next("message").text
		if strings.HasPrefix(text, `{"jsonrpc":"2.0","id":`+id+`,`) {
			return text
		}
	}
}

func (s *session) wantCause(want string) Exit {
	s.t.Helper()
	x := s.down()
	if x.Cause != want {
		s.t.Fatalf("the server went down with %q (%s), want %q", x.Cause, x, want)
	}
	return x
}

// wantGone waits until none of the processes is left.
func wantGone(t *testing.T, pids ...int) {
	t.Helper()
	if len(pids) == 0 {
		t.Fatal("no pids to look for")
	}
	for _, pid := range pids {
		poll(t, fmt.Sprintf("process %d to be gone", pid), func() bool { return !stdiotest.Alive(pid) })
	}
}

// poll waits for what no event tells of.
func poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("waited for %s in vain", what)
		}
	}
}

// logged returns a logger and what it has written.
func logged() (*slog.Logger, func() string) {
	var mu sync.Mutex
	var b strings.Builder
	w := writerFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return b.Write(p)
	})
	return slog.New(slog.NewTextHandler(w, nil)), func() string {
		mu.Lock()
		defer mu.Unlock()
		return b.String()
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
